//! The verifier: headers first, then the body, one hash for each secret.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::clock;
use crate::error::VerifyError;
use crate::headers::{RawHeaders, WebhookHeaders};
use crate::key::Key;
use crate::key::secret::Secret;
use crate::key::signatures::Signatures;
use crate::verified::{MatchedSignature, VerifiedBody};

/// How old or how far ahead a timestamp may be, by default.
const DEFAULT_TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// The longest id that is looked at.
const MAX_ID_BYTES: usize = 256;

type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Checks that requests come from someone who holds one of the secrets, and come now.
///
/// Make one at the start of the program and share it; the keys are prepared once. While a rotation lasts (24 hours)
/// give it both secrets, the new one first: [`MatchedSignature::secret`] says which of them matched, and once the old one does no
/// more, it can go.
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
pub struct Verifier {
    pub(crate) keys: Vec<Key>,
    pub(crate) tolerance: Duration,
    clock: Option<Clock>,
}

impl Verifier {
    /// Returns a verifier that takes a signature by any of these secrets. With none, it rejects everything.
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let keys = secrets.into_iter().map(|secret| Key::new(&secret)).collect();
        Self { keys, tolerance: DEFAULT_TOLERANCE, clock: None }
    }

    /// Sets how old or how far ahead a timestamp may be; 5 minutes unless set. A longer one gives whoever has
    /// recorded a request more time to send it again.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Takes the time from `clock` instead of the system's: for tests, and for WebAssembly in a browser or a Worker, which has no
    /// clock of its own. Without one every request is rejected there with [`VerifyError::NoClock`].
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Checks headers and body of one request. The body must be the bytes that came in, not JSON written anew.
    ///
    /// # Errors
    /// The first thing found wrong, headers before body.
    pub fn verify<'a>(
        &self,
        headers: impl WebhookHeaders<'a>,
        body: &'a [u8],
    ) -> Result<VerifiedBody<'a>, VerifyError> {
        self.check(headers)?.verify(body)
    }

    /// Checks all that the headers alone can show, so that a bad request costs no reading of its body.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn check<'a>(&self, headers: impl WebhookHeaders<'a>) -> Result<Checked<'_, 'a>, VerifyError> {
        let parts = headers.parts()?;
        let (id, seconds) = (id(parts.id)?, seconds(parts.timestamp)?);
        self.in_time(seconds)?;
        let signatures = Signatures::parse(parts.signature)?;
        Ok(Checked { keys: &self.keys, parts, signatures, id, seconds })
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

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("secrets", &self.keys.len())
            .field("tolerance", &self.tolerance)
            .finish_non_exhaustive()
    }
}

/// A request whose headers are in order and whose body has not been looked at: nothing is proven yet.
#[derive(Clone)]
pub struct Checked<'v, 'h> {
    keys: &'v [Key],
    parts: RawHeaders<'h>,
    signatures: Signatures<'h>,
    id: &'h str,
    seconds: u64,
}

impl<'h> Checked<'_, 'h> {
    #[cfg(any(feature = "http", feature = "actix-web"))]
    pub(crate) fn parts(&self) -> RawHeaders<'h> {
        self.parts
    }

    /// Checks the body, in one piece.
    ///
    /// # Errors
    /// [`VerifyError::Mismatch`] when no signature fits.
    pub fn verify<'a>(self, body: &'a [u8]) -> Result<VerifiedBody<'a>, VerifyError>
    where
        'h: 'a,
    {
        let secret = matching(self.keys, self.parts, &self.signatures, body).ok_or(VerifyError::Mismatch)?;
        Ok(VerifiedBody::new(MatchedSignature::new(self.id, self.seconds, secret), body))
    }

    /// Checks a body that arrives in pieces, without keeping it.
    ///
    /// ```
    /// # use std::time::{Duration, UNIX_EPOCH};
    /// # use shared_inbox_webhooks::{Secret, Verifier};
    /// # let verifier = Verifier::new([Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?])
    /// #     .clock(|| UNIX_EPOCH + Duration::from_secs(1614265330));
    /// # let headers = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    /// let mut stream = verifier.check(headers)?.stream();
    /// for piece in [&br#"{"test": "#[..], b"2432232314}"] {
    ///     stream.update(piece);
    /// }
    /// let matched = stream.finish()?;
    /// assert_eq!(matched.timestamp(), 1614265330);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(self) -> Stream<'h> {
        let hashing = self.keys.iter().map(|key| key.start(self.parts.id, self.parts.timestamp)).collect();
        Stream { hashing, signatures: self.signatures, id: self.id, seconds: self.seconds }
    }
}

impl fmt::Debug for Checked<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked")
            .field("id", &self.id)
            .field("timestamp", &self.seconds)
            .finish_non_exhaustive()
    }
}

/// A verification under way, fed piece by piece. Nothing that came in may be acted on before [`finish`](Self::finish).
#[must_use = "nothing is verified until `finish` has been called"]
pub struct Stream<'h> {
    hashing: Vec<Hmac<Sha256>>,
    signatures: Signatures<'h>,
    id: &'h str,
    seconds: u64,
}

impl<'h> Stream<'h> {
    /// Takes the next piece of the body.
    pub fn update(&mut self, piece: &[u8]) {
        for hashing in &mut self.hashing {
            hashing.update(piece);
        }
    }

    /// Ends the body and compares.
    ///
    /// # Errors
    /// [`VerifyError::Mismatch`] when no signature fits.
    pub fn finish(self) -> Result<MatchedSignature<'h>, VerifyError> {
        let Self { hashing, signatures, id, seconds } = self;
        let is_right = |hashing: Hmac<Sha256>| signatures.contain(&hashing.finalize());
        let matched = hashing.into_iter().position(is_right);
        matched.map(|index| MatchedSignature::new(id, seconds, index)).ok_or(VerifyError::Mismatch)
    }
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("id", &self.id)
            .field("timestamp", &self.seconds)
            .finish_non_exhaustive()
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

/// An id is the key of the replay guard and a part of what is signed. A full stop in it would let the border between
/// id, timestamp and body be moved without breaking the signature.
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
