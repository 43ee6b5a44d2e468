//! What became of a call: as types, so that no sentence has to be read to know it.

use std::time::Duration;

use serde_json::Value;

/// Why a call has no result: a sentence for the model and the person behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) kind: FailureKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The service refused the key: the same call may work with another.
    KeyRefused,
    /// There is no such thing, or this key cannot see it.
    NotFound,
    /// The call is not one that can be made here.
    Invalid,
    /// It may have taken effect.
    Unknown,
    Other,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { message: message.into(), kind }
    }

    pub(crate) fn is_key_refused(&self) -> bool {
        self.kind == FailureKind::KeyRefused
    }
}

/// What became of a note, a draft or an email.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// It was made.
    Made(Made),
    /// It was refused, and nothing happened.
    Refused(Failure),
    /// It may have been made.
    Unknown(Doubt),
}

/// Why it is not known whether something was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Doubt {
    /// The response to this call was lost.
    Lost,
    /// It is not clear what became of the same call, this long ago.
    Before(Duration),
    /// This call made nothing, and whether another call or bridge did cannot be seen.
    AnotherCaller,
    /// The same, because the state folder cannot be used.
    StateFolder,
}

/// A note, a draft or an email that was made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Made {
    /// The response of the service, or as much of it as the timeline shows.
    pub(crate) response: Value,
    /// Whether the response was lost, and the item found in the conversation.
    pub(crate) recovered: bool,
    /// How long ago the same call made it, if it was not made now.
    pub(crate) age: Option<Duration>,
}

/// What becomes of an email that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate<'a> {
    /// It waits for a person's approval.
    Draft,
    /// It goes out, at this time if that is known, unless someone stops it.
    GoesOut(Option<&'a str>),
    /// It has gone.
    HasGone,
    /// It was made, and could not be delivered.
    Undelivered,
    /// The service has a new word for it.
    Other(&'a str),
}

impl Made {
    pub(crate) fn new(response: Value, recovered: bool) -> Self {
        Self { response, recovered, age: None }
    }

    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        self.response.get(field).and_then(Value::as_str)
    }

    /// Returns what becomes of it; `None` for a note.
    pub(crate) fn fate(&self) -> Option<Fate<'_>> {
        Some(match self.text("status")? {
            "draft" => Fate::Draft,
            "scheduled" => Fate::GoesOut(self.text("sendsAt")),
            "sending" | "sent" => Fate::HasGone,
            "failed" => Fate::Undelivered,
            other => Fate::Other(other),
        })
    }
}
