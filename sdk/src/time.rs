//! Points in time and dates, as the service writes them.

use std::{
    fmt,
    ops::{Add, Sub},
    time::{Duration, SystemTime},
};

use jiff::{SignedDuration, civil, civil::DateTime, fmt::temporal::Pieces};
use serde::{Deserialize, Serialize, Serializer};

use crate::text::{Text, parsed, shown};

/// A point in time, in UTC, to the millisecond: `2026-03-01T09:30:00.000Z`.
///
/// ```
/// use std::time::Duration;
/// use shared_inbox::Timestamp;
///
/// let at = Timestamp::parse("2026-03-01T10:30:00+01:00")?;
/// assert_eq!(at.to_string(), "2026-03-01T09:30:00.000Z");
/// assert_eq!((at + Duration::from_secs(600)) - at, Duration::from_secs(600));
/// # Ok::<(), shared_inbox::InvalidTimestamp>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "Text<'_>")]
pub struct Timestamp(
    /// In UTC, in whole milliseconds. Not the library's type for a point in time, which ends a day before the
    /// calendar does: many programs write the calendar's last moment for "never".
    DateTime,
);

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// A text that is not a point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a point in time: expected the form 2026-03-01T09:30:00.000Z")]
#[non_exhaustive]
pub struct InvalidTimestamp;

impl Timestamp {
    /// Reads an ISO 8601 text with an offset; anything finer than a millisecond is dropped.
    pub fn parse(text: &str) -> Result<Self, InvalidTimestamp> {
        let pieces = Pieces::parse(text).map_err(|_| InvalidTimestamp)?;
        let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else {
            return Err(InvalidTimestamp);
        };
        let offset = SignedDuration::from_secs(offset.seconds().into());
        // What the calendar does not have in UTC cannot be written again.
        let utc = DateTime::from_parts(pieces.date(), time).checked_sub(offset);
        utc.map(Self::whole_millis).map_err(|_| InvalidTimestamp)
    }

    fn whole_millis(at: DateTime) -> Self {
        let nanos = at.subsec_nanosecond() / 1_000_000 * 1_000_000;
        Self(at.with().subsec_nanosecond(nanos).build().unwrap_or(at))
    }

    /// Returns the time that is this many milliseconds after the start of 1970; beyond the years -9999 to
    /// 9999 it stops at the border.
    pub fn from_millis(millis: i64) -> Self {
        Self::whole_millis(EPOCH.saturating_add(SignedDuration::from_millis(millis)))
    }

    /// Returns the milliseconds since the start of 1970.
    pub fn as_millis(self) -> i64 {
        // The calendar has fewer than an `i64` holds.
        self.0.duration_since(EPOCH).as_millis() as i64
    }

    /// Returns the whole seconds since the start of 1970, as a webhook's timestamp header has them.
    pub fn as_secs(self) -> i64 {
        self.as_millis().div_euclid(1000)
    }

    /// Returns the time on this machine's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Returns the time that has passed since `earlier`; zero when `earlier` is the later one.
    pub fn duration_since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.as_millis() - earlier.as_millis()).unwrap_or(0))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;
    fn add(self, rhs: Duration) -> Timestamp {
        Timestamp::from_millis(self.as_millis().saturating_add(millis(rhs)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;
    fn sub(self, rhs: Duration) -> Timestamp {
        Timestamp::from_millis(self.as_millis().saturating_sub(millis(rhs)))
    }
}

/// The time between the two; zero when the right one is the later.
impl Sub for Timestamp {
    type Output = Duration;
    fn sub(self, earlier: Timestamp) -> Duration {
        self.duration_since(earlier)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Self::from_millis(millis(after)),
            Err(before) => Self::from_millis(-millis(before.duration())),
        }
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        let distance = Duration::from_millis(time.as_millis().unsigned_abs());
        let (epoch, past) = (SystemTime::UNIX_EPOCH, time.as_millis() < 0);
        // Not every system's time goes as far back as the calendar.
        if past { epoch.checked_sub(distance) } else { epoch.checked_add(distance) }.unwrap_or(epoch)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}Z", self.0)
    }
}

parsed!(Timestamp, InvalidTimestamp);
shown!(Timestamp, { "type": "string", "format": "date-time" });

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// A day that exists, without a time: `2026-03-01`.
///
/// ```
/// use shared_inbox::Date;
/// assert_eq!(Date::parse("2026-02-28")?.to_string(), "2026-02-28");
/// assert!(Date::parse("2026-02-30").is_err(), "February has no 30th");
/// assert!(Date::parse("26-2-28").is_err(), "four digits, two, two");
/// # Ok::<(), shared_inbox::InvalidDate>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "Text<'_>")]
pub struct Date(civil::Date);

/// A text that is not a date, or a day that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a date: expected a day that exists, in the form 2026-03-01")]
#[non_exhaustive]
pub struct InvalidDate;

impl Date {
    /// Reads four digits, a hyphen, two digits, a hyphen, two digits.
    pub fn parse(text: &str) -> Result<Self, InvalidDate> {
        // The library reads other forms too.
        let date = text.parse::<civil::Date>().ok().filter(|date| date.to_string() == text);
        date.map(Self).ok_or(InvalidDate)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

parsed!(Date, InvalidDate);

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
