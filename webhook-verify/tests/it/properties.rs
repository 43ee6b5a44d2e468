//! What holds for every request: nothing makes it panic, and nothing but the signed bytes verifies.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;
use shared_inbox_webhooks::{RawHeaders, Secret, Signer, Verifier};

use crate::fixture::{NOW, at, current, verifier};

fn secret() -> impl Strategy<Value = Secret> {
    vec(any::<u8>(), 24..=64).prop_map(|bytes| Secret::from_bytes(&bytes).unwrap())
}

fn id() -> impl Strategy<Value = String> {
    "[!-\\-/-~]{1,256}"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_the_signer_signs_verifies(
        secret in secret(),
        id in id(),
        body in vec(any::<u8>(), 0..2000),
        timestamp in NOW - 300..=NOW + 300,
    ) {
        let headers = Signer::new([secret.clone()]).sign(&id, timestamp, &body);
        let verifier = at(Verifier::new([current(), secret]), NOW);
        let matched = verifier.verify(&headers, &body).unwrap().matched_signature();
        prop_assert_eq!((matched.id(), matched.timestamp(), matched.secret()), (id.as_str(), timestamp, 1));
    }

    #[test]
    fn a_signature_is_the_hmac_that_others_compute(
        key in vec(any::<u8>(), 1..=64),
        id in "[!-\\-/-~]{1,700}",
        timestamp in "[0-9]{1,12}",
        body in vec(any::<u8>(), 0..1500),
    ) {
        let secret = Secret::parse_allowing_short(&format!("whsec_{}", STANDARD.encode(&key))).unwrap();
        let message = [format!("{id}.{timestamp}.").as_bytes(), &body].concat();
        let mac = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key), &message);
        let signature = Signer::new([secret]).sign_text(&id, &timestamp, &body).signature;
        prop_assert_eq!(signature, format!("v1,{}", STANDARD.encode(mac)));
    }

    #[test]
    fn a_flipped_bit_anywhere_is_rejected(
        id in id(),
        body in vec(any::<u8>(), 1..500),
        bit in 0..8u8,
        place in any::<prop::sample::Index>(),
    ) {
        let headers = Signer::new([current()]).sign(&id, NOW, &body);
        let parts = [headers.id.into_bytes(), headers.timestamp.into_bytes(), headers.signature.into_bytes(), body];
        let place = place.index(parts.iter().map(Vec::len).sum());
        let mut flipped = parts.clone();
        let mut before = 0;
        for part in &mut flipped {
            if (before..before + part.len()).contains(&place) {
                part[place - before] ^= 1 << bit;
            }
            before += part.len();
        }
        prop_assert_ne!(&flipped, &parts);
        let judge = |[id, timestamp, signature, body]: &[Vec<u8>; 4]| {
            verifier().verify(RawHeaders::new(id, timestamp, signature), body).map(|verified| verified.matched_signature().secret())
        };
        prop_assert_eq!(judge(&parts), Ok(0));
        prop_assert!(judge(&flipped).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic_or_verify(
        id in vec(any::<u8>(), 0..300),
        timestamp in prop_oneof![vec(any::<u8>(), 0..40), "[0-9]{0,40}".prop_map(String::into_bytes)],
        signature in prop_oneof![vec(any::<u8>(), 0..5000), "(v1,[A-Za-z0-9+/]{43}= ?){0,20}".prop_map(String::into_bytes)],
        body in vec(any::<u8>(), 0..300),
    ) {
        let parts = RawHeaders::new(&id, &timestamp, &signature);
        let error = verifier().verify(parts, &body).unwrap_err();
        prop_assert!([400, 401].contains(&error.status()));
        let diagnosis = verifier().diagnose(parts, &body);
        prop_assert_eq!(diagnosis.verdict(), Err(error));
        prop_assert!(!diagnosis.hints().is_empty());
        prop_assert!(!diagnosis.to_string().is_empty());
    }

    #[test]
    fn no_text_makes_a_secret_panic(text in any::<String>(), encoded in "[A-Za-z0-9+/=]{0,120}") {
        for text in [text.clone(), format!("whsec_{text}"), format!("whsec_{encoded}")] {
            if let Ok(secret) = Secret::parse(&text) {
                prop_assert_eq!(&**secret.reveal(), text.as_str());
            }
            let _ = shared_inbox_webhooks::diagnose(&text, ("a", "1", "v1,"), b"{}");
        }
    }
}
