//! What comes in which order, and what follows from what: lists, the journal, the clock, mail that is held.

use std::net::IpAddr;

use serde_json::{Value, json};
use shared_inbox_mock::{MockServer, WebhookTargets};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::kit::{Kit, text};

#[tokio::test]
async fn the_journal_is_oldest_first_although_a_slow_request_ends_last() {
    let kit = Kit::start().await;
    kit.act("/faults", json!({ "path": "/tags", "effect": { "delayMs": 300 } })).await;
    let live = kit.live();
    let slow = tokio::spawn(async move { live.get("/tags").await.status });
    while kit.look("/faults").await[0]["fired"] == json!(0) {
        tokio::task::yield_now().await;
    }
    // The clock stands still: no time tells them apart.
    kit.live().get("/me").await.expect(200);
    assert_eq!(slow.await.expect("it ends"), 200);
    let journal = kit.look("/requests").await;
    let paths: Vec<&str> =
        journal.as_array().expect("a list").iter().filter_map(|it| it["path"].as_str()).collect();
    let place = |path: &str| paths.iter().position(|it| *it == path).expect("it is there");
    assert!(place("/api/v1/tags") < place("/api/v1/me"), "{paths:?}");
}

/// A receiver that answers nobody before it is let go; its address, and what lets it go.
async fn slow_receiver() -> (String, tokio::sync::watch::Sender<bool>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/in", listener.local_addr().expect("an address"));
    let (let_go, gone) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut gone = gone.clone();
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                let _ = connection.read(&mut request).await;
                let _ = gone.wait_for(|gone| *gone).await;
                let _ = connection
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .await;
            });
        }
    });
    (url, let_go)
}

#[tokio::test]
async fn what_fired_is_named_in_the_order_of_its_time_although_a_receiver_is_slow() {
    let kit = Kit::start().await;
    let api = kit.sandbox();
    let (url, let_go) = slow_receiver().await;
    kit.act("/webhooks", json!({ "url": url, "livemode": false, "scope": "team" })).await;
    // Two events at the same time: the try of the second waits for that of the first.
    let mail = || json!({ "from": "delivered@x.test", "text": "Hi" });
    api.post("/sandbox/inbound", mail()).await.expect(201);
    let id = text(&api.post("/sandbox/inbound", mail()).await.expect(201)["conversationId"]);
    api.post(&format!("/conversations/{id}/replies"), json!({ "body": "x", "send": true })).await.expect(201);
    let (moved, ()) = tokio::join!(kit.advance(5), async {
        while api.timeline(&id).await[1]["status"] != "sent" {
            tokio::task::yield_now().await;
        }
        let_go.send_replace(true);
    });
    let fired = moved["fired"].as_array().expect("a list");
    let times: Vec<String> = fired.iter().map(|it| text(&it["at"])).collect();
    assert!(fired.iter().any(|it| it["job"] == "send") && fired.len() >= 4, "{moved}");
    assert!(times.is_sorted(), "{moved}");
    assert_eq!(times.last(), Some(&text(&moved["now"])));
}

#[tokio::test]
async fn plain_http_is_for_this_machine_alone_also_when_the_name_cannot_be_found() {
    let names = |name: &str| match name {
        "public.example" => vec!["203.0.113.7".parse::<IpAddr>().expect("an address")],
        _ => Vec::new(),
    };
    let targets = WebhookTargets::loopback().names(names);
    let kit = Kit::with(MockServer::builder().manual_clock().empty().webhook_targets(targets)).await;
    let add = |url: &str| json!({ "url": url, "livemode": true, "scope": "team" });
    for url in [
        "http://public.example/in",
        "http://missing.example/in",
        "http://203.0.113.7/in",
        "http://10.0.0.1/in",
    ] {
        let error = kit.control("POST", "/webhooks", add(url)).await.error(400);
        assert!(error.starts_with("url: "), "{url}: {error}");
    }
    for url in [
        "https://public.example/in",
        "https://missing.example/in",
        "http://127.0.0.1:9/in",
        "http://localhost:9/in",
    ] {
        kit.control("POST", "/webhooks", add(url)).await.expect(201);
    }
}

#[tokio::test]
async fn mail_that_is_held_and_joins_a_conversation_is_a_reply_all_the_same() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hi").await;
    let hook = json!({ "url": "http://127.0.0.1:9/in", "livemode": true, "scope": "team" });
    let hook = text(&kit.act("/webhooks", hook).await["id"]);
    let to = kit.inbox().await;
    let mail = |more: Value| {
        let mut mail =
            json!({ "to": to, "from": "vera@customer.example", "text": "Buy vouchers", "held": true });
        mail.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        mail
    };
    let kinds = async || {
        let log = kit.look(&format!("/webhooks/{hook}/deliveries")).await;
        let mut kinds: Vec<String> =
            log.as_array().expect("a list").iter().map(|it| text(&it["type"])).collect();
        kinds.sort();
        kinds
    };
    kit.act("/inbound", mail(json!({ "conversationId": id }))).await;
    assert_eq!(kinds().await, ["client.replied", "scout.held"]);
    kit.act("/inbound", mail(json!({ "conversationId": id, "autoReply": true }))).await;
    assert_eq!(kinds().await, ["client.replied", "scout.held", "scout.held"], "not for an automatic one");
    kit.act("/inbound", mail(json!({}))).await;
    assert_eq!(
        kinds().await,
        ["client.replied", "scout.held", "scout.held", "scout.held", "turn.changed"],
        "not for the first of a conversation"
    );
    assert_eq!(kit.live().conversation(&id).await["risk"], "phishing");
}

