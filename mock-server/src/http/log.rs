//! Log lines on stderr: one for each request, and one when idle connections were closed. They never contain
//! queries, bodies or keys.

use std::{io::Write, time::Duration};

use shared_inbox::AgentId;

use crate::json::redact::redact;

pub(crate) fn request(
    method: &http::Method,
    path: &str,
    status: Option<u16>,
    duration: Duration,
    agent: Option<&AgentId>,
) {
    let status = status.map_or_else(|| "dropped".to_owned(), |status| status.to_string());
    let ms = duration.as_secs_f64() * 1e3;
    let (path, agent) = (redact(path), agent.map_or("-", AgentId::as_str));
    // A failure means that stderr is closed.
    let _ = writeln!(std::io::stderr().lock(), "{method} {path} {status} {ms:.1}ms {agent}");
}

/// Logs that idle connections were closed, with the number of open ones.
pub(crate) fn closed_idle(open: usize) {
    let _ = writeln!(
        std::io::stderr().lock(),
        "closed idle connections to make room for others: {open} are open"
    );
}
