//! The verifier: headers first, then the body, one hash for each secret.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use derive_where::derive_where;

use crate::clock;
use crate::error::VerifyError;
use crate::headers::{RawHeaders, WebhookHeaders};
use crate::key::Key;
use crate::key::secret::Secret;
use crate::key::signatures::Signatures;
use crate::setters::setters;
use crate::verified::{MatchedSignature, VerifiedBody};

/// How old or how far ahead a timestamp may be, by default.
const DEFAULT_TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// The longest id that is looked at.
const MAX_ID_BYTES: usize = 256;

type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Checks that requests come from someone who holds one of the secrets, and come now.
///
/// Make one at the start of the program and share it; the keys are prepared once. While a rotation lasts (24
/// hours) give it both secrets, the new one first: [`MatchedSignature::secret`] says which of them matched,
/// and once the old one does no more, it can go.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use shared_inbox_webhooks::{Secret, Signer, Verifier, VerifyError};
///
/// let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
/// let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
/// let headers = Signer::new([secret.clone()]).sign("evt_1", now, b"{}");
///
/// let verifier = Verifier::new([secret]);
/// let verified = verifier.verify(&headers, b"{}")?;
/// assert_eq!(verified.matched_signature().id(), "evt_1");
/// assert_eq!(verifier.verify(&headers, b"{ }").unwrap_err(), VerifyError::Mismatch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[derive_where(Debug)]
pub struct Verifier {
    pub(crate) keys: Vec<Key>,
    pub(crate) tolerance: Duration,
    #[derive_where(skip)]
    clock: Option<Clock>,
}

impl Verifier {
    /// Returns a verifier that takes a signature by any of these secrets. With none, it rejects everything.
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let keys = secrets.into_iter().map(|secret| Key::new(&secret)).collect();
        Self { keys, tolerance: DEFAULT_TOLERANCE, clock: None }
    }

    setters! {
        /// Sets how old or how far ahead a timestamp may be; 5 minutes unless set. A longer one gives whoever
        /// has recorded a request more time to send it again.
        tolerance(tolerance): Duration;
    }

    /// Takes the time from `clock` instead of the system's: for tests, and for WebAssembly in a browser or a
    /// Worker, which has no clock of its own. Without one every request is rejected there with
    /// [`VerifyError::NoClock`].
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Checks headers and body of one request. The body must be the bytes that came in, not JSON written
    /// anew.
    ///
    /// # Errors
    /// The first thing found wrong, headers before body.
    pub fn verify<'a>(
        &self,
        headers: impl WebhookHeaders<'a>,
        body: &'a [u8],
    ) -> Result<VerifiedBody<'a>, VerifyError> {
        self.check(headers)?.verify(self, body)
    }

    /// Checks all that the headers alone can show, so that a bad request costs no reading of its body.
    pub(crate) fn check<'a>(
        &self,
        headers: impl WebhookHeaders<'a>,
    ) -> Result<CheckedHeaders<'a>, VerifyError> {
        let parts = headers.parts()?;
        let (id, seconds) = (id(parts.id)?, seconds(parts.timestamp)?);
        self.in_time(seconds)?;
        let signatures = Signatures::parse(parts.signature)?;
        Ok(CheckedHeaders { parts, signatures, id, seconds })
    }

    /// Returns the same verifier with other secrets.
    #[cfg(any(feature = "http", feature = "actix-web"))]
    pub(crate) fn with_secrets(&self, secrets: impl IntoIterator<Item = Secret>) -> Self {
        Self { tolerance: self.tolerance, clock: self.clock.clone(), ..Self::new(secrets) }
    }

    /// Returns the time since 1970 by the verifier's clock.
    pub(crate) fn now(&self) -> Result<Duration, VerifyError> {
        let now = match &self.clock {
            Some(clock) => clock(),
            None => clock::wall().ok_or(VerifyError::NoClock)?,
        };
        Ok(now.duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    fn in_time(&self, seconds: u64) -> Result<(), VerifyError> {
        let (now, sent) = (self.now()?, Duration::from_secs(seconds));
        let (age, ahead) = (now.saturating_sub(sent), sent.saturating_sub(now));
        if age > self.tolerance {
            Err(VerifyError::TooOld { age })
        } else if ahead > self.tolerance {
            Err(VerifyError::TooNew { ahead })
        } else {
            Ok(())
        }
    }
}

/// The headers of a request, in order as far as they show. Nothing is proven before the body has been
/// verified.
pub(crate) struct CheckedHeaders<'h> {
    parts: RawHeaders<'h>,
    signatures: Signatures<'h>,
    id: &'h str,
    seconds: u64,
}

impl<'h> CheckedHeaders<'h> {
    /// Checks the body with the secrets of `verifier`.
    pub(crate) fn verify(self, verifier: &Verifier, body: &'h [u8]) -> Result<VerifiedBody<'h>, VerifyError> {
        let Self { parts, signatures, id, seconds } = self;
        let secret = matching(&verifier.keys, parts, &signatures, body).ok_or(VerifyError::Mismatch)?;
        let trace = parts.traceparent;
        Ok(VerifiedBody::new(MatchedSignature::new(id, seconds, secret), trace, body))
    }
}

/// Returns the place of the first key for which one of the signatures is right.
pub(crate) fn matching(
    keys: &[Key],
    parts: RawHeaders<'_>,
    signatures: &Signatures<'_>,
    body: &[u8],
) -> Option<usize> {
    keys.iter().position(|key| signatures.contain(&key.sign(parts.id, parts.timestamp, body)))
}

/// An id is the key of the replay guard and a part of what is signed. A full stop in it would let the border
/// between id, timestamp and body be moved without breaking the signature.
fn id(bytes: &[u8]) -> Result<&str, VerifyError> {
    let allowed = bytes.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'.');
    if bytes.is_empty() || bytes.len() > MAX_ID_BYTES || !allowed {
        return Err(VerifyError::InvalidId);
    }
    std::str::from_utf8(bytes).map_err(|_| VerifyError::InvalidId)
}

/// Digits and nothing else; more of them than fit are a time too far ahead, never a wrapped one.
fn seconds(bytes: &[u8]) -> Result<u64, VerifyError> {
    if bytes.is_empty() {
        return Err(VerifyError::InvalidTimestamp);
    }
    bytes.iter().try_fold(0u64, |sum, byte| match byte {
        b'0'..=b'9' => Ok(sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'))),
        _ => Err(VerifyError::InvalidTimestamp),
    })
}
