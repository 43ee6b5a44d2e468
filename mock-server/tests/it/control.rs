//! What people and customers do, by the control API.

use serde_json::{Value, json};

use crate::kit::{Kit, text};

#[tokio::test]
async fn health_says_ok_and_the_version() {
    let kit = Kit::start().await;
    assert_eq!(kit.look("/health").await, json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }));
    assert_eq!(kit.look("/openapi.json").await, *kit.document().control().value());
}

#[tokio::test]
async fn unknown_paths_and_methods_have_the_services_error_body() {
    let kit = Kit::start().await;
    kit.control("GET", "/nope", Value::Null).await.error(404);
    kit.control("GET", "", Value::Null).await.error(404);
    let reply = kit.control("DELETE", "/health", Value::Null).await;
    reply.error(405);
    assert!(reply.headers.contains_key("allow"));
    kit.control("POST", "/users", json!([])).await.error(400);
    let url = format!("{}/users", kit.mock.control_url());
    kit.ask(kit.http().post(url).body("{")).await.error(400);
}

#[tokio::test]
async fn people_are_made_and_listed() {
    let kit = Kit::start().await;
    let made = kit.control("POST", "/users", json!({ "name": "Anna Berg" })).await.expect(201);
    let users = kit.look("/users").await;
    assert!(users.as_array().expect("a list").contains(&json!({ "id": made["id"], "name": "Anna Berg" })));
    let error = kit.control("POST", "/users", json!({})).await.error(400);
    assert!(error.starts_with("name"), "{error}");
}

#[tokio::test]
async fn inboxes_are_made_and_listed_private_and_sandbox_too() {
    let kit = Kit::start().await;
    let anna = text(&kit.act("/users", json!({ "name": "Anna" })).await["id"]);
    let new = json!({ "address": "anna@acme.example", "name": "Anna's", "owner": anna });
    let made = kit.act("/mailboxes", new).await;
    let listed = kit.list("/mailboxes").await;
    assert_eq!(listed.iter().filter(|it| it["sandbox"] == true).count(), 1);
    assert!(listed.iter().any(|it| it["owner"] == json!(anna) && it["id"] == made["id"]));
    let unknown = json!({ "address": "x@acme.example", "name": "X", "owner": "usr_none" });
    kit.control("POST", "/mailboxes", unknown).await.error(404);
    kit.control("POST", "/mailboxes", json!({ "address": "nonsense", "name": "X" })).await.error(400);
}

#[tokio::test]
async fn keys_are_shown_once_and_can_be_revoked() {
    let kit = Kit::start().await;
    let (robot, agent) = kit.key("Robot", &["record", "write", "record"]).await;
    let me = robot.get("/me").await.expect(200);
    assert_eq!(me["scopes"], json!(["read", "write", "record"]), "in order, and read with any other scope");
    let listed = async || {
        let keys = kit.list("/keys").await;
        keys.into_iter().find(|it| it["agentId"] == json!(agent)).expect("listed")
    };
    let entry = listed().await;
    assert_eq!((entry.as_object().map(|fields| fields.len()), &entry["revoked"]), (Some(6), &json!(false)));
    for path in ["/keys", "/state"] {
        assert!(!kit.look(path).await.to_string().contains("rk_"), "{path}");
    }
    kit.control("DELETE", &format!("/keys/{agent}"), Value::Null).await.expect(204);
    robot.get("/me").await.error(401);
    assert_eq!(listed().await["revoked"], true);
    kit.control("DELETE", "/keys/agt_none", Value::Null).await.error(404);
    let odd = json!({ "name": "X", "scopes": ["fly"], "livemode": true });
    assert!(kit.control("POST", "/keys", odd).await.error(400).starts_with("scopes[0]: "));
    let by = |user: &Value| json!({ "name": "X", "scopes": [], "livemode": true, "createdBy": user });
    kit.control("POST", "/keys", by(&json!("usr_none"))).await.error(404);
    let anna = kit.act("/users", json!({ "name": "Anna" })).await["id"].clone();
    kit.act("/keys", by(&anna)).await;
    assert_eq!(kit.list("/keys").await.last().map(|key| key["createdBy"].clone()), Some(anna));
}

#[tokio::test]
async fn mail_comes_in_and_is_answered_with_where_it_went() {
    let kit = Kit::start().await;
    let to = kit.inbox().await;
    let mail = json!({
        "to": to, "from": "vera@customer.example", "name": "Vera", "subject": "Invoice", "text": "Here it is.",
        "attachments": [{ "filename": "a.pdf", "contentType": "application/pdf", "size": 1200 }],
        "topic": "billing", "urgency": "high", "risk": "phishing", "riskReasons": ["New sender"],
    });
    let received = kit.act("/inbound", mail).await;
    assert_eq!(received["created"], true);
    assert_eq!(received["documentIds"].as_array().map(Vec::len), Some(1));
    let id = text(&received["conversationId"]);
    let read = kit.live().conversation(&id).await;
    assert_eq!(
        (&read["topic"], &read["urgency"], &read["risk"]),
        (&json!("billing"), &json!("high"), &json!("phishing"))
    );
    assert_eq!(read["riskReasons"], json!(["New sender"]));
    assert_eq!(read["contact"], json!({ "name": "Vera", "email": "vera@customer.example" }));
    assert_eq!(read["timeline"][0]["attachments"][0]["filename"], "a.pdf");

    let again = json!({ "to": to, "from": "vera@customer.example", "text": "And?", "conversationId": id });
    let again = kit.act("/inbound", again).await;
    assert_eq!((&again["created"], &again["conversationId"]), (&json!(false), &json!(id)));
    let nowhere = json!({ "to": "none@nowhere.example", "from": "a@b.example", "text": "x" });
    assert!(matches!(kit.control("POST", "/inbound", nowhere).await.status, 400 | 404));
    let unknown = json!({ "to": to, "from": "a@b.example", "text": "x", "conversationId": "cnv_none" });
    kit.control("POST", "/inbound", unknown).await.error(404);
}

