//! The public signing vectors of the Standard Webhooks scheme.

use shared_inbox_webhooks::{Secret, Signer, Verifier};

use crate::fixture::at;

struct Vector {
    secret: &'static str,
    id: &'static str,
    timestamp: u64,
    body: &'static str,
    signature: &'static str,
}

static VECTORS: [Vector; 2] = [
    Vector {
        secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp: 1614265330,
        body: r#"{"test": 2432232314}"#,
        signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    Vector {
        secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        id: "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
        timestamp: 1649367553,
        body: r#"{"email":"test@example.com","username":"test_user"}"#,
        signature: "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
    },
];

#[test]
fn the_public_vectors_are_signed_as_published() {
    for vector in &VECTORS {
        let signer = Signer::new([Secret::parse(vector.secret).unwrap()]);
        let headers = signer.sign(vector.id, vector.timestamp, vector.body.as_bytes());
        assert_eq!(headers.signature, vector.signature);
    }
}

#[test]
fn the_public_vectors_verify() {
    for vector in &VECTORS {
        let verifier = Verifier::new([Secret::parse(vector.secret).unwrap()]);
        let verifier = at(verifier, vector.timestamp);
        let timestamp = vector.timestamp.to_string();
        let headers = (vector.id, timestamp.as_str(), vector.signature);
        let verified = verifier.verify(headers, vector.body.as_bytes()).unwrap();
        assert_eq!(verified.matched_signature().id(), vector.id);
        assert_eq!(verified.matched_signature().timestamp(), vector.timestamp);
        assert_eq!(verified.body(), vector.body.as_bytes());
    }
}
