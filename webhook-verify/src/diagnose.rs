//! For the operator: why does verification fail? Looks for the mistakes that people meet: a secret that is
//! not the endpoint's, a body that was written anew on its way, and a clock that is wrong.

use std::fmt;

use crate::error::VerifyError;
use crate::headers::{RawHeaders, WebhookHeaders};
use crate::key::secret::{Secret, SecretError};
use crate::key::signatures::Signatures;
use crate::verifier::{Verifier, matching};

/// The most bytes of a body whose likely originals are tried: fifty times a large event.
const MAX_BODY_BYTES: usize = 1 << 16;

/// Says what is likely wrong with a secret's text, or with a request that it should have verified.
///
/// For a command line, a support page or a log, never for the response to the request: what it says would
/// help a forger too. [`Verifier::diagnose`] is for a verifier that exists already.
///
/// ```
/// use shared_inbox_webhooks::diagnose;
///
/// let headers = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
/// let codes = |secret| {
///     let diagnosis = diagnose(secret, headers, br#"{"test":2432232314}"#);
///     diagnosis.hints().iter().map(|hint| hint.code()).collect::<Vec<_>>()
/// };
/// assert_eq!(codes("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"), ["secret_whitespace"]);
/// assert_eq!(codes("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), ["timestamp_outside_tolerance", "body_rewritten"]);
/// ```
#[must_use]
pub fn diagnose<'a>(secret: &str, headers: impl WebhookHeaders<'a>, body: &[u8]) -> Diagnosis {
    match Secret::parse(secret) {
        Ok(secret) => Verifier::new([secret]).diagnose(headers, body),
        Err(error) => Diagnosis { verdict: Err(VerifyError::Mismatch), hints: vec![Hint::Secret(error)] },
    }
}

impl Verifier {
    /// Says what is likely wrong with a request that this verifier rejects; for logs, never for the response.
    ///
    /// For each secret it costs five hashes of the body at most, and one of a body over 64 KiB, which whoever
    /// can send requests can make happen: call it while a webhook is being set up, in a route that takes the
    /// headers and the bytes.
    #[must_use]
    pub fn diagnose<'a>(&self, headers: impl WebhookHeaders<'a>, body: &[u8]) -> Diagnosis {
        let parts = headers.parts();
        let verified = parts.and_then(|parts| self.verify(parts, body));
        let verdict = verified.map(|verified| verified.matched_signature().secret());
        let mut hints = Vec::new();
        match verdict {
            Ok(_) | Err(VerifyError::Mismatch) => {}
            Err(VerifyError::TooOld { age: off } | VerifyError::TooNew { ahead: off }) => {
                let behind = matches!(verdict, Err(VerifyError::TooNew { .. }));
                hints.push(Hint::TimestampOutsideTolerance { seconds: off.as_secs(), behind });
            }
            Err(error) => hints.push(Hint::Headers(error)),
        }
        // A wrong clock may hide that the signature is wrong too.
        if let (Err(error), Ok(parts)) = (verdict, parts)
            && error.status() == 401
        {
            hints.extend(self.signature_hint(parts, body, error));
        }
        Diagnosis { verdict, hints }
    }

    /// Returns why no signature fits, if none does. `error` is what verification said.
    fn signature_hint(&self, parts: RawHeaders<'_>, body: &[u8], error: VerifyError) -> Option<Hint> {
        if self.keys.is_empty() {
            return Some(Hint::NoSecrets);
        }
        let signatures = match Signatures::parse(parts.signature) {
            Ok(signatures) => signatures,
            Err(error) => return Some(Hint::Headers(error)),
        };
        let fits = |body: &[u8]| matching(&self.keys, parts, &signatures, body).is_some();
        // After a mismatch the body has been hashed already.
        if error != VerifyError::Mismatch && fits(body) {
            return None;
        }
        let rewritten = body.len() <= MAX_BODY_BYTES && originals(body).iter().any(|original| fits(original));
        Some(if rewritten { Hint::BodyRewritten } else { Hint::SecretOrBody })
    }
}

/// Returns what was likely signed where a parser wrote the JSON anew or something changed its last line end.
fn originals(body: &[u8]) -> [Vec<u8>; 4] {
    [respaced(body, b""), respaced(body, b" "), body.trim_ascii_end().to_vec(), [body, b"\n"].concat()]
}

/// Returns the same JSON without whitespace between its tokens but `gap` behind each colon and comma.
fn respaced(body: &[u8], gap: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let (mut in_string, mut escaped) = (false, false);
    for byte in body {
        if in_string {
            in_string = escaped || *byte != b'"';
            escaped = *byte == b'\\' && !escaped;
            out.push(*byte);
        } else if !byte.is_ascii_whitespace() {
            in_string = *byte == b'"';
            out.push(*byte);
            if matches!(byte, b':' | b',') {
                out.extend_from_slice(gap);
            }
        }
    }
    out
}

/// What was found out about one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    verdict: Result<usize, VerifyError>,
    hints: Vec<Hint>,
}

impl Diagnosis {
    /// Returns what verification said: the place of the secret that matched, or the error.
    ///
    /// # Errors
    /// The error of the verification.
    pub fn verdict(&self) -> Result<usize, VerifyError> {
        self.verdict
    }

    /// Returns what is likely wrong, the first thing to look at first. Empty when the request verifies.
    #[must_use]
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Ok(secret) => write!(f, "the request verifies with secret {secret}")?,
            Err(error) => f.write_str(error.code())?,
        }
        self.hints.iter().try_for_each(|hint| write!(f, "\n- {hint}"))
    }
}

/// One likely cause. Carries nothing of the secret or the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Hint {
    /// The secret's text is not as the app shows it.
    #[error("{0}")]
    Secret(SecretError),
    /// The verifier has no secret at all.
    #[error("the verifier has no secret: give it the one from the webhook's page")]
    NoSecrets,
    /// A header is missing, doubled or unusable.
    #[error("{0}")]
    Headers(VerifyError),
    /// The timestamp is too far from this machine's time.
    #[error(
        "the timestamp lies {seconds} s in the {}: compare this machine's clock with a time server; if it is right, the \
         request was held up or recorded and sent again",
        if *behind { "future" } else { "past" }
    )]
    #[non_exhaustive]
    TimestampOutsideTolerance {
        /// How many seconds.
        seconds: u64,
        /// Whether this machine is behind.
        behind: bool,
    },
    /// The body was written anew on the way; with the original bytes the signature fits.
    #[error(
        "the body was rewritten on its way: verify the bytes as they came in, before any parser or framework has touched them"
    )]
    BodyRewritten,
    /// The secret is another one, or the body was changed in a way that cannot be undone.
    #[error(
        "no signature fits: compare the secret with the one on this webhook's page (each endpoint has its own, test and live \
         too, and a rotation makes a new one), and make sure that nothing reads or changes the body before it is verified"
    )]
    SecretOrBody,
}

impl Hint {
    /// Returns a name for logs and alerts that stays the same across releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Secret(error) => error.code(),
            Self::NoSecrets => "no_secrets",
            Self::Headers(error) => error.code(),
            Self::TimestampOutsideTolerance { .. } => "timestamp_outside_tolerance",
            Self::BodyRewritten => "body_rewritten",
            Self::SecretOrBody => "secret_or_body",
        }
    }
}
