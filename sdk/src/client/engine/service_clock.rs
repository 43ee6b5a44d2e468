//! The service's clock, as far as its answers (`Date`) and its items (`at`) tell. With it, what was in a conversation before
//! a request can be told from what came after, without having read it before.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, header};

use crate::Timestamp;

/// The service's machines may disagree on the time by this much. What is further off has jumped.
pub(crate) const SKEW: Duration = Duration::from_secs(60);
/// A `Date` is cut to the second, and some servers write it anew only once a second.
const TICK: Duration = Duration::from_secs(2);
/// An answer that took longer does not say what the time was at most.
const QUICK: Duration = Duration::from_secs(2);
/// What was heard longer ago than twice this is forgotten: clocks drift.
const WINDOW: Duration = Duration::from_secs(600);
/// Items may be dated by another clock than answers, a wrong time zone for one, but by no more than this.
const ASTRAY: Duration = Duration::from_secs(86_400);

#[derive(Debug)]
pub(crate) struct ServiceClock {
    /// Moments are counted from here.
    origin: Instant,
    heard: Mutex<Heard>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    /// In the present window, and in the one before.
    present: Option<Span>,
    past: Option<Span>,
    last: Option<Instant>,
    /// Nobody knows whether a clock that has jumped was right before or is right now, so it is not believed again.
    jumped: bool,
}

/// How far ahead of this client's clock the service's was, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Span {
    since: Instant,
    /// At least, and at most, by its answers.
    low: i64,
    high: Option<i64>,
    /// At least, by the latest of its items.
    stamped: i64,
}

/// What is known of the service's clock at present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    origin: Instant,
    span: Span,
    /// When it was last heard.
    pub(crate) last: Instant,
}

