//! What people and customers do, by the control API.

use serde_json::{Value, json};

use crate::kit::{Kit, text};

fn fields(value: &Value) -> Vec<String> {
    let mut fields: Vec<_> =
        value.as_object().unwrap_or_else(|| panic!("not an object: {value}")).keys().cloned().collect();
    fields.sort();
    fields
}

#[tokio::test]
async fn health_says_ok_and_the_version() {
    let kit = Kit::start().await;
    assert_eq!(kit.look("/health").await, json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }));
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
    let made = kit.control("POST", "/mailboxes", new).await.expect(201);
    assert!(["id", "address", "name", "open"].iter().all(|field| made.get(field).is_some()), "{made}");
    let listed = kit.look("/mailboxes").await;
    let listed = listed.as_array().expect("a list");
    assert_eq!(fields(&listed[0]), ["address", "id", "name", "open", "owner", "sandbox"]);
    assert_eq!(listed.iter().filter(|it| it["sandbox"] == true).count(), 1);
    assert!(listed.iter().any(|it| it["owner"] == json!(anna) && it["id"] == made["id"]));
    kit.control(
        "POST",
        "/mailboxes",
        json!({ "address": "x@acme.example", "name": "X", "owner": "usr_none" }),
    )
    .await
    .error(404);
    kit.control("POST", "/mailboxes", json!({ "address": "nonsense", "name": "X" })).await.error(400);
}

#[tokio::test]
async fn keys_are_shown_once_and_can_be_revoked() {
    let kit = Kit::start().await;
    let (robot, agent) = kit.key("Robot", &["write"]).await;
    let me = robot.get("/me").await.expect(200);
    assert_eq!(me["scopes"], json!(["read", "write"]), "read comes with any other scope");
    let keys = kit.look("/keys").await;
    let entry =
        keys.as_array().expect("a list").iter().find(|it| it["agentId"] == json!(agent)).expect("listed");
    assert_eq!(fields(entry), ["agentId", "createdBy", "livemode", "name", "revoked", "scopes"]);
    assert!(!keys.to_string().contains("rk_") && !kit.look("/state").await.to_string().contains("rk_"));
    kit.control("DELETE", &format!("/keys/{agent}"), Value::Null).await.expect(204);
    robot.get("/me").await.error(401);
    let keys = kit.look("/keys").await;
    assert!(
        keys.as_array()
            .expect("a list")
            .iter()
            .any(|it| it["agentId"] == json!(agent) && it["revoked"] == true)
    );
    kit.control("DELETE", "/keys/agt_none", Value::Null).await.error(404);
    kit.control("POST", "/keys", json!({ "name": "X", "scopes": ["fly"], "livemode": true }))
        .await
        .error(400);
    let by = json!({ "name": "X", "scopes": ["read"], "livemode": true, "createdBy": "usr_none" });
    kit.control("POST", "/keys", by).await.error(404);
}

#[tokio::test]
async fn on_the_free_plan_the_service_answers_403() {
    let kit = Kit::start().await;
    kit.control("PUT", "/plan", json!({ "plan": "free" })).await.expect(200);
    kit.live().get("/me").await.error(403);
    for plan in ["pro", "team"] {
        kit.control("PUT", "/plan", json!({ "plan": plan })).await.expect(200);
        kit.live().get("/me").await.expect(200);
    }
    assert_eq!(kit.look("/plan").await, json!({ "plan": "team" }));
    kit.control("PUT", "/plan", json!({ "plan": "gold" })).await.error(400);
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
    let received = kit.control("POST", "/inbound", mail).await.expect(201);
    assert_eq!(fields(&received), ["conversationId", "created", "documentIds", "messageId"]);
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
    let again = kit.control("POST", "/inbound", again).await.expect(201);
    assert_eq!((&again["created"], &again["conversationId"]), (&json!(false), &json!(id)));
    let nowhere = json!({ "to": "none@nowhere.example", "from": "a@b.example", "text": "x" });
    assert!(matches!(kit.control("POST", "/inbound", nowhere).await.status, 400 | 404));
    let unknown = json!({ "to": to, "from": "a@b.example", "text": "x", "conversationId": "cnv_none" });
    kit.control("POST", "/inbound", unknown).await.error(404);
}

