//! Fields that an answer has only where they mean something. That it has no others than the document names is
//! looked at in each answer of these tests.

use serde_json::json;

use crate::kit::{Kit, text};

#[tokio::test]
async fn what_is_made_is_answered_with_exactly_its_fields() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hi").await;
    let documents = json!([{ "label": "Passport" }]);
    for (what, body, expected) in [
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
        let made = kit.live().act(&id, what, body).await;
        let mut names: Vec<&str> = made.as_object().expect("an object").keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names.join(" "), expected, "{what}");
    }
}

#[tokio::test]
async fn a_mail_without_a_name_has_a_contact_without_one_and_a_reply_comes_from_the_inbox() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hi").await;
    kit.live().act(&id, "replies", json!({ "body": "Soon" })).await;
    let (read, me) = (kit.live().conversation(&id).await, kit.live().get("/me").await.expect(200));
    assert_eq!(read["contact"], json!({ "name": null, "email": "vera@customer.example" }));
    let from = json!({ "name": me["agent"]["name"], "email": kit.inbox().await });
    assert_eq!(read["timeline"][1]["from"], from);
}

#[tokio::test]
async fn reference_and_app_sent_are_there_only_where_there_is_one() {
    let kit = Kit::start().await;
    let (live, inbox) = (kit.live(), kit.inbox().await);
    let sent = json!({
        "messageId": "<m1@app.example>", "reference": "Inv-8", "to": ["carl@customer.example"], "subject": "Invoice",
    });
    live.post("/app-mail", sent).await.expect(201);
    for (to, in_reply_to, reference, app_sent) in [
        (inbox.replace('@', "+Order-7@"), None, true, false),
        (inbox.clone(), Some("<m1@app.example>"), true, true),
        (inbox, None, false, false),
    ] {
        let mail =
            json!({ "to": to, "from": "carl@customer.example", "text": "Hi", "inReplyTo": in_reply_to });
        let id = text(&kit.act("/inbound", mail).await["conversationId"]);
        let (read, list) = (live.conversation(&id).await, live.get("/conversations").await.expect(200));
        let listed = list.as_array().expect("a list").iter().find(|it| it["id"] == id).expect("it is listed");
        let there = ["reference", "appSent"].map(|field| read.get(field).is_some());
        assert_eq!(there, [reference, app_sent], "{to}");
        assert_eq!(listed.get("reference").is_some(), reference, "{to}");
    }
}
