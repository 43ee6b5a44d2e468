//! The error of the client: what went wrong, the service's message, and whether the call may have taken
//! effect.

mod display;
mod error_response;
mod kind;
mod redact;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::client::create_state::UnconfirmedCreate;
use crate::client::once::{Fingerprint, OnceRecord, OnceStoreError};
use crate::client::policy::LimitError;
use crate::{MessageStatus, Problems, Scope};

pub(crate) use error_response::ErrorResponse;
pub use kind::ErrorKind;
use redact::redact;

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether a failed call may have taken effect, from the surest to the least sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Certainty {
    /// Nothing left this machine.
    NotSent,
    /// The service refused the call and did nothing.
    Rejected,
    /// It was a read, which changes nothing whatever became of it.
    NoEffect,
    /// The call may have taken effect: the response was lost, or the service failed on the way.
    Unknown,
}

/// A call that failed.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) {
/// use shared_inbox::Certainty;
///
/// if let Err(error) = inbox.conversation(&id).add_note("Called back.").await {
///     if error.is_not_found() {
///         // gone, or never visible to this key
///     } else if error.certainty() == Certainty::Unknown {
///         // look before you call again: `error.unconfirmed()` knows what to look for
///     }
/// }
/// # }
/// ```
///
/// Neither `Display` nor `Debug` shows a key, an address or the text of an email: in the service's sentence,
/// they redact what was sent and what looks like an address. [`message`](Self::message),
/// [`problems`](Self::problems), [`excerpt`](Self::excerpt) and [`detail`](Self::detail) do not redact.
pub struct Error(Box<Inner>);

struct Inner {
    cause: Cause,
    certainty: Certainty,
    call: Option<String>,
    /// The call that had to come first, if that failed.
    first: Option<String>,
    attempts: u32,
    unconfirmed: Option<Box<UnconfirmedCreate>>,
    /// Whether the call can be repeated without harm.
    is_repeatable: bool,
}

