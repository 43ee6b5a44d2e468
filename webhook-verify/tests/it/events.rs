//! From verified bytes to a typed event.

use shared_inbox_webhooks::{Event, EventKind, ParseError, Signer, Verified, VerifiedBody};

use crate::fixture::{BODY, ID, NOW, previous, verifier};

/// The body of an event with this type, version and data.
fn body(kind: &str, version: u32, data: &str) -> String {
    format!(
        r#"{{"id":"{ID}","type":"{kind}","version":{version},"created_at":"2023-11-14T22:13:20.000Z","workspace":"wsp_1","livemode":true,"data":{data}}}"#
    )
}

fn with_verified<T>(body: &str, then: impl FnOnce(VerifiedBody<'_>) -> T) -> T {
    let headers = Signer::new([previous()]).sign(ID, NOW, body.as_bytes());
    then(verifier().verify(&headers, body.as_bytes()).unwrap())
}

fn parse(body: &str) -> Result<Verified<Event>, ParseError> {
    with_verified(body, |verified| verified.parse())
}

const DATA: [(&str, &str); 10] = [
    ("ask.completed", r#"{"summary":"s","ask_id":"req_1","kind":"documents","conversation_id":"cnv_1"}"#),
    (
        "client.replied",
        r#"{"summary":"s","url":"https://app.example/c/1","conversation_id":"cnv_1","message_id":"msg_1","mailbox_id":"mbx_1","secure":false,"reference":"order-1042"}"#,
    ),
    (
        "conversation.assigned",
        r#"{"summary":"s","conversation_id":"cnv_1","assignee":{"type":"user","id":"usr_1","name":null},"assigned_by":{"type":"system","id":null,"name":"Rules"}}"#,
    ),
    (
        "turn.changed",
        r#"{"summary":"s","conversation_id":"cnv_1","turn":"ours","previous":null,"assignee":null}"#,
    ),
    (
        "draft.approved",
        r#"{"summary":"s","conversation_id":"cnv_1","message_id":"msg_1","drafted_by":{"type":"agent","id":"agt_1"},"approved_by":{"type":"user","id":"usr_1","name":"Anna"},"edited":true}"#,
    ),
    (
        "message.sent",
        r#"{"summary":"s","conversation_id":"cnv_1","message_id":"msg_1","mailbox_id":"mbx_1","author":{"type":"user","id":"usr_1"},"secure":true}"#,
    ),
    (
        "booking.created",
        r#"{"summary":"s","booking_id":"bkg_1","booking_type_id":"bkt_1","host_user_id":"usr_1","conversation_id":null,"starts_at":"2023-11-15T09:00:00.000Z","ends_at":"2023-11-15T09:30:00.000Z"}"#,
    ),
    (
        "booking.cancelled",
        r#"{"summary":"s","booking_id":"bkg_1","booking_type_id":"bkt_1","host_user_id":"usr_1","conversation_id":"cnv_1","starts_at":"2023-11-15T09:00:00.000Z","ends_at":"2023-11-15T09:30:00.000Z"}"#,
    ),
    ("scout.held", r#"{"summary":"s","conversation_id":"cnv_1"}"#),
    ("webhook.test", r#"{"summary":"s","endpoint_id":"whk_1"}"#),
];

#[test]
fn all_ten_events_are_typed() {
    for (kind, data) in DATA {
        let event = parse(&body(kind, 1, data)).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!((event.kind.event_type(), event.summary.as_str(), event.version), (kind, "s", 1));
        assert!(!matches!(event.kind, EventKind::Unknown(_)), "{kind}");
    }
    assert_eq!(DATA.map(|(kind, _)| kind), EventKind::TYPES);
}

#[test]
fn an_unknown_type_or_version_is_a_value() {
    for (kind, version) in [("moon.rose", 1), ("webhook.test", 2), ("", 1)] {
        let event = parse(&body(kind, version, r#"{"summary":"new","x":[1]}"#)).unwrap();
        let EventKind::Unknown(unknown) = &event.kind else { panic!("{:?}", event.kind) };
        assert_eq!((unknown.event_type.as_str(), event.version), (kind, version));
        assert_eq!(unknown.data["x"], serde_json::json!([1]));
    }
}

#[test]
fn new_fields_are_passed_over() {
    let body = BODY
        .replacen('{', r#"{"added_later":{"deep":[null]},"#, 1)
        .replace(r#""summary""#, r#""new":1,"summary""#);
    assert!(matches!(parse(&body).unwrap().kind, EventKind::WebhookTest(_)));
}

#[test]
fn a_parsed_event_still_says_what_was_proven() {
    let event = parse(BODY).unwrap();
    assert_eq!((event.proof().id(), event.proof().timestamp(), event.proof().secret()), (ID, NOW, 1));
    assert_eq!(event.into_inner().id.as_str(), ID);
}

#[test]
fn a_verified_body_is_shown_by_its_size() {
    let shown = with_verified(BODY, |verified| format!("{verified:?}"));
    assert!(shown.contains(&format!("bytes: {}", BODY.len())) && !shown.contains("webhook.test"), "{shown}");
}

#[test]
fn any_type_that_reads_the_envelope_will_do() {
    #[derive(serde::Deserialize)]
    struct Mine {
        #[serde(rename = "type")]
        kind: String,
    }
    assert_eq!(with_verified(BODY, |verified| verified.parse::<Mine>()).unwrap().kind, "webhook.test");
    assert!(with_verified(BODY, |verified| verified.parse::<serde_json::Value>()).is_ok());
}

#[test]
fn a_body_that_is_no_event_is_refused_without_repeating_it() {
    let secret_word = "confidential";
    for (body, code) in [
        (String::new(), "body_not_json"),
        ("{".to_owned(), "body_not_json"),
        (format!("{{\"id\":\"{ID}\"}} {secret_word}"), "body_not_json"),
        (format!("\u{feff}{BODY}"), "body_not_json"),
        ("null".to_owned(), "body_shape"),
        ("[]".to_owned(), "body_shape"),
        (format!("\"{secret_word}\""), "body_shape"),
        ("{}".to_owned(), "body_shape"),
        (format!(r#"{{"id":"{ID}"}}"#), "body_shape"),
        (format!(r#"{{"id":7,"data":"{secret_word}"}}"#), "body_shape"),
        (format!(r#"{{"id":"{ID}","id":"{ID}"}}"#), "body_shape"),
        (BODY.replace("\"version\":1", &format!("\"version\":\"{secret_word}\"")), "body_shape"),
        (BODY.replace("whk_1", secret_word), "body_shape"),
        (BODY.replace(ID, "evt_other"), "body_id_mismatch"),
        (format!(r#"{{"id":"{secret_word}"}}"#), "body_id_mismatch"),
    ] {
        let error = parse(&body).unwrap_err();
        assert_eq!((error.code(), error.status()), (code, 400), "{body}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(secret_word), "{shown}");
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    let deep = BODY.replace(r#""A test""#, &("[".repeat(100_000) + &"]".repeat(100_000)));
    assert_eq!(parse(&deep).unwrap_err().code(), "body_not_json");
}
