//! The mock's rules, one family a module; one binary, so that a build links once.

mod mcp;
mod openapi;
mod webhooks;
mod world;
