//! Why a receiver rejects a request.

use crate::error::VerifyError;
use crate::verified::ParseError;

/// Why a request was rejected. As a response it is a status with an empty body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// It is not a genuine webhook: 400 or 401.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The body is longer than the receiver reads: 413.
    #[error("the body is longer than {limit} bytes: raise the receiver's body limit if that is right")]
    #[non_exhaustive]
    TooLarge {
        /// The limit it went over.
        limit: usize,
    },
    /// The body did not arrive in time: 408.
    #[error("the body did not arrive in time: the sender is slow, or announced more than it sent")]
    TooSlow,
    /// The body ended or broke off before it was whole: 400.
    #[error("the body could not be read to its end: the sender hung up, or broke the protocol")]
    Unreadable,
    /// It is genuine, but not what was expected: 400.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It is genuine, but a sandbox event where only live ones are accepted, or the other way round: 403.
    #[error(
        "the event is not {}: is this the secret of the other endpoint? Sandbox events go to test endpoints, live ones to live \
         endpoints",
        if *requires_live { "a live one" } else { "one of the sandbox" }
    )]
    #[non_exhaustive]
    WrongMode {
        /// Whether the receiver accepts live events only, or those of the sandbox only.
        requires_live: bool,
    },
    /// The app has no receiver: 500.
    #[error("the app has no `Receiver`: put one of this type into its data with `.app_data(receiver)`")]
    NoReceiver,
}

impl Rejection {
    /// Returns a name for logs and alerts that stays the same across releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Verify(error) => error.code(),
            Self::TooLarge { .. } => "body_too_large",
            Self::TooSlow => "body_too_slow",
            Self::Unreadable => "body_unreadable",
            Self::Parse(error) => error.code(),
            Self::WrongMode { .. } => "wrong_mode",
            Self::NoReceiver => "no_receiver",
        }
    }

    /// Returns the HTTP status for the sender.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Verify(error) => error.status(),
            Self::TooLarge { .. } => 413,
            Self::TooSlow => 408,
            Self::Parse(error) => error.status(),
            Self::Unreadable => 400,
            Self::WrongMode { .. } => 403,
            Self::NoReceiver => 500,
        }
    }
}
