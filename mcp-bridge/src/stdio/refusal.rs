//! Error responses to requests that cannot be handled.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use super::{batch::MAX_BATCH, outline::Outline};

/// Why a request is not taken on.
pub(super) const IN_FLIGHT: &str = "A request with this id is still being worked on.";

const NO_REQUEST: &str = "This is not a request of the protocol: `jsonrpc` must be \"2.0\", `id` a whole number or a text, \
    `method` a text.";

/// Returns an error for a line that is no message.
pub(super) fn misread(line: &[u8], outline: &Outline) -> Option<String> {
    let (code, why) = match serde_json::from_slice::<Value>(line) {
        Err(_) if std::str::from_utf8(line).is_err() => {
            (ErrorCode::PARSE_ERROR, "The line is not UTF-8.".to_owned())
        }
        // Such an error names a position in the line, and none of its content.
        Err(error) => (ErrorCode::PARSE_ERROR, format!("The line is not JSON that can be read: {error}.")),
        Ok(value) => return misread_as(outline.id(), &value),
    };
    Some(error(outline.id(), code, &why))
}

/// Returns an error for a part of a batch that is no message.
pub(super) fn misread_part(value: &Value) -> Option<String> {
    let id = value.get("id").filter(|id| id.is_string() || id.is_number());
    misread_as(&id.map_or_else(|| "null".to_owned(), Value::to_string), value)
}

fn misread_as(id: &str, value: &Value) -> Option<String> {
    let has = |name: &str| value.get(name).is_some();
    if has("method") && !has("id") || has("result") || has("error") {
        tracing::debug!("passed over a message that nobody waits for");
        return None;
    }
    // Without a method the id is not a request's.
    let id = if has("method") { id } else { "null" };
    Some(match value.get("params") {
        Some(params) if !params.is_object() => {
            error(id, ErrorCode::INVALID_PARAMS, "`params` must be an object.")
        }
        _ => error(id, ErrorCode::INVALID_REQUEST, NO_REQUEST),
    })
}

/// Parses the messages of a batch. The error is the response to a batch that is refused.
pub(super) fn batch(line: &[u8], allowed: bool) -> Result<Vec<Value>, String> {
    let refuse = |code, why: &str| Err(error("null", code, why));
    if !allowed {
        let why = "A batch is taken in a session of the protocol version 2025-03-26 only: send each message in a line of its own.";
        return refuse(ErrorCode::INVALID_REQUEST, why);
    }
    match serde_json::from_slice::<Vec<Value>>(line) {
        Ok(messages) if messages.is_empty() => refuse(ErrorCode::INVALID_REQUEST, "The batch is empty."),
        Ok(messages) if messages.len() > MAX_BATCH => {
            refuse(ErrorCode::INVALID_REQUEST, &format!("The batch has more than {MAX_BATCH} messages."))
        }
        Ok(messages) => Ok(messages),
        Err(error) => {
            refuse(ErrorCode::PARSE_ERROR, &format!("The line is not JSON that can be read: {error}."))
        }
    }
}

/// Returns the response to a line that is refused, unless it is a notification.
pub(super) fn refuse(outline: &Outline, code: ErrorCode, why: &str) -> Option<String> {
    if outline.is_notification() {
        return None;
    }
    tracing::debug!(code = code.0, "a request was refused");
    Some(error(if outline.is_request() { outline.id() } else { "null" }, code, why))
}

/// Returns an error for the request with this id, which is JSON.
pub(super) fn error(id: &str, code: ErrorCode, why: &str) -> String {
    let error = json!({ "code": code.0, "message": why });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}
