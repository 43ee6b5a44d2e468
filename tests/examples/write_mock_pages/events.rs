//! The page about events is what the OpenAPI document says, with real ones from a run.

use std::{fmt::Write as _, fs, path::Path};

use serde_json::{Value, json};
use shared_inbox::Timestamp;
use shared_inbox_mock::MockServer;

use crate::kit::{Kit, text};

/// Lets every kind of event happen, and what sends none.
async fn live_through_a_day(kit: &Kit) {
    let sent = async |kind: &str| {
        let wanted = json!({ "of": "events", "where": { "type": kind }, "count": { "atLeast": 0 } });
        kit.act("/expect", wanted).await["count"].as_u64().expect("a number")
    };
    let (live, inbox) = (kit.live(), kit.inbox().await.replace('@', "+order-1042@"));
    let mail = json!({ "to": inbox, "from": "vera@customer.example", "text": "Where is my order 1042?" });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    assert_eq!(
        (sent("client.replied").await, sent("turn.changed").await),
        (0, 1),
        "a first email is no reply"
    );
    let me = live.get("/me").await.expect(200)["agent"]["id"].clone();
    let more = |words: Value| {
        let mut mail =
            json!({ "to": inbox, "from": "vera@customer.example", "text": "Hello?", "conversationId": id });
        mail.as_object_mut().expect("an object").extend(words.as_object().expect("an object").clone());
        mail
    };
    kit.act("/inbound", more(json!({ "autoReply": true }))).await;
    assert_eq!(sent("client.replied").await, 0, "an automatic reply is none");
    kit.act("/inbound", more(json!({}))).await;
    kit.act("/inbound", more(json!({ "held": true }))).await;
    for _ in 0..2 {
        live.act(&id, "assign", json!({ "to": "me" })).await;
    }
    assert_eq!((sent("conversation.assigned").await, sent("client.replied").await), (1, 2), "{me}");
    let items = json!([{ "label": "Receipt" }, { "label": "Photo", "required": false }]);
    let asked = live.act(&id, "document-requests", json!({ "documents": items })).await;
    kit.act(&format!("/messages/{}/approve", text(&asked["messageId"])), json!({})).await;
    kit.advance(600).await;
    assert_eq!((sent("message.sent").await, sent("turn.changed").await), (1, 2));
    let uploads = format!("/document-requests/{}/uploads", text(&asked["requestId"]));
    for item in [0, 1] {
        kit.act(&uploads, json!({ "item": item, "filename": "file.pdf" })).await;
    }
    assert_eq!(sent("ask.completed").await, 1);
    let host = kit.list("/users").await[0]["id"].clone();
    let times = json!({ "hostUserId": host, "startsAt": "2026-03-04T10:00:00Z", "endsAt": "2026-03-04T10:30:00Z", "conversationId": id });
    let booking = text(&kit.act("/bookings", times).await["id"]);
    kit.act(&format!("/bookings/{booking}/cancel"), Value::Null).await;
    let webhook = json!({ "url": "http://127.0.0.1:9/", "livemode": true, "scope": "team", "events": ["client.replied"] });
    let webhook = text(&kit.act("/webhooks", webhook).await["id"]);
    kit.act(&format!("/webhooks/{webhook}/test"), Value::Null).await;
    // What bounces was not sent.
    let reply = live.act(&id, "replies", json!({ "body": "Hello", "send": true })).await;
    kit.act(&format!("/messages/{}/bounce", text(&reply["messageId"])), Value::Null).await;
    kit.advance(600).await;
    assert_eq!(sent("message.sent").await, 1);
    let replied = sent("client.replied").await;
    kit.control("PUT", "/plan", json!({ "plan": "free" })).await.expect(200);
    kit.act("/inbound", more(json!({}))).await;
    assert_eq!(sent("client.replied").await, replied, "the plan has no webhooks");
}

#[tokio::test]
async fn the_page_of_events_is_what_the_document_says_with_events_of_a_run() {
    let start = Timestamp::parse("2026-03-01T09:30:00Z").expect("a time");
    let kit = Kit::with(MockServer::builder().manual_clock().start_at(start).empty().no_rate_limit()).await;
    live_through_a_day(&kit).await;
    let document = kit.document().value();
    let tag = document["tags"].as_array().and_then(|tags| tags.iter().find(|tag| tag["name"] == "Webhooks"));
    let about = tag.and_then(|tag| tag["description"].as_str()).expect("a description");
    let mut page = format!(
        "# Events\n\n{about} `data` never has the words of an email, a note or a file; every `data` has a `summary` for people, and a \
         `url` when the event is about a conversation.\n\nThis page is written from the OpenAPI document; each event below was \
         taken from a run of the mock.\n"
    );
    for (kind, webhook) in document["webhooks"].as_object().expect("webhooks") {
        let about = |field: &str| webhook["post"][field].as_str().expect("a text").to_owned();
        let _ = write!(
            page,
            "\n## `{kind}`\n\n{} {}\n\n| `data` | type | |\n|---|---|---|\n",
            about("summary"),
            about("description")
        );
        let schema =
            resolved(document, &webhook["post"]["requestBody"]["content"]["application/json"]["schema"]);
        let data = resolved(document, &schema["properties"]["data"]);
        for (name, field) in data["properties"].as_object().expect("fields") {
            let about = field["description"].as_str().unwrap_or_default().replace('|', "\\|");
            let _ = writeln!(page, "| `{name}` | {} | {about} |", kind_of(document, field));
        }
        let wanted = json!({ "of": "events", "where": { "type": kind } });
        let event = kit.act("/expect", wanted).await["matches"][0].clone();
        let _ = write!(page, "\n```json\n{event:#}\n```\n");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/events.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &page).expect("written");
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    assert!(there == page, "docs/events.md is not what the document says; write it anew with UPDATE_DOCS=1");
}

fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let target = schema["$ref"].as_str().and_then(|path| document.pointer(path.trim_start_matches('#')));
    target.unwrap_or(schema)
}

/// A type in a word or two.
fn kind_of(document: &Value, schema: &Value) -> String {
    let schema = resolved(document, schema);
    if let Some(kinds) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return kinds.iter().map(|one| kind_of(document, one)).collect::<Vec<_>>().join(" or ");
    }
    if let Some(fields) = schema["properties"].as_object() {
        return format!("object (`{}`)", fields.keys().map(String::as_str).collect::<Vec<_>>().join("`, `"));
    }
    match &schema["type"] {
        Value::String(_) if schema["format"] == "date-time" => "time".to_owned(),
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}
