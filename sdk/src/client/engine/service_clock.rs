//! The service's clock, as far as its answers tell (`Date`). With it and the `at` of every item, what was in a conversation
//! before a request can be told from what came after, without having read it before.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, header};

use crate::Timestamp;

/// The service's machines may disagree on the time by this much. What is further off has jumped.
pub(crate) const SKEW: Duration = Duration::from_secs(60);
/// What was heard longer ago than twice this is forgotten: clocks drift.
const WINDOW: Duration = Duration::from_secs(600);

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

/// How far ahead of this client's clock the service's was, at least and at most, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Span {
    since: Instant,
    low: i64,
    high: i64,
}

/// What is known of the service's clock at present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    origin: Instant,
    low: i64,
    high: i64,
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

    /// Takes the time from an answer whose head has just arrived. The service wrote it before that, so its clock is at
    /// least so far ahead.
    pub(crate) fn hear(&self, headers: &HeaderMap, now: Instant) {
        let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let Some(date) = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()) else { return };
        let ahead = date.timestamp().as_millisecond() - millis(now, self.origin);
        let mut heard = self.state();
        let whole = heard.whole();
        let skew = i64::try_from(SKEW.as_millis()).unwrap_or(i64::MAX);
        if whole.is_some_and(|whole| whole.high.max(ahead) - whole.low.min(ahead) > skew) {
            heard.jumped = true;
        }
        if heard.present.is_some_and(|span| now.saturating_duration_since(span.since) >= WINDOW) {
            heard.past = heard.present.take();
        }
        let span = heard.present.get_or_insert(Span { since: now, low: ahead, high: ahead });
        span.low = span.low.min(ahead);
        span.high = span.high.max(ahead);
        heard.last = Some(heard.last.map_or(now, |last| last.max(now)));
    }

    /// `None` when it was never heard, or has jumped.
    pub(crate) fn reading(&self) -> Option<Reading> {
        let heard = *self.state();
        let whole = heard.whole().filter(|_| !heard.jumped)?;
        Some(Reading { origin: self.origin, low: whole.low, high: whole.high, last: heard.last? })
    }
}

impl Heard {
    fn whole(&self) -> Option<Span> {
        match (self.present, self.past) {
            (Some(a), Some(b)) => {
                Some(Span { since: b.since, low: a.low.min(b.low), high: a.high.max(b.high) })
            }
            (one, other) => one.or(other),
        }
    }
}

impl Reading {
    /// The earliest that the service's clock can have shown at this moment.
    pub(crate) fn earliest(&self, at: Instant) -> Timestamp {
        Timestamp::from_millis(millis(at, self.origin).saturating_add(self.low))
    }

    /// How much the answers differ on the time.
    pub(crate) fn spread(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.high - self.low).unwrap_or(0))
    }
}

fn millis(at: Instant, origin: Instant) -> i64 {
    let (after, before) = (at.saturating_duration_since(origin), origin.saturating_duration_since(at));
    let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    millis(after) - millis(before)
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
            clock.hear(&headers, origin + Duration::from_secs(*after));
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
        clock.hear(&HeaderMap::from_iter([(header::DATE, "noon".parse().unwrap())]), origin);
        assert!(clock.reading().is_none());
    }

    #[test]
    fn the_earliest_of_all_that_was_heard_counts() {
        let (clock, origin) = clock(&[(0, 0), (10, -20), (20, 5)]);
        let reading = clock.reading().unwrap();
        assert_eq!(reading.earliest(at(origin, 30)).as_secs(), T0 + 30 - 20);
        assert_eq!(reading.spread(), Duration::from_secs(25));
        assert_eq!(reading.last, at(origin, 20));
    }

    #[test]
    fn a_clock_that_has_jumped_is_not_believed_again() {
        for jump in [-3600, -61, 61, 3600] {
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
        assert!(reading.spread() < Duration::from_secs(5), "{reading:?}");
    }
}
