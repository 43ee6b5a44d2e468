//! The app under test: a program, a server, or a function.

pub(super) mod app;
pub(super) mod context;
pub(super) mod functions;
pub(super) mod gateway;
pub(super) mod process;
#[cfg(target_os = "linux")]
mod process_tree;
pub(super) mod state_dir;
