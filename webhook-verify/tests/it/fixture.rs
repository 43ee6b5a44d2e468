//! One moment, two secrets and a good request that every test starts from.

use std::time::{Duration, UNIX_EPOCH};

use shared_inbox_webhooks::{Receiver, ReceiverBuilder, Secret, SignedHeaders, Signer, Verifier};

/// The moment at which everything here happens.
pub(crate) const NOW: u64 = 1_700_000_000;
pub(crate) const ID: &str = "evt_01h8xyzabc";
pub(crate) const BODY: &str = r#"{"id":"evt_01h8xyzabc","type":"webhook.test","version":1,"created_at":"2023-11-14T22:13:20.000Z","workspace":"wsp_1","livemode":false,"data":{"summary":"A test","endpoint_id":"whk_1"}}"#;

/// The secret after a rotation.
pub(crate) fn current() -> Secret {
    Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()
}

/// The secret before it.
pub(crate) fn previous() -> Secret {
    Secret::parse("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD").unwrap()
}

/// A secret that the verifier does not have.
pub(crate) fn foreign() -> Secret {
    Secret::from_bytes(&[7; 32]).unwrap()
}

/// Has both secrets, and its clock stands at [`NOW`].
pub(crate) fn verifier() -> Verifier {
    at(Verifier::new([current(), previous()]), NOW)
}

pub(crate) fn at(verifier: Verifier, seconds: u64) -> Verifier {
    verifier.clock(move || UNIX_EPOCH + Duration::from_secs(seconds))
}

pub(crate) fn receiver() -> Receiver {
    builder().build()
}

pub(crate) fn builder() -> ReceiverBuilder {
    Receiver::builder().verifier(verifier())
}

/// The headers of a good request with this body.
pub(crate) fn signed_by(secret: Secret, body: &[u8]) -> SignedHeaders {
    Signer::new([secret]).sign(ID, NOW, body)
}

/// The signature header by `secret` over exactly these texts.
pub(crate) fn signature(secret: Secret, id: &str, timestamp: &str, body: &[u8]) -> String {
    Signer::new([secret]).sign_text(id, timestamp, body).signature
}

/// What takes longer than this does not come.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);
