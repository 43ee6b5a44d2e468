//! The kind of a failure, and whether it can pass.

use std::borrow::Cow;

use http::StatusCode;

use super::{Cause, Certainty, Error};
use crate::client::policy::LimitError;

/// The kind of a failure.
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
    /// The key made too many requests, by the service's count (429).
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
    /// The connection broke before the response was complete.
    Dropped,
    /// The response is not what the service sends: not JSON, another shape, too large, or a redirect.
    Unreadable,
    /// A message that was waited for could not be delivered, or is gone.
    Undelivered,
}

macro_rules! predicates {
    ($($(#[$doc:meta])* $name:ident = $kind:ident;)*) => {
        impl Error {$(
            $(#[$doc])*
            #[must_use]
            pub fn $name(&self) -> bool {
                self.kind() == ErrorKind::$kind
            }
        )*}
    };
}

predicates! {
    /// Returns whether the client could not be built: a bad key, base URL or environment variable.
    is_config = Config;
    /// Returns whether the input breaks a rule, found before sending or by the service (400).
    is_invalid_input = InvalidInput;
    /// Returns whether the key is wrong or revoked (401).
    is_unauthorized = Unauthorized;
    /// Returns whether the key lacks a scope, found before sending or by the service (403).
    is_forbidden = Forbidden;
    /// Returns whether there is no such conversation, or the key cannot see it (404).
    is_not_found = NotFound;
    /// Returns whether the key made too many requests, by the service's count (429).
    is_rate_limited = RateLimited;
    /// Returns whether the client's own limiter would have had to wait longer than the call allows. Nothing was sent;
    /// [`retry_after`](Self::retry_after) names the wait. Not a 429.
    is_rate_limited_locally = Busy;
    /// Returns whether the service failed (5xx).
    is_server_error = Server;
    /// Returns whether no connection could be made; nothing was sent.
    is_connect = Connect;
    /// Returns whether time ran out: an attempt's, the call's, or that of a wait.
    is_timeout = Timeout;
    /// Returns whether the connection broke before the response was complete.
    is_dropped = Dropped;
    /// Returns whether the response was malformed: not JSON, another shape, too large, or a redirect.
    is_unreadable = Unreadable;
    /// Returns whether a message that was waited for could not be delivered, or is gone.
    is_undelivered = Undelivered;
}

impl Error {
    /// Returns the kind of this failure.
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

    /// Returns whether the same call can be made again and may succeed then: the failure can pass, and nothing can happen
    /// twice. Never for a create of unknown outcome; see [`unconfirmed`](Self::unconfirmed).
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.can_pass() && (self.0.certainty != Certainty::Unknown || self.0.is_repeatable)
    }

    /// Returns whether the cause of the failure may be gone later.
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

    /// Returns the kind of a failure for logs, without anything that the service wrote.
    pub(crate) fn error_type(&self) -> Cow<'static, str> {
        match &self.0.cause {
            Cause::Status(response) | Cause::Redirected(response) => {
                response.status.as_u16().to_string().into()
            }
            Cause::Connect(_) => "connect".into(),
            Cause::Timeout(_) => "timeout".into(),
            Cause::Dropped(_) => "connection_dropped".into(),
            Cause::Limit(_) | Cause::Deadline => "not_sent".into(),
            _ => "unreadable".into(),
        }
    }
}
