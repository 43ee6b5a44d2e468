//! A body in pieces is judged as the same body in one.

use shared_inbox_webhooks::VerifyError;

use crate::fixture::{BODY, ID, NOW, foreign, previous, signature, verifier};

#[test]
fn every_way_to_cut_a_body_gives_the_same_proof() {
    let timestamp = NOW.to_string();
    let signature = signature(previous(), ID, &timestamp, BODY.as_bytes());
    let headers = (ID, timestamp.as_str(), signature.as_str());
    let verifier = verifier();
    let whole = verifier.verify(headers, BODY.as_bytes()).unwrap().matched_signature();
    assert_eq!(whole.secret(), 1);
    for size in 1..=BODY.len() {
        let mut stream = verifier.check(headers).unwrap().stream();
        BODY.as_bytes().chunks(size).for_each(|piece| stream.update(piece));
        assert_eq!(stream.finish(), Ok(whole), "pieces of {size}");
    }
}

#[test]
fn a_body_cut_short_or_made_longer_is_rejected() {
    let timestamp = NOW.to_string();
    let signature = signature(previous(), ID, &timestamp, BODY.as_bytes());
    let headers = (ID, timestamp.as_str(), signature.as_str());
    let verifier = verifier();
    for body in [&BODY.as_bytes()[..BODY.len() - 1], b"", &[BODY.as_bytes(), b"\n"].concat()] {
        let mut stream = verifier.check(headers).unwrap().stream();
        stream.update(body);
        assert_eq!(stream.finish(), Err(VerifyError::Mismatch));
    }
}

#[test]
fn a_stream_with_a_foreign_signature_is_rejected() {
    let timestamp = NOW.to_string();
    let signature = signature(foreign(), ID, &timestamp, BODY.as_bytes());
    let verifier = verifier();
    let mut stream = verifier.check((ID, timestamp.as_str(), signature.as_str())).unwrap().stream();
    stream.update(BODY.as_bytes());
    assert_eq!(stream.finish(), Err(VerifyError::Mismatch));
}
