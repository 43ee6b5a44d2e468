//! Keys, scopes, what a key can see, and the order of checks.

use serde_json::{Value, json};
use shared_inbox::Operation;
use shared_inbox_mock::MockServer;

use crate::kit::{Api, Kit, Reply, text};

/// A path and body of every operation, right in every way but perhaps the id.
fn calls(id: &str) -> Vec<(Operation, String, Option<Value>)> {
    let body = |op| match op {
        Operation::AddNote => Some(json!({ "body": "x" })),
        Operation::SetStatus => Some(json!({ "status": "open" })),
        Operation::TagConversation => Some(json!({})),
        Operation::AssignConversation => Some(json!({ "to": "none" })),
        Operation::Reply => Some(json!({ "body": "x" })),
        Operation::RequestDocuments => Some(json!({ "documents": [{ "label": "x" }] })),
        Operation::RecordSent => Some(
            json!({ "messageId": "<a1@x.example>", "reference": "a1", "to": ["a@x.example"], "subject": "x" }),
        ),
        Operation::SandboxInbound => Some(json!({ "from": "a@x.test", "text": "x" })),
        _ => None,
    };
    Operation::KNOWN.iter().map(|op| (*op, op.path().replace("{id}", id), body(*op))).collect()
}

async fn call(api: &Api, path: &str, body: Option<Value>) -> Reply {
    match body {
        Some(body) => api.post(path, body).await,
        None => api.get(path).await,
    }
}

#[tokio::test]
async fn every_operation_needs_a_key() {
    let kit = Kit::start().await;
    for (op, path, body) in calls("cnv_1") {
        call(&kit.api("rk_live_000000000000000000000000000000000000000000000000"), &path, body)
            .await
            .error(401);
        let url = format!("{}{path}", kit.mock.base_url());
        let request = kit.http().request(op.method().as_str().parse().expect("a method"), url);
        let bare = kit.ask(request.try_clone().expect("no body")).await;
        bare.error(401);
        assert_eq!(bare.headers["www-authenticate"], "Bearer");
        let basic = request.header("authorization", format!("Basic {}", kit.mock.live_key()));
        kit.ask(basic).await.error(401);
    }
}

#[tokio::test]
async fn a_call_without_the_scope_answers_403_and_names_it() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let (reader, _) = kit.key("Reader", &["read"]).await;
    for (op, path, body) in calls(&id) {
        let reply = call(&reader, &path, body).await;
        if op.scope() == &shared_inbox::Scope::Read {
            assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        } else {
            let error = reply.error(403);
            assert!(error.contains(op.scope().as_str()), "{path}: {error}");
        }
    }
}

#[tokio::test]
async fn sending_needs_send_and_drafting_needs_draft() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let (drafter, _) = kit.key("Drafter", &["draft"]).await;
    let (sender, _) = kit.key("Sender", &["send"]).await;
    for (path, body) in [
        ("replies", json!({ "body": "x" })),
        ("document-requests", json!({ "documents": [{ "label": "x" }] })),
    ] {
        let path = format!("/conversations/{id}/{path}");
        let with_send = |send: bool| {
            let mut body = body.clone();
            body["send"] = json!(send);
            body
        };
        drafter.post(&path, with_send(false)).await.expect(201);
        assert!(drafter.post(&path, with_send(true)).await.error(403).contains("send"));
        sender.post(&path, with_send(true)).await.expect(201);
        assert!(sender.post(&path, with_send(false)).await.error(403).contains("draft"));
    }
}

#[tokio::test]
async fn each_key_acts_under_its_own_name() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let (robot, agent) = kit.key("Refund robot", &["write"]).await;
    robot.post(&format!("/conversations/{id}/notes"), json!({ "body": "Seen" })).await.expect(201);
    let timeline = robot.timeline(&id).await;
    let note = timeline.iter().find(|it| it["type"] == "note").expect("a note");
    assert_eq!(note["author"], "Refund robot");
    robot.post(&format!("/conversations/{id}/assign"), json!({ "to": "me" })).await.expect(200);
    let read = robot.conversation(&id).await;
    assert_eq!(read["assignee"], json!({ "id": agent, "name": "Refund robot", "type": "agent" }));
    let team = &read["team"]["agents"];
    assert!(
        team.as_array()
            .expect("a list")
            .contains(&json!({ "id": format!("agent:{agent}"), "name": "Refund robot" }))
    );
}

