//! Estimates the service's clock from its responses (`Date`) and its items (`at`). It distinguishes what was in a conversation
//! before a request from what came after, without a read beforehand.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, header};

use crate::Timestamp;
use crate::client::error::SentWindow;

/// How much the clocks of the service's machines may differ. A larger difference is a jump.
pub(crate) const MAX_SKEW: Duration = Duration::from_secs(60);
/// How long before its request an item may be dated, by the clock of the latest response, and surely be its item.
const MAX_UNCERTAINTY: Duration = Duration::from_secs(5);
/// A `Date` is cut to the second, and some servers update it only once a second.
const DATE_TICK: Duration = Duration::from_secs(2);
/// The error of an item's time that is cut to the second.
const ROUNDING: Duration = Duration::from_secs(1);
/// Older observations are forgotten, because clocks drift.
const READING_TTL: Duration = Duration::from_secs(600);
/// Items may be dated by another clock than responses, in a wrong time zone for example, but by no more than this.
const MAX_ITEM_OFFSET: Duration = Duration::from_secs(86_400);

#[derive(Debug)]
pub(crate) struct ServiceClock {
    /// The origin of all times in milliseconds.
    origin: Instant,
    state: Mutex<ClockState>,
}

#[derive(Debug, Default)]
struct ClockState {
    reading: Option<ClockReading>,
    /// Whether the latest response had no `Date`.
    is_silent: bool,
}

/// How far ahead of this client's clock the service's is, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockReading {
    origin: Instant,
    /// When the window began.
    since: Instant,
    /// When the clock was last observed.
    pub(crate) last: Instant,
    /// At least, by all responses in the window.
    low: i64,
    /// At most, by the latest ones.
    high: i64,
    /// At least, by the latest of its items.
    stamped: i64,
}

