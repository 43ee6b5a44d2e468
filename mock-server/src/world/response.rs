//! What a call comes to: an answer, or a refusal with a status and a sentence.

use serde::Serialize;
use shared_inbox::{Problem, Problems, Scope};

/// The result of a call, which fails with a [`Refusal`] unless another error is named.
pub type Result<T, E = Refusal> = std::result::Result<T, E>;

/// What a call answers.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body, as JSON.
    pub body: Vec<u8>,
}

redacted_debug!(ServiceResponse { status });

impl ServiceResponse {
    /// An answer with this body.
    pub fn json(status: u16, body: &impl Serialize) -> Result<Self> {
        // Most answers fit.
        let mut bytes = Vec::with_capacity(4 << 10);
        serde_json::to_writer(&mut bytes, body).map_err(|_| Refusal::new(500, "Try again shortly."))?;
        Ok(Self { status, body: bytes })
    }
}

/// Why a call took no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong and what to do about it; the `error` of the answer.
    pub message: String,
}

impl Refusal {
    /// A refusal with this status and sentence.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// 400 for one field.
    pub fn field(field: &str, problem: impl Into<String>) -> Self {
        Self::new(400, Problem::new(field, problem).to_string())
    }

    /// 404 for an id of the control API.
    pub(crate) fn no_such(kind: &str) -> Self {
        Self::new(404, format!("There is no such {kind}."))
    }

    /// 404 for a conversation, the same whether it never was or may not be seen.
    pub(crate) fn no_conversation() -> Self {
        Self::no_such("conversation")
    }

    /// 409: the present state does not allow it.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(409, message)
    }

    pub(crate) fn scope(scope: &Scope) -> Self {
        Self::new(403, format!("This key lacks the scope `{scope}`; make a new key that has it."))
    }
}

impl From<Problems> for Refusal {
    fn from(problems: Problems) -> Self {
        Self::new(400, problems.to_string())
    }
}
