//! Whether a difference between two samples is more than chance.

use statrs::stats_tests::{Alternative, fisher::fishers_exact};

/// The probability below which a difference is taken for more than chance.
const MAX_P_VALUE: f64 = 0.05;

/// Returns whether an outcome is more frequent in one sample than in another, beyond chance: Fisher's exact
/// test, one-sided, 5 %.
///
/// Each sample is the number of runs with the outcome, and the number of all runs.
///
/// ```
/// use shared_inbox_explore::process::is_more_frequent;
///
/// assert!(is_more_frequent((5, 5), (0, 5)));
/// assert!(!is_more_frequent((2, 5), (0, 5)));
/// assert!(!is_more_frequent((5, 5), (5, 5)));
/// ```
pub fn is_more_frequent(sample: (u64, u64), than: (u64, u64)) -> bool {
    let table = [sample.0, sample.1.saturating_sub(sample.0), than.0, than.1.saturating_sub(than.0)];
    fishers_exact(&table, Alternative::Greater).is_ok_and(|p_value| p_value < MAX_P_VALUE)
}
