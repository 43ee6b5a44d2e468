//! A person's consent to one email: valid for exactly that email, once, for a short time.
//!
//! [`AskMethod`] lists the ways to ask; where none reaches a person, the email becomes a draft.

mod closing;
mod look_alikes;
mod page;
mod page_access;
mod preview;
mod private_file;
mod question;
mod visible;

pub(crate) use closing::ClosingPage;
pub use page::knows_its_visitors;
pub(crate) use page::{Page, PageLink};
pub(crate) use preview::{EmailPreview, last_inbound, without_unseen_differences};
pub use private_file::PrivateFile;
pub(crate) use private_file::remove_leftovers;
pub(crate) use question::{
    CannotAsk, ConsentError, Ending, Entry, Event, Owner, Permission, Questions, RESULT_TTL, Terms, Waiter,
};

use std::time::Duration;

use rmcp::model::{ClientCapabilities, ElicitRequestParams, ElicitationAction, ElicitationSchema};
use serde_json::Value;

/// How long a question stays open.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// The least time in which a person reads an email and decides. Some clients answer by themselves, and
/// faster.
pub(crate) const MIN_ANSWER_TIME: Duration = Duration::from_secs(1);

/// Who agreed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The person who started the bridge, with `--send=allow`.
    Setting,
    /// No person was asked.
    Draft,
    /// A person was asked in this way and has not answered.
    Open(AskMethod),
    /// A person was asked in this way and answered.
    Asked(AskMethod, Decision),
}

impl Consent {
    /// Returns how somebody was asked, and the answer, as the audit writes them.
    pub(crate) fn names(self) -> (Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Setting => (Some("setting"), Some("yes")),
            Self::Draft => (Some("nobody"), None),
            Self::Open(method) => (Some(method.name()), None),
            Self::Asked(method, answer) => (Some(method.name()), Some(answer.name())),
        }
    }
}

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
    /// Returns the best way with this client, if there is one. `--ask=browser` takes precedence over the
    /// client's own way.
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
    /// Reads a decision. An accepted form is a yes only with the box ticked: some clients accept forms by
    /// themselves.
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

    /// Returns what a decision counts as when it took this long: one that is too quick for a person counts
    /// for nothing.
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
pub(crate) fn link(page: &PageLink) -> ElicitRequestParams {
    ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message:
            "A model wants to send an email to a customer. The page shows it, and asks whether it may go out."
                .into(),
        url: page.target.clone(),
        elicitation_id: page.name.clone(),
    }
}

/// Returns an unguessable number in hexadecimal digits.
pub(crate) fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}
