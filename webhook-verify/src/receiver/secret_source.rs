//! Secrets that change while the program runs: set by hand, or read again from where they are kept.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::{Duration, SystemTime};

use derive_where::derive_where;
use zeroize::Zeroizing;

use crate::key::secret::{Secret, SecretError};
use crate::setters::setters;
use crate::verifier::Verifier;

/// The variable of the environment that holds secrets.
pub(super) const SECRET_VARIABLE: &str = "SHARED_INBOX_WEBHOOK_SECRET";
/// The least time between two looks, by default.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// The most bytes of a file that are read: hundreds of secrets.
const MAX_FILE_BYTES: u64 = 1 << 16;
/// A file that was changed no longer ago than this when it was read may change again without a new time of
/// change.
const FILE_TIME_GRANULARITY: Duration = Duration::from_secs(2);

type Ask = dyn FnMut() -> Result<Option<Vec<Secret>>, SecretSourceError> + Send;
type Hook = dyn Fn(&SecretSourceError) + Send + Sync;

/// Where a receiver gets its secrets from, again and again: a file or a closure.
///
/// A receiver asks when a request arrives, before it is verified, and no more than once in an
/// [`interval`](Self::interval); there is no thread and no timer. So it must not take long: a closure returns
/// what the program has, and does not wait for a network. While a rotation lasts, the service signs with both
/// secrets for 24 hours, so that nothing is rejected as long as the source has the new one within that time.
///
/// When the source fails, or has no secret, the receiver keeps the secrets that it has, and calls
/// [`on_error`](Self::on_error).
#[derive_where(Debug)]
pub struct SecretSource {
    #[derive_where(skip)]
    ask: Box<Ask>,
    #[derive_where(skip)]
    pub(crate) first: Vec<Secret>,
    interval: Duration,
    /// When it was last asked, by the verifier's clock.
    asked: Option<Duration>,
    #[derive_where(skip)]
    on_error: Option<Arc<Hook>>,
}

impl SecretSource {
    /// Returns a source that reads a file whenever its time of change or its length has changed: one secret,
    /// or several with commas, spaces or line ends between them. Put the current secret first.
    ///
    /// Replace the file by renaming another one over it, so that nobody reads half of it. A link that points
    /// to another file counts as a change, as with the secrets that Kubernetes mounts.
    ///
    /// # Errors
    /// When the file cannot be read now, or holds no secret.
    pub fn file(path: impl Into<PathBuf>) -> Result<Self, SecretSourceError> {
        let (path, mut seen) = (path.into(), None);
        Self::new(move || {
            // Forgotten until it has been read: after a failure it is read in any case.
            let before = seen.take();
            let unreadable = |error: io::Error| SecretSourceError::File(error.kind());
            let file = File::open(&path).map_err(unreadable)?;
            let metadata = file.metadata().map_err(unreadable)?;
            let change = Some((metadata.modified().map_err(unreadable)?, metadata.len()));
            if before == change {
                seen = change;
                return Ok(None);
            }
            let mut text = Zeroizing::new(String::new());
            file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(unreadable)?;
            let secrets = parse_secrets(&text)?;
            let now = SystemTime::now();
            let is_settled = |(changed, _): &(SystemTime, u64)| {
                now.duration_since(*changed).is_ok_and(|age| age > FILE_TIME_GRANULARITY)
            };
            seen = change.filter(is_settled);
            Ok(Some(secrets))
        })
    }

    /// Returns a source that calls `ask`, which returns all secrets, the current one first.
    ///
    /// # Errors
    /// When `ask` fails now, or returns no secret.
    pub fn from_fn<E: Into<Box<dyn Error + Send + Sync>>>(
        mut ask: impl FnMut() -> Result<Vec<Secret>, E> + Send + 'static,
    ) -> Result<Self, SecretSourceError> {
        Self::new(move || match ask() {
            Ok(secrets) if secrets.is_empty() => Err(SecretSourceError::Empty),
            Ok(secrets) => Ok(Some(secrets)),
            Err(error) => Err(SecretSourceError::Source(Arc::from(error.into()))),
        })
    }