#[tokio::test]
async fn a_draft_is_approved_or_stopped_by_a_person() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let path = format!("/conversations/{id}/replies");
    let draft = kit.live().post(&path, json!({ "body": "Hi", "summary": "Greets" })).await.expect(201);
    let message = text(&draft["messageId"]);
    let queue = kit.look("/approvals").await;
    let names = ["at", "conversationId", "customer", "draftedBy", "draftedByName", "messageId", "subject"];
    assert_eq!(fields(&queue[0]), [&names[..], &["summary", "text"]].concat());
    assert_eq!(
        (&queue[0]["messageId"], &queue[0]["summary"], &queue[0]["text"]),
        (&json!(message), &json!("Greets"), &json!("Hi"))
    );

    let anna = text(&kit.act("/users", json!({ "name": "Anna" })).await["id"]);
    let approve = format!("/messages/{message}/approve");
    let approved = kit.control("POST", &approve, json!({ "by": anna, "body": "Hello!" })).await.expect(200);
    assert_eq!(approved["status"], "scheduled");
    assert_eq!(kit.look("/approvals").await, json!([]));
    kit.control("POST", &approve, json!({})).await.error(409);

    let stop = format!("/messages/{message}/stop");
    kit.control("POST", &stop, Value::Null).await.expect(200);
    let last = kit.live().timeline(&id).await;
    let message_now = last.iter().rfind(|it| it["id"] == json!(message)).expect("there");
    assert_eq!((&message_now["status"], &message_now["text"]), (&json!("draft"), &json!("Hello!")));
    kit.control("POST", &stop, Value::Null).await.error(409);

    kit.control("POST", &approve, Value::Null).await.expect(200);
    kit.advance(600).await;
    kit.control("POST", &stop, Value::Null).await.error(409);
    kit.control("POST", &approve, Value::Null).await.error(409);
    kit.control("POST", "/messages/msg_none/approve", Value::Null).await.error(404);
    kit.control("POST", "/messages/msg_none/stop", Value::Null).await.error(404);
}

#[tokio::test]
async fn a_snooze_hides_until_its_time_has_come() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let now: shared_inbox::Timestamp = text(&kit.look("/clock").await["now"]).parse().expect("a time");
    let until = (now + std::time::Duration::from_secs(3600)).to_string();
    kit.control("POST", &format!("/conversations/{id}/snooze"), json!({ "until": until })).await.expect(200);
    assert_eq!(kit.live().conversation(&id).await["snoozedUntil"], json!(until));
    assert!(kit.live().listed("").await.is_empty());
    assert_eq!(kit.live().listed("?view=snoozed").await, [id.as_str()]);
    kit.advance(3600).await;
    assert_eq!(kit.live().listed("").await, [id.as_str()]);
    assert!(kit.live().listed("?view=snoozed").await.is_empty());

    kit.control("POST", &format!("/conversations/{id}/snooze"), json!({ "until": "2099-01-01T00:00:00Z" }))
        .await
        .expect(200);
    kit.control("POST", &format!("/conversations/{id}/snooze"), json!({ "until": null })).await.expect(200);
    assert_eq!(kit.live().listed("").await, [id.as_str()]);
    kit.control("POST", "/conversations/cnv_none/snooze", json!({ "until": null })).await.error(404);
    kit.control("POST", &format!("/conversations/{id}/snooze"), json!({ "until": "soon" })).await.error(400);
}

#[tokio::test]
async fn a_person_assigns_a_conversation() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let anna = text(&kit.act("/users", json!({ "name": "Anna" })).await["id"]);
    let path = format!("/conversations/{id}/assign");
    kit.control("POST", &path, json!({ "to": format!("user:{anna}"), "by": anna })).await.expect(200);
    let read = kit.live().conversation(&id).await;
    assert_eq!(read["assignee"], json!({ "id": anna, "name": "Anna", "type": "user" }));
    kit.control("POST", &path, json!({ "to": "none" })).await.expect(200);
    assert_eq!(kit.live().conversation(&id).await["assignee"], Value::Null);
    kit.control("POST", &path, json!({ "to": "user:usr_none" })).await.error(400);
    kit.control("POST", "/conversations/cnv_none/assign", json!({ "to": "none" })).await.error(404);
}

