//! The public signing vectors of the Standard Webhooks scheme.

use shared_inbox_webhooks::{Secret, Signer, Verifier};

use crate::fixture::at;

/// Secret, id, timestamp, body and signature.
const VECTORS: [(&str, &str, u64, &str, &str); 2] = [
    (
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        r#"{"test": 2432232314}"#,
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
    (
        "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
        1649367553,
        r#"{"email":"test@example.com","username":"test_user"}"#,
        "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
    ),
];

#[test]
fn the_public_vectors_are_signed_as_published() {
    for (secret, id, timestamp, body, signature) in VECTORS {
        let secret = Secret::parse(secret).unwrap();
        let headers = Signer::new([secret.clone()]).sign(id, timestamp, body.as_bytes());
        assert_eq!(headers.signature, signature);
        let verifier = at(Verifier::new([secret]), timestamp);
        let verified = verifier.verify(&headers, body.as_bytes()).unwrap();
        let matched = verified.matched_signature();
        assert_eq!((matched.id(), matched.timestamp(), verified.body()), (id, timestamp, body.as_bytes()));
    }
}
