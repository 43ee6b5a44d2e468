//! Signing, for tests of receivers and for servers that send webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Header, VerifyError};
use crate::headers::{RawHeaders, Sealed, WebhookHeaders};
use crate::key::Key;
use crate::key::secret::Secret;

/// Signs requests with one secret, or with two while a rotation lasts.
///
/// ```
/// use shared_inbox_webhooks::{Secret, Signer};
///
/// let signer = Signer::new([Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?]);
/// let headers = signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, br#"{"test": 2432232314}"#);
/// assert_eq!(headers.signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
/// # Ok::<(), shared_inbox_webhooks::SecretError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Signer {
    keys: Vec<Key>,
}

impl Signer {
    /// Returns a signer for these secrets; the signatures come in the same order. Put the current secret
    /// first.
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        Self { keys: secrets.into_iter().map(|secret| Key::new(&secret)).collect() }
    }

    /// Returns the three headers for a request sent at `timestamp` (seconds since 1970) with this id and this
    /// body.
    ///
    /// The body must go out byte for byte as it is here. The id is taken as it is, so that a test can also
    /// sign what a receiver has to reject.
    #[must_use]
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> SignedHeaders {
        self.sign_text(id, &timestamp.to_string(), body)
    }

    /// Like [`sign`](Self::sign), with the timestamp as any text: for tests of what a receiver has to reject.
    #[must_use]
    pub fn sign_text(&self, id: &str, timestamp: &str, body: &[u8]) -> SignedHeaders {
        let tags = self.keys.iter().map(|key| key.sign(id.as_bytes(), timestamp.as_bytes(), body));
        let entries: Vec<_> = tags.map(|tag| format!("v1,{}", STANDARD.encode(tag.as_bytes()))).collect();
        SignedHeaders { id: id.to_owned(), timestamp: timestamp.to_owned(), signature: entries.join(" ") }
    }
}

/// The three headers of a signed request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedHeaders {
    /// `webhook-id`
    pub id: String,
    /// `webhook-timestamp`
    pub timestamp: String,
    /// `webhook-signature`
    pub signature: String,
}

impl SignedHeaders {
    /// Names and values, for whatever client sends the request.
    #[must_use]
    pub fn pairs(&self) -> [(&'static str, &str); 3] {
        [
            (Header::Id.name(), self.id.as_str()),
            (Header::Timestamp.name(), self.timestamp.as_str()),
            (Header::Signature.name(), self.signature.as_str()),
        ]
    }
}

impl Sealed for &SignedHeaders {}

impl<'a> WebhookHeaders<'a> for &'a SignedHeaders {
    fn parts(self) -> Result<RawHeaders<'a>, VerifyError> {
        (self.id.as_str(), self.timestamp.as_str(), self.signature.as_str()).parts()
    }
}
