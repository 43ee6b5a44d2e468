//! The options of a client, which a single call can override.

use std::fmt;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::clock::after;
use super::limiter::Priority;
use super::retry::RetryPolicy;

/// How the client recovers a create whose response was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verification {
    /// Reads the conversation back after a lost response. One new item of the right kind with the same text
    /// is the one that was created. If nothing new could be it, the request is sent once more. One request
    /// when nothing is lost.
    #[default]
    ReadAfterLoss,
    /// Reads the conversation before each create too, so that what is new afterwards is known exactly. Two
    /// requests, for programs whose text others may write at the same time.
    ReadFirst,
    /// Sends once and reads nothing. A lost response is an error of
    /// [`Certainty::Unknown`](crate::Certainty::Unknown).
    Never,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) priority: Priority,
    /// For one attempt.
    pub(crate) timeout: Duration,
    /// For the call, with waits.
    pub(crate) deadline: Duration,
    /// When the call that this one is a part of must be over.
    pub(crate) must_end: Option<Instant>,
    pub(crate) retry: RetryPolicy,
    /// How long to wait for the client's own rate limit.
    pub(crate) max_wait: Duration,
    pub(crate) verification: Verification,
    /// How long a create may take to show in the timeline.
    pub(crate) visibility_timeout: Duration,
    /// Headers beside the client's own.
    pub(crate) headers: Headers,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            priority: Priority::Interactive,
            timeout: Duration::from_secs(30),
            deadline: Duration::from_secs(120),
            must_end: None,
            retry: RetryPolicy::default(),
            max_wait: Duration::MAX,
            verification: Verification::ReadAfterLoss,
            visibility_timeout: Duration::from_secs(10),
            headers: Headers::default(),
        }
    }
}

impl Options {
    /// Returns when a call that starts now must end.
    pub(crate) fn ends(&self, now: Instant) -> Instant {
        let own = after(now, self.deadline);
        self.must_end.map_or(own, |ends| ends.min(own))
    }

    /// Fixes the end, so that all parts of one call share its time.
    pub(crate) fn started(mut self, now: Instant) -> Self {
        self.must_end = Some(self.ends(now));
        self
    }
}

/// Headers of a call, checked when they are set; a problem is an error when the call is made.
#[derive(Clone, Default)]
pub(crate) struct Headers {
    pub(crate) map: HeaderMap,
    pub(crate) problem: Option<String>,
}

impl Headers {
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        /// Headers that the client or the connection sets itself.
        const OWN: [HeaderName; 11] = [
            header::ACCEPT,
            header::AUTHORIZATION,
            header::CONNECTION,
            header::CONTENT_LENGTH,
            header::CONTENT_TYPE,
            header::HOST,
            header::TE,
            header::TRAILER,
            header::TRANSFER_ENCODING,
            header::UPGRADE,
            header::USER_AGENT,
        ];
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            (Ok(name), _) if OWN.contains(&name) => {
                self.problem = Some(format!("`{name}` is set by the client and cannot be set for a call"));
            }
            (Ok(name), Ok(value)) => {
                self.map.insert(name, value);
            }
            (Ok(name), Err(_)) => {
                self.problem = Some(format!("the value of `{name}` must be visible characters of ASCII"));
            }
            (Err(_), _) => self.problem = Some(format!("{name:?} is not the name of a header")),
        }
    }
}

/// A value may be a secret.
impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.map.keys()).finish()
    }
}
