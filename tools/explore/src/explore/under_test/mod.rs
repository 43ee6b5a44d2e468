//! The app under test: a program, a server, or a function.

pub(super) mod app;
pub(super) mod compare;
pub(super) mod context;
pub(super) mod functions;
pub(super) mod gateway;
