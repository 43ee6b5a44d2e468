//! Why a request was rejected: for the operator in full, for the sender a bare status.

use std::time::Duration;

/// The three headers of a Standard Webhooks request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Header {
    /// `webhook-id`
    Id,
    /// `webhook-timestamp`
    Timestamp,
    /// `webhook-signature`
    Signature,
}

impl Header {
    /// All three, in the order in which they are looked at.
    pub const ALL: [Self; 3] = [Self::Id, Self::Timestamp, Self::Signature];

    /// Returns the header's name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => "webhook-id",
            Self::Timestamp => "webhook-timestamp",
            Self::Signature => "webhook-signature",
        }
    }

    /// Returns the header of this name, in any case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        // Nearly every framework has names in lower case, which are compared faster.
        Self::ALL.into_iter().find(|header| name == header.name() || name.eq_ignore_ascii_case(header.name()))
    }
}

/// Why a request is not a genuine webhook. Carries nothing of what the sender wrote.
///
/// [`code`](Self::code) goes to the log, [`status`](Self::status) to the sender, and nothing else: a forger learns
/// from an empty 400 or 401 only what is in the request anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// One of the three headers is not there.
    #[error("the header `{}` is missing: is this a webhook, and does a proxy drop headers on the way?", .0.name())]
    Missing(Header),
    /// One of the three headers is there more than once, with different values.
    #[error("the header `{}` comes more than once with different values: an honest sender sends it once", .0.name())]
    Conflicting(Header),
    /// The id is empty, has a character that ids do not have (a full stop among them), or is over 256 bytes.
    #[error("the header `webhook-id` is not an id: 1 to 256 visible ASCII characters without a full stop")]
    InvalidId,
    /// The timestamp is empty or has anything but digits.
    #[error("the header `webhook-timestamp` is not a number of seconds in digits")]
    InvalidTimestamp,
    /// The timestamp lies too far in the past.
    #[error(
        "the webhook was sent {} s ago, which is too old: is this machine's clock right, or is it a replay?",
        age.as_secs()
    )]
    #[non_exhaustive]
    TooOld {
        /// How long ago it was sent, by this machine's clock.
        age: Duration,
    },
    /// The timestamp lies too far in the future.
    #[error(
        "the webhook's timestamp lies {} s ahead: is this machine's clock right, and is the timestamp in seconds?",
        ahead.as_secs()
    )]
    #[non_exhaustive]
    TooNew {
        /// How far ahead of this machine's clock it is.
        ahead: Duration,
    },
    /// The signature header is over 4 KiB.
    #[error("the header `webhook-signature` is over 4 KiB, too long to be looked at")]
    SignaturesTooLong,
    /// There are more than 16 signatures.
    #[error("the header `webhook-signature` has more than 16 signatures, too many to be looked at")]
    TooManySignatures,
    /// No entry of the signature header is a `v1` signature.
    #[error(
        "the header `webhook-signature` has no `v1,` entry with 32 bytes in standard, padded base64: other versions \
         are not known here"
    )]
    NoSignature,
    /// No signature fits any of the secrets.
    #[error(
        "no signature fits any of the secrets: another endpoint's secret, a body changed on the way, or a forgery"
    )]
    Mismatch,
    /// The platform has no clock of its own, and the verifier was given none.
    #[error("there is no clock on this platform: give the verifier one with `Verifier::clock`")]
    NoClock,
}

impl VerifyError {
    /// Returns a name for logs and alerts that stays the same across releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing(Header::Id) => "id_missing",
            Self::Missing(Header::Timestamp) => "timestamp_missing",
            Self::Missing(Header::Signature) => "signature_missing",
            Self::Conflicting(Header::Id) => "id_conflicting",
            Self::Conflicting(Header::Timestamp) => "timestamp_conflicting",
            Self::Conflicting(Header::Signature) => "signature_conflicting",
            Self::InvalidId => "id_invalid",
            Self::InvalidTimestamp => "timestamp_invalid",
            Self::TooOld { .. } => "timestamp_too_old",
            Self::TooNew { .. } => "timestamp_too_new",
            Self::SignaturesTooLong => "signature_too_long",
            Self::TooManySignatures => "signature_too_many",
            Self::NoSignature => "signature_none_usable",
            Self::Mismatch => "signature_mismatch",
            Self::NoClock => "no_clock",
        }
    }

    /// Returns the HTTP status for the sender: 400 for what is not a webhook request at all, 401 for one that
    /// does not hold, 500 for a receiver without a clock.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::TooOld { .. } | Self::TooNew { .. } | Self::Mismatch => 401,
            Self::NoClock => 500,
            _ => 400,
        }
    }
}