#[tokio::test]
async fn the_journal_shows_each_request_and_no_key() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    kit.live().get("/me").await.expect(200);
    kit.control("DELETE", "/requests", Value::Null).await.expect(204);
    assert_eq!(kit.look("/requests").await, json!([]));
    let key = kit.mock.live_key().to_owned();
    kit.live().get(&format!("/conversations?limit=5&q={key}")).await.expect(200);
    kit.live().act(&id, "notes", json!({ "body": format!("The key is {key}") })).await;
    kit.api("rk_live_wrong").get("/me").await.error(401);
    let escaped = format!(r#"{{"body":"\u0072{}","{key}":["{key}"]}}"#, &key[1..]);
    let url = format!("{}/conversations/{id}/notes", kit.mock.base_url());
    kit.ask(kit.http().post(&url).bearer_auth(&key).body(escaped)).await.expect(201);
    kit.ask(kit.http().post(&url).bearer_auth(&key).body(format!("not json: {key}"))).await.error(400);
    kit.live().get(&format!("/conversations/{key}")).await.error(404);
    let bytes = [b"\xff".as_slice(), key.as_bytes()].concat();
    kit.ask(kit.http().post(&url).bearer_auth(&key).body(bytes)).await.error(400);

    let journal = kit.list("/requests").await;
    assert_eq!(journal.len(), 7);
    let line = |it: &Value| (text(&it["method"]), text(&it["path"]), it["status"].clone());
    assert_eq!(line(&journal[0]), ("GET".into(), "/api/v1/conversations".into(), json!(200)));
    assert_eq!(line(&journal[1]), ("POST".into(), format!("/api/v1/conversations/{id}/notes"), json!(201)));
    assert_eq!(line(&journal[2]), ("GET".into(), "/api/v1/me".into(), json!(401)));
    assert!(journal[0]["agentId"].is_string() && journal[2]["agentId"].is_null());
    assert!(journal.iter().all(|it| it["transport"] == "rest"));
    assert!(text(&journal[0]["query"]).starts_with("limit=5"));
    assert!(text(&journal[1]["requestBody"]["body"]).starts_with("The key is "));
    assert!(!json!(journal).to_string().contains(&key["rk_live_".len()..]));
    assert_eq!(journal[3]["requestBody"], json!({ "body": "rk_(key)", "rk_(key)": ["rk_(key)"] }));
    assert_eq!(journal[4]["requestBody"], "not json: rk_(key)");
    assert_eq!(journal[5]["path"], "/api/v1/conversations/rk_(key)");
    assert_eq!(journal[6]["requestBody"], "\u{fffd}rk_(key)", "what is no text is shown as far as it can be");
}

#[tokio::test]
async fn an_approval_takes_no_longer_text_than_a_reply_does() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let draft = kit.live().act(&id, "replies", json!({ "body": "Hi" })).await;
    let path = format!("/messages/{}/approve", text(&draft["messageId"]));
    let error = kit.control("POST", &path, json!({ "body": "ä".repeat(50_001) })).await.error(400);
    assert_eq!(error, "body: must be at most 50000 characters");
    assert_eq!(kit.look("/approvals").await[0]["text"], "Hi", "nothing happened");
    kit.control("POST", &path, json!({ "body": "ä".repeat(50_000) })).await.expect(200);
}

#[tokio::test]
async fn bookings_are_made_listed_and_cancelled_once() {
    let kit = Kit::start().await;
    let host = text(&kit.look("/users").await[0]["id"]);
    let (start, end) = ("2026-12-01T09:00:00Z", "2026-12-01T09:30:00Z");
    let booking = |start: &str, end: &str| json!({ "hostUserId": host, "startsAt": start, "endsAt": end });
    let made = kit.act("/bookings", booking(start, end)).await;
    let path = format!("/bookings/{}/cancel", text(&made["id"]));
    kit.control("POST", &path, Value::Null).await.expect(200);
    let listed = kit.look("/bookings").await;
    assert_eq!((&listed[0]["id"], &listed[0]["cancelled"]), (&made["id"], &json!(true)));
    kit.control("POST", &path, Value::Null).await.error(409);
    kit.control("POST", "/bookings/bkg_none/cancel", Value::Null).await.error(404);
    kit.control("POST", "/bookings", booking(end, start)).await.error(400);
}

#[tokio::test]
async fn only_a_draft_is_approved_and_only_what_waits_is_stopped() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let draft = text(&kit.live().act(&id, "replies", json!({ "body": "Hi" })).await["messageId"]);
    let post = async |message: &str, what: &str| {
        kit.control("POST", &format!("/messages/{message}/{what}"), Value::Null).await.status
    };
    for (what, status) in
        [("stop", 409), ("approve", 200), ("approve", 409), ("stop", 200), ("stop", 409), ("approve", 200)]
    {
        assert_eq!(post(&draft, what).await, status, "{what}");
    }
    kit.advance(600).await;
    for what in ["approve", "stop"] {
        assert_eq!(post(&draft, what).await, 409, "{what} what was sent");
        assert_eq!(post("msg_none", what).await, 404);
    }
}
