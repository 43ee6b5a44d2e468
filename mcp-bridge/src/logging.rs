//! Logs go to stderr: stdout belongs to the protocol.
//!
//! The filter is fixed. At its verbose levels the MCP library logs complete requests and results, which would
//! put customers' emails into a client's log files, so no variable or flag can turn those on.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Starts logging, more of it the more `-v` were given.
pub(crate) fn start(verbose: u8) {
    let own = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let filter = Targets::new()
        .with_default(LevelFilter::OFF)
        .with_target("shared_inbox", own)
        .with_target("shared_inbox_mcp", own)
        .with_target("rmcp", LevelFilter::ERROR);
    // A second subscriber, as in a test that embeds the bridge, is not worth failing for.
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
}
