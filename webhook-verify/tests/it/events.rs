//! From verified bytes to a typed event.

use shared_inbox_webhooks::{Event, EventKind, ParseError, Rejection, Signer, Verified, VerifiedBody};

use crate::fixture::{BODY, ID, NOW, previous, signed_by, verifier};

/// The body of an event with this type, version and data.
fn body(kind: &str, version: u32, data: &str) -> String {
    format!(
        r#"{{"id":"{ID}","type":"{kind}","version":{version},"created_at":"2023-11-14T22:13:20.000Z","workspace":"wsp_1","livemode":true,"data":{data}}}"#
    )
}

fn with_verified<T>(body: &str, then: impl FnOnce(VerifiedBody<'_>) -> T) -> T {
    let headers = signed_by(previous(), body.as_bytes());
    then(verifier().verify(&headers, body.as_bytes()).unwrap())
}

fn parse(body: &str) -> Result<Verified<Event>, ParseError> {
    with_verified(body, |verified| verified.parse())
}

/// What is not known yet, or not as documented, and the fields that do not fit.
fn oddities() -> Vec<(String, Vec<&'static str>)> {
    let test = || body("webhook.test", 1, r#"{"summary":"s","endpoint_id":"whk_1"}"#);
    let completed = r#"{"summary":"s","ask_id":"frm_1","kind":"documents","conversation_id":"cnv_1"}"#;
    let replied = r#"{"summary":"s","conversation_id":"cnv_1","message_id":"msg_1","secure":false}"#;
    let assigned = |by: &str| {
        let data = r#"{"summary":"s","conversation_id":"cnv_1","assignee":{"type":"user","id":"usr_1","name":null},"assigned_by":BY}"#;
        body("conversation.assigned", 1, &data.replace("BY", by))
    };
    let unknown = |version: &str, data: &str| {
        let body = body("moon.rose", 1, data);
        body.replace("\"version\":1", &format!("\"version\":{version}"))
    };
    vec![
        (unknown("2", "null"), vec![]),
        (unknown("2", "[1,2]"), vec![]),
        (unknown("1", "{}").replace("moon.rose", ""), vec![]),
        (unknown("2", "7"), vec![]),
        (unknown("4294967296", "{}"), vec![]),
        (unknown("18446744073709551616", "{}"), vec!["version"]),
        (unknown("-1", "{}"), vec!["version"]),
        (unknown("\"2\"", "{}"), vec!["version"]),
        (unknown("2", "{}").replace("\"2023-11-14T22:13:20.000Z\"", "1700000000"), vec!["created_at"]),
        (unknown("2", "{}").replace(r#""workspace":"wsp_1","#, ""), vec!["workspace"]),
        (unknown("1", "{}").replace(r#""workspace":"wsp_1","#, ""), vec!["workspace"]),
        (unknown("1", "{}").replace(r#""livemode":true,"#, ""), vec!["livemode"]),
        (test().replace(r#""type":"webhook.test","#, ""), vec!["type"]),
        (test().replace(r#""webhook.test""#, "null"), vec!["type"]),
        (test().replace("wsp_1", "org_1"), vec!["workspace"]),
        (test().replace("2023-11-14T22:13:20.000Z", "yesterday"), vec!["created_at"]),
        (test().replace("true", "\"yes\""), vec!["livemode"]),
        (test().replace(r#""version":1,"#, ""), vec!["version"]),
        (test().replace(r#""summary":"s","#, ""), vec!["data.summary"]),
        (test().replace(r#""summary":"s""#, r#""summary":["s"]"#), vec!["data.summary"]),
        (test().replace(r#""summary":"s""#, r#""summary":"s","url":7"#), vec!["data.url"]),
        (test().replace("whk_1", "hook-1"), vec!["data.endpoint_id"]),
        (body("webhook.test", 1, "null"), vec!["data"]),
        (body("webhook.test", 1, "[]"), vec!["data"]),
        (test().split(",\"data\"").next().unwrap().to_owned() + "}", vec!["data"]),
        (body("ask.completed", 1, completed), vec!["data.ask_id"]),
        (assigned(r#"{"type":"system","id":null,"name":null}"#), vec!["data.assigned_by.name"]),
        (assigned(r#"{"type":"system","id":null}"#), vec!["data.assigned_by.name"]),
        (body("client.replied", 1, replied), vec!["data.mailbox_id"]),
        (format!(r#"{{"id":"{ID}"}}"#), vec!["type", "version", "created_at", "workspace", "livemode"]),
    ]
}

#[test]
fn whatever_has_the_id_and_is_genuine_is_a_value_that_keeps_the_json_and_says_what_did_not_fit() {
    for (body, fields) in oddities() {
        let event = parse(&body).unwrap_or_else(|error| panic!("{body}: {error}"));
        let malformed_fields: Vec<_> =
            event.malformed_fields().iter().map(|malformed| malformed.field.as_str()).collect();
        assert_eq!(malformed_fields, fields, "{body}");
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(event.raw.as_ref().unwrap().json.as_str(), body);
        assert_eq!(serde_json::to_string(&*event).unwrap(), body, "written as it came");
        for malformed in event.malformed_fields() {
            let place = json.pointer(&format!("/{}", malformed.field.replace('.', "/")));
            let said = if place.is_none() { "is missing" } else { "is of another form" };
            assert_eq!(malformed.to_string(), format!("`{}` {said}", malformed.field), "{body}");
        }
    }
}

#[test]
fn a_known_kind_stays_known_although_the_envelope_around_it_changed() {
    let bare = BODY.replace(r#""workspace":"wsp_1","livemode":false,"#, "");
    let event = parse(&bare).unwrap();
    assert!(matches!(&event.kind, EventKind::WebhookTest(test) if test.endpoint_id.as_str() == "whk_1"));
    assert_eq!((event.workspace.as_ref(), event.livemode, event.summary.as_str()), (None, None, "A test"));
    // What changed in the kind itself is for whoever wrote the handler to look at.
    let event = parse(&BODY.replace("whk_1", "hook-1")).unwrap();
    assert!(matches!(&event.kind, EventKind::Unknown(unknown) if unknown.event_type == "webhook.test"));
}

#[test]
fn an_id_of_another_form_is_an_id() {
    let id = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
    let body = BODY.replace(ID, id);
    let headers = Signer::new([previous()]).sign(id, NOW, body.as_bytes());
    let verified = verifier();
    let event: Verified<Event> = verified.verify(&headers, body.as_bytes()).unwrap().parse().unwrap();
    assert_eq!((event.id.as_str(), event.malformed_fields()[0].field.as_str()), (id, "id"));
    assert!(matches!(event.kind, EventKind::WebhookTest(_)));
}

#[test]
fn the_order_of_the_fields_does_not_matter() {
    let json: serde_json::Value = serde_json::from_str(BODY).unwrap();
    let mut fields: Vec<String> =
        json.as_object().unwrap().iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
    for _ in 0..fields.len() {
        fields.rotate_left(1);
        let event = parse(&format!("{{{}}}", fields.join(","))).unwrap();
        assert!(matches!(event.kind, EventKind::WebhookTest(_)) && event.raw.is_none());
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
    let matched = event.matched_signature();
    assert_eq!((matched.id(), matched.timestamp(), matched.secret()), (ID, NOW, 1));
    assert_eq!(event.into_inner().id.as_str(), ID);
}

#[test]
fn a_verified_body_is_shown_without_its_text() {
    let shown = with_verified(BODY, |verified| format!("{verified:?}"));
    assert!(shown.contains(ID) && !shown.contains("webhook.test"), "{shown}");
}

#[test]
fn a_body_that_is_no_event_is_rejected_without_repeating_it() {
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
        (format!(r#"{{"id":7,"data":"{secret_word}"}}"#), "body_shape"),
        (format!(r#"{{"id":"{ID}","id":"{ID}"}}"#), "body_shape"),
        (format!(r#"{{"type":"webhook.test","data":{{"id":"{ID}"}}}}"#), "body_shape"),
        (BODY.replace(ID, "evt_other"), "body_id_mismatch"),
        (format!(r#"{{"id":"{secret_word}"}}"#), "body_id_mismatch"),
    ] {
        let error = parse(&body).unwrap_err();
        assert_eq!((error.code(), Rejection::from(error).status()), (code, 400), "{body}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(secret_word), "{shown}");
    }
}

/// Grammatical JSON that a reader may stumble over.
fn hard_to_read() -> Vec<String> {
    let deep = |levels| "[".repeat(levels) + &"]".repeat(levels);
    let texts = [
        r#""\ud83d""#,
        r#""cut \uD83D!""#,
        r#""\ude00 alone""#,
        r#""\ude00\ud83d""#,
        r#""\\ud83d\ud83d\ud83d""#,
    ];
    let numbers = ["1e400", "-1e400", "1e-400", "123456789012345678901234567890", "-9223372036854775809"];
    let nested = [deep(200), format!(r#"{{"a":{}}}"#, deep(200)), deep(100_000)];
    texts.iter().chain(&numbers).map(ToString::to_string).chain(nested).collect()
}

#[test]
fn a_genuine_event_is_never_rejected_because_of_what_stands_in_it() {
    for value in hard_to_read() {
        let shown = &value[..value.len().min(60)];
        let envelope = BODY.replacen('{', &format!(r#"{{"new":{value},"#), 1);
        let data = BODY.replace(r#""summary""#, &format!(r#""new":{value},"summary""#));
        for body in [&envelope, &data] {
            let event = parse(body).unwrap_or_else(|error| panic!("{shown}: {error}"));
            assert!(matches!(event.kind, EventKind::WebhookTest(_)), "{shown}");
            assert!(event.raw.as_ref().is_none_or(|raw| raw.json.as_str() == body), "{shown}");
        }
        let unknown = data.replace("webhook.test", "moon.rose");
        let known_fields = ["type", "version", "created_at", "workspace", "livemode", "data"];
        let known_fields = known_fields.map(|field| format!(r#"{{"id":"{ID}","{field}":{value}}}"#));
        let summary = BODY.replace(r#""A test""#, &value);
        for body in known_fields.iter().chain([&unknown, &summary]) {
            let event = parse(body).unwrap_or_else(|error| panic!("{shown}: {error}"));
            assert_eq!(event.raw.as_ref().unwrap().json.as_str(), body);
            assert_eq!(serde_json::to_string(&*event).unwrap(), *body, "written as it came");
        }
    }
}

#[test]
fn half_a_surrogate_pair_is_read_as_a_replacement_character_and_kept_as_it_came() {
    for (written, read) in [
        (r"cut \ud83d", "cut \u{fffd}"),
        (r"\uDE00 alone", "\u{fffd} alone"),
        (r"\ude00\ud83d\ude00", "\u{fffd}\u{1f600}"),
        (r"\\ud83d \\\ud83d", "\\ud83d \\\u{fffd}"),
        (r"\ud83dé\n", "\u{fffd}é\n"),
    ] {
        let body = BODY.replace("A test", written);
        let event = parse(&body).unwrap();
        assert_eq!(event.summary, read);
        assert!(matches!(event.kind, EventKind::WebhookTest(_)) && event.malformed_fields().is_empty());
        assert_eq!(event.raw.as_ref().unwrap().json.as_str(), body);

        let unknown = parse(&body.replace("webhook.test", "moon.rose")).unwrap();
        let EventKind::Unknown(unknown) = &unknown.kind else { panic!("{unknown:?}") };
        assert_eq!(unknown.data.as_str(), format!(r#"{{"summary":"{written}","endpoint_id":"whk_1"}}"#));
        assert_eq!(unknown.data.parse::<serde_json::Value>().unwrap()["summary"], read);

        // Types of the caller's own too, and names of fields, in front of the id or behind it.
        let json = with_verified(&body, |verified| verified.parse::<serde_json::Value>())
            .map(Verified::into_inner)
            .unwrap();
        assert_eq!(json["data"]["summary"], read);
        let named = BODY.replacen('{', &format!(r#"{{"{written}":1,"#), 1);
        assert!(matches!(parse(&named).unwrap().kind, EventKind::WebhookTest(_)));
        let named = BODY.replace(r#""summary""#, &format!(r#""{written}":1,"summary""#));
        assert!(matches!(parse(&named).unwrap().kind, EventKind::WebhookTest(_)));
    }
    let whole = parse(&BODY.replace("A test", r"\ud83d\ude00")).unwrap();
    assert_eq!((whole.summary.as_str(), whole.raw.is_none()), ("\u{1f600}", true));
}

#[test]
fn a_parse_error_names_line_and_column_of_the_body() {
    let place = |body: &str| match parse(body).unwrap_err() {
        ParseError::NotJson { line, column } => ("json", line, column),
        ParseError::Shape { line, column } => ("shape", line, column),
        other => panic!("{other:?}"),
    };
    assert_eq!(place(&format!("{{\"id\":\"{ID}\",\n\"data\":\n{{\"summary\": x}}}}")), ("json", 3, 13));
    assert_eq!(place(&format!("\n\n {{\"id\":\"{ID}\", x}}")), ("json", 3, 26));
    assert_eq!(place(&format!(" {{\"id\":\"{ID}\"}}\n x")), ("json", 2, 2));
    assert_eq!(place("\n  {\"type\":\n\"x\"}"), ("shape", 3, 4));
    assert_eq!(place(" \t[]"), ("shape", 1, 2));
    assert_eq!(place(&format!("\r\n {{\"id\":\"{ID}\",\"id\":\"{ID}\"}}")), ("shape", 2, 28));
}

#[test]
fn an_id_that_json_writes_in_another_way_is_read_as_json() {
    let code = |id: &str, body: &str| {
        let headers = Signer::new([previous()]).sign(id, NOW, body.as_bytes());
        let verifier = verifier();
        let verified = verifier.verify(&headers, body.as_bytes()).unwrap();
        verified.parse::<serde_json::Value>().map_or_else(|error| error.code(), |_| "ok")
    };
    for (id, body, expected) in [
        ("evt_1", r#"{"id":"evt_1"}"#, "ok"),
        ("evt_1", r#"{ "type": "x", "id" : "evt\u005f1" }"#, "ok"),
        ("evt_1", r#"{"id":"evt_12"}"#, "body_id_mismatch"),
        ("evt_12", r#"{"id":"evt_1"}"#, "body_id_mismatch"),
        (r"evt\", r#"{"id":"evt\\"}"#, "ok"),
        (r"evt\", r#"{"id":"evt\"1"}"#, "body_id_mismatch"),
        (r#"evt"1"#, r#"{"id":"evt\"1"}"#, "ok"),
        (r#"evt"1"#, r#"{"id":"evt"1"}"#, "body_id_mismatch"),
    ] {
        assert_eq!(code(id, body), expected, "{id}: {body}");
    }
}

#[test]
fn only_a_type_that_looks_like_one_is_kept_for_logs() {
    let long = "a".repeat(65);
    for (kind, kept) in
        [("moon.rose_2-b", true), ("kim@example.com wrote", false), ("", false), (&long, false)]
    {
        let delivery = parse(&body(kind, 1, "{}")).unwrap().delivery("orders");
        assert_eq!(delivery.event_type(), kept.then_some(kind));
    }
}
