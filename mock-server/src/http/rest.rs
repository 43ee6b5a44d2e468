//! The REST API: finds the operation of a request and performs it in the world.

use bytes::Bytes;
use http::{Response, header, request::Parts};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use shared_inbox::__spec::{Method, Operation};

use super::{caller::Caller, response};
use crate::{
    json::read::read_body,
    world::{CallInput, Refusal, Result},
};

/// Handles a request whose path behind the prefix is `path`.
pub(crate) fn handle(
    caller: Result<&Caller, &Refusal>,
    path: &str,
    parts: &Parts,
    body: Result<Bytes>,
) -> Response<Bytes> {
    // A HEAD is a GET without the body of the response.
    let method = if parts.method == http::Method::HEAD { "GET" } else { parts.method.as_str() };
    let mut allowed = Vec::new();
    for &operation in Operation::KNOWN {
        let Some(id) = match_path(operation.path(), path) else { continue };
        if operation.method().as_str() != method {
            allowed.push(operation.method().as_str());
            allowed.extend((operation.method() == Method::Get).then_some("HEAD"));
            continue;
        }
        let id = id.map(|id| percent_decode_str(id).decode_utf8_lossy());
        let called = caller
            .map_err(Refusal::clone)
            .and_then(|caller| call(caller, operation, id.as_deref(), parts, body));
        return match called {
            Ok(answered) => response::json(answered.status, answered.body),
            Err(refused) => response::refusal(&refused),
        };
    }
    match allowed.as_slice() {
        [] => response::error(404, "There is nothing at this path."),
        allowed => response::wrong_method(&allowed.join(", ")),
    }
}

fn call(
    caller: &Caller,
    operation: Operation,
    id: Option<&str>,
    parts: &Parts,
    body: Result<Bytes>,
) -> Result<crate::world::ServiceResponse> {
    if operation.method() == Method::Get {
        let query: Vec<(String, String)> =
            form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        return caller.call(operation, id, CallInput::Query(&query));
    }
    let input = body.and_then(|body| json(parts, &body)).map_or_else(CallInput::Refused, CallInput::Body);
    caller.call(operation, id, input)
}

/// Reads the JSON of a body; returns `None` if it is empty.
fn json(parts: &Parts, body: &Bytes) -> Result<Option<Value>> {
    if body.is_empty() {
        return Ok(None);
    }
    let content_type =
        parts.headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    if !content_type.is_none_or(is_json) {
        return Err(Refusal::field("body", "must be JSON, sent with the content type application/json"));
    }
    read_body(body).map(Some).map_err(|error| Refusal::field("body", format!("must be valid JSON: {error}")))
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Matches a path with a pattern; returns what stands in place of `{id}`.
fn match_path<'p>(pattern: &str, path: &'p str) -> Option<Option<&'p str>> {
    let Some((before, after)) = pattern.split_once('{') else {
        return (pattern == path).then_some(None);
    };
    let id = path.strip_prefix(before)?.strip_suffix(after.strip_prefix("id}")?)?;
    (!id.is_empty() && !id.contains('/')).then_some(Some(id))
}
