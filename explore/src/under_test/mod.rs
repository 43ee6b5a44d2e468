//! The app under test: a program, a server, or a function.

pub(super) mod app;
pub(super) mod functions;
pub(super) mod gateway;
pub(super) mod process;
pub(super) mod state_dir;
