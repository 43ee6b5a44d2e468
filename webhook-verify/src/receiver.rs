//! What the extractors of all frameworks have in common: settings, refusals, and the value they give.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::diagnose::Diagnosis;
use crate::error::VerifyError;
use crate::parts::{Parts, WebhookHeaders};
use crate::verified::{ParseError, Verified};
use crate::verifier::{Checked, Verifier};

/// The most bytes of a body that are read, unless told otherwise. Events are thin: a few hundred bytes.
const BODY_LIMIT: usize = 1 << 20;

type Hook = Arc<dyn Fn(&Refused<'_>) + Send + Sync>;

/// A verifier with the settings of an extractor. Goes into the state of the app; clones share everything.
///
/// ```
/// use shared_inbox_webhooks::{Receiver, Secret, Verifier};
///
/// let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
/// let receiver = Receiver::new(Verifier::new([secret]))
///     .body_limit(64 * 1024)
///     .on_refused(|refused| match refused.diagnose() {
///         Some(diagnosis) => eprintln!("webhook refused: {diagnosis}"),
///         None => eprintln!("webhook refused: {}", refused.rejection()),
///     });
/// # let _ = receiver;
/// # Ok::<(), shared_inbox_webhooks::SecretError>(())
/// ```
#[derive(Clone)]
pub struct Receiver {
    verifier: Arc<Verifier>,
    body_limit: usize,
    on_refused: Option<Hook>,
}

impl Receiver {
    /// A receiver that reads bodies of up to 1 MiB.
    #[must_use]
    pub fn new(verifier: Verifier) -> Self {
        Self { verifier: Arc::new(verifier), body_limit: BODY_LIMIT, on_refused: None }
    }

    /// Sets the most bytes of a body that are read; a longer one is answered with 413.
    #[must_use]
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Calls `hook` for every request that is refused, to log it. The sender gets a bare status whatever it does.
    #[must_use]
    pub fn on_refused(mut self, hook: impl Fn(&Refused<'_>) + Send + Sync + 'static) -> Self {
        self.on_refused = Some(Arc::new(hook));
        self
    }

    pub(crate) fn limit(&self) -> usize {
        self.body_limit
    }

    /// Looks at the headers, before anything of the body is read.
    pub(crate) fn check<'h>(&self, headers: impl WebhookHeaders<'h>) -> Result<Checked<'_, 'h>, Rejection> {
        let parts = headers.parts();
        let checked = parts.and_then(|parts| self.verifier.check(parts));
        checked.map_err(|error| self.refuse(Rejection::Verify(error), Some(parts), None))
    }

    /// Looks at the whole body.
    pub(crate) fn finish<T: DeserializeOwned>(
        &self,
        checked: Checked<'_, '_>,
        body: &[u8],
    ) -> Result<Webhook<T>, Rejection> {
        let parts = checked.parts();
        let verified = checked.verify(body).map_err(Rejection::Verify);
        let parsed = verified.and_then(|verified| verified.parse().map_err(Rejection::Parse));
        parsed.map(Webhook).map_err(|rejection| self.refuse(rejection, Some(Ok(parts)), Some(body)))
    }

    /// For what goes wrong between the two.
    pub(crate) fn refuse(
        &self,
        rejection: Rejection,
        parts: Option<Result<Parts<'_>, VerifyError>>,
        body: Option<&[u8]>,
    ) -> Rejection {
        if let Some(hook) = &self.on_refused {
            hook(&Refused { rejection, verifier: &self.verifier, parts, body });
        }
        rejection
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("verifier", &self.verifier)
            .field("body_limit", &self.body_limit)
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
/// // As an argument, a refusal is answered for you; as a `Result`, the answer is yours.
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

/// Why an extractor refused a request. As an answer it is a status with an empty body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// It is not a genuine webhook: 400 or 401.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The body is longer than the receiver reads: 413.
    #[error("the body is longer than {limit} bytes: raise the receiver's body limit if that is right")]
    TooLarge {
        /// The limit it went over.
        limit: usize,
    },
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
    /// A name for logs and alerts that stays the same across releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Verify(error) => error.code(),
            Self::TooLarge { .. } => "body_too_large",
            Self::Unreadable => "body_unreadable",
            Self::Parse(error) => error.code(),
            Self::NoReceiver => "no_receiver",
        }
    }

    /// The HTTP status for the sender.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Verify(error) => error.status(),
            Self::TooLarge { .. } => 413,
            Self::Unreadable => 400,
            Self::Parse(error) => error.status(),
            Self::NoReceiver => 500,
        }
    }
}

/// A refused request, as [`Receiver::on_refused`] sees it.
pub struct Refused<'a> {
    rejection: Rejection,
    verifier: &'a Verifier,
    parts: Option<Result<Parts<'a>, VerifyError>>,
    body: Option<&'a [u8]>,
}

impl Refused<'_> {
    /// Why it was refused.
    #[must_use]
    pub fn rejection(&self) -> Rejection {
        self.rejection
    }

    /// What is likely wrong, for a request that did not verify. Costs up to some hundred hashes of the body, so whoever
    /// can send requests can make it work; leave it out where that matters.
    #[must_use]
    pub fn diagnose(&self) -> Option<Diagnosis> {
        match (self.rejection, self.parts) {
            (Rejection::Verify(_), Some(parts)) => Some(self.verifier.diagnose_read(parts, self.body)),
            _ => None,
        }
    }
}

impl fmt::Debug for Refused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("rejection", &self.rejection).finish_non_exhaustive()
    }
}
