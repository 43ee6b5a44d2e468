//! The mock adds nothing of its own: every answer has the fields that the document names, and no others.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::kit::{Kit, text};

/// The names of an object's fields, in order.
#[track_caller]
fn fields(value: &Value) -> String {
    let names: BTreeSet<&str> = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"))
        .keys()
        .map(String::as_str)
        .collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

const SUMMARY: &str =
    "assignee contact id lastMessageAt mailbox messageCount risk snippet status subject tags topic urgency";
const READ: &str = "assignee contact id lastMessageAt mailbox risk riskReasons snoozedUntil status subject tags team \
                    timeline topic urgency";

#[tokio::test]
async fn lists_and_reads_have_exactly_their_fields() {
    let kit = Kit::start().await;
    let live = kit.live();
    let to = kit.inbox().await;
    let attached = json!({ "filename": "a.pdf", "contentType": "application/pdf", "size": 7 });
    let mail = json!({ "to": to, "from": "vera@customer.example", "text": "Hi", "attachments": [attached] });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    let path = |rest: &str| format!("/conversations/{id}/{rest}");
    live.post(&path("notes"), json!({ "body": "Look" })).await.expect(201);
    live.post(&path("tags"), json!({ "add": ["vip"] })).await.expect(200);
    live.post(&path("assign"), json!({ "to": "me" })).await.expect(200);
    live.post(&path("replies"), json!({ "body": "Soon" })).await.expect(201);

    let me = live.get("/me").await.expect(200);
    assert_eq!((fields(&me).as_str(), fields(&me["agent"]).as_str()), ("agent livemode scopes", "id name"));
    for (path, names) in [
        ("/conversations", SUMMARY),
        ("/mailboxes", "address id name open"),
        ("/tags", "count id name"),
        ("/documents", "conversationId createdAt fields filename id kind title"),
    ] {
        assert_eq!(fields(&live.get(path).await.expect(200)[0]), names, "{path}");
    }
    let document = live.get("/documents").await.expect(200)[0].clone();
    assert_eq!((&document["kind"], &document["fields"]), (&Value::Null, &json!({})), "nobody read it");

    let read = live.conversation(&id).await;
    assert_eq!(fields(&read), READ);
    assert_eq!(read["contact"], json!({ "name": null, "email": "vera@customer.example" }));
    assert_eq!(fields(&read["assignee"]), "id name type");
    for item in read["timeline"].as_array().expect("a timeline") {
        let names = match item["type"].as_str() {
            Some("message") => "at attachments direction from id status text type",
            Some("note") => "at author body id type",
            _ => "actor at data event type",
        };
        assert_eq!(fields(item), names);
    }
    assert_eq!(read["timeline"][0]["attachments"], json!([attached]));
    let reply = read["timeline"].as_array().and_then(|it| it.last()).expect("the reply");
    assert_eq!(reply["from"], json!({ "name": me["agent"]["name"], "email": to }));
    assert_eq!(fields(&read["team"]), "agents people");
    for member in ["people", "agents"].iter().flat_map(|part| read["team"][part].as_array()).flatten() {
        assert_eq!(fields(member), "id name");
    }
}

#[tokio::test]
async fn what_is_made_is_answered_with_exactly_its_fields() {
    let kit = Kit::start().await;
    let live = kit.live();
    let id = kit.mail("vera@customer.example", "Hi").await;
    let path = |rest: &str| format!("/conversations/{id}/{rest}");
    let documents = json!([{ "label": "Passport" }]);
    for (rest, body, names) in [
        ("replies", json!({ "body": "x" }), "messageId note status"),
        ("replies", json!({ "body": "x", "send": true }), "messageId note sendsAt status"),
        ("replies", json!({ "body": "x", "documents": documents }), "messageId note requestId status"),
        ("document-requests", json!({ "documents": documents }), "messageId note requestId status"),
        (
            "document-requests",
            json!({ "documents": documents, "send": true }),
            "messageId note requestId sendsAt status",
        ),
    ] {
        assert_eq!(fields(&live.post(&path(rest), body).await.expect(201)), names, "{rest}");
    }
    let ok = json!({ "ok": true });
    for (rest, body, status) in [
        ("notes", json!({ "body": "x" }), 201),
        ("status", json!({ "status": "closed" }), 200),
        ("tags", json!({ "add": ["a"] }), 200),
        ("assign", json!({ "to": "none" }), 200),
    ] {
        assert_eq!(live.post(&path(rest), body).await.expect(status), ok, "{rest}");
    }
    let mail = json!({ "from": "a@x.test", "text": "x" });
    let simulated = kit.sandbox().post("/sandbox/inbound", mail).await.expect(201);
    assert_eq!(fields(&simulated), "conversationId messageId");
}

#[tokio::test]
async fn reference_and_app_sent_are_there_only_where_there_is_one() {
    let kit = Kit::start().await;
    let live = kit.live();
    let tagged = kit.inbox().await.replace('@', "+Order-7@");
    let mail = json!({ "to": tagged, "from": "olga@customer.example", "text": "About my order" });
    let referred = text(&kit.act("/inbound", mail).await["conversationId"]);
    assert_eq!(fields(&live.conversation(&referred).await), READ.replacen("risk ", "reference risk ", 1));
    let sent = json!({
        "messageId": "<m1@app.example>", "reference": "Inv-8", "to": ["carl@customer.example"], "subject": "Invoice",
    });
    live.post("/app-mail", sent).await.expect(201);
    let mail = json!({
        "to": kit.inbox().await, "from": "carl@customer.example", "text": "Paid", "inReplyTo": "<m1@app.example>",
    });
    let answered = text(&kit.act("/inbound", mail).await["conversationId"]);
    let read = live.conversation(&answered).await;
    assert_eq!(fields(&read), format!("appSent {}", READ.replacen("risk ", "reference risk ", 1)));
    kit.mail("vera@customer.example", "Hi").await;
    let list = live.get("/conversations").await.expect(200);
    let with: Vec<bool> =
        list.as_array().expect("a list").iter().map(|it| it.get("reference").is_some()).collect();
    assert_eq!(with.iter().filter(|it| **it).count(), 2, "{list}");
}
