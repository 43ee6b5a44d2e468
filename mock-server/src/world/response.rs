//! The outcome of a call: a response, or a refusal with a status and a sentence.

use std::cell::RefCell;

use serde::{Serialize, Serializer as _};
use serde_json::Serializer;
use shared_inbox::{Problem, Problems, Scope};

/// How much of the buffer that responses are written to is reused, in bytes.
const MAX_BUFFER: usize = 256 << 10;

/// The result of a call, which fails with a [`Refusal`] unless another error is named.
pub type Result<T, E = Refusal> = std::result::Result<T, E>;

/// The response of a call.
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
    /// Returns a response with this body.
    pub fn json(status: u16, body: &impl Serialize) -> Result<Self> {
        Self::write(status, |json| body.serialize(json))
    }

    /// Returns a list, whose items are made and dropped one by one.
    pub(crate) fn list(items: impl Iterator<Item: Serialize>) -> Result<Self> {
        Self::write(200, |json| json.collect_seq(items))
    }

    fn write(
        status: u16,
        write: impl FnOnce(&mut Serializer<&mut Vec<u8>>) -> serde_json::Result<()>,
    ) -> Result<Self> {
        thread_local! {
            /// Reused, so that a response is copied once and is as large as it has to be: the journal stores
            /// thousands.
            static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        BUFFER.with_borrow_mut(|buffer| {
            buffer.clear();
            write(&mut Serializer::new(&mut *buffer)).map_err(|_| Refusal::new(500, "Try again shortly."))?;
            let body = buffer.as_slice().into();
            buffer.shrink_to(MAX_BUFFER);
            Ok(Self { status, body })
        })
    }
}

/// An error returned when a call took no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong and what to do about it; the `error` of the response.
    pub message: String,
}

impl Refusal {
    /// Returns a refusal with this status and sentence.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Returns a 400 for one field.
    pub fn field(field: &str, problem: impl Into<String>) -> Self {
        Self::new(400, Problem::new(field, problem).to_string())
    }

    /// Returns a 404 for an id.
    pub(crate) fn no_such(kind: &str) -> Self {
        Self::new(404, format!("There is no such {kind}."))
    }

    /// Returns the 404 for a conversation that does not exist or is not visible.
    pub(crate) fn no_conversation() -> Self {
        Self::no_such("conversation")
    }

    /// Returns a 409: the present state does not allow it.
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
