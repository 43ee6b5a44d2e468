//! The clock of a world: the machine's clock with an offset, or a manual one that stands still until it is
//! advanced.
//!
//! The world never reads a clock; every `now` comes from here.

use std::time::Duration;

use http::HeaderValue;
use jiff::fmt::rfc2822::DateTimePrinter;
use serde::{Deserialize, Serialize};
use shared_inbox::Timestamp;

/// How a world's clock runs.
///
/// ```
/// use shared_inbox_mock::clock::ClockMode;
/// assert_eq!("manual".parse(), Ok(ClockMode::Manual));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ClockMode {
    /// With the machine's clock; moving it ahead adds an offset.
    #[default]
    Real,
    /// It stands still until it is moved.
    Manual,
}

impl std::str::FromStr for ClockMode {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "real" => Ok(ClockMode::Real),
            "manual" => Ok(ClockMode::Manual),
            _ => Err("must be `real` or `manual`"),
        }
    }
}

/// A clock that never goes back, unless its world is restored to an earlier state.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(super) mode: ClockMode,
    /// The latest time that was read or set; the time of a manual clock.
    latest: Timestamp,
    /// How far the real clock was moved ahead.
    ahead: Duration,
}

impl Clock {
    /// Creates a clock that starts at `start`; a real one starts there only if that is in the future.
    pub(crate) fn new(mode: ClockMode, start: Timestamp) -> Self {
        let ahead = match mode {
            ClockMode::Real => start.duration_since(Timestamp::now()),
            ClockMode::Manual => Duration::ZERO,
        };
        Self { mode, latest: start, ahead }
    }

    pub(crate) fn now(&mut self) -> Timestamp {
        if self.mode == ClockMode::Real {
            // The machine's clock may be set back; a world's time never goes back.
            self.latest = self.latest.max(Timestamp::now() + self.ahead);
        }
        self.latest
    }

    /// Advances to `to`, unless that has passed.
    pub(crate) fn move_to(&mut self, to: Timestamp) {
        let now = self.now();
        self.ahead += to.duration_since(now);
        self.latest = now.max(to);
    }

    /// Returns how long the machine has to wait until this clock shows `due`; `None` if it stands still.
    pub(crate) fn time_until(&mut self, due: Timestamp) -> Option<Duration> {
        match self.mode {
            ClockMode::Real => Some(due.duration_since(self.now())),
            ClockMode::Manual => None,
        }
    }
}

/// A cached HTTP date, which every response carries.
#[derive(Debug, Default)]
pub(crate) struct HttpDate(Option<(i64, HeaderValue)>);

impl HttpDate {
    /// Returns `None` outside the years that HTTP can write.
    pub(crate) fn format(&mut self, at: Timestamp) -> Option<HeaderValue> {
        if let Some((second, text)) = &self.0
            && *second == at.as_secs()
        {
            return Some(text.clone());
        }
        let time = jiff::Timestamp::from_millisecond(at.as_millis()).ok()?;
        let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&time).ok()?;
        let text = HeaderValue::from_str(&text).ok()?;
        self.0 = Some((at.as_secs(), text.clone()));
        Some(text)
    }
}
