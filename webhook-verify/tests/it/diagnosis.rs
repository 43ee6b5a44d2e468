//! What the operator is told, for each mistake that people make.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use shared_inbox_webhooks::{Diagnosis, Hint, Secret, Signer, Verifier, diagnose};

use crate::fixture::{BODY, ID, NOW, at, current, foreign, previous, signature, signed_by, verifier};

fn codes(diagnosis: &Diagnosis) -> Vec<&'static str> {
    diagnosis.hints().iter().map(Hint::code).collect()
}

/// The diagnosis of the good request as it arrives with this body.
fn with_body(original: &[u8], arriving: &[u8]) -> Diagnosis {
    verifier().diagnose(&signed_by(current(), original), arriving)
}

fn with_timestamp(timestamp: &str) -> Diagnosis {
    let headers = Signer::new([current()]).sign_text(ID, timestamp, BODY.as_bytes());
    verifier().diagnose(&headers, BODY.as_bytes())
}

fn with_signature(signature: &str) -> Diagnosis {
    verifier().diagnose((ID, NOW.to_string().as_str(), signature), BODY.as_bytes())
}

/// A request of this very moment, as the free function goes by the system's clock.
fn fresh(secret: Secret) -> (String, String) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().to_string();
    let signature = signature(secret, ID, &now, BODY.as_bytes());
    (now, signature)
}

#[test]
fn a_good_request_has_no_hints() {
    let diagnosis = with_body(BODY.as_bytes(), BODY.as_bytes());
    assert_eq!((diagnosis.verdict(), codes(&diagnosis)), (Ok(0), vec![]));
    assert_eq!(diagnosis.to_string(), "the request verifies with secret 0");
}

#[test]
fn a_secret_that_is_none_is_named_alone() {
    let good = current().reveal().to_string();
    let (timestamp, signature) = fresh(current());
    let headers = (ID, timestamp.as_str(), signature.as_str());
    for (text, code) in [
        (String::new(), "secret_empty"),
        ("whsec_***".to_owned(), "secret_base64"),
        (format!("{good}\n"), "secret_whitespace"),
        (format!("v1,{good}"), "secret_version_prefix"),
        (format!("'{good}'"), "secret_quoted"),
        (good["whsec_".len()..].to_owned(), "secret_prefix"),
    ] {
        assert_eq!(codes(&diagnose(&text, headers, BODY.as_bytes())), [code], "{text:?}");
    }
    let diagnosis = diagnose(&good, headers, BODY.as_bytes());
    assert_eq!((diagnosis.verdict(), codes(&diagnosis)), (Ok(0), vec![]));
}

#[test]
fn headers_that_are_missing_or_unusable_are_named() {
    let none = http::HeaderMap::new();
    assert_eq!(codes(&verifier().diagnose(&none, b"")), ["id_missing"]);
    assert_eq!(codes(&diagnose(&current().reveal(), &none, b"")), ["id_missing"]);
    let signed = Signer::new([current()]).sign("evt.1", NOW, BODY.as_bytes());
    assert_eq!(codes(&verifier().diagnose(&signed, BODY.as_bytes())), ["id_invalid"]);
    assert_eq!(codes(&with_timestamp("2023-11-14T22:13:20Z")), ["timestamp_invalid"]);
    assert_eq!(codes(&with_signature("v2,abc")), ["signature_none_usable"]);
    assert_eq!(codes(&with_signature("")), ["signature_none_usable"]);
    assert_eq!(codes(&with_signature(&"v1,x ".repeat(17))), ["signature_too_many"]);
    assert_eq!(codes(&with_signature(&"x".repeat(5000))), ["signature_too_long"]);
}

