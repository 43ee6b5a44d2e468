//! Reading JSON values.

use serde_json::Value;

/// Returns the text of a JSON value, or none.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
