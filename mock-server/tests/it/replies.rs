//! Replies and document requests: drafts, the undo window, what goes out and what follows.

use serde_json::{Value, json};
use shared_inbox::Timestamp;

use crate::kit::{Kit, text};

async fn message(kit: &Kit, id: &str, message: &Value) -> Value {
    kit.live().timeline(id).await.into_iter().find(|it| it["id"] == *message).expect("in the timeline")
}

#[tokio::test]
async fn a_reply_is_a_draft_unless_send_is_true() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let draft =
        kit.live().post(&format!("/conversations/{id}/replies"), json!({ "body": "Hi" })).await.expect(201);
    assert_eq!(draft["status"], "draft");
    assert!(draft.get("sendsAt").is_none());
    let item = message(&kit, &id, &draft["messageId"]).await;
    assert_eq!(
        (&item["direction"], &item["status"], &item["text"]),
        (&json!("outbound"), &json!("draft"), &json!("Hi"))
    );
    kit.advance(86_400).await;
    assert_eq!(kit.look("/outbox").await, json!([]), "nothing reaches the customer");
    assert_eq!(message(&kit, &id, &draft["messageId"]).await["status"], "draft");
}

#[tokio::test]
async fn a_sent_reply_leaves_after_ten_minutes() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let now: Timestamp = text(&kit.look("/clock").await["now"]).parse().expect("a time");
    let sent = kit
        .live()
        .post(&format!("/conversations/{id}/replies"), json!({ "body": "Hi", "send": true }))
        .await
        .expect(201);
    assert_eq!(sent["status"], "scheduled");
    let leaves: Timestamp = text(&sent["sendsAt"]).parse().expect("a time");
    assert_eq!(leaves.duration_since(now).as_secs(), 600);
    kit.advance(599).await;
    assert_eq!(message(&kit, &id, &sent["messageId"]).await["status"], "scheduled");
    assert_eq!(kit.live().conversation(&id).await["status"], "open");
    kit.advance(1).await;
    assert_eq!(message(&kit, &id, &sent["messageId"]).await["status"], "sent");
    assert_eq!(kit.live().conversation(&id).await["status"], "waiting");
}

#[tokio::test]
async fn a_stopped_reply_does_not_leave() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let sent = kit
        .live()
        .post(&format!("/conversations/{id}/replies"), json!({ "body": "Hi", "send": true }))
        .await
        .expect(201);
    kit.act(&format!("/messages/{}/stop", text(&sent["messageId"])), json!({})).await;
    kit.advance(86_400).await;
    assert_eq!(message(&kit, &id, &sent["messageId"]).await["status"], "draft");
    assert_eq!(kit.look("/outbox").await, json!([]));
}

#[tokio::test]
async fn every_limit_of_a_reply_is_named() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let path = format!("/conversations/{id}/replies");
    let item = json!({ "label": "x" });
    let bad = json!({
        "body": "x".repeat(50_001), "summary": "x".repeat(501), "send": "yes",
        "documents": [{ "label": "x".repeat(121) }, { "description": "x".repeat(501) }, { "label": "x", "required": 1 }],
    });
    let error = kit.live().post(&path, bad).await.error(400);
    for field in [
        "body",
        "summary",
        "send",
        "documents[0].label",
        "documents[1].label",
        "documents[1].description",
        "documents[2].required",
    ] {
        assert!(error.contains(field), "{field}: {error}");
    }
    assert!(
        kit.live()
            .post(&path, json!({ "body": "x", "documents": vec![item.clone(); 21] }))
            .await
            .error(400)
            .starts_with("documents")
    );
    assert!(kit.live().post(&path, json!({})).await.error(400).starts_with("body"));
    let largest =
        json!({ "body": "x".repeat(50_000), "summary": "x".repeat(500), "documents": vec![item; 20] });
    kit.live().post(&path, largest).await.expect(201);
    assert_eq!(
        kit.live().timeline(&id).await.iter().filter(|it| it["direction"] == "outbound").count(),
        1,
        "refused calls did nothing"
    );
}

#[tokio::test]
async fn every_limit_of_a_document_request_is_named() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let path = format!("/conversations/{id}/document-requests");
    let item = json!({ "label": "x" });
    let error = kit
        .live()
        .post(&path, json!({ "message": "x".repeat(5_001), "dueDate": "2026-02-30" }))
        .await
        .error(400);
    for field in ["documents", "message", "dueDate"] {
        assert!(error.contains(field), "{field}: {error}");
    }
    for due in ["2026-2-3", "26-02-03", "tomorrow", ""] {
        assert!(
            kit.live()
                .post(&path, json!({ "documents": [item], "dueDate": due }))
                .await
                .error(400)
                .starts_with("dueDate"),
            "{due}"
        );
    }
    kit.live().post(&path, json!({ "documents": vec![item.clone(); 21] })).await.error(400);
    let made = kit
        .live()
        .post(&path, json!({ "documents": [item], "dueDate": "2026-12-31", "message": "Please" }))
        .await
        .expect(201);
    assert!(text(&made["requestId"]).starts_with("req_"));
    assert_eq!(made["status"], "draft");
}

