//! The API key: checked for its form before anything is sent, wiped from memory when dropped, never printed.

use std::fmt;
use std::str::FromStr;

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use crate::client::policy::KeyFingerprint;

/// Letters and digits after the prefix.
const KEY_BODY_CHARS: usize = 48;

/// An API key: `rk_live_`, `rk_test_` or the older `rk_`, then 48 letters and digits.
///
/// ```
/// use shared_inbox::ApiKey;
///
/// let key = ApiKey::parse(format!("rk_test_{}", "a1".repeat(24)))?;
/// assert!(key.is_test());
/// assert_eq!(format!("{key:?}"), "ApiKey(rk_test_…)");
/// assert!(ApiKey::parse("rk_test_tooshort").is_err());
/// # Ok::<(), shared_inbox::InvalidApiKey>(())
/// ```
#[derive(Clone)]
pub struct ApiKey {
    secret: SecretString,
    prefix: &'static str,
}

/// The text is not an API key. Says what is wrong with it without repeating it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidApiKey {
    /// Nothing there.
    #[error("the key is empty")]
    Empty,
    /// Not the prefix of a key.
    #[error("a key starts with `rk_live_`, `rk_test_` or `rk_`")]
    Prefix,
    /// Something other than 48 letters and digits follows the prefix.
    #[error(
        "48 letters and digits must follow the prefix; check that the key was copied whole, without spaces"
    )]
    Body,
}

impl ApiKey {
    /// Checks the form of a key.
    ///
    /// # Errors
    ///
    /// [`InvalidApiKey`] when it is not of the form above.
    pub fn parse(key: impl Into<String>) -> Result<Self, InvalidApiKey> {
        let secret = SecretString::from(key.into());
        let text = secret.expose_secret();
        if text.is_empty() {
            return Err(InvalidApiKey::Empty);
        }
        let prefix = ["rk_live_", "rk_test_", "rk_"]
            .into_iter()
            .find(|prefix| text.starts_with(prefix))
            .ok_or(InvalidApiKey::Prefix)?;
        let body = &text[prefix.len()..];
        if body.len() != KEY_BODY_CHARS || !body.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(InvalidApiKey::Body);
        }
        Ok(Self { secret, prefix })
    }

    /// Returns whether this key works on the sandbox. Keys of the older form are live keys.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.prefix == "rk_test_"
    }

    /// Returns a hash that distinguishes keys where they must not be known, such as in a shared store.
    #[must_use]
    pub fn fingerprint(&self) -> KeyFingerprint {
        KeyFingerprint::from_key(self.secret.expose_secret())
    }

    /// Returns the `Authorization` header, marked so that nothing prints or indexes it.
    pub(crate) fn authorization(&self) -> HeaderValue {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.secret.expose_secret()))
            .expect("letters, digits and `_` only: checked by `parse`");
        value.set_sensitive(true);
        value
    }
}

impl FromStr for ApiKey {
    type Err = InvalidApiKey;
    fn from_str(key: &str) -> Result<Self, InvalidApiKey> {
        Self::parse(key)
    }
}

macro_rules! from_text {
    ($($text:ty),*) => {$(
        impl TryFrom<$text> for ApiKey {
            type Error = InvalidApiKey;
            fn try_from(key: $text) -> Result<Self, InvalidApiKey> {
                Self::parse(key)
            }
        }
    )*};
}
from_text!(&str, String, &String);

impl From<&ApiKey> for ApiKey {
    fn from(key: &ApiKey) -> Self {
        key.clone()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({}…)", self.prefix)
    }
}
