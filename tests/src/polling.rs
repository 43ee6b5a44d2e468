//! Waiting for what becomes so by itself.

use std::time::{Duration, Instant};

/// How long anything may take: the machine may have much else to do.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until it is so. For real time: a paused clock would jump over it.
///
/// # Panics
///
/// After a minute, with these words.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