#[tokio::test]
async fn reminders_follow_on_days_2_4_and_7_until_all_is_in() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let asked = json!({ "documents": [{ "label": "Invoice" }], "send": true });
    let asked = kit.live().post(&format!("/conversations/{id}/document-requests"), asked).await.expect(201);
    let sent: Timestamp = text(&asked["sendsAt"]).parse().expect("a time");
    kit.advance(5 * 86_400).await;
    let reminders = |outbox: Value| -> Vec<u64> {
        let reminders = outbox
            .as_array()
            .expect("a list")
            .iter()
            .filter(|it| it["kind"] == "reminder")
            .cloned()
            .collect::<Vec<_>>();
        reminders
            .iter()
            .map(|it| {
                text(&it["at"]).parse::<Timestamp>().expect("a time").duration_since(sent).as_secs() / 86_400
            })
            .collect()
    };
    assert_eq!(reminders(kit.look("/outbox").await), [2, 4]);
    let upload = json!({ "item": 0, "filename": "a.pdf" });
    assert_eq!(
        kit.act(&format!("/document-requests/{}/uploads", text(&asked["requestId"])), upload).await["complete"],
        true
    );
    kit.advance(10 * 86_400).await;
    assert_eq!(reminders(kit.look("/outbox").await), [2, 4], "none after everything is in");
}

#[tokio::test]
async fn incoming_mail_opens_the_conversation_and_ends_a_snooze() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    kit.live().post(&format!("/conversations/{id}/status"), json!({ "status": "closed" })).await.expect(200);
    kit.act(&format!("/conversations/{id}/snooze"), json!({ "until": "2099-01-01T00:00:00Z" })).await;
    let to = kit.inbox().await;
    kit.act(
        "/inbound",
        json!({ "to": to, "from": "vera@customer.example", "text": "Again", "conversationId": id }),
    )
    .await;
    let read = kit.live().conversation(&id).await;
    assert_eq!((&read["status"], &read["snoozedUntil"]), (&json!("open"), &Value::Null));
}

#[tokio::test]
async fn mail_joins_by_conversation_reply_or_reference_and_never_by_subject_or_sender() {
    let kit = Kit::start().await;
    let to = kit.inbox().await;
    let first = kit
        .act(
            "/inbound",
            json!({ "to": to, "from": "vera@customer.example", "subject": "Parcel", "text": "1" }),
        )
        .await;
    let same = kit
        .act(
            "/inbound",
            json!({ "to": to, "from": "vera@customer.example", "subject": "Re: Parcel", "text": "2" }),
        )
        .await;
    assert_eq!(same["created"], true);
    let answer =
        json!({ "to": to, "from": "vera@customer.example", "text": "3", "inReplyTo": first["messageId"] });
    assert_eq!(kit.act("/inbound", answer).await["conversationId"], first["conversationId"]);

    let tagged = to.replace('@', "+Order-17@");
    let with_reference =
        kit.act("/inbound", json!({ "to": tagged, "from": "vera@customer.example", "text": "4" })).await;
    let id = text(&with_reference["conversationId"]);
    assert_eq!(kit.live().conversation(&id).await["reference"], "order-17", "lower-cased");
    let again =
        kit.act("/inbound", json!({ "to": tagged, "from": "vera@customer.example", "text": "5" })).await;
    assert_eq!(again["conversationId"], json!(id));
    let stranger =
        kit.act("/inbound", json!({ "to": tagged, "from": "karl@customer.example", "text": "6" })).await;
    assert_eq!(stranger["created"], true);
    assert_eq!(kit.live().listed("?view=all&reference=ORDER-17").await.len(), 2);
    let word = kit
        .act(
            "/inbound",
            json!({ "to": to.replace('@', "+sales@"), "from": "k@customer.example", "text": "7" }),
        )
        .await;
    assert!(
        kit.live().conversation(&text(&word["conversationId"])).await.get("reference").is_none(),
        "a word with no digit is no reference"
    );
}

#[tokio::test]
async fn a_reply_to_recorded_mail_joins_only_from_its_recipients_and_with_dmarc() {
    let kit = Kit::start().await;
    let to = kit.inbox().await;
    let record = json!({ "messageId": "<u-81@app.example>", "reference": "inv-81", "to": ["vera@customer.example"], "subject": "Invoice", "text": "Pay" });
    assert_eq!(kit.live().post("/app-mail", record.clone()).await.expect(201), json!({ "ok": true }));
    kit.live().post("/app-mail", record).await.expect(201);
    let answer = |from: &str, dmarc: &str| json!({ "to": to, "from": from, "text": "x", "inReplyTo": "<u-81@app.example>", "dmarc": dmarc });
    for (from, dmarc) in [("stranger@evil.example", "pass"), ("vera@customer.example", "fail")] {
        let received = kit.act("/inbound", answer(from, dmarc)).await;
        assert_eq!(received["created"], true);
        assert!(kit.live().conversation(&text(&received["conversationId"])).await.get("reference").is_none());
    }
    let received = kit.act("/inbound", answer("vera@customer.example", "pass")).await;
    let read = kit.live().conversation(&text(&received["conversationId"])).await;
    assert_eq!(read["reference"], "inv-81");
    assert!(read["appSent"].is_object());
}

#[tokio::test]
async fn wrong_app_mail_is_refused_with_every_problem() {
    let kit = Kit::start().await;
    let error = kit.live().post("/app-mail", json!({ "reference": "word", "to": [] })).await.error(400);
    for field in ["messageId", "reference", "to", "subject"] {
        assert!(error.contains(field), "{field}: {error}");
    }
}