    fn new(
        mut ask: impl FnMut() -> Result<Option<Vec<Secret>>, SecretSourceError> + Send + 'static,
    ) -> Result<Self, SecretSourceError> {
        let first = ask()?.ok_or(SecretSourceError::Empty)?;
        Ok(Self { ask: Box::new(ask), first, interval: DEFAULT_INTERVAL, asked: None, on_error: None })
    }

    setters! {
        /// Sets the least time between two looks: a second unless set. With zero, every request asks.
        interval(interval): Duration;
    }

    /// Calls `hook` whenever the source fails, to log it. The secrets stay as they are.
    #[must_use]
    pub fn on_error(mut self, hook: impl Fn(&SecretSourceError) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(hook));
        self
    }
}

/// Why there are no secrets. Carries nothing of them.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretSourceError {
    /// The file cannot be read, or is not text.
    #[error("the file with the webhook secrets cannot be read: {0}")]
    File(io::ErrorKind),
    /// The source has no secret at all.
    #[error("there is no webhook secret: one is needed, and two while a rotation lasts")]
    Empty,
    /// One of the texts is not a secret.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The environment has no secret.
    #[error(
        "`{SECRET_VARIABLE}` is not set: set it to the secret from the webhook's page, which starts with `whsec_`"
    )]
    EnvNotSet,
    /// A part of the variable in the environment is not a secret.
    #[error("`{SECRET_VARIABLE}`: {0}")]
    EnvSecret(SecretError),
    /// The closure failed.
    #[error("the source of the webhook secrets failed: {0}")]
    Source(Arc<dyn Error + Send + Sync>),
}

/// Reads secrets with commas or whitespace between them.
pub(crate) fn parse_secrets(text: &str) -> Result<Vec<Secret>, SecretSourceError> {
    let parts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
    let secrets: Vec<_> = parts.map(Secret::parse).collect::<Result<_, _>>()?;
    if secrets.is_empty() { Err(SecretSourceError::Empty) } else { Ok(secrets) }
}

/// A verifier whose secrets can be replaced while requests are verified.
#[derive(Debug)]
pub(crate) struct LiveVerifier {
    current: RwLock<Arc<Verifier>>,
    source: Option<Mutex<SecretSource>>,
}

impl LiveVerifier {
    pub(crate) fn new(verifier: Verifier, source: Option<SecretSource>) -> Self {
        Self { current: RwLock::new(Arc::new(verifier)), source: source.map(Mutex::new) }
    }

    /// Returns the verifier with the secrets of this moment.
    pub(crate) fn current(&self) -> Arc<Verifier> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces all secrets, in one step.
    pub(crate) fn set_secrets(&self, secrets: impl IntoIterator<Item = Secret>) {
        // The keys are prepared before anybody has to wait.
        let next = self.current().with_secrets(secrets);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }

    /// Asks the source, if it is time. Of several requests at once one asks, and the others go by the secrets
    /// that are there.
    pub(crate) fn refresh(&self) {
        let mut source = match self.source.as_ref().map(Mutex::try_lock) {
            Some(Ok(source)) => source,
            // A closure that has panicked once is asked again.
            Some(Err(TryLockError::Poisoned(poisoned))) => poisoned.into_inner(),
            Some(Err(TryLockError::WouldBlock)) | None => return,
        };
        let Ok(now) = self.current().now() else { return };
        // A clock that was put back must not keep the source from being asked.
        if source.asked.is_some_and(|last| now >= last && now - last < source.interval) {
            return;
        }
        source.asked = Some(now);
        match (source.ask)() {
            Ok(Some(secrets)) => self.set_secrets(secrets),
            Ok(None) => {}
            Err(error) => {
                if let Some(hook) = &source.on_error {
                    hook(&error);
                }
            }
        }
    }
}
