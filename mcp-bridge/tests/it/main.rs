//! The bridge from outside: the real program over stdio against the mock server, what it makes of hostile
//! mail, and what its command line says and does.

mod access;
mod audit;
#[cfg(unix)]
mod browser;
mod cleaning;
mod config;
mod consent;
mod context;
mod creates;
mod fixture;
mod hostile;
mod inboxes;
mod inert;
mod key_rotation;
mod key_store;
mod lifecycle;
mod lines;
mod merging;
mod packaging;
mod page;
#[cfg(unix)]
mod page_in_browser;
mod preview;
mod program;
mod questions;
mod rate_limit;
mod requests;
mod results;
mod safety;
#[cfg(unix)]
mod shutdown;
mod sizes;
mod skills;
mod tool_list;
mod traces;
mod transport;
mod unknown;
mod window;
mod wire;