#[test]
fn a_clock_that_is_wrong_is_named_with_its_direction() {
    let off = |seconds: i64| with_timestamp(&NOW.checked_add_signed(seconds).unwrap().to_string());
    assert_eq!(codes(&off(-3600)), ["timestamp_outside_tolerance"]);
    assert!(off(-3600).to_string().contains("3600 s in the past"), "{}", off(-3600));
    assert!(off(400).to_string().contains("400 s in the future"), "{}", off(400));
    assert_eq!(codes(&off(-299)), Vec::<&str>::new());
    let wide = verifier().tolerance(Duration::from_secs(7200));
    let headers = Signer::new([current()]).sign(ID, NOW - 3600, BODY.as_bytes());
    assert_eq!(codes(&wide.diagnose(&headers, BODY.as_bytes())), Vec::<&str>::new());
}

#[test]
fn a_body_written_anew_or_with_another_line_end_is_recognised() {
    let compact = r#"{"id":"evt_1","data":{"summary":"Zoë, a \"te st: x, y\" 🙂 a/b","n":[1,2,{"x":null}]}}"#;
    let spaced =
        r#"{"id": "evt_1", "data": {"summary": "Zoë, a \"te st: x, y\" 🙂 a/b", "n": [1, 2, {"x": null}]}}"#;
    let pretty = "{\n  \"id\": \"evt_1\",\n  \"data\": {\n    \"summary\": \"Zoë, a \\\"te st: x, y\\\" 🙂 a/b\",\n    \"n\": [1, 2, {\"x\": null}]\n  }\n}\n";
    let (newline, line_end) = (format!("{compact}\n"), format!("{compact}\r\n"));
    for (original, arriving) in [
        (compact, spaced),
        (compact, pretty),
        (spaced, compact),
        (spaced, pretty),
        (compact, &newline),
        (compact, &line_end),
        (&newline, compact),
    ] {
        let diagnosis = with_body(original.as_bytes(), arriving.as_bytes());
        assert_eq!(codes(&diagnosis), ["body_rewritten"], "{original:?} as {arriving:?}");
    }
}

#[test]
fn what_nothing_explains_is_said_to_be_so() {
    let headers = signed_by(foreign(), BODY.as_bytes());
    assert_eq!(codes(&verifier().diagnose(&headers, BODY.as_bytes())), ["secret_or_body"]);
    assert_eq!(codes(&with_body(BODY.as_bytes(), b"another body")), ["secret_or_body"]);
    assert_eq!(codes(&with_body(BODY.as_bytes(), b"")), ["secret_or_body"]);
    let none = at(Verifier::new([]), NOW).diagnose(&headers, BODY.as_bytes());
    assert_eq!(codes(&none), ["no_secrets"]);
}

#[test]
fn several_mistakes_are_all_named() {
    let headers = Signer::new([previous()]).sign(ID, NOW - 3600, BODY.as_bytes());
    let diagnosis = verifier().diagnose(&headers, format!("{BODY}\n").as_bytes());
    assert_eq!(codes(&diagnosis), ["timestamp_outside_tolerance", "body_rewritten"]);
    assert_eq!(diagnosis.verdict().unwrap_err().code(), "timestamp_too_old");
}

#[test]
fn a_diagnosis_repeats_nothing_of_secret_or_body() {
    let (timestamp, signature) = fresh(foreign());
    let text = format!("v1,{} ", *current().reveal());
    let body = r#"{"note":"confidential words"}"#;
    let diagnosis = diagnose(&text, (ID, timestamp.as_str(), signature.as_str()), body.as_bytes());
    let shown = format!("{diagnosis} {diagnosis:?}");
    assert!(!shown.contains("MfKQ") && !shown.contains("confidential"), "{shown}");
}

#[test]
fn a_body_over_64_kib_is_not_searched_for_what_was_rewritten() {
    for (bytes, code) in [(1 << 16, "body_rewritten"), ((1 << 16) + 1, "secret_or_body")] {
        let arriving = format!("{{}}{}\n", " ".repeat(bytes - 3));
        assert_eq!(codes(&with_body(b"{}", arriving.as_bytes())), [code], "{bytes} bytes");
    }
}
