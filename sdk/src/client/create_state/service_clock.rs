//! Estimates the service's clock from its responses (`Date`) and its items (`at`). It distinguishes what was
//! in a conversation before a request from what came after, without a read beforehand.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// How much the clocks of the service's machines may differ. A larger difference is a jump.
pub(crate) const MAX_SKEW: Duration = Duration::from_secs(60);
/// How long before its request an item may be dated, by the clock of the latest response, and surely be its
/// item.
const MAX_UNCERTAINTY: Duration = Duration::from_secs(5);
/// A `Date` is cut to the second, and some servers update it only once a second.
const DATE_TICK: Duration = Duration::from_secs(2);
/// The error of an item's time that is cut to the second.
const ROUNDING: Duration = Duration::from_secs(1);
/// Older observations are forgotten, because clocks drift.
const READING_TTL: Duration = Duration::from_secs(600);
/// Items may be dated by another clock than responses, in a wrong time zone for example, but by no more than
/// this.
const MAX_ITEM_OFFSET: Duration = Duration::from_secs(86_400);

/// From when on, by the service's clock, a request may have made an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SentWindow {
    /// Items that are dated earlier were there before.
    pub(super) possible_from: Timestamp,
    /// Items that are dated from here on came with the request, or too few seconds before it for the clock to
    /// tell.
    pub(super) certain_from: Timestamp,
}

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

    /// Observes the `Date` of a response whose head has just arrived. The service wrote it between `sent` and
    /// `now`.
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

    /// Returns whether items are known to be dated by the clock of the responses: one was read within a
    /// minute of its date.
    pub(super) fn dates_items(&self) -> bool {
        self.reading().is_some_and(|reading| reading.stamped >= reading.low - span(MAX_SKEW))
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
    pub(super) fn window(&self, sent: Instant) -> SentWindow {
        // Until an item was seen whose date fits this clock, items may be dated by another.
        let items = self.low.min(self.stamped.max(self.low - span(MAX_ITEM_OFFSET)));
        let certain = (self.low - span(ROUNDING)).max(self.high - span(MAX_UNCERTAINTY));
        SentWindow {
            possible_from: self.shows(sent, items) - MAX_SKEW - ROUNDING,
            certain_from: self.shows(sent, certain),
        }
    }

    /// Returns the same for a request of another process that was sent so long ago by the clocks of the
    /// machines. They may disagree, so only what is more than a day older is surely older.
    pub(super) fn window_by_local_time(&self, age: Duration) -> SentWindow {
        let window = self.window(self.last.checked_sub(age).unwrap_or(self.origin));
        SentWindow {
            possible_from: window.possible_from - MAX_ITEM_OFFSET,
            certain_from: window.certain_from - MAX_UNCERTAINTY,
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