#[tokio::test]
async fn a_note_reaches_the_team_and_never_the_customer() {
    let kit = Kit::start().await;
    let live = kit.live();
    let id = kit.mail("vera@customer.example", "Hi").await;
    live.post(&format!("/conversations/{id}/notes"), json!({ "body": "Between us, @Anna" }))
        .await
        .expect(201);
    live.post(&format!("/conversations/{id}/replies"), json!({ "body": "Soon", "send": true }))
        .await
        .expect(201);
    kit.advance(8 * 86_400).await;
    let outbox = kit.look("/outbox").await;
    assert_eq!(outbox.as_array().expect("a list").len(), 1);
    assert!(!outbox.to_string().contains("Between us"));
    let me = live.get("/me").await.expect(200);
    let note = live.timeline(&id).await.into_iter().find(|item| item["type"] == "note").expect("a note");
    assert_eq!((&note["author"], &note["body"]), (&me["agent"]["name"], &json!("Between us, @Anna")));
    assert_eq!(live.listed("?view=waiting&q=between").await, [""; 0], "a note is no mail text");
}

#[tokio::test]
async fn a_snoozed_conversation_is_in_its_own_view_whatever_its_status() {
    let kit = Kit::start().await;
    let live = kit.live();
    let tagged = kit.inbox().await.replace('@', "+case9@");
    let mail = json!({ "to": tagged, "from": "vera@customer.example", "text": "Hi" });
    let id = text(&kit.act("/inbound", mail).await["conversationId"]);
    kit.act(&format!("/conversations/{id}/snooze"), json!({ "until": "2099-01-01T00:00:00Z" })).await;
    for status in ["open", "waiting", "closed"] {
        live.post(&format!("/conversations/{id}/status"), json!({ "status": status })).await.expect(200);
        for view in ["open", "waiting", "closed"] {
            assert_eq!(live.listed(&format!("?view={view}")).await, [""; 0], "{status} {view}");
        }
        assert_eq!(live.listed("?view=snoozed").await, [id.as_str()], "{status}");
        assert_eq!(live.listed("?view=all&reference=case9").await, [id.as_str()], "{status}");
    }
    let read = live.conversation(&id).await;
    assert_eq!(
        (&read["snoozedUntil"], &read["status"]),
        (&json!("2099-01-01T00:00:00.000Z"), &json!("closed"))
    );
    kit.act(&format!("/conversations/{id}/snooze"), json!({ "until": null })).await;
    assert_eq!(live.listed("?view=snoozed").await, [""; 0]);
    assert_eq!(live.listed("?view=closed").await, [id.as_str()]);
}

#[tokio::test]
async fn the_helpers_do_not_run_in_the_sandbox_and_files_are_still_filed() {
    let kit = Kit::start().await;
    let api = kit.sandbox();
    let mail = json!({ "from": "docs@x.test", "name": "Dora", "subject": "Invoice", "text": "Please find it attached" });
    let id = text(&api.post("/sandbox/inbound", mail).await.expect(201)["conversationId"]);
    api.post(&format!("/conversations/{id}/replies"), json!({ "body": "x", "send": true })).await.expect(201);
    kit.advance(10).await;
    let read = api.conversation(&id).await;
    assert_eq!((&read["topic"], &read["urgency"]), (&Value::Null, &Value::Null));
    let documents = api.get("/documents").await.expect(200);
    assert_eq!(
        (&documents[0]["kind"], &documents[0]["fields"]),
        (&Value::Null, &json!({})),
        "nobody read it"
    );
    assert!(text(&documents[0]["filename"]).ends_with(".pdf"));
    assert_eq!(read["team"]["people"], json!([]), "people in the app never see the sandbox");
    assert_eq!(kit.live().get("/documents").await.expect(200), json!([]));
}

