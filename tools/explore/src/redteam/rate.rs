//! Rates, their intervals, and whether one rose by more than chance.

use crate::process::is_more_frequent;

/// Some of a number of runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) count: u32,
    pub(crate) runs: u32,
}

impl Rate {
    /// Returns the interval in which the rate lies with a probability of 95 %, after Wilson.
    fn interval(self) -> (f64, f64) {
        const Z: f64 = 1.959_964;
        let (runs, z2) = (f64::from(self.runs), Z * Z);
        let rate = f64::from(self.count) / runs;
        let centre = rate + z2 / (2.0 * runs);
        let half = Z * (rate * (1.0 - rate) / runs + z2 / (4.0 * runs * runs)).sqrt();
        let scale = 1.0 + z2 / runs;
        (((centre - half) / scale).max(0.0), ((centre + half) / scale).min(1.0))
    }

    /// Returns it with its interval, where it was repeated.
    pub(crate) fn show(self, is_repeated: bool) -> String {
        let rate = format!("{} of {}", self.count, self.runs);
        if !is_repeated || self.runs == 0 {
            return rate;
        }
        let (low, high) = self.interval();
        format!("{rate} ({:.0}-{:.0} %)", 100.0 * low, 100.0 * high)
    }

    /// Returns whether it is higher than another beyond chance, by Fisher's exact test.
    pub(crate) fn rose_from(self, old: Self) -> bool {
        is_more_frequent((self.count.into(), self.runs.into()), (old.count.into(), old.runs.into()))
    }
}