/// What went wrong. A failure on the way to the service names its host and port.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error("{what}: {problem}")]
    Config { what: Cow<'static, str>, problem: String },
    #[error("{0}")]
    Input(Problems),
    #[error("the key lacks the scope `{0}`; make a key that has it, scopes cannot be added later")]
    Scope(Scope),
    #[error("{0}")]
    Limit(#[source] LimitError),
    #[error("the time for this call was up before it could be sent")]
    Deadline,
    #[error("no connection to {1} could be made; check the base URL and the network")]
    Connect(#[source] reqwest::Error, String),
    #[error("no response from {1} in time")]
    Timeout(#[source] reqwest::Error, String),
    #[error("the connection to {1} broke before the response was complete")]
    Dropped(#[source] reqwest::Error, String),
    #[error("the service responded with {}{}", .0.status.as_u16(), .0.shown_sentence())]
    Status(ErrorResponse),
    #[error("the response ({}) {}", .response.status.as_u16(), misfit(.path))]
    Unreadable { response: ErrorResponse, path: String, detail: String },
    #[error("the response ({}) is larger than {limit} bytes", .response.status.as_u16())]
    TooLarge { response: ErrorResponse, limit: usize },
    #[error("the response is a redirect ({}), which is not followed; check the base URL", .0.status.as_u16())]
    Redirected(ErrorResponse),
    #[error("the message was not delivered, its status is `{0}`")]
    Undelivered(MessageStatus),
    #[error("the message is no longer in the conversation")]
    Vanished,
    #[error("it did not happen in the time given")]
    GaveUpWaiting,
    #[error(
        "the key of `once` stands for another conversation or content: its fingerprint is {}, this call's {fingerprint}",
        .record.fingerprint()
    )]
    OnceKeyTaken { record: Box<OnceRecord>, fingerprint: Fingerprint },
    #[error("{} has been at the same create since {}", .0.owner(), .0.since())]
    OnceInProgress(Box<OnceRecord>),
    #[error(
        "an earlier call with this key may have created it, and the conversation does not tell: look at it, then settle the record \
         (`Client::once_records`)"
    )]
    OnceUnclear(Box<OnceRecord>),
    #[error("{0}")]
    OnceStore(#[source] OnceStoreError),
    /// Another owner has taken the key over. Never leaves the crate.
    #[error("another process has taken over")]
    LeaseLost,
}

fn misfit(path: &str) -> String {
    match path {
        "" | "." => "is not the JSON that was expected".to_owned(),
        // A path may hold the names of fields that someone else chose.
        path => format!("does not fit at `{}`", redact(path, &[])),
    }
}

impl Error {
    pub(crate) fn new(cause: Cause, certainty: Certainty) -> Self {
        Self(Box::new(Inner {
            cause,
            certainty,
            call: None,
            first: None,
            attempts: 0,
            unconfirmed: None,
            is_repeatable: false,
        }))
    }

    pub(crate) fn config(what: impl Into<Cow<'static, str>>, problem: impl fmt::Display) -> Self {
        let cause = Cause::Config { what: what.into(), problem: problem.to_string() };
        Self::new(cause, Certainty::NotSent)
    }

    pub(crate) fn for_call(mut self, call: &str, attempts: u32) -> Self {
        self.0.call = Some(call.to_owned());
        self.0.attempts = attempts;
        self
    }

    /// Raises the uncertainty to that of the most uncertain attempt.
    pub(crate) fn at_least(mut self, certainty: Certainty) -> Self {
        self.0.certainty = self.0.certainty.max(certainty);
        self
    }

    /// Marks the failure of a read, which has no effect in any case.
    pub(crate) fn without_effect(mut self) -> Self {
        self.0.certainty = self.0.certainty.min(Certainty::NoEffect);
        self
    }

    /// Marks the failure of something that had to come before this call, which had no effect.
    pub(crate) fn before(mut self, call: &str) -> Self {
        if self.0.certainty != Certainty::Rejected {
            self.0.certainty = Certainty::NotSent;
        }
        self.0.first = self.0.call.take();
        self.for_call(call, 0)
    }

    pub(crate) fn with_unconfirmed(mut self, unconfirmed: UnconfirmedCreate) -> Self {
        self.0.unconfirmed = Some(Box::new(unconfirmed));
        self
    }

    pub(crate) fn repeatable(mut self, is_repeatable: bool) -> Self {
        self.0.is_repeatable = is_repeatable;
        self
    }

    pub(crate) fn cause(&self) -> &Cause {
        &self.0.cause
    }

    fn error_response(&self) -> Option<&ErrorResponse> {
        match &self.0.cause {
            Cause::Status(response)
            | Cause::Unreadable { response, .. }
            | Cause::TooLarge { response, .. }
            | Cause::Redirected(response) => Some(response),
            _ => None,
        }
    }

    /// Returns whether the call may have taken effect.
    #[must_use]
    pub fn certainty(&self) -> Certainty {
        self.0.certainty
    }

    /// Returns what is needed to find out later whether a create took effect, with
    /// [`Client::find_unconfirmed`](crate::Client::find_unconfirmed). `None` when its effect is known.
    #[must_use]
    pub fn unconfirmed(&self) -> Option<&UnconfirmedCreate> {
        self.0.unconfirmed.as_deref()
    }

    /// Returns the record of a [`once`](crate::create::CreateRequest::once) key that is in the way of this
    /// call.
    #[must_use]
    pub fn once_record(&self) -> Option<&OnceRecord> {
        match &self.0.cause {
            Cause::OnceKeyTaken { record, .. }
            | Cause::OnceInProgress(record)
            | Cause::OnceUnclear(record) => Some(record),
            _ => None,
        }
    }

    /// Returns how many requests this call sent, without read-backs.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Returns the status of the response, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.error_response().map(|response| response.status)
    }

    /// Returns the headers of the response, if there was one.
    #[must_use]
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.error_response().map(|response| &response.headers)
    }

    /// Returns the service's message for people; programs use the predicates.
    ///
    /// It is not redacted, and can quote the key, an address or the text of an email: keep it out of logs
    /// that others read.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.error_response()?.sentence.as_deref()
    }

    /// Returns what is wrong with the input, field by field: found before sending, or from a 400, which may
    /// quote what was sent like the [`message`](Self::message).
    #[must_use]
    pub fn problems(&self) -> Option<&Problems> {
        match &self.0.cause {
            Cause::Input(problems) => Some(problems),
            Cause::Status(response) => response.problems.as_ref(),
            _ => None,
        }
    }

    /// Returns the scope that the key lacks: found before sending, or named by a 403.
    #[must_use]
    pub fn scope(&self) -> Option<&Scope> {
        match &self.0.cause {
            Cause::Scope(scope) => Some(scope),
            Cause::Status(response) => response.scope.as_ref(),
            _ => None,
        }
    }

    /// Returns how long to wait before the next attempt: the client's own limit is used up, or the service
    /// sent `Retry-After`. Of the client's own limit it is the time until the next slot, not counting the
    /// calls that already wait for it.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.0.cause {
            Cause::Limit(LimitError::Busy { wait, .. }) => Some(*wait),
            Cause::Status(response) => response.retry_after(),
            _ => None,
        }
    }

    /// Returns where in the response a field did not fit, such as `[3].messageCount`.
    #[must_use]
    pub fn json_path(&self) -> Option<&str> {
        match &self.0.cause {
            Cause::Unreadable { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Returns why a response could not be read. May quote it: keep it out of logs that others read.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        match &self.0.cause {
            Cause::Unreadable { detail, .. } => Some(detail),
            _ => None,
        }
    }

    /// Returns the start of a response that was not as expected. May hold the text of an email: keep it out
    /// of logs that others read.
    #[must_use]
    pub fn excerpt(&self) -> Option<&str> {
        self.error_response().map(|response| response.excerpt.as_str()).filter(|excerpt| !excerpt.is_empty())
    }
}
