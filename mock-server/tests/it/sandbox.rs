//! The sandbox: simulated mail and the magic recipients.

use serde_json::{Value, json};

use crate::kit::{Kit, text};

/// A conversation with this address, to which a reply has been sent; the message's id too.
async fn sent_to(kit: &Kit, address: &str) -> (String, Value) {
    let mail = json!({ "from": address, "name": "Someone", "subject": "Hi", "text": "Hello" });
    let id = text(&kit.sandbox().post("/sandbox/inbound", mail).await.expect(201)["conversationId"]);
    (id.clone(), reply(kit, &id).await)
}

async fn reply(kit: &Kit, id: &str) -> Value {
    let path = format!("/conversations/{id}/replies");
    kit.sandbox().post(&path, json!({ "body": "Hi", "send": true })).await.expect(201)["messageId"].clone()
}

async fn status(kit: &Kit, id: &str, message: &Value) -> Value {
    kit.sandbox().timeline(id).await.into_iter().find(|it| it["id"] == *message).expect("there")["status"]
        .clone()
}

async fn inbound(kit: &Kit, id: &str) -> usize {
    kit.sandbox().timeline(id).await.iter().filter(|it| it["direction"] == "inbound").count()
}

#[tokio::test]
async fn simulated_mail_needs_a_test_address_and_a_text() {
    let kit = Kit::start().await;
    let post = |body: Value| {
        let api = kit.sandbox();
        async move { api.post("/sandbox/inbound", body).await }
    };
    let error = post(json!({ "from": "vera@customer.example" })).await.error(400);
    assert!(error.contains("from") && error.contains("text"), "{error}");
    let first = post(json!({ "from": "vera@customer.test", "text": "One" })).await.expect(201);
    let id = text(&first["conversationId"]);
    assert!(text(&first["messageId"]).starts_with("msg_"));
    let second =
        post(json!({ "from": "vera@customer.test", "text": "Two", "conversationId": id })).await.expect(201);
    assert_eq!(second["conversationId"], json!(id));
    assert_eq!(inbound(&kit, &id).await, 2);
    post(json!({ "from": "vera@customer.test", "text": "x", "conversationId": "cnv_none" })).await.error(404);
}

#[tokio::test]
async fn a_send_leaves_after_five_seconds_and_never_leaves_the_service() {
    let kit = Kit::start().await;
    let (id, message) = sent_to(&kit, "anyone@customer.test").await;
    kit.advance(4).await;
    assert_eq!(status(&kit, &id, &message).await, "scheduled");
    kit.advance(1).await;
    assert_eq!(status(&kit, &id, &message).await, "sent");
    kit.advance(3_600).await;
    assert_eq!(inbound(&kit, &id).await, 1, "nothing comes back");
}

#[tokio::test]
async fn delivered_and_unknown_addresses_are_delivered_and_silent() {
    let kit = Kit::start().await;
    for address in ["delivered@x.test", "delivered+tag@y.test", "whoever@x.test"] {
        let (id, message) = sent_to(&kit, address).await;
        kit.advance(60).await;
        assert_eq!(
            (status(&kit, &id, &message).await, inbound(&kit, &id).await),
            (json!("sent"), 1),
            "{address}"
        );
    }
}

#[tokio::test]
async fn bounce_fails() {
    let kit = Kit::start().await;
    for address in ["bounce@x.test", "bounce+a1@y.test"] {
        let (id, message) = sent_to(&kit, address).await;
        kit.advance(60).await;
        assert_eq!(status(&kit, &id, &message).await, "failed", "{address}");
    }
}

#[tokio::test]
async fn complaint_is_delivered_then_recorded_and_every_later_mail_fails() {
    let kit = Kit::start().await;
    let (id, message) = sent_to(&kit, "complaint@x.test").await;
    kit.advance(60).await;
    assert_eq!(status(&kit, &id, &message).await, "sent");
    let timeline = kit.sandbox().timeline(&id).await;
    let event = timeline.iter().find(|it| it["event"] == "spam-complaint").expect("an event");
    assert_eq!(event["data"], json!({ "email": "complaint@x.test" }));
    let later = reply(&kit, &id).await;
    kit.advance(60).await;
    assert_eq!(status(&kit, &id, &later).await, "failed");
}

#[tokio::test]
async fn reply_writes_back_about_five_seconds_later() {
    let kit = Kit::start().await;
    let (id, _) = sent_to(&kit, "reply+case7@x.test").await;
    kit.advance(5).await;
    assert_eq!(inbound(&kit, &id).await, 1);
    kit.advance(6).await;
    assert_eq!(inbound(&kit, &id).await, 2);
    assert_eq!(kit.sandbox().conversation(&id).await["status"], "open");
}

#[tokio::test]
async fn docs_writes_back_with_an_invoice_that_is_filed() {
    let kit = Kit::start().await;
    let (id, _) = sent_to(&kit, "docs@x.test").await;
    kit.advance(12).await;
    assert_eq!(inbound(&kit, &id).await, 2);
    let documents = kit.sandbox().get("/documents").await.expect(200);
    assert_eq!(documents[0]["conversationId"], json!(id));
    assert!(text(&documents[0]["filename"]).ends_with(".pdf"));
    assert_eq!(kit.live().get("/documents").await.expect(200), json!([]));
}

#[tokio::test]
async fn ooo_sends_an_automatic_reply() {
    let kit = Kit::start().await;
    let (id, _) = sent_to(&kit, "ooo@x.test").await;
    kit.advance(12).await;
    assert_eq!(inbound(&kit, &id).await, 2);
}

#[tokio::test]
async fn tag_names_are_shared_with_the_live_workspace() {
    let kit = Kit::start().await;
    let live = kit.mail("vera@customer.example", "Hello").await;
    let mail = json!({ "from": "a@x.test", "text": "x" });
    let test = text(&kit.sandbox().post("/sandbox/inbound", mail).await.expect(201)["conversationId"]);
    kit.sandbox()
        .post(&format!("/conversations/{test}/tags"), json!({ "add": ["refund"] }))
        .await
        .expect(200);
    kit.live().post(&format!("/conversations/{live}/tags"), json!({ "add": ["refund"] })).await.expect(200);
    let id = |tags: Value| {
        tags.as_array().expect("a list").iter().find(|it| it["name"] == "refund").expect("there")["id"]
            .clone()
    };
    assert_eq!(
        id(kit.live().get("/tags").await.expect(200)),
        id(kit.sandbox().get("/tags").await.expect(200))
    );
}

#[tokio::test]
async fn drafts_wait_and_nobody_can_approve_them() {
    let kit = Kit::start().await;
    let mail = json!({ "from": "a@x.test", "text": "x" });
    let id = text(&kit.sandbox().post("/sandbox/inbound", mail).await.expect(201)["conversationId"]);
    let draft = kit
        .sandbox()
        .post(&format!("/conversations/{id}/replies"), json!({ "body": "Hi" }))
        .await
        .expect(201);
    assert_eq!(draft["status"], "draft");
    let approve = format!("/messages/{}/approve", text(&draft["messageId"]));
    let refused = kit.control("POST", &approve, json!({})).await.status;
    assert!(matches!(refused, 404 | 409), "{refused}");
}
