//! A stdio MCP server for a shared customer inbox, for desktop clients, careful with hostile email.
//!
//! The program `shared-inbox-mcp` is what most people want; see its `--help`. As a library, [`Bridge`] is the server
//! behind it, for any transport of `rmcp`, and [`render`] is the text that it makes of what strangers wrote. The modules
//! that are not shown here are the program's own and may change at any time.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

#[doc(hidden)]
pub mod audit;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod config;
mod consent;
mod digest;
#[doc(hidden)]
pub mod doctor;
#[doc(hidden)]
pub mod logging;
pub mod render;
mod server;
pub mod settings;
mod skills;
#[doc(hidden)]
pub mod stdio;

pub use server::Bridge;
