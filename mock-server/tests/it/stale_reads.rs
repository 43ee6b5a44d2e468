//! What was read before is read again: nothing that is kept for speed is ever old.

use serde_json::{Value, json};

use crate::kit::{Kit, text};

/// What a list says of a conversation, all of it as a read and the control API say it.
async fn summary(kit: &Kit, id: &str) -> Value {
    let live = kit.live();
    let read = live.conversation(id).await;
    let view = kit.look(&format!("/conversations/{id}")).await;
    let list = live.get(&format!("/conversations?view={}", text(&read["status"]))).await.expect(200);
    let summary = list.as_array().expect("a list").iter().find(|it| it["id"] == id).expect("it is listed");
    for field in
        ["subject", "status", "contact", "lastMessageAt", "assignee", "tags", "topic", "urgency", "risk"]
    {
        assert_eq!((&summary[field], &read[field]), (&view[field], &view[field]), "{field}");
    }
    assert_eq!((&read["mailbox"], &read["team"]), (&view["mailbox"]["address"], &view["team"]));
    let timeline = view["timeline"].as_array().expect("a timeline");
    let ids = |of: &Value| of["timeline"].as_array().map(|it| it.iter().map(|it| it["id"].clone()).collect());
    assert_eq!(ids(&read), ids(&view) as Option<Vec<Value>>);
    let messages: Vec<&Value> = timeline.iter().filter(|it| it["type"] == "message").collect();
    assert_eq!(summary["messageCount"], messages.len());
    assert_eq!(summary["snippet"], messages[messages.len() - 1]["text"]);
    summary.clone()
}

#[tokio::test]
async fn a_list_or_a_conversation_that_is_asked_for_again_shows_whatever_has_changed() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "One").await;
    let other = kit.mail("karl@customer.example", "Two").await;
    let (first, beside) = (summary(&kit, &id).await, summary(&kit, &other).await);
    kit.control("POST", "/snapshots", json!({ "name": "before" })).await.expect(201);

    let me = text(&kit.live().get("/me").await.expect(200)["agent"]["id"]);
    let mut last = first.clone();
    for (what, body) in [
        ("tags", json!({ "add": ["vip"] })),
        ("assign", json!({ "to": format!("agent:{me}") })),
        ("replies", json!({ "body": "A draft" })),
        ("status", json!({ "status": "closed" })),
        ("status", json!({ "status": "open" })),
    ] {
        kit.live().act(&id, what, body).await;
        let now = summary(&kit, &id).await;
        assert_ne!(now, last, "{what}");
        last = now;
    }
    kit.live().act(&id, "notes", json!({ "body": "A note" })).await;
    assert_eq!(summary(&kit, &id).await, last, "a note is in no list");
    kit.act("/users", json!({ "name": "Somebody new" })).await;
    assert_eq!(summary(&kit, &id).await, last, "nor is the team");
    let more = json!({ "to": kit.inbox().await, "from": "vera@customer.example", "text": "More", "conversationId": id });
    let sorting = json!({ "topic": "billing", "urgency": "high" });
    for (what, body) in [(format!("/conversations/{id}/sorting"), sorting), ("/inbound".into(), more)] {
        kit.act(&what, body).await;
        let now = summary(&kit, &id).await;
        assert_ne!(now, last, "{what}");
        last = now;
    }
    kit.live().act(&id, "replies", json!({ "body": "Sent", "send": true })).await;
    let scheduled = summary(&kit, &id).await;
    kit.advance(600).await;
    assert_ne!(summary(&kit, &id).await, scheduled, "it has left by itself");
    assert_eq!(summary(&kit, &other).await, beside);

    kit.control("POST", "/snapshots/before/restore", Value::Null).await.expect(200);
    assert_eq!(summary(&kit, &id).await, first);
    let mut state = kit.look("/state").await;
    for inbox in state["mailboxes"].as_array_mut().expect("inboxes") {
        inbox["name"] = json!("Another name");
    }
    kit.control("PUT", "/state", state).await.expect(200);
    assert_eq!(summary(&kit, &id).await["mailbox"], "Another name");
    kit.control("POST", "/snapshots/before/restore", Value::Null).await.expect(200);
    assert_eq!(summary(&kit, &id).await, first);
}

#[tokio::test]
async fn a_conversation_of_more_than_a_mebibyte_is_read_whole_each_time() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let note = async |body: String| {
        kit.live().act(&id, "notes", json!({ "body": body })).await;
    };
    for _ in 0..110 {
        note("x".repeat(10_000)).await;
    }
    let read = kit.live().conversation(&id).await;
    assert!(read.to_string().len() > 1 << 20);
    assert_eq!(kit.live().conversation(&id).await, read);
    note("The last".to_owned()).await;
    assert_eq!(kit.live().timeline(&id).await[111]["body"], "The last");
}
