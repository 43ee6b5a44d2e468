//! What the operator is told, for each mistake that people make.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use shared_inbox_webhooks::{
    Diagnosis, Hint, Secret, SignatureForm, Signer, Verifier, VerifyError, diagnose,
};

use crate::fixture::{BODY, ID, NOW, at, current, foreign, previous, signature, verifier};

fn codes(diagnosis: &Diagnosis) -> Vec<&'static str> {
    diagnosis.hints().iter().map(Hint::code).collect()
}

/// The diagnosis of the good request as it arrives with this body.
fn with_body(original: &[u8], arriving: &[u8]) -> Diagnosis {
    let headers = Signer::new([current()]).sign(ID, NOW, original);
    verifier().diagnose(&headers, arriving)
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
fn a_secret_pasted_with_something_around_it_is_named_and_seen_to_fit() {
    let good = current().reveal().to_string();
    let (timestamp, signature) = fresh(current());
    let headers = (ID, timestamp.as_str(), signature.as_str());
    for (text, code) in [
        (format!("{good}\n"), "secret_whitespace"),
        (format!("{}\n{}", &good[..20], &good[20..]), "secret_whitespace"),
        (format!("v1,{good}"), "secret_version_prefix"),
        (format!("'{good}'"), "secret_quoted"),
        (good["whsec_".len()..].to_owned(), "secret_prefix"),
    ] {
        let diagnosis = diagnose(&text, headers, BODY.as_bytes());
        assert_eq!(codes(&diagnosis), [code], "{text:?}: nothing else is wrong");
        assert_eq!(diagnosis.verdict(), Ok(0));
        assert!(diagnosis.to_string().starts_with("the request would verify\n- "), "{diagnosis}");
    }
    let diagnosis = diagnose(&good, headers, BODY.as_bytes());
    assert_eq!((diagnosis.verdict(), codes(&diagnosis)), (Ok(0), vec![]));
}

#[test]
fn a_secret_beyond_repair_is_named_alone() {
    let (timestamp, signature) = fresh(current());
    let headers = (ID, timestamp.as_str(), signature.as_str());
    for (text, code) in [("", "secret_empty"), ("whsec_", "secret_empty"), ("whsec_***", "secret_base64")] {
        assert_eq!(codes(&diagnose(text, headers, BODY.as_bytes())), [code], "{text:?}");
    }
}

#[test]
fn a_secret_used_without_decoding_it_is_noticed() {
    let text = current().reveal().to_string();
    for key in [text.as_str(), text.strip_prefix("whsec_").unwrap()] {
        let (timestamp, signature) = fresh(Secret::from_bytes(key.as_bytes()).unwrap());
        let diagnosis = diagnose(&text, (ID, timestamp.as_str(), signature.as_str()), BODY.as_bytes());
        assert_eq!(codes(&diagnosis), ["secret_not_decoded"]);
        assert_eq!(diagnosis.verdict(), Err(VerifyError::Mismatch));
    }
}

#[test]
fn headers_that_are_missing_or_unusable_are_named() {
    let none = http::HeaderMap::new();
    assert_eq!(codes(&verifier().diagnose(&none, b"")), ["id_missing"]);
    assert_eq!(codes(&diagnose(&current().reveal(), &none, b"")), ["id_missing"]);
    let signed = Signer::new([current()]).sign("evt.1", NOW, BODY.as_bytes());
    assert_eq!(codes(&verifier().diagnose(&signed, BODY.as_bytes())), ["id_invalid"]);
    assert_eq!(codes(&with_signature("v2,abc")), ["signature_none_usable"]);
    assert_eq!(codes(&with_signature("")), ["signature_none_usable"]);
    assert_eq!(codes(&with_signature(&"v1,x ".repeat(17))), ["signature_too_many"]);
    assert_eq!(codes(&with_signature(&"x".repeat(5000))), ["signature_too_long"]);
}

#[test]
fn smaller_units_than_seconds_are_named() {
    for (timestamp, unit) in [
        (format!("{NOW}123"), "milliseconds"),
        (format!("{NOW}123456"), "microseconds"),
        (format!("{NOW}123456789"), "nanoseconds"),
    ] {
        assert_eq!(with_timestamp(&timestamp).hints(), [Hint::TimestampUnit(unit)]);
    }
}

#[test]
fn timestamps_that_are_no_number_are_named() {
    for timestamp in ["2023-11-14T22:13:20Z", "1700000000.5", "", "-1", "99999999999999999999999999"] {
        assert_eq!(codes(&with_timestamp(timestamp)), ["timestamp_not_seconds"], "{timestamp}");
    }
}

#[test]
fn a_clock_in_another_time_zone_is_told_from_one_that_is_merely_wrong() {
    let off = |seconds: i64| with_timestamp(&NOW.checked_add_signed(seconds).unwrap().to_string());
    assert_eq!(off(3600).hints(), [Hint::ClockOffByHours { hours: 1, behind: true }]);
    assert_eq!(off(-3600 - 200).hints(), [Hint::ClockOffByHours { hours: 1, behind: false }]);
    assert_eq!(off(-2 * 3600 + 200).hints(), [Hint::ClockOffByHours { hours: 2, behind: false }]);
    assert_eq!(off(-1800).hints(), [Hint::TimestampOutsideTolerance { seconds: 1800, behind: false }]);
    assert_eq!(off(400).hints(), [Hint::TimestampOutsideTolerance { seconds: 400, behind: true }]);
    assert_eq!(codes(&off(-48 * 3600)), ["timestamp_outside_tolerance"], "two days is no time zone");
    assert_eq!(codes(&off(-299)), Vec::<&str>::new());
    assert!(off(3600).to_string().contains("1 h behind"), "{}", off(3600));
}

#[test]
fn a_right_signature_in_a_wrong_form_is_named() {
    let good = signature(current(), ID, &NOW.to_string(), BODY.as_bytes());
    let bare = &good[3..];
    let hex: String = {
        use base64::Engine;
        let bytes = base64::engine::general_purpose::STANDARD.decode(bare).unwrap();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    for (text, form) in [
        (bare.to_owned(), SignatureForm::NoVersion),
        (good.trim_end_matches('=').to_owned(), SignatureForm::Padding),
        (format!("{good}="), SignatureForm::Padding),
        (format!("v1={bare}"), SignatureForm::List),
        (format!("v1,{hex}"), SignatureForm::Hex),
        (format!("sha256={}", hex.to_uppercase()), SignatureForm::Hex),
        (hex, SignatureForm::Hex),
    ] {
        assert_eq!(with_signature(&text).hints(), [Hint::SignatureForm(form)], "{text}");
    }
}

#[test]
fn a_signature_in_the_url_safe_alphabet_is_named() {
    let (body, text) = (0..)
        .map(|n| format!("{BODY}{n}"))
        .map(|body| (signature(current(), ID, &NOW.to_string(), body.as_bytes()), body))
        .find_map(|(text, body)| text.contains(['+', '/']).then_some((body, text)))
        .unwrap();
    let urlsafe = text.replace('+', "-").replace('/', "_");
    let diagnosis = verifier().diagnose((ID, NOW.to_string().as_str(), urlsafe.as_str()), body.as_bytes());
    assert_eq!(diagnosis.hints(), [Hint::SignatureForm(SignatureForm::UrlSafe)]);
}

#[test]
fn a_body_written_anew_is_recognised() {
    let compact = r#"{"id":"evt_1","data":{"summary":"Zoë, a \"te st: x, y\" 🙂 a/b","n":[1,2,{"x":null}]}}"#;
    let spaced =
        r#"{"id": "evt_1", "data": {"summary": "Zoë, a \"te st: x, y\" 🙂 a/b", "n": [1, 2, {"x": null}]}}"#;
    let pretty = "{\n  \"id\": \"evt_1\",\n  \"data\": {\n    \"summary\": \"Zoë, a \\\"te st: x, y\\\" 🙂 a/b\",\n    \"n\": [1, 2, {\"x\": null}]\n  }\n}\n";
    let ascii = r#"{"id": "evt_1", "data": {"summary": "Zo\u00eb, a \"te st: x, y\" \ud83d\ude42 a/b", "n": [1, 2, {"x": null}]}}"#;
    let slashed = r#"{"id":"evt_1","data":{"summary":"Zo\u00eb, a \"te st: x, y\" \ud83d\ude42 a\/b","n":[1,2,{"x":null}]}}"#;
    for original in [compact, spaced, ascii, slashed] {
        for arriving in [compact, spaced, pretty, ascii, slashed] {
            let diagnosis = with_body(original.as_bytes(), arriving.as_bytes());
            let expected: &[&str] = if original == arriving { &[] } else { &["body_rewritten"] };
            assert_eq!(codes(&diagnosis), expected, "{original} as {arriving}");
        }
    }
}

/// The same JSON after a parser that keeps its keys sorted.
fn sorted(json: &str) -> serde_json::Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_body_whose_keys_were_sorted_is_recognised() {
    let envelope = |kind: &str, data: &str| {
        format!(
            r#"{{"id":"{ID}","type":"{kind}","version":1,"created_at":"2023-11-14T22:13:20.000Z","workspace":"wsp_1","livemode":true,"data":{{{data}}}}}"#
        )
    };
    let assigned = r#""conversation_id":"cnv_1","assignee":{"type":"user","id":"usr_1","name":null},"assigned_by":{"type":"system","id":null,"name":"Rules"}"#;
    let text = r#""summary":"Zoë was given a conversation""#;
    let url = r#""url":"https://app.example/c/1""#;
    for original in [
        BODY.to_owned(),
        envelope("conversation.assigned", &format!("{text},{url},{assigned}")),
        envelope("conversation.assigned", &format!("{assigned},{text},{url}")),
        envelope("conversation.assigned", &format!("{text},{assigned},{url}")),
        envelope("moon.rose", &format!(r#"{text},"phase":"full""#)),
        envelope("moon.rose", text).replace("ë", "\\u00eb"),
        envelope("moon.rose", text).replace("\":", "\": ").replace(",\"", ", \""),
    ] {
        for arriving in [sorted(&original).to_string(), format!("{:#}", sorted(&original))] {
            let diagnosis = with_body(original.as_bytes(), arriving.as_bytes());
            assert_eq!(codes(&diagnosis), ["body_rewritten"], "{original} as {arriving}");
        }
    }
}

#[test]
fn a_body_whose_keys_were_sorted_and_cannot_be_put_back_is_said_to_be_so() {
    let original = r#"{"livemode":true,"type":"moon.rose","id":"evt_1","version":1,"data":{"z":1,"a":2}}"#;
    let arriving = sorted(original).to_string();
    assert_eq!(codes(&with_body(original.as_bytes(), arriving.as_bytes())), ["body_sorted"]);
    // What is not an event, or not sorted, says nothing of the kind.
    assert_eq!(codes(&with_body(b"x", br#"{"a":1,"b":2}"#)), ["secret_or_body"]);
    assert_eq!(codes(&with_body(b"x", original.as_bytes())), ["secret_or_body"]);
}

#[test]
fn line_ends_and_byte_order_marks_are_recognised() {
    for (original, arriving) in [
        (BODY.to_owned(), format!("{BODY}\n")),
        (BODY.to_owned(), format!("{BODY}\r\n")),
        (format!("{BODY}\n"), BODY.to_owned()),
        (BODY.to_owned(), format!("\u{feff}{BODY}")),
        ("a\nb\n".to_owned(), "a\r\nb\r\n".to_owned()),
        ("a\r\nb\r\n".to_owned(), "a\nb\n".to_owned()),
    ] {
        let diagnosis = with_body(original.as_bytes(), arriving.as_bytes());
        assert_eq!(codes(&diagnosis), ["body_rewritten"], "{original:?} as {arriving:?}");
    }
}

#[test]
fn a_body_that_was_read_before_is_recognised() {
    assert_eq!(codes(&with_body(BODY.as_bytes(), b"")), ["body_empty"]);
}

#[test]
fn what_nothing_explains_is_said_to_be_so() {
    let headers = Signer::new([foreign()]).sign(ID, NOW, BODY.as_bytes());
    assert_eq!(codes(&verifier().diagnose(&headers, BODY.as_bytes())), ["secret_or_body"]);
    assert_eq!(codes(&with_body(BODY.as_bytes(), b"another body")), ["secret_or_body"]);
    let none = at(Verifier::new([]), NOW).diagnose(&headers, BODY.as_bytes());
    assert_eq!(codes(&none), ["no_secrets", "secret_or_body"]);
}

#[test]
fn several_mistakes_are_all_named() {
    let headers = Signer::new([previous()]).sign(ID, NOW - 3600, BODY.as_bytes());
    let diagnosis = verifier().diagnose(&headers, format!("{BODY}\n").as_bytes());
    assert_eq!(codes(&diagnosis), ["clock_off_by_hours", "body_rewritten"]);
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
fn a_diagnosis_is_never_far_from_the_verifiers_tolerance() {
    let wide = verifier().tolerance(Duration::from_secs(7200));
    let headers = Signer::new([current()]).sign(ID, NOW - 3600, BODY.as_bytes());
    assert_eq!(codes(&wide.diagnose(&headers, BODY.as_bytes())), Vec::<&str>::new());
}
