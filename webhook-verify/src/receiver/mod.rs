//! Receivers: a verifier with the settings of a server, and what the extractors of all frameworks have in
//! common.

mod builder;
mod rejection;
mod secret_source;

use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use derive_where::derive_where;

pub use builder::ReceiverBuilder;
pub use rejection::Rejection;
pub use secret_source::{SecretSource, SecretSourceError};

use crate::endpoint::SoleEndpoint;
use crate::headers::WebhookHeaders;
use crate::key::secret::Secret;
use crate::meter;
use crate::verified::{Origin, ParseError, Verified, VerifiedBody, livemode};
use crate::verifier::{CheckedHeaders, Verifier};
use builder::Settings;
use secret_source::LiveVerifier;

/// Receives the requests of one endpoint: what the extractors, the tower layer and [`receive`](Self::receive)
/// go by. Clones share everything.
///
/// `E` is for apps with [several endpoints](crate::Endpoint).
#[derive_where(Clone, Debug)]
pub struct Receiver<E = SoleEndpoint> {
    shared: Arc<Shared>,
    #[derive_where(skip(Debug))]
    endpoint: PhantomData<fn() -> E>,
}

#[derive(Debug)]
struct Shared {
    verifier: LiveVerifier,
    settings: Settings,
}

impl Receiver {
    /// Returns a receiver with the default settings: it reads bodies of up to 1 MiB, for up to 10 seconds.
    #[must_use]
    pub fn new(verifier: Verifier) -> Self {
        Self::builder().verifier(verifier).build()
    }

    /// Returns a receiver with the secrets in the environment, as [`ReceiverBuilder::secrets_from_env`] reads
    /// them.
    ///
    /// # Errors
    /// When the variable is not set or empty, or one of its parts is not a secret.
    pub fn from_env() -> Result<Self, SecretSourceError> {
        Ok(Self::builder().secrets_from_env()?.build())
    }

    /// Returns a builder, for everything that can be set.
    #[must_use]
    pub fn builder() -> ReceiverBuilder {
        ReceiverBuilder::new()
    }
}

impl<E> Receiver<E> {
    /// Replaces all secrets, in one step, for all clones and from the next body on. Put the current secret
    /// first.
    ///
    /// While a rotation lasts give both: requests that were signed before it are still on their way. A
    /// [`SecretSource`] replaces these when it is next asked: a file if it has changed, a closure always.
    pub fn set_secrets(&self, secrets: impl IntoIterator<Item = Secret>) {
        self.shared.verifier.set_secrets(secrets);
    }

    /// Returns the id of the endpoint, where it was set.
    #[must_use]
    pub fn endpoint_id(&self) -> Option<&str> {
        self.shared.settings.endpoint.as_deref()
    }

    pub(crate) fn limit(&self) -> usize {
        self.shared.settings.body_limit
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
            let limit = self.shared.settings.body_timeout;
            return tokio::time::timeout(limit, body).await.unwrap_or(Err(Rejection::TooSlow));
        }
        body.await
    }

    /// Looks at the headers, before anything of the body is read.
    pub(crate) fn check<'h>(
        &self,
        headers: impl WebhookHeaders<'h>,
    ) -> Result<CheckedHeaders<'h>, Rejection> {
        meter::received(self.endpoint_id());
        self.shared.verifier.refresh();
        self.shared.verifier.current().check(headers).map_err(|error| self.reject(error))
    }

    /// Verifies the whole body, with the secrets of this moment, and reads it.
    pub(crate) fn verify<'a, T>(
        &self,
        checked: CheckedHeaders<'a>,
        body: &'a Bytes,
        read: impl FnOnce(VerifiedBody<'a>, Origin) -> Result<Verified<T, E>, ParseError>,
    ) -> Result<Verified<T, E>, Rejection> {
        let verified = checked.verify(&self.shared.verifier.current(), body);
        let verified = verified.map_err(|error| self.reject(error))?;
        meter::verified(self.endpoint_id());
        self.require_mode(body).map_err(|rejection| self.reject(rejection))?;
        let (endpoint, trace) = (self.shared.settings.endpoint.clone(), verified.trace_context());
        let origin = Origin { endpoint, trace, body: Some(body.clone()) };
        read(verified, origin).map_err(|error| self.reject(error))
    }

    fn require_mode(&self, body: &[u8]) -> Result<(), Rejection> {
        let Some(requires_live) = self.shared.settings.requires_live else { return Ok(()) };
        match livemode(body)? {
            Some(is_live) if is_live == requires_live => Ok(()),
            // One that does not say so is not known to be the right one.
            _ => Err(Rejection::WrongMode { requires_live }),
        }
    }

    /// Reports to the operator.
    pub(crate) fn reject(&self, rejection: impl Into<Rejection>) -> Rejection {
        let rejection = rejection.into();
        meter::rejected(self.endpoint_id(), rejection.code());
        if let Some(hook) = &self.shared.settings.on_rejected {
            hook(&rejection);
        }
        rejection
    }
}

/// An extractor: the handler runs only for a verified request, and gets what was in it.
///
/// `Webhook<Event>` is the usual one; any type that reads the envelope's JSON will do. With `axum` the
/// [`Receiver`] is in the router's state (or can be had from it by `FromRef`), with `actix-web` in the app's
/// data. As an argument, a rejection is handled for you; with a `Result<Webhook<Event>, Rejection>` you write
/// the response.
///
/// `Webhook<Event, E>` is for the receiver of one of [several endpoints](crate::Endpoint).
#[derive_where(Clone, Debug; T)]
pub struct Webhook<T, E = SoleEndpoint>(pub Verified<T, E>);
