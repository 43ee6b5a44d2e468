//! What kind of failure it was, and whether it can pass.

use std::borrow::Cow;

use http::StatusCode;

use super::{Cause, Certainty, Error};
use crate::client::policy::LimitError;

/// The kind of a failure.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client) {
/// use shared_inbox::ErrorKind;
///
/// if let Err(error) = inbox.tags().await {
///     match error.kind() {
///         ErrorKind::Unauthorized => println!("the key was revoked"),
///         ErrorKind::Connect | ErrorKind::Timeout => println!("the network is down"),
///         kind => println!("{kind:?}: {error}"),
///     }
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The client could not be built, or a header or path of the call is malformed.
    Config,
    /// The input breaks a rule, found before sending or by the service (400).
    InvalidInput,
    /// The key is wrong or revoked (401).
    Unauthorized,
    /// The key may not do this: a missing scope, found before sending or by the service (403).
    Forbidden,
    /// No such conversation, or one that the key cannot see (404).
    NotFound,
    /// The service says that the key made too many requests (429).
    RateLimited,
    /// The client's own limiter would have had to wait longer than the call allows.
    Busy,
    /// The limiter could not be reached.
    LimiterUnavailable,
    /// The service refused with another status in the 400s.
    Refused,
    /// The service failed (5xx).
    Server,
    /// No connection could be made.
    Connect,
    /// Time ran out: an attempt's, the call's, or that of a wait.
    Timeout,
    /// The connection broke before the whole response was there.
    Dropped,
    /// The response is not what the service sends: not JSON, another shape, too large, or a redirect.
    Unreadable,
    /// A message that was waited for could not be delivered, or is gone.
    Undelivered,
}

impl Error {
    /// The kind of this failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &self.0.cause {
            Cause::Config { .. } => ErrorKind::Config,
            Cause::Input(_) => ErrorKind::InvalidInput,
            Cause::Scope(_) => ErrorKind::Forbidden,
            Cause::Limit(LimitError::Busy { .. }) => ErrorKind::Busy,
            Cause::Limit(_) => ErrorKind::LimiterUnavailable,
            Cause::Deadline | Cause::Timeout(_) | Cause::GaveUpWaiting => ErrorKind::Timeout,
            Cause::Connect(_) => ErrorKind::Connect,
            Cause::Dropped(_) => ErrorKind::Dropped,
            Cause::Status(response) => match response.status {
                StatusCode::BAD_REQUEST => ErrorKind::InvalidInput,
                StatusCode::UNAUTHORIZED => ErrorKind::Unauthorized,
                StatusCode::FORBIDDEN => ErrorKind::Forbidden,
                StatusCode::NOT_FOUND => ErrorKind::NotFound,
                StatusCode::TOO_MANY_REQUESTS => ErrorKind::RateLimited,
                status if status.is_server_error() => ErrorKind::Server,
                _ => ErrorKind::Refused,
            },
            Cause::Unreadable { .. } | Cause::TooLarge { .. } | Cause::Redirected(_) => ErrorKind::Unreadable,
            Cause::Undelivered(_) | Cause::Vanished => ErrorKind::Undelivered,
        }
    }

    /// Whether the same call can be made again and may succeed then: the failure can pass, and nothing can happen twice.
    /// A create of unknown outcome is not one to make again; see [`unconfirmed`](Self::unconfirmed).
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client) {
    /// if let Err(error) = inbox.tags().await {
    ///     let next = if error.is_retryable() { "later" } else { "never" };
    ///     println!("{error}; trying again: {next}");
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.can_pass() && (self.0.certainty != Certainty::Unknown || self.0.is_repeatable)
    }

    /// Whether the cause of the failure may be gone later.
    fn can_pass(&self) -> bool {
        match &self.0.cause {
            Cause::Status(response) => response.can_pass(),
            _ => matches!(
                self.kind(),
                ErrorKind::Busy
                    | ErrorKind::LimiterUnavailable
                    | ErrorKind::Connect
                    | ErrorKind::Timeout
                    | ErrorKind::Dropped
            ),
        }
    }

    /// The kind of a failure for logs, which must not show what the service wrote.
    pub(crate) fn error_type(&self) -> Cow<'static, str> {
        match &self.0.cause {
            Cause::Status(response) | Cause::Redirected(response) => {
                response.status.as_u16().to_string().into()
            }
            Cause::Connect(_) => "connect".into(),
            Cause::Timeout(_) => "timeout".into(),
            Cause::Dropped(_) => "connection_dropped".into(),
            Cause::Limit(_) | Cause::Deadline => "not_sent".into(),
            _ => "unreadable_answer".into(),
        }
    }
}
