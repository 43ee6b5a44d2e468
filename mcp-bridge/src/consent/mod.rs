//! A person's consent to one mail: asked with everything in view, good for exactly that mail, once, for a short time.

mod book;
mod letter;

pub(crate) use book::Book;
pub(crate) use letter::Letter;

use std::time::Duration;

use rmcp::model::{ElicitRequestParams, ElicitationAction, ElicitationSchema};
use serde_json::Value;

/// How long a question may go without an answer.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(300);

/// What the person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Send it.
    Yes,
    /// Do not.
    No,
    /// Nothing: the question was put away.
    Dismissed,
}

impl Answer {
    /// An accepted form counts as a yes only with the box ticked: some clients accept forms by themselves.
    pub(crate) fn new(action: &ElicitationAction, content: Option<&Value>) -> Self {
        let ticked = content.and_then(|fields| fields.get("send")) == Some(&Value::Bool(true));
        match action {
            ElicitationAction::Accept if ticked => Self::Yes,
            ElicitationAction::Accept | ElicitationAction::Decline => Self::No,
            _ => Self::Dismissed,
        }
    }

    /// The same from the raw answer of the newer protocol.
    pub(crate) fn read(answer: &Value) -> Option<Self> {
        let action = serde_json::from_value(answer.get("action")?.clone()).ok()?;
        Some(Self::new(&action, answer.get("content")))
    }
}

/// The form that asks for consent to this mail.
pub(crate) fn form(letter: &Letter) -> ElicitRequestParams {
    let schema = ElicitationSchema::builder()
        .required_bool_property("send", |field| {
            field
                .title("Send it")
                .description("Tick to mail this text to this address. Leave empty to send nothing.")
        })
        .build_unchecked();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: letter.question(),
        requested_schema: schema,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_an_accepted_form_with_the_box_ticked_is_a_yes() {
        let read = |answer: Value| Answer::read(&answer);
        assert_eq!(read(json!({"action": "accept", "content": {"send": true}})), Some(Answer::Yes));
        assert_eq!(read(json!({"action": "accept", "content": {"send": false}})), Some(Answer::No));
        assert_eq!(read(json!({"action": "accept", "content": {"send": "true"}})), Some(Answer::No));
        assert_eq!(read(json!({"action": "accept"})), Some(Answer::No));
        assert_eq!(read(json!({"action": "decline", "content": {"send": true}})), Some(Answer::No));
        assert_eq!(read(json!({"action": "cancel"})), Some(Answer::Dismissed));
        assert_eq!(read(json!({"action": "yes"})), None);
        assert_eq!(read(json!(true)), None);
    }
}
