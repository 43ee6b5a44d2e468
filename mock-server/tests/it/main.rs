//! The mock server itself, from outside: its control API, faults, clock, console and wire. What the service demands is in
//! `conform`. One binary, so that it is linked once.

mod browse;
mod concurrency;
mod connection;
mod console;
mod control;
mod control_api;
#[cfg(feature = "mcp")]
mod document_reading;
mod events_page;
#[cfg(feature = "mcp")]
mod expect;
#[cfg(feature = "mcp")]
mod fault_rules;
mod faults;
mod fields;
mod fuzz;
mod generated_clients;
mod guard;
mod kit;
mod library;
#[cfg(feature = "mcp")]
mod mcp;
mod openapi;
#[cfg(feature = "mcp")]
mod paths;
mod patterns;
#[cfg(feature = "mcp")]
mod private_mail;
mod refused_input;
mod responses;
mod schemathesis;
mod snapshots;
mod stale_reads;
#[cfg(feature = "mcp")]
mod team;
mod time;
mod typing_errors;
mod webhooks;
#[cfg(not(feature = "mcp"))]
mod without_mcp;
mod world;
mod worlds;
