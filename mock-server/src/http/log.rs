//! Lines on stderr: one for each request, and a word when connections had to go. A path holds ids at most; queries,
//! bodies and keys stay out of it.

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
    // Nobody reads it any more when this fails.
    let _ = writeln!(std::io::stderr().lock(), "{method} {path} {status} {ms:.1}ms {agent}");
}

/// Idle connections had to make room, since so many are open.
pub(crate) fn closed_idle(open: usize) {
    let _ = writeln!(
        std::io::stderr().lock(),
        "closed idle connections to make room for others: {open} are open"
    );
}
