//! The mock server itself, from outside: its control API, faults, clock, console and wire. What the service
//! demands is in `conform`. One binary, so that it is linked once.

mod browse;
mod concurrency;
mod connection;
mod console;
mod control;
#[cfg(feature = "mcp")]
mod document_reading;
#[cfg(feature = "mcp")]
mod expect;
#[cfg(feature = "mcp")]
mod fault_rules;
mod faults;
mod fields;
mod guard;
mod kit;
mod library;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod paths;
mod patterns;
#[cfg(feature = "mcp")]
mod private_mail;
mod refusals;
mod responses;
mod snapshots;
mod stale_reads;
#[cfg(feature = "mcp")]
mod team;
mod time;
mod unused;
mod webhooks;
#[cfg(not(feature = "mcp"))]
mod without_mcp;
mod world;
mod worlds;
