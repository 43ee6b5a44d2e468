//! What the extractors of all frameworks have in common: settings, rejections, and the value they give.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::error::VerifyError;
use crate::headers::{RawHeaders, WebhookHeaders};
use crate::key::secret::{Secret, SecretError};
#[cfg(feature = "tokio")]
use crate::sampled::Sampled;
use crate::verified::{ParseError, Verified, VerifiedBody};
use crate::verifier::{Checked, Verifier};

/// Where the secrets are read from.
const SECRET_VARIABLE: &str = "SHARED_INBOX_WEBHOOK_SECRET";
/// The most bytes of a body that are read, by default. Events are thin: a few hundred bytes.
const DEFAULT_BODY_LIMIT: usize = 1 << 20;
/// How long a body may take, by default: the service itself waits no longer for a response.
const DEFAULT_BODY_TIMEOUT: Duration = Duration::from_secs(10);

type Hook = Arc<dyn Fn(&Rejection) + Send + Sync>;

/// A verifier with the settings of a server: what the extractors, the tower layer and [`receive`](Self::receive) go by.
/// Clones share everything.
///
/// ```
/// use std::time::Duration;
/// use shared_inbox_webhooks::{Receiver, Secret, Verifier};
///
/// let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
/// let receiver = Receiver::new(Verifier::new([secret]))
///     .body_limit(64 * 1024)
///     .body_timeout(Duration::from_secs(5))
///     .on_rejected(|rejection| eprintln!("webhook rejected: {}", rejection.code()));
/// # let _ = receiver;
/// # Ok::<(), shared_inbox_webhooks::SecretError>(())
/// ```
#[derive(Clone)]
pub struct Receiver {
    verifier: Arc<Verifier>,
    body_limit: usize,
    body_timeout: Duration,
    on_rejected: Option<Hook>,
    #[cfg(feature = "tokio")]
    sampled: Option<Arc<Sampled>>,
}

impl Receiver {
    /// Returns a receiver that reads bodies of up to 1 MiB, for up to 10 seconds.
    #[must_use]
    pub fn new(verifier: Verifier) -> Self {
        Self {
            verifier: Arc::new(verifier),
            body_limit: DEFAULT_BODY_LIMIT,
            body_timeout: DEFAULT_BODY_TIMEOUT,
            on_rejected: None,
            #[cfg(feature = "tokio")]
            sampled: None,
        }
    }

    /// Returns a receiver with the secrets in the environment's `SHARED_INBOX_WEBHOOK_SECRET`: one, or several with commas or
    /// spaces between them, as they are while a rotation lasts. Put the new one first.
    ///
    /// # Errors
    /// When the variable is not set or empty, or one of its parts is not a secret.
    pub fn from_env() -> Result<Self, EnvError> {
        let text = Zeroizing::new(std::env::var(SECRET_VARIABLE).unwrap_or_default());
        let parts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
        let secrets: Vec<_> = parts.map(Secret::parse).collect::<Result<_, _>>().map_err(EnvError::Secret)?;
        if secrets.is_empty() {
            return Err(EnvError::NotSet);
        }
        Ok(Self::new(Verifier::new(secrets)))
    }

    /// Sets the most bytes of a body that are read; a longer one gets 413.
    #[must_use]
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets how long a body may take to arrive; one that takes longer gets 408. Needs the feature `tokio`, which
    /// the extractors bring; a platform that hands over whole bodies needs no such limit.
    #[must_use]
    pub fn body_timeout(mut self, timeout: Duration) -> Self {
        self.body_timeout = timeout;
        self
    }

    /// Calls `hook` for every request that is rejected, to log it. The sender gets a bare status whatever it does.
    #[must_use]
    pub fn on_rejected(mut self, hook: impl Fn(&Rejection) + Send + Sync + 'static) -> Self {
        self.on_rejected = Some(Arc::new(hook));
        self
    }