impl ServiceClock {
    pub(crate) fn new(origin: Instant) -> Self {
        Self { origin, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        // No code panics while it holds the lock, so a poisoned state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Observes the `Date` of a response whose head has just arrived. The service wrote it between `sent` and `now`.
    pub(crate) fn observe(&self, headers: &HeaderMap, sent: Instant, now: Instant) {
        let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
        let mut state = self.state();
        state.is_silent = date.is_none();
        let Some(date) = date.map(|date| date.timestamp().as_millisecond()) else { return };
        let low = date - millis(now, self.origin);
        let high = date + span(DATE_TICK) - millis(sent, self.origin);
        let new = ClockReading { origin: self.origin, since: now, last: now, low, high, stamped: i64::MIN };
        state.reading = Some(state.reading.map_or(new, |before| before.then(new)));
    }

    /// Observes the time of an item that was just read, and so was made before. Ignores a time in the future.
    pub(crate) fn observe_item(&self, at: Timestamp, now: Instant) {
        let ahead = at.as_millis() - millis(now, self.origin);
        if let Some(reading) = self.state().reading.as_mut().filter(|reading| ahead <= reading.high) {
            reading.stamped = reading.stamped.max(ahead);
        }
    }

    /// Returns `None` when the clock was never observed.
    pub(crate) fn reading(&self) -> Option<ClockReading> {
        self.state().reading
    }

    /// Returns whether the latest response had no `Date`.
    pub(crate) fn is_silent(&self) -> bool {
        self.state().is_silent
    }
}

impl ClockReading {
    /// Combines this reading with that of the next response.
    fn then(self, new: Self) -> Self {
        // Either clock may have been wrong, before or now; the dates of items will show which.
        let jumped = new.low > self.high + span(MAX_SKEW) || new.high < self.low - span(MAX_SKEW);
        let expired = new.last.saturating_duration_since(self.since) >= READING_TTL;
        Self {
            since: if jumped || expired { new.since } else { self.since },
            last: self.last.max(new.last),
            low: if jumped || !expired { self.low.min(new.low) } else { new.low },
            // A slow response adds little, unless it shows that the clock is ahead of the estimate.
            high: if expired || new.low > self.high { new.high } else { self.high.min(new.high) },
            stamped: if jumped { i64::MIN } else { self.stamped },
            ..new
        }
    }

    /// Returns how an item of a request that was sent at this moment can be dated.
    pub(crate) fn window(&self, sent: Instant) -> SentWindow {
        // Until an item was seen whose date fits this clock, items may be dated by another.
        let items = self.low.min(self.stamped.max(self.low - span(MAX_ITEM_OFFSET)));
        let certain = (self.low - span(ROUNDING)).max(self.high - span(MAX_UNCERTAINTY));
        SentWindow {
            possible_from: self.shows(sent, items) - MAX_SKEW - ROUNDING,
            certain_from: self.shows(sent, certain),
        }
    }

    /// Returns the earliest time that the clock can show at this moment.
    pub(crate) fn earliest(&self, at: Instant) -> Timestamp {
        self.shows(at, self.low)
    }

    /// Returns the latest time that the clock can show at this moment.
    pub(crate) fn latest(&self, at: Instant) -> Timestamp {
        self.shows(at, self.high)
    }

    fn shows(&self, at: Instant, ahead: i64) -> Timestamp {
        Timestamp::from_millis(millis(at, self.origin).saturating_add(ahead))
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

    /// Returns the clock after responses: each with its time and the error of its date, in seconds.
    fn clock(responses: &[(u64, i64)]) -> (ServiceClock, Instant) {
        let origin = Instant::now();
        let clock = ServiceClock::new(origin);
        for (after, off) in responses {
            observe(&clock, origin, (*after, *after), T0 + *after as i64 + off);
        }
        (clock, origin)
    }

    fn observe(clock: &ServiceClock, origin: Instant, (sent, now): (u64, u64), date: i64) {
        let date = jiff::Timestamp::from_second(date).unwrap();
        let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let headers = HeaderMap::from_iter([(header::DATE, date.parse().unwrap())]);
        clock.observe(&headers, at(origin, sent), at(origin, now));
    }

    fn at(origin: Instant, secs: u64) -> Instant {
        origin + Duration::from_secs(secs)
    }

    /// Returns the window of a request sent at that second, in seconds before it by the service's clock.
    fn window(clock: &ServiceClock, origin: Instant, sent: u64) -> (i64, i64) {
        let window = clock.reading().unwrap().window(at(origin, sent));
        let before = |at: Timestamp| T0 + sent as i64 - at.as_secs();
        (before(window.possible_from), before(window.certain_from))
    }

    fn stamp(clock: &ServiceClock, origin: Instant, after: u64, off: i64) {
        clock.observe_item(Timestamp::from_millis((T0 + after as i64 + off) * 1000), at(origin, after));
    }

    #[test]
    fn what_was_never_heard_is_not_known() {
        let (clock, origin) = clock(&[]);
        assert!(clock.reading().is_none() && !clock.is_silent());
        clock.observe(&HeaderMap::from_iter([(header::DATE, "noon".parse().unwrap())]), origin, origin);
        assert!(clock.reading().is_none() && clock.is_silent());
    }

    #[test]
    fn machines_that_disagree_widen_the_window_up_to_five_seconds() {
        for (off, certain) in [(0, 1), (-1, 2), (-2, 3), (-3, 3), (-20, 3), (3, 1), (20, 1)] {
            let (clock, origin) = clock(&[(0, 0), (10, off), (10, 0)]);
            stamp(&clock, origin, 10, 0);
            // Two seconds of the five are those that `Date` does not tell.
            assert_eq!(window(&clock, origin, 10), (61 - off.min(0), certain), "{off}");
        }
    }

    #[test]
    fn a_clock_that_stands_still_is_followed() {
        let standing: Vec<_> = (0..10).map(|n| (n * 20, -20 * n as i64)).collect();
        let (clock, origin) = clock(&standing);
        // Sent at 180 s, when the clock still showed the start.
        assert_eq!(window(&clock, origin, 180).1, 180 + 1);
    }

    #[test]
    fn a_slow_response_says_little() {
        let (clock, origin) = clock(&[(0, 0)]);
        observe(&clock, origin, (10, 40), T0 + 40);
        assert_eq!(window(&clock, origin, 10).1, 1);
        observe(&clock, origin, (40, 70), T0 + 40);
        assert_eq!(window(&clock, origin, 40).1, 3);
    }

    #[test]
    fn items_that_are_dated_by_another_clock_count_by_that_clock() {
        let (clock, origin) = clock(&[(0, 0)]);
        let possible = || 61 - window(&clock, origin, 0).0;
        assert_eq!(possible(), -86_400, "none was seen");
        for (at, expected) in [(3600, -86_400), (-90_000, -86_400), (-7200, -7200), (-10, -10), (1, 0)] {
            stamp(&clock, origin, 0, at);
            assert_eq!(possible(), expected, "{at}");
        }
    }

    #[test]
    fn a_clock_that_has_jumped_is_believed_and_its_items_once_one_fits() {
        for jump in [-3600, -63, 75, 3600] {
            let (clock, origin) = clock(&[(0, 0), (10, 0)]);
            stamp(&clock, origin, 10, 0);
            observe(&clock, origin, (20, 20), T0 + 20 + jump);
            let (possible, certain) = window(&clock, origin, 20);
            assert!(possible >= 86_400 - jump.max(0), "{jump}: {possible}");
            assert!((1..=3).contains(&(certain + jump)), "{jump}: {certain}");
            observe(&clock, origin, (700, 700), T0 + 700 + jump);
            stamp(&clock, origin, 700, jump);
            assert_eq!(window(&clock, origin, 700), (61 - jump, 1 - jump), "{jump}");
        }
    }

    #[test]
    fn clocks_that_drift_apart_over_hours_are_followed() {
        // A second in five minutes, for a day.
        let responses: Vec<_> = (0..288_u64).map(|n| (n * 300, n as i64)).collect();
        let (clock, origin) = clock(&responses);
        let off = 287 - window(&clock, origin, 287 * 300).1.abs();
        assert!((0..=3).contains(&off), "{off}");
    }
}
