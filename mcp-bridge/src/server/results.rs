//! Results of tools in the protocol's form.

use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock},
};
use serde_json::{Value, json};
use shared_inbox::{Certainty, Problems};

use super::connection::explain;
use crate::{
    outcome::{Failure, FailureKind},
    render::{self, Rendered, SanitizeReport, clean, clean_and_cut},
};

/// The most characters of a sentence on what did not work: a service may repeat what was sent to it.
const MAX_SENTENCE_CHARS: usize = 900;

/// Returns a result in both forms, neither of them longer than this.
pub(super) fn done(rendered: Rendered, max_chars: usize) -> CallToolResult {
    if rendered.fits(max_chars) {
        return both(rendered);
    }
    failed(format!(
        "The result is longer than the {max_chars} characters that --max-chars allows, however much is left out. Ask for \
         less, or start the bridge with a larger --max-chars."
    ))
    .into()
}

fn both(rendered: Rendered) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(rendered.text)]);
    result.structured_content = Some(rendered.structured);
    result
}

/// Returns the result of a change: a sentence that names it, and the same as JSON. What the bridge adds is in
/// both forms, because a client may show a model either. The service's own note is in the JSON alone: the
/// sentence says the same.
pub(super) fn changed(sentence: &str, answer: Value, added: Option<&str>) -> CallToolResult {
    let mut answer = render::answer(answer);
    let mut text = said(sentence);
    if let Some(added) = added {
        text = format!("{text} {added}");
    }
    if let (Value::Object(fields), Some(added)) = (&mut answer, added) {
        let service_said = fields.get("note").and_then(Value::as_str).unwrap_or_default();
        fields.insert("note".into(), format!("{added} {service_said}").trim_end().into());
    }
    // Each part is clean by itself, and two may make a link together.
    both(Rendered { text: clean(&text, &mut SanitizeReport::default()), structured: answer })
}

/// Returns the response of an operation that has nothing more to say.
pub(super) fn ok() -> Value {
    json!({ "ok": true })
}

/// Returns a failure for the model and the person behind it.
pub(super) fn failed(message: impl AsRef<str>) -> Failure {
    Failure::new(FailureKind::Other, said(message.as_ref()))
}

/// Returns the failure of a call that cannot be made here.
pub(super) fn invalid(message: impl AsRef<str>) -> Failure {
    Failure::new(FailureKind::Invalid, said(message.as_ref()))
}

impl From<shared_inbox::Error> for Failure {
    /// The service, or the connection to it, failed a call.
    fn from(error: shared_inbox::Error) -> Self {
        let kind = if error.is_unauthorized() {
            FailureKind::KeyRefused
        } else if error.is_not_found() {
            FailureKind::NotFound
        } else if error.certainty() == Certainty::Unknown {
            FailureKind::Unknown
        } else {
            FailureKind::Other
        };
        Failure::new(kind, said(&in_words(&error)))
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        failed(wrong(&problems))
    }
}

impl From<Failure> for CallToolResult {
    fn from(failure: Failure) -> Self {
        CallToolResult::error(vec![ContentBlock::text(failure.message)])
    }
}

impl From<Failure> for ErrorData {
    fn from(failure: Failure) -> Self {
        match failure.kind {
            FailureKind::NotFound => ErrorData::resource_not_found(failure.message, None),
            FailureKind::Invalid => ErrorData::invalid_params(failure.message, None),
            _ => ErrorData::internal_error(failure.message, None),
        }
    }
}

/// Returns what went wrong in the vocabulary of the tools, without paths and milliseconds.
fn in_words(error: &shared_inbox::Error) -> String {
    if error.is_not_found() {
        return "There is no such conversation, or this key cannot see it. list_conversations has the ids."
            .into();
    }
    if let Some(wait) = error.retry_after().filter(|_| error.is_rate_limited_locally()) {
        let seconds = wait.as_secs_f64().ceil();
        // It may be the repeat of a request whose response was lost.
        let done = match error.certainty() {
            Certainty::Unknown => "It is not known whether it was done",
            _ => "Nothing was done",
        };
        return format!(
            "{done}: the requests that the key has in a minute are used up. Make the same call again in {seconds} seconds."
        );
    }
    if let Some(problems) = error.problems() {
        return wrong(problems);
    }
    explain(error)
}

fn wrong(problems: &Problems) -> String {
    format!("The arguments are not right, nothing was done. {problems}.")
}

/// Cleans and cuts a sentence that may quote the service, and through it a stranger. It starts with a capital
/// letter.
pub(super) fn said(sentence: &str) -> String {
    let mut said = clean_and_cut(sentence, MAX_SENTENCE_CHARS, &mut SanitizeReport::default());
    // An id stays as it is.
    if !said.starts_with("cnv_")
        && let Some(first) = said.get_mut(..1)
    {
        first.make_ascii_uppercase();
    }
    said
}
