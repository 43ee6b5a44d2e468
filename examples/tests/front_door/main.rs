//! The front door works: every example runs to its end, and what the README and the docs show is true.

mod docs;
mod examples;
#[cfg(target_os = "linux")]
mod handed_out;
#[cfg(unix)]
mod guides;
mod mcp;
#[cfg(unix)]
mod packages;
mod run;
mod signs;
#[cfg(unix)]
mod workflows;
