//! Any request: nothing panics, nothing verifies but what the signer would have written, and whatever has an
//! id is an event.
//!
//! The input is the three header values and the body, each on a line of its own but the last, which is the
//! rest. The clock stands still and the secrets are known, so the seeds hold requests that verify.
//!
//!     cargo +nightly fuzz run webhook        # for as long as you like
//!     scripts/fuzz                               # for a minute, with any compiler

#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use shared_inbox_webhooks::{Event, EventKind, RawHeaders, Secret, Signer, Verifier, diagnose};

const NOW: u64 = 1_700_000_000;
const SECRETS: [&str; 2] =
    ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"];

fuzz_target!(|input: &[u8]| {
    let mut lines = input.splitn(4, |byte| *byte == b'\n');
    let mut next = || lines.next().unwrap_or_default();
    let (id, timestamp, signature, body) = (next(), next(), next(), next());
    let parts = RawHeaders::new(id, timestamp, signature);
    let secrets = SECRETS.map(|text| Secret::parse(text).unwrap());
    let verifier = Verifier::new(secrets.clone()).clock(|| UNIX_EPOCH + Duration::from_secs(NOW));

    let verdict = verifier.verify(parts, body);

    match verdict {
        Ok(verified) => {
            let matched = verified.matched_signature();
            assert!(matched.timestamp().abs_diff(NOW) <= 300);
            let written = std::str::from_utf8(timestamp).unwrap();
            let genuine = Signer::new([secrets[matched.secret()].clone()]).sign_text(matched.id(), written, body);
            let header = String::from_utf8_lossy(signature);
            assert!(header.split(' ').any(|entry| entry == genuine.signature));
            if let Ok(event) = verified.parse::<Event>() {
                assert_eq!(event.id.as_str(), matched.id());
            }
            events(matched.id(), body);
        }
        Err(error) => {
            assert!(matches!(error.status(), 400 | 401));
            let diagnosis = verifier.diagnose(parts, body);
            assert_eq!(diagnosis.verdict(), Err(error));
            assert!(!diagnosis.hints().is_empty());
        }
    }

    // The body as an event that somebody signed, whoever it came from.
    if let Ok(id) = std::str::from_utf8(id) {
        events(id, body);
    }

    // The same bytes as a secret's text.
    if let Ok(text) = std::str::from_utf8(signature) {
        if let Ok(secret) = Secret::parse(text) {
            assert_eq!(*secret.reveal(), text);
        }
        let _ = diagnose(text, parts, body).to_string();
    }
});

const FIELDS: [&str; 7] = ["id", "type", "version", "created_at", "workspace", "livemode", "data"];

/// Whatever is an object with this id is an event, which says what did not fit and is written again as it
/// came.
fn events(id: &str, body: &[u8]) {
    let headers = Signer::new(SECRETS.map(|text| Secret::parse(text).unwrap())).sign(id, NOW, body);
    let verifier = Verifier::new(SECRETS.map(|text| Secret::parse(text).unwrap()))
        .clock(|| UNIX_EPOCH + Duration::from_secs(NOW));
    let Ok(verified) = verifier.verify(&headers, body) else { return };
    let json = serde_json::from_slice::<serde_json::Map<_, _>>(body);
    let event = match (verified.parse::<Event>(), &json) {
        (Ok(event), _) => event,
        (Err(error), Ok(json)) => {
            // An object that has the id and names no field twice is never turned away.
            let text = String::from_utf8_lossy(body);
            let twice = FIELDS.iter().any(|field| text.matches(&format!("\"{field}\"")).count() > 1);
            let named = json.get("id").and_then(|value| value.as_str()) == Some(id);
            assert!(!named || twice || body.contains(&b'\\'), "{error}");
            return;
        }
        (Err(_), Err(_)) => return,
    };
    assert_eq!(event.id.as_str(), id);
    let odd = matches!(event.kind, EventKind::Unknown(_)) || !event.malformed_fields().is_empty();
    assert!(!odd || event.raw.is_some());
    let _ = format!("{event:?} {:?}", event.malformed_fields().iter().map(ToString::to_string).collect::<Vec<_>>());
    let written = serde_json::to_vec(&*event).unwrap();
    if event.raw.is_some() {
        assert_eq!(written, body.trim_ascii(), "as it came");
    }
    let again: Event = serde_json::from_slice(&written).unwrap();
    assert!(again == *event);
}
