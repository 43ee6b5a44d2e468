//! What the tools that run somebody's app share: processes and their ends, folders for state, TOML files, and
//! a test of significance.
//!
//! [`Process`] and [`Thread`] start an app, [`Running`] is either of them, and nothing that they start outlives it. [`StateRoot`] hands out
//! folders that are removed at the end. [`TomlDocument`] is a file that the user wrote, and [`Excerpt`] shows
//! the place of a value in it. [`ask`] lets a command of the user decide.

mod ask;
mod chance;
mod excerpt;
mod launch;
#[cfg(target_os = "linux")]
mod process_tree;
mod running;
mod state_dir;
mod toml_document;

pub use ask::ask;
pub use chance::is_more_frequent;
pub use excerpt::Excerpt;
pub use launch::{AgentLaunch, Launch, Process, StartError};
pub use running::{FailedRun, RunEnd, Running, Thread};
pub use state_dir::{StateDir, StateDirError, StateRoot};
pub use toml_document::{TomlDocument, TomlError};
