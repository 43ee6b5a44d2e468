//! Delays: fixed, uniform between two durations, or log-normal around a median.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::world::IdGenerator;

/// The longest delay.
pub(super) const MAX_DELAY_MS: u64 = 3_600_000;

/// The delay of a response.
///
/// ```
/// use std::time::Duration;
/// use shared_inbox_mock::faults::Latency;
///
/// let slow = Latency::around(Duration::from_millis(80), Duration::from_secs(2));
/// assert_eq!(serde_json::to_value(&slow).unwrap(), serde_json::json!({ "median": 80, "p99": 2000 }));
/// assert!(serde_json::from_str::<Latency>(r#"{ "min": 9, "max": 3 }"#).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(try_from = "LatencyFields", into = "LatencyFields")]
pub struct Latency(LatencyFields);

/// Milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
#[cfg_attr(feature = "schemas", schemars(rename = "Latency"))]
enum LatencyFields {
    /// A fixed delay.
    Fixed(u64),
    /// Uniform between two delays.
    Between {
        /// The shortest delay.
        min: u64,
        /// The longest delay.
        max: u64,
    },
    /// Half of them below `median`, one in a hundred above `p99`, as the times of real services are spread.
    Around {
        /// The median.
        median: u64,
        /// The 99th percentile.
        p99: u64,
    },
}

impl TryFrom<LatencyFields> for Latency {
    type Error = &'static str;
    fn try_from(fields: LatencyFields) -> Result<Self, Self::Error> {
        let (low, high) = match fields {
            LatencyFields::Fixed(ms) => (ms, ms),
            LatencyFields::Between { min, max } => (min, max),
            LatencyFields::Around { median: 0, .. } => return Err("`median` must be more than 0"),
            LatencyFields::Around { median, p99 } => (median, p99),
        };
        if high > MAX_DELAY_MS {
            return Err("`delayMs` must be at most 3600000, an hour");
        }
        if low > high {
            return Err("`delayMs`: the smaller number must come first");
        }
        Ok(Self(fields))
    }
}

impl From<Latency> for LatencyFields {
    fn from(latency: Latency) -> Self {
        latency.0
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(MAX_DELAY_MS).min(MAX_DELAY_MS)
}

impl Latency {
    /// Returns a fixed delay of at most an hour.
    pub fn fixed(delay: Duration) -> Self {
        Self(LatencyFields::Fixed(ms(delay)))
    }

    /// Uniform between two delays.
    pub fn between(min: Duration, max: Duration) -> Self {
        Self(LatencyFields::Between { min: ms(min.min(max)), max: ms(max) })
    }

    /// Returns a log-normal delay with this median and 99th percentile.
    pub fn around(median: Duration, p99: Duration) -> Self {
        Self(LatencyFields::Around { median: ms(median).max(1), p99: ms(p99.max(median)).max(1) })
    }

    /// Draws a delay.
    pub(super) fn sample(&self, rng: &mut IdGenerator) -> Duration {
        /// The 99th percentile of the normal distribution.
        const Z99: f64 = 2.326_347_874;
        let ms = match self.0 {
            LatencyFields::Fixed(ms) => ms as f64,
            LatencyFields::Between { min, max } => min as f64 + (max - min) as f64 * rng.next_f64(),
            LatencyFields::Around { median, p99 } => {
                let (radius, angle) = (1.0 - rng.next_f64(), rng.next_f64());
                let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
                let (median, p99) = (median as f64, p99 as f64);
                median * ((p99 / median).ln() / Z99 * normal).exp()
            }
        };
        Duration::from_secs_f64((ms / 1e3).clamp(0.0, MAX_DELAY_MS as f64 / 1e3))
    }
}
