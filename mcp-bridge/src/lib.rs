//! A stdio MCP server for a shared customer inbox, for desktop clients, careful with hostile email.
//!
//! The program `shared-inbox-mcp` is what most people want; see its `--help`. As a library, [`Bridge`] is the
//! server behind it, for any transport of `rmcp`, and [`render`] is the text that it makes of what strangers
//! wrote.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

mod audit;
mod consent;
mod digest;
mod outcome;
pub mod render;
mod server;
pub mod settings;
mod skills;
mod stdio;

pub use server::Bridge;

/// What the program uses beside the API. It may change at any time.
#[doc(hidden)]
pub mod program {
    pub use crate::{
        consent::{PrivateFile, knows_its_visitors},
        render::quoted,
        server::explain,
        skills::check_skills,
        stdio::{QueueWait, Stdio},
    };
}
