//! The front door works: every example runs to its end, and what the README and the docs show is true.

mod docs;
mod examples;
#[cfg(unix)]
mod explore;
#[cfg(unix)]
mod fixtures;
#[cfg(unix)]
mod guides;
#[cfg(target_os = "linux")]
mod handed_out;
mod mcp;
#[cfg(unix)]
mod packages;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod project;
#[cfg(unix)]
mod redteam;
#[cfg(target_os = "linux")]
mod release;
mod signs;
