//! Results of tools in the words of the protocol.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use super::link::explain;
use crate::render::{Rendered, Tally, clean};

/// A result in both forms.
pub(super) fn done(rendered: Rendered) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(rendered.text)]);
    result.structured_content = Some(rendered.structured);
    result
}

/// The result of a change: a sentence, and what the service answered. What the bridge has to add stands in both forms,
/// because a client may show a model either.
pub(super) fn changed(sentence: &str, mut answer: Value, added: Option<&str>) -> CallToolResult {
    if let (Some(added), Value::Object(fields)) = (added, &mut answer) {
        let said = fields.get("note").and_then(Value::as_str).unwrap_or_default();
        fields.insert("note".into(), format!("{added} {said}").trim_end().into());
    }
    let text = match added {
        Some(added) => format!("{sentence} {added}\n{answer}"),
        None => format!("{sentence}\n{answer}"),
    };
    done(Rendered { text, structured: answer })
}

/// Something that did not work, in words for the model and the person behind it.
pub(super) fn failed(message: impl AsRef<str>) -> CallToolResult {
    // A service's sentence may repeat what a stranger wrote.
    let text = clean(message.as_ref(), &mut Tally::default());
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// A call that the service or the way to it refused.
pub(super) fn error(error: &shared_inbox::Error) -> CallToolResult {
    failed(explain(error))
}
