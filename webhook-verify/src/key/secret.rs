//! The shared secret: the one value here that must never be printed, logged or left in memory.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// What every secret's text starts with.
pub(crate) const PREFIX: &str = "whsec_";

/// The signing secret of one webhook endpoint: `whsec_` and base64, as the app shows it once.
///
/// `Debug` shows its length and nothing else, comparison takes the same time for equal and unequal secrets of
/// a length, and the bytes are wiped when the value is dropped.
///
/// ```
/// use shared_inbox_webhooks::Secret;
///
/// let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
/// assert_eq!(format!("{secret:?}"), "Secret(24 bytes)");
/// # Ok::<(), shared_inbox_webhooks::SecretError>(())
/// ```
#[derive(Clone)]
pub struct Secret(Zeroizing<Box<[u8]>>);

impl ZeroizeOnDrop for Secret {}

impl Secret {
    /// The fewest bytes that [`parse`](Self::parse) and [`from_bytes`](Self::from_bytes) take: 192 bits.
    pub const MIN_BYTES: usize = 24;
    /// The most bytes that any secret may have.
    pub const MAX_BYTES: usize = 64;

    /// Reads a secret as the app shows it: `whsec_` and then 24 to 64 bytes in standard, padded base64.
    ///
    /// # Errors
    /// Says what is wrong with the text, without repeating any of it.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        Self::decode(text, Self::MIN_BYTES)
    }

    /// Like [`parse`](Self::parse), but takes secrets from one byte up.
    ///
    /// Short secrets can be guessed. This is for talking to old test fixtures, not for production.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse); an empty secret is still rejected.
    pub fn parse_allowing_short(text: &str) -> Result<Self, SecretError> {
        Self::decode(text, 1)
    }

    /// Takes 24 to 64 bytes as they are, for servers that make secrets. They must come from a strong
    /// generator.
    ///
    /// # Errors
    /// When there are too few or too many bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SecretError> {
        Self::sized(bytes, Self::MIN_BYTES)
    }

    /// Returns the secret's text, `whsec_` and base64, for the one moment it is shown to its owner. Wiped
    /// when dropped.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        let mut text = String::with_capacity(PREFIX.len() + Self::MAX_BYTES.div_ceil(3) * 4);
        text.push_str(PREFIX);
        STANDARD.encode_string(&**self.0, &mut text);
        Zeroizing::new(text)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn decode(text: &str, min: usize) -> Result<Self, SecretError> {
        if text.is_empty() {
            return Err(SecretError::Empty);
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(SecretError::Whitespace);
        }
        if text.starts_with(['"', '\'']) || text.ends_with(['"', '\'']) {
            return Err(SecretError::Quoted);
        }
        let Some(encoded) = text.strip_prefix(PREFIX) else {
            return Err(match text.strip_prefix("v1,") {
                Some(rest) if rest.starts_with(PREFIX) => SecretError::VersionPrefix,
                _ => SecretError::Prefix,
            });
        };
        // Two bytes more than the longest secret, so that one too long is told apart from one that is not
        // base64.
        let mut buffer = [0u8; Secret::MAX_BYTES + 2];
        let decoded = if encoded.len() > buffer.len() / 3 * 4 {
            Err(SecretError::TooLong)
        } else {
            match STANDARD.decode_slice(encoded, &mut buffer) {
                Ok(length) => Self::sized(&buffer[..length], min),
                Err(_) => Err(SecretError::Base64),
            }
        };
        buffer.zeroize();
        decoded
    }

    fn sized(bytes: &[u8], min: usize) -> Result<Self, SecretError> {
        match bytes.len() {
            0 => Err(SecretError::Empty),
            length if length < min => Err(SecretError::TooShort { bytes: length }),
            length if length > Self::MAX_BYTES => Err(SecretError::TooLong),
            _ => Ok(Self(Zeroizing::new(Box::from(bytes)))),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Secret {}

/// Why a text is not a secret. No variant carries any part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// Nothing, or nothing after the prefix.
    #[error(
        "the webhook secret is empty: copy it from the webhook's page; an empty secret would accept forgeries"
    )]
    Empty,
    /// A space, tab, line end or other invisible character.
    #[error(
        "the webhook secret has whitespace in it: trim it; a line end often comes along from a file or a clipboard"
    )]
    Whitespace,
    /// Quotation marks around it.
    #[error("the webhook secret has quotation marks around it: store it without them")]
    Quoted,
    /// `v1,whsec_…`: the version marker of a signature in front of a secret.
    #[error("the webhook secret starts with `v1,`: leave that out; the secret starts with `whsec_`")]
    VersionPrefix,
    /// Something else than `whsec_` in front.
    #[error("the webhook secret does not start with `whsec_`: copy the whole text from the webhook's page")]
    Prefix,
    /// Not standard base64 with padding.
    #[error("what follows `whsec_` is not standard, padded base64: copy the whole secret again")]
    Base64,
    /// Fewer than 24 bytes.
    #[error("the webhook secret has {bytes} bytes, at least 24 are needed: is the end of it missing?")]
    TooShort {
        /// How many bytes there were.
        bytes: usize,
    },
    /// More than 64 bytes.
    #[error("the webhook secret has more than 64 bytes: were two secrets pasted together?")]
    TooLong,
}

impl SecretError {
    /// Returns a name for logs and alerts that stays the same across releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "secret_empty",
            Self::Whitespace => "secret_whitespace",
            Self::Quoted => "secret_quoted",
            Self::VersionPrefix => "secret_version_prefix",
            Self::Prefix => "secret_prefix",
            Self::Base64 => "secret_base64",
            Self::TooShort { .. } => "secret_too_short",
            Self::TooLong => "secret_too_long",
        }
    }
}
