//! Trace context (SEP-414): the `traceparent` in a call's `_meta` goes into every request that the call leads
//! to.

use std::sync::Arc;

use rmcp::{RoleServer, service::RequestContext};

use super::Connection;

/// Returns the connection of one call: with the caller's trace in its requests, if the call has one.
pub(super) fn traced(connection: &Arc<Connection>, ctx: &RequestContext<RoleServer>) -> Arc<Connection> {
    match ctx.meta.get_traceparent().filter(|value| is_traceparent(value)) {
        Some(traceparent) => Arc::new(Connection {
            client: connection.client.with_header("traceparent", traceparent),
            me: connection.me.clone(),
            key: connection.key,
            remembers: connection.remembers,
        }),
        None => Arc::clone(connection),
    }
}

/// Returns whether a text has the form that W3C gave it: version, trace, parent and flags. Anything else
/// stays here.
fn is_traceparent(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut is_hex = |length: usize| {
        parts.next().is_some_and(|part| {
            part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        })
    };
    is_hex(2) && is_hex(32) && is_hex(16) && is_hex(2) && parts.next().is_none()
}
