//! The settings of a receiver.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use derive_where::derive_where;
use zeroize::Zeroizing;

use super::rejection::Rejection;
use super::secret_source::{LiveVerifier, SECRET_VARIABLE, SecretSource, SecretSourceError, parse_secrets};
use super::{Receiver, Shared};
use crate::endpoint::{Endpoint, SoleEndpoint};
use crate::key::secret::Secret;
use crate::setters::setters;
use crate::verifier::Verifier;

/// The most bytes of a body that are read, by default. Events are thin: a few hundred bytes.
const DEFAULT_BODY_LIMIT: usize = 1 << 20;
/// How long a body may take, by default: the service itself waits no longer for a response.
const DEFAULT_BODY_TIMEOUT: Duration = Duration::from_secs(10);

type Hook = Arc<dyn Fn(&Rejection) + Send + Sync>;

/// What a receiver goes by, besides its secrets.
#[derive_where(Debug)]
pub(super) struct Settings {
    pub(super) endpoint: Option<Arc<str>>,
    pub(super) requires_live: Option<bool>,
    pub(super) body_limit: usize,
    pub(super) body_timeout: Duration,
    #[derive_where(skip)]
    pub(super) on_rejected: Option<Hook>,
}

/// Builds a [`Receiver`]. Without secrets, it rejects everything.
#[derive_where(Debug)]
pub struct ReceiverBuilder<E = SoleEndpoint> {
    verifier: Verifier,
    source: Option<SecretSource>,
    settings: Settings,
    #[derive_where(skip)]
    endpoint: PhantomData<fn() -> E>,
}

impl ReceiverBuilder {
    pub(super) fn new() -> Self {
        let settings = Settings {
            endpoint: None,
            requires_live: None,
            body_limit: DEFAULT_BODY_LIMIT,
            body_timeout: DEFAULT_BODY_TIMEOUT,
            on_rejected: None,
        };
        Self { verifier: Verifier::new([]), source: None, settings, endpoint: PhantomData }
    }

    /// Sets the endpoint's id, `whk_…` in the app or any name that tells your endpoints apart: it stands in
    /// every [`Delivery`](crate::replay::Delivery), span and metric. The receiver's type is that of the
    /// endpoint from here on, so that several in one app [cannot be mixed up](crate::Endpoint).
    #[must_use]
    pub fn endpoint<E: Endpoint>(self, id: impl Into<Arc<str>>) -> ReceiverBuilder<E> {
        let Self { verifier, source, mut settings, .. } = self;
        settings.endpoint = Some(id.into());
        ReceiverBuilder { verifier, source, settings, endpoint: PhantomData }
    }
}

impl<E> ReceiverBuilder<E> {
    setters! {
        /// Sets the verifier, with its secrets, its tolerance and its clock. Call it before the secrets are
        /// set in another way.
        verifier(verifier): Verifier;
    }

    /// Sets the secrets: one, or two while a rotation lasts. Put the current secret first.
    #[must_use]
    pub fn secrets(mut self, secrets: impl IntoIterator<Item = Secret>) -> Self {
        self.verifier = self.verifier.with_secrets(secrets);
        self
    }

    /// Sets the secrets to those in the environment's `SHARED_INBOX_WEBHOOK_SECRET`: one, or several with
    /// commas or spaces between them, as they are while a rotation lasts. Put the new one first.
    ///
    /// # Errors
    /// When the variable is not set or empty, or one of its parts is not a secret.
    pub fn secrets_from_env(self) -> Result<Self, SecretSourceError> {
        let text = Zeroizing::new(std::env::var(SECRET_VARIABLE).unwrap_or_default());
        match parse_secrets(&text) {
            Ok(secrets) => Ok(self.secrets(secrets)),
            Err(SecretSourceError::Secret(error)) => Err(SecretSourceError::EnvSecret(error)),
            Err(_) => Err(SecretSourceError::EnvNotSet),
        }
    }

    /// Takes the secrets from a source that is asked again while the program runs.
    #[must_use]
    pub fn source(mut self, mut source: SecretSource) -> Self {
        self = self.secrets(std::mem::take(&mut source.first));
        self.source = Some(source);
        self
    }

    /// Accepts live events only. One of the sandbox gets 403, although its signature is right: it was sent to
    /// a test endpoint whose secret does not belong here.
    #[must_use]
    pub fn require_live(mut self) -> Self {
        self.settings.requires_live = Some(true);
        self
    }

    /// Accepts events of the sandbox only. A live one gets 403.
    #[must_use]
    pub fn require_test(mut self) -> Self {
        self.settings.requires_live = Some(false);
        self
    }

    setters! {
        /// Sets the most bytes of a body that are read; a longer one gets 413.
        body_limit(settings.body_limit): usize;

        /// Sets how long a body may take to arrive; one that takes longer gets 408. Needs the feature
        /// `tokio`, which the extractors bring; a platform that hands over whole bodies needs no such limit.
        body_timeout(settings.body_timeout): Duration;
    }

    /// Calls `hook` for every request that is rejected, to log it. The sender gets a bare status whatever it
    /// does.
    #[must_use]
    pub fn on_rejected(mut self, hook: impl Fn(&Rejection) + Send + Sync + 'static) -> Self {
        self.settings.on_rejected = Some(Arc::new(hook));
        self
    }

    /// Returns the receiver.
    #[must_use]
    pub fn build(self) -> Receiver<E> {
        let Self { verifier, source, settings, .. } = self;
        let shared = Shared { verifier: LiveVerifier::new(verifier, source), settings };
        Receiver { shared: Arc::new(shared), endpoint: PhantomData }
    }
}