    /// Finds out, for one rejected request in each `every`, what is likely wrong, and calls `hook` with it: for the operator's
    /// log while a webhook is being set up. Never for the sender: what it says would help a forger too.
    ///
    /// A diagnosis hashes a body several times, which whoever can send requests can make happen. So it is made on a thread
    /// of its own, for no more than one request in `every`, and on bodies of up to 64 KiB.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn diagnose_rejected(
        mut self,
        every: Duration,
        hook: impl Fn(&crate::Diagnosis) + Send + Sync + 'static,
    ) -> Self {
        self.sampled = Some(Arc::new(Sampled::new(every, hook)));
        self
    }

    pub(crate) fn limit(&self) -> usize {
        self.body_limit
    }

    /// Waits for a body, for as long as it may take.
    pub(crate) async fn in_time<T>(
        &self,
        body: impl Future<Output = Result<T, Rejection>>,
    ) -> Result<T, Rejection> {
        let mut body = pin!(body);
        // Most bodies came with their headers and need no clock.
        if let Poll::Ready(whole) = poll_fn(|context| Poll::Ready(body.as_mut().poll(context))).await {
            return whole;
        }
        #[cfg(feature = "tokio")]
        if tokio::runtime::Handle::try_current().is_ok() {
            return tokio::time::timeout(self.body_timeout, body).await.unwrap_or(Err(Rejection::TooSlow));
        }
        body.await
    }

    /// Looks at the headers, before anything of the body is read.
    pub(crate) fn check<'h>(&self, headers: impl WebhookHeaders<'h>) -> Result<Checked<'_, 'h>, Rejection> {
        let parts = headers.parts();
        let checked = parts.and_then(|parts| self.verifier.check(parts));
        checked.map_err(|error| self.rejected(error, parts, None))
    }

    /// Looks at the whole body.
    pub(crate) fn verify<'a>(
        &self,
        checked: Checked<'_, 'a>,
        body: &'a [u8],
    ) -> Result<VerifiedBody<'a>, Rejection> {
        let parts = checked.parts();
        checked.verify(body).map_err(|error| self.rejected(error, Ok(parts), Some(body)))
    }

    /// Reads what is genuine.
    pub(crate) fn parse<T: DeserializeOwned>(
        &self,
        verified: VerifiedBody<'_>,
    ) -> Result<Verified<T>, Rejection> {
        verified.parse().map_err(|error| self.reject(Rejection::Parse(error)))
    }

    /// Reports to the operator.
    pub(crate) fn reject(&self, rejection: Rejection) -> Rejection {
        if let Some(hook) = &self.on_rejected {
            hook(&rejection);
        }
        rejection
    }

    fn rejected(
        &self,
        error: VerifyError,
        parts: Result<RawHeaders<'_>, VerifyError>,
        body: Option<&[u8]>,
    ) -> Rejection {
        #[cfg(feature = "tokio")]
        if let Some(sampled) = &self.sampled {
            sampled.take(&self.verifier, parts, body);
        }
        #[cfg(not(feature = "tokio"))]
        let _ = (parts, body);
        self.reject(Rejection::Verify(error))
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("verifier", &self.verifier)
            .field("body_limit", &self.body_limit)
            .field("body_timeout", &self.body_timeout)
            .finish_non_exhaustive()
    }
}

/// An extractor: the handler runs only for a verified request, and gets what was in it.
///
/// `Webhook<Event>` is the usual one; any type that reads the envelope's JSON will do. With `axum` the [`Receiver`] is
/// in the router's state (or can be had from it by `FromRef`), with `actix-web` in the app's data.
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use axum::{Router, routing::post};
/// use shared_inbox_webhooks::{Event, Receiver, Rejection, Webhook};
///
/// // As an argument, a rejection is handled for you; as a `Result`, you write the response.
/// async fn hook(webhook: Result<Webhook<Event>, Rejection>) -> Result<(), Rejection> {
///     let Webhook(event) = webhook.inspect_err(|rejection| eprintln!("{}", rejection.code()))?;
///     println!("{}", event.kind.event_type());
///     Ok(())
/// }
///
/// fn router(receiver: Receiver) -> Router {
///     Router::new().route("/hook", post(hook)).with_state(receiver)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook<T>(pub Verified<T>);

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
    /// The app has no receiver: 500.
    #[error("the app has no `Receiver`: put one into its data with `.app_data(receiver)`")]
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
            Self::Unreadable => 400,
            Self::Parse(error) => error.status(),
            Self::NoReceiver => 500,
        }
    }
}

/// An error returned when the environment holds no usable secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvError {
    /// The variable is not set, empty or not Unicode.
    #[error(
        "`{SECRET_VARIABLE}` is not set: set it to the secret from the webhook's page, which starts with `whsec_`"
    )]
    NotSet,
    /// A part of the variable is not a secret.
    #[error("`{SECRET_VARIABLE}`: {0}")]
    Secret(SecretError),
}