#[tokio::test]
async fn the_input_of_a_simulated_mail_is_looked_at_before_its_conversation() {
    let kit = Kit::start().await;
    let mail = |to: &str| json!({ "from": "a@x.test", "text": "x", "to": to, "conversationId": "cnv_none" });
    let error = kit.sandbox().post("/sandbox/inbound", mail("help@acme.example")).await.error(400);
    assert!(error.starts_with("to: "), "{error}");
    kit.sandbox().post("/sandbox/inbound", mail("sandbox@acme.test")).await.error(404);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_found_only_after_the_key_and_the_scope() {
    let kit = Kit::start().await;
    let (reader, _) = kit.key("Reader", &["read"]).await;
    let note = "/conversations/cnv_none/notes";
    let live = kit.mock.live_key();
    for (key, path, status) in [
        ("rk_wrong", note, 401),
        (reader.key(), note, 403),
        (live, "/nowhere", 404),
        (live, "/me", 405),
        (live, note, 413),
    ] {
        let url = format!("{}{path}", kit.mock.base_url());
        let request = kit.http().post(url).bearer_auth(key).body(vec![b'x'; (4 << 20) + 1]);
        kit.ask(request).await.error(status);
    }
}

#[tokio::test]
async fn the_description_counts_as_a_request_and_needs_a_plan() {
    let kit = Kit::with(MockServer::builder().manual_clock().empty().rate_limit(2)).await;
    kit.live().get("/openapi.json").await.expect(200);
    kit.live().get("/me").await.expect(200);
    kit.live().get("/openapi.json").await.error(429);
    kit.control("PUT", "/plan", json!({ "plan": "free" })).await.expect(200);
    kit.live().get("/openapi.json").await.error(403);
}

/// A webhook whose receiver answers nobody before it is let go, and a test event on its way there.
async fn waiting_for_an_answer(kit: &Kit) -> (String, tokio::sync::watch::Sender<bool>) {
    let (url, let_go) = slow_receiver().await;
    let hook =
        text(&kit.act("/webhooks", json!({ "url": url, "livemode": true, "scope": "team" })).await["id"]);
    kit.act(&format!("/webhooks/{hook}/test"), Value::Null).await;
    (hook, let_go)
}

/// Moves the clock by a minute, on which something happens right away: that shows that it has begun to move.
async fn begin_to_move(
    kit: &Kit,
) -> tokio::task::JoinHandle<Result<shared_inbox_mock::Advanced, shared_inbox_mock::Refusal>> {
    let id = kit.mail("vera@customer.example", "Hello").await;
    let before = kit.mock.control().clock().await.now;
    let until = before + std::time::Duration::from_secs(1);
    kit.act(&format!("/conversations/{id}/snooze"), json!({ "until": until })).await;
    let control = kit.mock.control().clone();
    let moving = tokio::spawn(async move { control.advance(std::time::Duration::from_secs(60)).await });
    while kit.mock.control().clock().await.now == before {
        tokio::task::yield_now().await;
    }
    moving
}

#[tokio::test]
async fn a_world_that_is_replaced_while_its_clock_moves_answers_409() {
    let patient = std::time::Duration::from_secs(600);
    let kit = Kit::with(MockServer::builder().manual_clock().empty().webhook_answer_time(patient)).await;
    let before = kit.look("/clock").await;
    let (_hook, _held) = waiting_for_an_answer(&kit).await;
    let moving = begin_to_move(&kit).await;
    kit.control("POST", "/reset", Value::Null).await.expect(200);
    let moved = tokio::time::timeout(std::time::Duration::from_secs(20), moving).await;
    let moved = moved.expect("nobody waits for the former world's receiver").expect("no panic");
    assert_eq!(moved.expect_err("it was replaced").status, 409);
    assert_eq!(kit.look("/clock").await, before, "the new world's clock was left alone");
}

#[tokio::test]
async fn the_clock_moves_once_for_each_call_also_when_they_come_together() {
    let kit = Kit::start().await;
    let before = kit.mock.control().clock().await.now;
    let (_hook, let_go) = waiting_for_an_answer(&kit).await;
    let first = begin_to_move(&kit).await;
    let (second, ()) = tokio::join!(kit.advance(60), async {
        kit.look("/clock").await;
        let_go.send_replace(true);
    });
    let first = first.await.expect("no panic").expect("moved");
    assert_eq!(first.now.duration_since(before).as_secs(), 60);
    assert_eq!(second["now"], json!(before + std::time::Duration::from_secs(120)));
}

#[tokio::test]
async fn a_try_that_had_to_wait_is_dated_by_when_it_was_sent() {
    let kit = Kit::with(MockServer::builder().empty().no_rate_limit()).await;
    let (hook, let_go) = waiting_for_an_answer(&kit).await;
    kit.act(&format!("/webhooks/{hook}/test"), Value::Null).await;
    let log = || async { kit.look(&format!("/webhooks/{hook}/deliveries")).await };
    let second = text(&log().await[0]["createdAt"]);
    let mut now = second.clone();
    while now == second {
        now = text(&kit.look("/clock").await["now"]);
    }
    let_go.send_replace(true);
    while log().await[0]["outcome"] != "delivered" {
        tokio::task::yield_now().await;
    }
    let sent = text(&log().await[0]["tries"][0]["at"]);
    assert!(sent >= now, "sent at {sent}, and it could not be before {now}");
}
