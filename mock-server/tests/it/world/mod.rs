//! The rules of the service, through the world's own interface: no HTTP, no clock but the one in the test.

mod app_mail;
mod events;
mod kit;
mod mail;
mod property;
mod search;
mod sending;
mod snapshot;
mod visible;