#[tokio::test]
async fn another_persons_private_inbox_does_not_exist() {
    let kit = Kit::start().await;
    let anna = text(&kit.act("/users", json!({ "name": "Anna" })).await["id"]);
    let karl = text(&kit.act("/users", json!({ "name": "Karl" })).await["id"]);
    kit.act("/mailboxes", json!({ "address": "anna@acme.example", "name": "Anna's", "owner": anna })).await;
    let mail = json!({ "to": "anna@acme.example", "from": "vera@customer.example", "text": "Between us" });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    let all = ["read", "write", "draft", "send", "record"];
    let key = |by: String| {
        let kit = &kit;
        async move {
            let new = json!({ "name": "Key", "scopes": all, "livemode": true, "createdBy": by });
            kit.api(&text(&kit.act("/keys", new).await["key"]))
        }
    };
    let (of_anna, of_karl) = (key(anna.clone()).await, key(karl).await);
    assert_eq!(of_anna.listed("").await, [id.as_str()]);
    of_anna.conversation(&id).await;

    let never = calls("cnv_0000000000000");
    for ((op, path, body), (_, other, _)) in calls(&id).into_iter().zip(never) {
        if op.takes_conversation() {
            let hidden = call(&of_karl, &path, body.clone()).await;
            hidden.error(404);
            assert_eq!(
                hidden.text,
                call(&of_karl, &other, body).await.text,
                "the same as an id that never was"
            );
        }
    }
    assert!(of_karl.listed("").await.is_empty());
    assert!(of_karl.listed("?q=between").await.is_empty());
    let inboxes = of_karl.get("/mailboxes").await.text;
    assert!(!inboxes.contains("anna@acme.example"));
    assert!(of_anna.get("/mailboxes").await.text.contains("anna@acme.example"));
    // Whoever cannot see the inbox cannot be given a conversation in it either.
    let karls_agent = text(&of_karl.get("/me").await.expect(200)["agent"]["id"]);
    of_anna
        .post(&format!("/conversations/{id}/assign"), json!({ "to": format!("agent:{karls_agent}") }))
        .await
        .error(400);
}

#[tokio::test]
async fn live_and_sandbox_see_nothing_of_each_other() {
    let kit = Kit::start().await;
    let live = kit.mail("vera@customer.example", "Real words").await;
    let mail = json!({ "from": "vera@customer.test", "text": "Made up words" });
    let test = text(&kit.sandbox().post("/sandbox/inbound", mail).await.expect(201)["conversationId"]);
    for (op, path, body) in calls(&live) {
        if op.takes_conversation() {
            call(&kit.sandbox(), &path, body).await.error(404);
        }
    }
    for (op, path, body) in calls(&test) {
        if op.takes_conversation() {
            call(&kit.live(), &path, body).await.error(404);
        }
    }
    assert_eq!(kit.live().listed("").await, [live.as_str()]);
    assert_eq!(kit.sandbox().listed("").await, [test.as_str()]);
    assert!(kit.sandbox().listed("?q=real").await.is_empty());
    let inboxes = kit.sandbox().get("/mailboxes").await.expect(200);
    assert_eq!(inboxes.as_array().map(Vec::len), Some(1));
    let address = text(&inboxes[0]["address"]);
    assert!(address.starts_with("sandbox@") && address.ends_with(".test"), "{address}");
    assert!(!kit.live().get("/mailboxes").await.text.contains(&address));
}

#[tokio::test]
async fn a_live_key_cannot_make_up_mail() {
    let kit = Kit::start().await;
    kit.live().post("/sandbox/inbound", json!({ "from": "a@x.test", "text": "x" })).await.error(403);
}

#[tokio::test]
async fn the_order_of_checks_is_key_plan_rate_scope_input_conversation() {
    let kit = Kit::with(MockServer::builder().manual_clock().empty().rate_limit(3)).await;
    let (reader, _) = kit.key("Reader", &["read"]).await;
    let path = "/conversations/cnv_none/notes";
    let bad = json!({ "body": 5 });
    reader.post(path, bad.clone()).await.error(403);
    kit.live().post(path, bad.clone()).await.error(400);
    kit.live().post(path, json!({ "body": "x" })).await.error(404);
    kit.live().get("/me").await.expect(200);
    kit.live().post(path, bad.clone()).await.error(429);
    kit.control("PUT", "/plan", json!({ "plan": "free" })).await.expect(200);
    kit.live().post(path, bad.clone()).await.error(403);
    kit.api("rk_live_wrong").post(path, bad).await.error(401);
}

#[tokio::test]
async fn more_than_the_limit_in_a_minute_answers_429_for_that_key_alone() {
    let kit = Kit::with(MockServer::builder().manual_clock().empty()).await;
    for _ in 0..120 {
        kit.live().get("/me").await.expect(200);
    }
    let error = kit.live().get("/me").await.error(429);
    assert!(error.contains("120"), "{error}");
    kit.sandbox().get("/me").await.expect(200);
    kit.advance(61).await;
    kit.live().get("/me").await.expect(200);
}

#[tokio::test]
async fn simulated_mail_is_limited_across_all_test_keys_unless_limits_are_off() {
    let kit = Kit::with(MockServer::builder().manual_clock().empty().rate_limit(1_000)).await;
    let new = json!({ "name": "Second", "scopes": ["write"], "livemode": false });
    let second = kit.api(&text(&kit.act("/keys", new).await["key"]));
    let mail = || json!({ "from": "a@x.test", "text": "x" });
    for i in 0..120 {
        let key = if i % 2 == 0 { kit.sandbox() } else { second.clone() };
        key.post("/sandbox/inbound", mail()).await.expect(201);
    }
    kit.sandbox().post("/sandbox/inbound", mail()).await.error(429);
    second.post("/sandbox/inbound", mail()).await.error(429);
    let free = Kit::start().await;
    for _ in 0..125 {
        free.sandbox().post("/sandbox/inbound", mail()).await.expect(201);
    }
}