#[tokio::test]
async fn uploads_complete_a_document_request() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let documents =
        json!([{ "label": "Invoice" }, { "label": "Photo", "required": false }, { "label": "Contract" }]);
    let asked = json!({ "documents": documents, "send": true });
    let asked = kit.live().post(&format!("/conversations/{id}/document-requests"), asked).await.expect(201);
    kit.advance(600).await;
    let path = format!("/document-requests/{}/uploads", text(&asked["requestId"]));
    let first = json!({ "item": 0, "filename": "a.pdf", "contentType": "application/pdf", "size": 12, "kind": "invoice", "fields": { "vendor": "Acme" } });
    let first = kit.control("POST", &path, first).await.expect(201);
    assert_eq!(
        (fields(&first), &first["complete"]),
        (vec!["complete".to_owned(), "documentId".to_owned()], &json!(false))
    );
    let last = kit.control("POST", &path, json!({ "item": 2, "filename": "c.pdf" })).await.expect(201);
    assert_eq!(last["complete"], true, "what is nice to have does not hold it up");
    let found = kit.live().get("/documents?q=acme").await.expect(200);
    assert_eq!((&found[0]["id"], &found[0]["kind"]), (&first["documentId"], &json!("invoice")));
    kit.control("POST", &path, json!({ "item": 9, "filename": "x" })).await.error(400);
    kit.control("POST", "/document-requests/req_none/uploads", json!({ "item": 0, "filename": "x" }))
        .await
        .error(404);
}

#[tokio::test]
async fn bookings_are_made_and_cancelled_once() {
    let kit = Kit::start().await;
    let host = text(&kit.look("/users").await[0]["id"]);
    let new =
        json!({ "hostUserId": host, "startsAt": "2026-12-01T09:00:00Z", "endsAt": "2026-12-01T09:30:00Z" });
    let made = kit.control("POST", "/bookings", new).await.expect(201);
    let path = format!("/bookings/{}/cancel", text(&made["id"]));
    kit.control("POST", &path, Value::Null).await.expect(200);
    kit.control("POST", &path, Value::Null).await.error(409);
    kit.control("POST", "/bookings/bkg_none/cancel", Value::Null).await.error(404);
    let backwards =
        json!({ "hostUserId": host, "startsAt": "2026-12-01T09:30:00Z", "endsAt": "2026-12-01T09:00:00Z" });
    kit.control("POST", "/bookings", backwards).await.error(400);
}