impl ServiceClock {
    pub(crate) fn new(origin: Instant) -> Self {
        Self { origin, heard: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, Heard> {
        // No code panics while it holds the lock, so a poisoned state is still whole.
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the time from an answer whose head has just arrived. The service wrote it between `sent` and `now`.
    pub(crate) fn hear(&self, headers: &HeaderMap, sent: Instant, now: Instant) {
        let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let Some(date) = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()) else { return };
        let date = date.timestamp().as_millisecond();
        let low = date - millis(now, self.origin);
        let high = date + span(TICK) - millis(sent, self.origin);
        let mut heard = self.state();
        let apart = |whole: Span| {
            whole.high.is_some_and(|most| low > most + span(SKEW)) || high < whole.low - span(SKEW)
        };
        heard.jumped |= heard.whole().is_some_and(apart);
        if heard.present.is_some_and(|span| now.saturating_duration_since(span.since) >= WINDOW) {
            heard.past = heard.present.take();
        }
        let high = (now.saturating_duration_since(sent) <= QUICK).then_some(high);
        let new = Span { since: now, low, high, stamped: i64::MIN };
        heard.present = Some(heard.present.map_or(new, |present| present.and(new)));
        heard.last = heard.last.max(Some(now));
    }

    /// Takes the time from an item that was just read: it was made before that. What is dated ahead says nothing.
    pub(crate) fn stamped(&self, at: Timestamp, now: Instant) {
        let ahead = at.as_millis() - millis(now, self.origin);
        if let Some(present) = self.state().present.as_mut().filter(|present| Some(ahead) <= present.high) {
            present.stamped = present.stamped.max(ahead);
        }
    }

    /// `None` when it was never heard, or has jumped.
    pub(crate) fn reading(&self) -> Option<Reading> {
        let heard = *self.state();
        let span = heard.whole().filter(|_| !heard.jumped)?;
        Some(Reading { origin: self.origin, span, last: heard.last? })
    }
}

impl Heard {
    fn whole(&self) -> Option<Span> {
        match (self.past, self.present) {
            (Some(past), Some(present)) => Some(past.and(present)),
            (one, other) => one.or(other),
        }
    }
}

impl Span {
    fn and(self, later: Span) -> Span {
        Span {
            since: self.since,
            low: self.low.min(later.low),
            high: self.high.max(later.high),
            stamped: self.stamped.max(later.stamped),
        }
    }
}

impl Reading {
    /// The earliest that an item can be dated which is made at this moment, as far as the clocks agree that were heard.
    pub(crate) fn earliest(&self, at: Instant) -> Timestamp {
        let Span { low, stamped, .. } = self.span;
        self.shows(at, low.min(stamped.max(low - span(ASTRAY))))
    }

    /// The latest that the service's clock can have shown at these two moments.
    pub(crate) fn under_way(&self, sent: Instant, ended: Instant) -> Option<(Timestamp, Timestamp)> {
        self.span.high.map(|high| (self.shows(sent, high), self.shows(ended, high)))
    }

    fn shows(&self, at: Instant, ahead: i64) -> Timestamp {
        Timestamp::from_millis(millis(at, self.origin).saturating_add(ahead))
    }

    /// Whether the time is known as exactly as this.
    pub(crate) fn is_within(&self, spread: Duration) -> bool {
        self.span.high.is_some_and(|high| high - self.span.low <= span(spread))
    }
}

fn millis(at: Instant, origin: Instant) -> i64 {
    span(at.saturating_duration_since(origin)) - span(origin.saturating_duration_since(at))
}

fn span(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: i64 = 1_772_357_400;

    /// The clock after answers that came so many seconds after the start and showed the time since then plus so much.
    fn clock(answers: &[(u64, i64)]) -> (ServiceClock, Instant) {
        let origin = Instant::now();
        let clock = ServiceClock::new(origin);
        for (after, off) in answers {
            let date = jiff::Timestamp::from_second(T0 + *after as i64 + off).unwrap();
            let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            let headers = HeaderMap::from_iter([(header::DATE, date.parse().unwrap())]);
            clock.hear(&headers, at(origin, *after), at(origin, *after));
        }
        (clock, origin)
    }

    fn at(origin: Instant, secs: u64) -> Instant {
        origin + Duration::from_secs(secs)
    }

    #[test]
    fn what_was_never_heard_is_not_known() {
        let (clock, origin) = clock(&[]);
        assert!(clock.reading().is_none());
        clock.hear(&HeaderMap::from_iter([(header::DATE, "noon".parse().unwrap())]), origin, origin);
        assert!(clock.reading().is_none());
    }

    #[test]
    fn the_earliest_and_the_latest_of_all_that_was_heard_count() {
        let (clock, origin) = clock(&[(0, 0), (10, -20), (20, 5)]);
        clock.stamped(Timestamp::from_millis((T0 + 20) * 1000), at(origin, 20));
        let reading = clock.reading().unwrap();
        assert_eq!(reading.earliest(at(origin, 30)).as_secs(), T0 + 30 - 20);
        let (sent, ended) = reading.under_way(at(origin, 30), at(origin, 40)).unwrap();
        assert_eq!((sent.as_secs(), ended.as_secs()), (T0 + 30 + 5 + 2, T0 + 40 + 5 + 2));
        assert!(reading.is_within(Duration::from_secs(27)) && !reading.is_within(Duration::from_secs(26)));
        assert_eq!(reading.last, at(origin, 20));
    }

    #[test]
    fn a_slow_answer_says_what_the_time_is_at_least() {
        let (clock, origin) = clock(&[]);
        let date = HeaderMap::from_iter([(header::DATE, "Sun, 01 Mar 2026 09:30:10 GMT".parse().unwrap())]);
        let ago = |reading: Reading| reading.earliest(at(origin, 30)).as_secs() - T0 + 86_400;
        let latest =
            |reading: Reading| reading.under_way(origin, origin).map(|(sent, _)| sent.as_secs() - T0);
        clock.hear(&date, at(origin, 0), at(origin, 30));
        let reading = clock.reading().unwrap();
        assert_eq!((ago(reading), latest(reading)), (10, None));
        clock.hear(&date, at(origin, 10), at(origin, 12));
        let reading = clock.reading().unwrap();
        assert_eq!((ago(reading), latest(reading)), (10, Some(2)));
        clock.hear(&date, at(origin, 0), at(origin, 20));
        assert_eq!(latest(clock.reading().unwrap()), Some(2), "it says nothing new");
    }

    #[test]
    fn items_that_are_dated_by_another_clock_count_by_that_clock() {
        let (clock, origin) = clock(&[(0, 0)]);
        let earliest = || clock.reading().unwrap().earliest(origin).as_secs() - T0;
        assert_eq!(earliest(), -86_400, "none was seen");
        for (at, expected) in [(3600, -86_400), (-90_000, -86_400), (-7200, -7200), (-10, -10), (1, 0)] {
            clock.stamped(Timestamp::from_millis((T0 + at) * 1000), origin);
            assert_eq!(earliest(), expected, "{at}");
        }
    }

    #[test]
    fn a_clock_that_has_jumped_is_not_believed_again() {
        for jump in [-3600, -63, 63, 3600] {
            let (clock, _) = clock(&[(0, 0), (10, jump), (20, jump), (90_000, jump), (180_000, 0)]);
            assert!(clock.reading().is_none(), "{jump}");
        }
    }

    #[test]
    fn clocks_that_drift_apart_over_hours_are_followed() {
        // A second in five minutes, for a day.
        let answers: Vec<_> = (0..288_u64).map(|n| (n * 300, n as i64)).collect();
        let (clock, _) = clock(&answers);
        let reading = clock.reading().unwrap();
        assert!(reading.is_within(Duration::from_secs(7)), "{reading:?}");
    }
}
