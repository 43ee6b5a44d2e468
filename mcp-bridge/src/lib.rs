//! A stdio MCP server for a shared customer inbox, for desktop clients, careful with hostile mail.
//!
//! The program `shared-inbox-mcp` is what most people want; see its `--help`. As a library, [`Bridge`] is the server
//! behind it, for any transport of `rmcp`, and [`render`] is the text that it makes of what strangers wrote.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cli;
pub mod config;
mod consent;
mod digest;
pub mod doctor;
pub mod logging;
mod recent;
pub mod render;
#[cfg(feature = "sandbox")]
pub mod sandbox;
mod server;
pub mod settings;
pub mod stdio;

pub use server::Bridge;
