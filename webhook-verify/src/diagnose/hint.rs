//! What a diagnosis can find, each in a sentence that says what to do.

use std::fmt;

use crate::error::VerifyError;
use crate::key::secret::SecretError;

/// What was found out about one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    pub(super) verdict: Result<usize, VerifyError>,
    pub(super) hints: Vec<Hint>,
    pub(super) bytes_hashed: u64,
}

impl Diagnosis {
    pub(super) fn new(verdict: Result<usize, VerifyError>, hints: Vec<Hint>) -> Self {
        Self { verdict, hints, bytes_hashed: 0 }
    }

    /// Removes the hint that is given when nothing better is known.
    pub(super) fn drop_fallback(&mut self) {
        self.hints.retain(|hint| !matches!(hint, Hint::SecretOrBody | Hint::BodySorted | Hint::NoSecrets));
    }

    /// Returns what verification said: the place of the secret that matched, or the error.
    ///
    /// # Errors
    /// The error of the verification.
    pub fn verdict(&self) -> Result<usize, VerifyError> {
        self.verdict
    }

    /// Returns what it took to find out. A verification hashes the body once for each secret.
    #[must_use]
    pub fn bytes_hashed(&self) -> u64 {
        self.bytes_hashed
    }

    /// Returns what is likely wrong, the first thing to look at first. Empty when the request verifies and the secret is in order.
    #[must_use]
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.verdict, self.hints.is_empty()) {
            (Ok(secret), true) => return write!(f, "the request verifies with secret {secret}"),
            (Ok(_), false) => write!(f, "the request would verify")?,
            (Err(error), _) => write!(f, "{}", error.code())?,
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
    /// The signature was made with the secret's text as the key.
    #[error(
        "the sender used the secret's text as the key instead of the bytes that its base64 stands for: decode what \
         follows `whsec_` before signing"
    )]
    SecretNotDecoded,
    /// A header is missing, doubled or unusable.
    #[error("{0}")]
    Headers(VerifyError),
    /// The timestamp is in a smaller unit than seconds.
    #[error("the timestamp is in {0}: the header takes whole seconds")]
    TimestampUnit(&'static str),
    /// The timestamp is a date, a fraction or something else that is not digits alone.
    #[error("the timestamp is not a number of seconds in digits: dates, fractions and signs are not taken")]
    TimestampNotSeconds,
    /// The timestamp is off by full hours, which is what a wrong time zone does.
    #[error(
        "this machine's clock is {hours} h {} the sender's: it looks like a time zone; clocks must be set so that UTC is \
         right",
        if *behind { "behind" } else { "ahead of" }
    )]
    ClockOffByHours {
        /// How many hours.
        hours: u64,
        /// Whether this machine is behind.
        behind: bool,
    },
    /// The timestamp is too far from this machine's time.
    #[error(
        "the timestamp lies {seconds} s in the {}: compare this machine's clock with a time server; if it is right, the \
         request was held up or recorded and sent again",
        if *behind { "future" } else { "past" }
    )]
    TimestampOutsideTolerance {
        /// How many seconds.
        seconds: u64,
        /// Whether this machine is behind.
        behind: bool,
    },
    /// The signature is right but written in another form.
    #[error("the signature is right, but {0}")]
    SignatureForm(SignatureForm),
    /// There is no body where one was signed.
    #[error("the body is empty: something read it before it came here; verify first, then parse")]
    BodyEmpty,
    /// The body was written anew on the way; with the original bytes the signature fits.
    #[error(
        "the body was rewritten on its way ({0}): verify the bytes as they came in, before any parser or framework has \
         touched them"
    )]
    BodyRewritten(&'static str),
    /// The body's fields are in alphabetical order, which those of an event are not, and no likely original fits.
    #[error(
        "the fields of the body are in alphabetical order: most likely something parsed the JSON on its way and wrote it anew, \
         but how it was written before cannot be told, so the secret may be another one all the same; verify the bytes as \
         they came in"
    )]
    BodySorted,
    /// Nothing better is known.
    #[error(
        "nothing known explains it: compare the secret with the one on this webhook's page (each endpoint has its own, \
         test and live too, and a rotation makes a new one), and make sure that nothing changes the body on its way"
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
            Self::SecretNotDecoded => "secret_not_decoded",
            Self::Headers(error) => error.code(),
            Self::TimestampUnit(_) => "timestamp_unit",
            Self::TimestampNotSeconds => "timestamp_not_seconds",
            Self::ClockOffByHours { .. } => "clock_off_by_hours",
            Self::TimestampOutsideTolerance { .. } => "timestamp_outside_tolerance",
            Self::SignatureForm(_) => "signature_form",
            Self::BodyEmpty => "body_empty",
            Self::BodyRewritten(_) => "body_rewritten",
            Self::BodySorted => "body_sorted",
            Self::SecretOrBody => "secret_or_body",
        }
    }
}

/// Forms in which a right signature is still not one of the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureForm {
    /// Without `v1,` in front.
    NoVersion,
    /// With too little or too much padding.
    Padding,
    /// With something else than single spaces between the entries, or `=` for the comma.
    List,
    /// With `-` and `_` for `+` and `/`.
    UrlSafe,
    /// In hexadecimal.
    Hex,
}

impl fmt::Display for SignatureForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoVersion => "`v1,` is missing in front of it",
            Self::Padding => "its base64 is not padded to 44 characters",
            Self::List => "the list is not `v1,…` entries with spaces between them",
            Self::UrlSafe => "it is in URL-safe base64 instead of the standard one",
            Self::Hex => "it is in hexadecimal instead of base64",
        })
    }
}
