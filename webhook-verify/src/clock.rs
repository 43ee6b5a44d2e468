//! The clocks of this machine, where it has any: WebAssembly in a browser or a Worker has none that the
//! standard library could ask, and ends the program when asked.

use std::time::{Duration, SystemTime};

/// Whether the standard library has clocks here.
const HAS_CLOCKS: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// Returns the time of day.
pub(crate) fn wall() -> Option<SystemTime> {
    HAS_CLOCKS.then(SystemTime::now)
}

/// Returns a clock that never goes back, from now on.
pub(crate) fn monotonic() -> Option<impl Fn() -> Duration + Send + Sync> {
    HAS_CLOCKS.then(std::time::Instant::now).map(|start| move || start.elapsed())
}
