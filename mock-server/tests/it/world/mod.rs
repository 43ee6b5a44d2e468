//! What the mock decided and does inside, through the world's own interface: no HTTP, no clock but the one in
//! the test.

mod kit;
mod mail;
mod property;
mod search;
mod sending;
mod snapshot;
