//! The kind of a failure, and whether it can pass.

use std::borrow::Cow;

use http::StatusCode;

use super::{Cause, Certainty, Error};
use crate::client::policy::LimitError;

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The client could not be built (a bad key, base URL or environment variable), or a header or path of
    /// the call is malformed.
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
    /// The client's own limiter would have had to wait longer than the call allows. Nothing was sent;
    /// [`retry_after`](Error::retry_after) names the wait. Not a 429.
    RateLimitedLocally,
    /// The limiter could not be reached.
    LimiterUnavailable,
    /// The service refused with another status in the 400s.
    Refused,
    /// The service failed (5xx).
    Server,
    /// No connection could be made; nothing was sent.
    Connect,
    /// Time ran out: an attempt's, the call's, or that of a wait.
    Timeout,
    /// The connection broke before the response was complete.
    Dropped,
    /// The response is not what the service sends: not JSON, another shape, too large, or a redirect.
    Unreadable,
    /// A message that was waited for could not be delivered, or is gone.
    Undelivered,
    /// The key of [`once`](crate::create::CreateRequest::once) stands for another create.
    OnceKeyTaken,
    /// Another call with the same key of [`once`](crate::create::CreateRequest::once) is under way.
    OnceInProgress,
    /// An earlier call with the same key of [`once`](crate::create::CreateRequest::once) may have created it,
    /// and a person has to look.
    OnceUnclear,
    /// The store of [`once`](crate::create::CreateRequest::once) keys failed.
    OnceStore,
}

macro_rules! predicates {
    ($($name:ident = $kind:ident;)*) => {
        impl Error {$(
            #[doc = concat!("Returns whether the kind is [`ErrorKind::", stringify!($kind), "`].")]
            #[must_use]
            pub fn $name(&self) -> bool {
                self.kind() == ErrorKind::$kind
            }
        )*}
    };
}

predicates! {
    is_config = Config;
    is_invalid_input = InvalidInput;
    is_unauthorized = Unauthorized;
    is_forbidden = Forbidden;
    is_not_found = NotFound;
    is_rate_limited = RateLimited;
    is_rate_limited_locally = RateLimitedLocally;
    is_server_error = Server;
    is_connect = Connect;
    is_timeout = Timeout;
    is_dropped = Dropped;
    is_unreadable = Unreadable;
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
            Cause::Limit(LimitError::Busy { .. }) => ErrorKind::RateLimitedLocally,
            Cause::Limit(_) => ErrorKind::LimiterUnavailable,
            Cause::Deadline | Cause::Timeout(..) | Cause::GaveUpWaiting => ErrorKind::Timeout,
            Cause::Connect(..) => ErrorKind::Connect,
            Cause::Dropped(..) => ErrorKind::Dropped,
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
            Cause::OnceKeyTaken { .. } => ErrorKind::OnceKeyTaken,
            Cause::OnceInProgress(_) | Cause::LeaseLost => ErrorKind::OnceInProgress,
            Cause::OnceUnclear(_) => ErrorKind::OnceUnclear,
            Cause::OnceStore(_) => ErrorKind::OnceStore,
        }
    }

    /// Returns whether the same call can be made again and may succeed then: the failure can pass, and
    /// nothing can happen twice. Never for a create of unknown outcome; see
    /// [`unconfirmed`](Self::unconfirmed).
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.can_pass() && (self.0.certainty != Certainty::Unknown || self.0.is_repeatable)
    }

    /// Returns whether the cause of the failure may be gone later.
    fn can_pass(&self) -> bool {
        match &self.0.cause {
            Cause::Status(response) => response.can_pass(),
            Cause::OnceStore(error) => !error.is_damaged,
            _ => matches!(
                self.kind(),
                ErrorKind::RateLimitedLocally
                    | ErrorKind::LimiterUnavailable
                    | ErrorKind::Connect
                    | ErrorKind::Timeout
                    | ErrorKind::Dropped
                    | ErrorKind::OnceInProgress
            ),
        }
    }

    /// Returns the kind of a failure for logs, without anything that the service wrote.
    pub(crate) fn error_type(&self) -> Cow<'static, str> {
        match &self.0.cause {
            Cause::Status(response) | Cause::Redirected(response) => {
                response.status.as_u16().to_string().into()
            }
            Cause::Connect(..) => "connect".into(),
            Cause::Timeout(..) => "timeout".into(),
            Cause::Dropped(..) => "connection_dropped".into(),
            Cause::OnceStore(_) => "once_store".into(),
            Cause::Limit(_) | Cause::Deadline | Cause::LeaseLost => "not_sent".into(),
            _ => "unreadable".into(),
        }
    }
}
