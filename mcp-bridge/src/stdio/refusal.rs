//! Error responses to requests that cannot be handled.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use super::outline::Outline;

/// Why an array is not taken on.
pub(super) const BATCH: &str = "Batches are not supported: send each message on a line of its own.";
/// Why a request is not taken on.
pub(super) const IN_FLIGHT: &str = "A request with this id is still being worked on.";

const NO_REQUEST: &str = "This is not a request of the protocol: `jsonrpc` must be \"2.0\", `id` a whole number or a text, \
    `method` a text.";

/// Returns an error for a line that is no message, if anyone waits for one.
pub(super) fn misread(line: &[u8]) -> Option<String> {
    let outline = Outline::read(line);
    let value = match serde_json::from_slice::<Value>(line) {
        Ok(value) => value,
        Err(failed) => {
            // Such an error names a position in the line, and none of its content.
            let why = match std::str::from_utf8(line) {
                Ok(_) => format!("The line is not JSON that can be read: {failed}."),
                Err(_) => "The line is not UTF-8.".to_owned(),
            };
            return Some(error(outline.id(), ErrorCode::PARSE_ERROR, &why));
        }
    };
    let has = |name: &str| value.get(name).is_some();
    if has("method") && !has("id") || has("result") || has("error") {
        tracing::debug!("passed over a message that nobody waits for");
        return None;
    }
    // Without a method the id is not a request's.
    let id = if has("method") { outline.id() } else { "null" };
    Some(match value.get("params") {
        Some(params) if !params.is_object() => {
            error(id, ErrorCode::INVALID_PARAMS, "`params` must be an object.")
        }
        _ => error(id, ErrorCode::INVALID_REQUEST, NO_REQUEST),
    })
}

/// Returns an error for the request with this id, which is JSON.
pub(super) fn error(id: &str, code: ErrorCode, why: &str) -> String {
    let error = json!({ "code": code.0, "message": why });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}