#[tokio::test]
async fn the_outbox_holds_every_mail_that_left() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let sent = kit
        .live()
        .post(&format!("/conversations/{id}/replies"), json!({ "body": "Hi", "send": true }))
        .await
        .expect(201);
    assert_eq!(kit.look("/outbox").await, json!([]));
    kit.advance(600).await;
    let outbox = kit.look("/outbox").await;
    assert_eq!(fields(&outbox[0]), ["at", "kind", "messageId", "outcome", "subject", "text", "to"]);
    assert_eq!(
        (&outbox[0]["kind"], &outbox[0]["messageId"], &outbox[0]["outcome"]),
        (&json!("reply"), &sent["messageId"], &json!("sent"))
    );
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
    kit.live()
        .post(&format!("/conversations/{id}/notes"), json!({ "body": format!("The key is {key}") }))
        .await
        .expect(201);
    kit.api("rk_live_wrong").get("/me").await.error(401);
    let escaped = format!(r#"{{"body":"\u0072{}","{key}":["{key}"]}}"#, &key[1..]);
    let url = format!("{}/conversations/{id}/notes", kit.mock.base_url());
    kit.ask(kit.http().post(&url).bearer_auth(&key).body(escaped)).await.expect(201);
    kit.ask(kit.http().post(&url).bearer_auth(&key).body(format!("not json: {key}"))).await.error(400);
    kit.live().get(&format!("/conversations/{key}")).await.error(404);
    let bytes = [b"\xff".as_slice(), key.as_bytes()].concat();
    kit.ask(kit.http().post(&url).bearer_auth(&key).body(bytes)).await.error(400);

    let journal = kit.look("/requests").await;
    let journal = journal.as_array().expect("a list");
    assert_eq!(journal.len(), 7);
    let names = [
        "agentId",
        "at",
        "conversationId",
        "customer",
        "durationMs",
        "faultId",
        "id",
        "method",
        "path",
        "query",
        "requestBody",
        "requestHeaders",
        "responseBody",
        "responseHeaders",
        "status",
        "subject",
        "tool",
        "traceparent",
        "transport",
    ];
    assert_eq!(fields(&journal[0]), names);
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
async fn a_body_with_several_faults_is_refused_with_all_of_them() {
    let kit = Kit::start().await;
    for (path, body, named) in [
        ("/users", json!({ "name": 3 }), vec!["name"]),
        ("/mailboxes", json!({ "name": [], "owner": "anna" }), vec!["name", "owner", "address"]),
        ("/keys", json!({ "name": null, "scopes": "read" }), vec!["name", "scopes", "livemode"]),
        (
            "/inbound",
            json!({ "to": 1, "attachments": [{ "filename": "a" }], "dmarc": "maybe", "held": "yes" }),
            vec!["attachments[0].contentType", "dmarc", "held", "to", "from", "text"],
        ),
        ("/bookings", json!({ "startsAt": "soon" }), vec!["startsAt", "hostUserId", "endsAt"]),
        ("/webhooks", json!({ "livemode": 1, "scope": "all" }), vec!["livemode", "scope", "url"]),
        ("/faults", json!({ "times": -1, "other": 1 }), vec!["other", "times", "effect"]),
        ("/worlds", json!({ "clock": "fast", "empty": 1 }), vec!["clock", "empty"]),
        ("/clock", json!({}), vec!["advanceSeconds"]),
        ("/clock", json!([]), vec!["body"]),
        ("/clock", json!([600]), vec!["body"]),
        ("/users", json!(["Anna"]), vec!["body"]),
        ("/clock", json!("text"), vec!["body"]),
    ] {
        let error = kit.control("POST", path, body.clone()).await.error(400);
        let fields: Vec<&str> =
            error.split("; ").map(|problem| problem.split(':').next().unwrap_or_default()).collect();
        assert_eq!(fields, named, "{path} {body}: {error}");
    }
    let twice =
        kit.http().post(format!("{}/users", kit.mock.control_url())).body(r#"{"name":"A","name":"B"}"#);
    let error = kit.ask(twice).await.error(400);
    assert!(error.contains("name"), "{error}");
}

#[tokio::test]
async fn an_approval_takes_no_longer_text_than_a_reply_does() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let draft =
        kit.live().post(&format!("/conversations/{id}/replies"), json!({ "body": "Hi" })).await.expect(201);
    let path = format!("/messages/{}/approve", text(&draft["messageId"]));
    let error = kit.control("POST", &path, json!({ "body": "ä".repeat(50_001) })).await.error(400);
    assert_eq!(error, "body: must be at most 50000 characters");
    assert_eq!(kit.look("/approvals").await[0]["text"], "Hi", "nothing happened");
    kit.control("POST", &path, json!({ "body": "ä".repeat(50_000) })).await.expect(200);
}

#[tokio::test]
async fn what_is_wrong_is_said_in_words_of_json() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let snooze = format!("/conversations/{id}/snooze");
    for (path, body, error) in [
        ("/clock", json!({ "advanceSeconds": "soon" }), "advanceSeconds: must be a number"),
        ("/clock", json!({ "advanceSeconds": [] }), "advanceSeconds: must be a number"),
        ("/users", json!({ "name": 7 }), "name: must be a string"),
        (
            "/faults",
            json!({ "skip": -1, "effect": { "status": 500 } }),
            "skip: must be a whole number, 0 or more",
        ),
        ("/faults", json!({ "effect": 5 }), "effect: must be an object"),
        ("/worlds", json!({ "clock": "atomic" }), "clock: must be one of real, manual, not atomic"),
        ("/worlds", json!({ "empty": "yes" }), "empty: must be true or false"),
        ("/keys", json!({ "name": "X", "scopes": "read", "livemode": true }), "scopes: must be a list"),
        (snooze.as_str(), json!({}), "until: is required"),
    ] {
        assert_eq!(kit.control("POST", path, body.clone()).await.error(400), error, "{body}");
    }
}
