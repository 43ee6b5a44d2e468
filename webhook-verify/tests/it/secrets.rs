//! What is a secret, and that it stays one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use shared_inbox_webhooks::{RawHeaders, Secret, SecretError, Signer, Verifier};

use crate::fixture::{BODY, ID, NOW, at, current};

fn base64(bytes: usize) -> String {
    format!("whsec_{}", STANDARD.encode(vec![0x5a; bytes]))
}

#[test]
fn a_secret_has_24_to_64_bytes() {
    for bytes in [24, 25, 32, 63, 64] {
        let text = base64(bytes);
        assert_eq!(*Secret::parse(&text).unwrap().reveal(), text);
        assert!(Secret::from_bytes(&vec![1; bytes]).is_ok());
    }
    for bytes in [1, 16, 23] {
        assert_eq!(Secret::parse(&base64(bytes)), Err(SecretError::TooShort { bytes }));
        assert_eq!(Secret::from_bytes(&vec![1; bytes]), Err(SecretError::TooShort { bytes }));
    }
    for bytes in [65, 66, 67, 1000] {
        assert_eq!(Secret::from_bytes(&vec![1; bytes]), Err(SecretError::TooLong));
    }
    let encoded = |characters: usize| format!("whsec_{}", "A".repeat(characters));
    assert_eq!(Secret::parse(&encoded(88)), Err(SecretError::TooLong));
    assert_eq!(Secret::parse(&encoded(92)), Err(SecretError::TooLong));
    assert_eq!(Secret::parse(&encoded(1 << 20)), Err(SecretError::TooLong));
}

#[test]
fn a_short_secret_needs_a_constructor_that_says_so() {
    let text = base64(4);
    assert!(Secret::parse(&text).is_err());
    let short = Secret::parse_allowing_short(&text).unwrap();
    assert_eq!(*short.reveal(), text);
    let headers = Signer::new([short.clone()]).sign(ID, NOW, BODY.as_bytes());
    assert!(at(Verifier::new([short]), NOW).verify(&headers, BODY.as_bytes()).is_ok());
}

#[test]
fn an_empty_secret_is_never_taken() {
    for text in ["", "whsec_"] {
        assert_eq!(Secret::parse(text), Err(SecretError::Empty));
        assert_eq!(Secret::parse_allowing_short(text), Err(SecretError::Empty));
    }
    assert_eq!(Secret::from_bytes(&[]), Err(SecretError::Empty));
}

#[test]
fn what_is_wrong_with_a_secret_is_said() {
    let good = current().reveal().to_string();
    let bare = good.strip_prefix("whsec_").unwrap();
    let cases = [
        (format!("{good}\n"), "secret_whitespace"),
        (format!("\u{a0}{good}"), "secret_whitespace"),
        (good.replace("MfKQ", "MfKQ "), "secret_whitespace"),
        (format!("\"{good}\""), "secret_quoted"),
        (format!("\"{good}"), "secret_quoted"),
        (format!("v1,{good}"), "secret_version_prefix"),
        (bare.to_owned(), "secret_prefix"),
        (format!("WHSEC_{bare}"), "secret_prefix"),
        (format!("rk_live_{bare}"), "secret_prefix"),
        (format!("v1,{bare}"), "secret_prefix"),
        (format!("whsec_{good}"), "secret_base64"),
        (good.replace("MfKQ", "Mf-_"), "secret_base64"),
        (good.replace("MfKQ", "Mf*Q"), "secret_base64"),
        (format!("whsec_{}", &bare[1..]), "secret_base64"),
        (format!("{good}="), "secret_base64"),
        (format!("{good}AA"), "secret_base64"),
        // 25 bytes with bits left over in the last character.
        (format!("{good}AB=="), "secret_base64"),
        (format!("whsec_{}", &bare[..28]), "secret_too_short"),
        (format!("{good}{bare}{bare}"), "secret_too_long"),
    ];
    for (text, code) in cases {
        assert_eq!(Secret::parse(&text).unwrap_err().code(), code, "{text:?}");
    }
}

#[test]
fn nothing_prints_a_secret() {
    let secret = current();
    let text = secret.reveal();
    let encoded = text.strip_prefix("whsec_").unwrap();
    let shown =
        format!("{secret:?} {:#?} {:?} {:?}", secret, Signer::new([current()]), Verifier::new([current()]));
    assert!(!shown.contains(encoded), "{shown}");
    assert!(!shown.contains("49"), "the first byte of the key in decimal: {shown}");
    // What a signature is worth for five minutes stays out of logs too, and a header cannot write lines into
    // them.
    let headers = Signer::new([current()]).sign(ID, NOW, b"");
    let verifier = at(Verifier::new([current()]), NOW);
    let parts = RawHeaders::new(b"evt_1\nrejected: 0", b"1", headers.signature.as_bytes());
    let shown = format!("{parts:?} {:?}", verifier.verify(&headers, b"").unwrap());
    assert_eq!(format!("{:?}", Signer::new([current()])), "Signer { keys: [Key] }");
    assert_eq!(format!("{verifier:?}"), "Verifier { keys: [Key], tolerance: 300s, .. }");
    assert!(shown.contains(r"evt_1\nrejected") && shown.matches(ID).count() == 1, "{shown}");
    assert!(!shown.contains(&headers.signature[3..]), "{shown}");
    for broken in [format!("{} ", *text), format!("v1,{}", *text), encoded.to_owned(), format!("{}*", *text)]
    {
        let error = Secret::parse(&broken).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(&encoded[..6]), "{shown}");
    }
}

#[test]
fn secrets_wipe_themselves() {
    fn wiped<T: zeroize::ZeroizeOnDrop>(_: &T) {}
    wiped(&current());
    wiped(&current().reveal());
}

#[test]
fn equal_secrets_are_equal_and_others_are_not() {
    assert_eq!(current(), Secret::parse(&current().reveal()).unwrap());
    assert_ne!(current(), Secret::from_bytes(&[0; 24]).unwrap());
    assert_ne!(current(), Secret::from_bytes(&[0; 25]).unwrap());
}
