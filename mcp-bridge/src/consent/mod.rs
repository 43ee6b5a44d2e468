//! A person's consent to one email: valid for exactly that email, once, for a short time.
//!
//! [`AskMethod`] lists the ways to ask; where none reaches a person, the email becomes a draft.

mod closing;
mod ledger;
mod look_alikes;
mod page;
mod preview;
mod visible;

pub(crate) use closing::ClosingPage;
pub(crate) use ledger::{ConsentError, ConsentLedger, OpenConsent};
pub(crate) use page::{Page, PageQuestion, remove_leftovers};
pub use page::{PrivateFile, knows_its_visitors};
pub(crate) use preview::{EmailPreview, last_inbound};

use std::time::Duration;

use rmcp::model::{ClientCapabilities, ElicitRequestParams, ElicitationAction, ElicitationSchema};
use serde_json::Value;

/// How long a question stays open.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// The least time in which a person reads an email and decides. Some clients answer by themselves, and faster.
pub(crate) const MIN_ANSWER_TIME: Duration = Duration::from_secs(1);

/// Where a person is asked whether an email may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum ConsentChannel {
    /// In the client, by a form or a link; a client that can do neither gets a draft
    Client,
    /// On a page of this program, which it opens in your browser, whatever the client can do
    Browser,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskMethod {
    /// The client shows a form.
    Form,
    /// The client shows a link to the bridge's own page.
    Link,
    /// The bridge opens its own page in the person's browser.
    Browser,
}

impl AskMethod {
    /// Returns the best way with this client, if there is one. `--ask=browser` takes precedence over the client's own way.
    pub(crate) fn choose(ask: ConsentChannel, capabilities: Option<&ClientCapabilities>) -> Option<Self> {
        if ask == ConsentChannel::Browser {
            return Some(Self::Browser);
        }
        let modes = capabilities?.elicitation.as_ref()?;
        // A client that names no mode means forms: there was nothing else when the capability was new.
        Some(if modes.form.is_some() || modes.url.is_none() { Self::Form } else { Self::Link })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Link => "link",
            Self::Browser => "browser",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Yes,
    No,
    /// The question was dismissed, or not answered.
    Dismissed,
    /// An answer given too fast to be a person's.
    TooQuick,
}

impl Decision {
    /// Reads a decision. An accepted form is a yes only with the box ticked: some clients accept forms by themselves.
    pub(crate) fn new(action: &ElicitationAction, content: Option<&Value>) -> Self {
        let ticked = content.and_then(|fields| fields.get("send")) == Some(&Value::Bool(true));
        match action {
            ElicitationAction::Accept if ticked => Self::Yes,
            ElicitationAction::Accept | ElicitationAction::Decline => Self::No,
            _ => Self::Dismissed,
        }
    }

    /// Reads a decision from the raw response of the newer protocol.
    pub(crate) fn read(answer: &Value) -> Option<Self> {
        Some(Self::new(&action(answer)?, answer.get("content")))
    }

    /// Returns what a decision counts as when it took this long: one that is too quick for a person counts for nothing.
    pub(crate) fn after(self, took: Duration) -> Self {
        if took < MIN_ANSWER_TIME { Self::TooQuick } else { self }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Dismissed => "none",
            Self::TooQuick => "too quick",
        }
    }
}

/// Returns the action of an answer in the newer protocol.
pub(crate) fn action(answer: &Value) -> Option<ElicitationAction> {
    serde_json::from_value(answer.get("action")?.clone()).ok()
}

pub(crate) fn form(preview: &EmailPreview) -> ElicitRequestParams {
    let schema = ElicitationSchema::builder()
        .required_bool_property("send", |field| {
            field
                .title("Send it")
                .description("Tick to email this text to this address. Leave empty to send nothing.")
        })
        .build_unchecked();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: preview.question(),
        requested_schema: schema,
    }
}

/// Returns the link to the page that asks for consent to this email. Only the page shows the email.
pub(crate) fn link(question: &PageQuestion) -> ElicitRequestParams {
    ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message:
            "A model wants to send an email to a customer. The page shows it, and asks whether it may go out."
                .into(),
        url: question.target().to_owned(),
        elicitation_id: question.name().to_owned(),
    }
}

/// Returns an unguessable number in hexadecimal digits.
pub(crate) fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_an_accepted_form_with_the_box_ticked_is_a_yes() {
        let read = |answer: Value| Decision::read(&answer);
        assert_eq!(read(json!({"action": "accept", "content": {"send": true}})), Some(Decision::Yes));
        assert_eq!(read(json!({"action": "accept", "content": {"send": false}})), Some(Decision::No));
        assert_eq!(read(json!({"action": "accept", "content": {"send": "true"}})), Some(Decision::No));
        assert_eq!(read(json!({"action": "accept"})), Some(Decision::No));
        assert_eq!(read(json!({"action": "decline", "content": {"send": true}})), Some(Decision::No));
        assert_eq!(read(json!({"action": "cancel"})), Some(Decision::Dismissed));
        assert_eq!(read(json!({"action": "yes"})), None);
        assert_eq!(read(json!(true)), None);
    }

    #[test]
    fn the_form_goes_before_the_link_and_the_browser_only_where_it_was_asked_for() {
        let can = |modes: Value| -> ClientCapabilities {
            serde_json::from_value(json!({ "elicitation": modes })).unwrap()
        };
        let way = |modes| AskMethod::choose(ConsentChannel::Client, Some(&can(modes)));
        assert_eq!(way(json!({})), Some(AskMethod::Form));
        assert_eq!(way(json!({"form": {}})), Some(AskMethod::Form));
        assert_eq!(way(json!({"form": {}, "url": {}})), Some(AskMethod::Form));
        assert_eq!(way(json!({"url": {}})), Some(AskMethod::Link));
        assert_eq!(AskMethod::choose(ConsentChannel::Client, Some(&ClientCapabilities::default())), None);
        assert_eq!(AskMethod::choose(ConsentChannel::Client, None), None);
        assert_eq!(AskMethod::choose(ConsentChannel::Browser, None), Some(AskMethod::Browser));
        assert_eq!(
            AskMethod::choose(ConsentChannel::Browser, Some(&can(json!({"form": {}})))),
            Some(AskMethod::Browser)
        );
    }
}
