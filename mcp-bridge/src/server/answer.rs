//! Results of tools in the words of the protocol.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use super::{inboxes::Denied, link::explain};
use crate::render::{self, Rendered, Tally, clean, clean_and_cut};

/// The most characters of a sentence on what did not work: a service may repeat what was sent to it.
const LONGEST: usize = 900;

/// A result in both forms, neither of them longer than this.
pub(super) fn done(rendered: Rendered, max_chars: usize) -> CallToolResult {
    if rendered.fits(max_chars) {
        return both(rendered);
    }
    failed(format!(
        "The result is longer than the {max_chars} characters that --max-chars allows, however much is left out. Ask for \
         less, or start the bridge with a larger --max-chars."
    ))
}

fn both(rendered: Rendered) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(rendered.text)]);
    result.structured_content = Some(rendered.structured);
    result
}

/// The result of a change: a sentence, and what the service answered. What the bridge has to add stands in both forms,
/// because a client may show a model either.
pub(super) fn changed(sentence: &str, answer: Value, added: Option<&str>) -> CallToolResult {
    let mut answer = render::answer(answer);
    let sentence = said(sentence);
    if let (Some(added), Value::Object(fields)) = (added, &mut answer) {
        let said = fields.get("note").and_then(Value::as_str).unwrap_or_default();
        fields.insert("note".into(), format!("{added} {said}").trim_end().into());
    }
    let text = match added {
        Some(added) => format!("{sentence} {added}\n{answer}"),
        None => format!("{sentence}\n{answer}"),
    };
    // A backslash becomes two in JSON, and two may be a link.
    both(Rendered { text: clean(&text, &mut Tally::default()), structured: answer })
}

/// Something that did not work, in words for the model and the person behind it.
pub(super) fn failed(message: impl AsRef<str>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(said(message.as_ref()))])
}

/// A call that the service or the way to it refused.
pub(super) fn error(error: &shared_inbox::Error) -> CallToolResult {
    failed(explain(error))
}

/// A read that gave nothing.
pub(super) fn denied(why: Denied) -> CallToolResult {
    failed(why.explain())
}

/// A sentence that may hold what the service said, which may repeat what a stranger wrote.
pub(super) fn said(sentence: &str) -> String {
    clean_and_cut(sentence, LONGEST, &mut Tally::default())
}
