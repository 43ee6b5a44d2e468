//! Answers to requests that cannot be worked on.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use super::outline::Outline;

/// An error for a line that is no message, if somebody waits for its answer.
pub(super) fn misread(line: &[u8], outline: &Outline) -> Option<String> {
    if !outline.is_request() {
        tracing::debug!("passed over a line that is no message");
        return None;
    }
    let (code, why) = match serde_json::from_slice::<Value>(line) {
        Err(_) if std::str::from_utf8(line).is_err() => {
            (ErrorCode::PARSE_ERROR, "The line is not UTF-8.".to_owned())
        }
        // Such an error names a place in the line, and nothing that stands there.
        Err(error) => (ErrorCode::PARSE_ERROR, format!("The line is not JSON that can be read: {error}.")),
        Ok(value) if value.get("params").is_some_and(|params| !params.is_object()) => {
            (ErrorCode::INVALID_PARAMS, "`params` must be an object.".to_owned())
        }
        Ok(_) => {
            let why = "This is not a request of the protocol: `jsonrpc` must be \"2.0\", `id` a whole number or a text, \
                       `method` a text.";
            (ErrorCode::INVALID_REQUEST, why.to_owned())
        }
    };
    refuse(outline, code, &why)
}

/// The answer to a line that is not taken on, if somebody waits for one.
pub(super) fn refuse(outline: &Outline, code: ErrorCode, why: &str) -> Option<String> {
    if !outline.is_request() {
        return None;
    }
    tracing::debug!(code = code.0, "a request was refused");
    Some(error(outline.id(), code, why))
}

/// An error for the request with this id, which is JSON.
pub(super) fn error(id: &str, code: ErrorCode, why: &str) -> String {
    let error = json!({ "code": code.0, "message": why });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}
