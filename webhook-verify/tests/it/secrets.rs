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
        (format!(" {good}"), "secret_whitespace"),
        (format!("\u{a0}{good}"), "secret_whitespace"),
        (format!("{good}\0"), "secret_whitespace"),
        (good.replace("MfKQ", "MfKQ "), "secret_whitespace"),
        (format!("\"{good}\""), "secret_quoted"),
        (format!("'{good}'"), "secret_quoted"),
        (format!("\"{good}"), "secret_quoted"),
        (format!("{good}'"), "secret_quoted"),
        (format!("v1,{good}"), "secret_version_prefix"),
        (bare.to_owned(), "secret_prefix"),
        (format!("WHSEC_{bare}"), "secret_prefix"),
        (format!("whsk_{bare}"), "secret_prefix"),
        (format!("rk_live_{bare}"), "secret_prefix"),
        (format!("v1,{bare}"), "secret_prefix"),
        (format!("whsec_{good}"), "secret_base64"),
        (good.replace("MfKQ", "Mf-_"), "secret_base64"),
        (good.replace("MfKQ", "Mf*Q"), "secret_base64"),
        (format!("whsec_{}", &bare[1..]), "secret_base64"),
        (format!("{good}="), "secret_base64"),
        (format!("{good}===="), "secret_base64"),
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
    // What a signature is worth for five minutes stays out of logs too, and a header cannot write lines into them.
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

/// Neither the key nor what HMAC makes of it stays on the stack of whoever used it.
#[cfg(target_os = "linux")]
#[test]
fn no_copy_of_a_key_is_left_on_the_stack() {
    use std::io::{Read, Seek, SeekFrom};

    use base64::Engine;
    use shared_inbox_webhooks::{Signer, diagnose};

    const KEY: [u8; 32] = *b"<a key that nobody else works on>".first_chunk().unwrap();
    const MASK: u8 = 0xa5;

    /// The key's bytes as they are in no memory: each one changed.
    fn masked() -> Vec<u8> {
        KEY.iter().map(|byte| byte ^ MASK).collect()
    }

    /// All of this thread's stack, what is no longer used included.
    #[inline(never)]
    fn stack() -> Vec<u8> {
        let here = 0u8;
        let here = std::ptr::from_ref(&here).addr();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let range = |line: &str| {
            let (start, end) = line.split(' ').next()?.split_once('-')?;
            Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
        };
        let (start, end) =
            maps.lines().filter_map(range).find(|(start, end)| (*start..*end).contains(&here)).unwrap();
        let mut memory = std::fs::File::open("/proc/self/mem").unwrap();
        memory.seek(SeekFrom::Start(start as u64)).unwrap();
        let mut bytes = vec![0; end - start];
        memory.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn copies(stack: &[u8], key: &[u8], change: u8) -> usize {
        let is_key = |window: &[u8]| window.iter().zip(key).all(|(byte, key)| byte ^ MASK ^ change == *key);
        stack.windows(key.len()).filter(|window| is_key(window)).count()
    }

    /// So far down the stack that what it leaves there is not written over before it is looked for.
    #[inline(never)]
    fn far_down(work: fn(&str), text: &str) {
        let room = std::hint::black_box([0_u8; 1 << 16]);
        work(text);
        std::hint::black_box(&room);
    }

    /// What is done with a key, on a stack of its own, and how many copies of it are found there afterwards.
    fn left_by(work: fn(&str)) -> [usize; 3] {
        let text = format!("whsec_{}", base64::engine::general_purpose::STANDARD.encode(KEY));
        let small = std::thread::Builder::new().stack_size(1 << 18);
        let worker = small.spawn(move || {
            far_down(work, &text);
            stack()
        });
        let (stack, key) = (worker.unwrap().join().unwrap(), masked());
        [0, 0x36, 0x5c].map(|change| copies(&stack, &key, change))
    }

    let left = left_by(|text| {
        let headers = ("evt_1", "1700000000", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        std::hint::black_box(diagnose(text, headers, b"{}"));
        std::hint::black_box(diagnose(&format!("{text}\n"), headers, b"{}"));
    });
    assert_eq!(left, [0, 0, 0], "by a diagnosis: the key, its inner and its outer block");
    let left = left_by(|text| {
        let secret = Secret::parse(text).unwrap();
        std::hint::black_box(Signer::new([secret]).sign("evt_1", 1_700_000_000, b"{}"));
    });
    assert_eq!(left, [0, 0, 0], "by a signature");
    // The search finds what is there.
    let left = left_by(|text| {
        let mut copy = [0; 32];
        base64::engine::general_purpose::STANDARD.decode_slice(&text[6..], &mut copy).unwrap();
        std::hint::black_box(&copy);
    });
    assert!(left[0] > 0);
}
