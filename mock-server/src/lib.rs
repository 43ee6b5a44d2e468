//! The whole shared-inbox service in memory, for tests and CI: REST, MCP, webhooks, a clock you can move, faults you can switch on.
#![forbid(unsafe_code)]

pub mod world;
