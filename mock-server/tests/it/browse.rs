//! Looking at everything by the control API: lists in parts, requests by id, and what led to what.

use serde_json::{Value, json};

use crate::{
    kit::{Follower, Kit, text, texts},
    webhooks::receiver::Receiver,
};

/// A part of a list, and how many there are in all.
async fn total(kit: &Kit, path: &str) -> (Value, usize) {
    let reply = kit.control("GET", path, Value::Null).await;
    let all = reply.headers["x-total-count"].to_str().expect("text").parse().expect("a number");
    (reply.expect(200), all)
}

fn count(list: &Value) -> usize {
    list.as_array().expect("a list").len()
}

#[tokio::test]
async fn conversations_of_every_inbox_are_listed_in_parts_newest_first() {
    let kit = Kit::start().await;
    let anna = text(&kit.act("/users", json!({ "name": "Anna" })).await["id"]);
    let private = json!({ "address": "anna@acme.example", "name": "Anna", "owner": anna });
    let private = text(&kit.act("/mailboxes", private).await["id"]);
    let mut made = Vec::new();
    for i in 0..5 {
        kit.advance(1).await;
        made.push(kit.mail("kim@customer.example", &format!("Mail {i}")).await);
    }
    kit.advance(1).await;
    let mail = json!({ "to": "anna@acme.example", "from": "x@customer.example", "text": "For Anna alone" });
    let secret = text(&kit.act("/inbound", mail).await["conversationId"]);
    kit.advance(1).await;
    let sandbox = kit.sandbox_mail("x@customer.test").await;

    let (all, count) = total(&kit, "/conversations").await;
    let expected: Vec<String> =
        [sandbox, secret.clone()].into_iter().chain(made.iter().rev().cloned()).collect();
    assert_eq!((texts(&all, "id"), count), (expected.clone(), 7));
    assert_eq!((&all[0]["sandbox"], &all[1]["mailboxId"]), (&json!(true), &json!(private)));

    let (part, count) = total(&kit, "/conversations?offset=2&limit=3").await;
    assert_eq!((&texts(&part, "id")[..], count), (&expected[2..5], 7));
    assert_eq!(total(&kit, "/conversations?offset=9").await, (json!([]), 7));

    kit.live().act(&made[0], "status", json!({ "status": "closed" })).await;
    kit.live().act(&made[1], "tags", json!({ "add": ["refund"] })).await;
    for (query, ids) in [
        ("view=closed", vec![&made[0]]),
        ("tag=refund", vec![&made[1]]),
        (&format!("mailbox={private}"), vec![&secret]),
        ("q=anna", vec![&secret]),
        ("view=open&q=mail%204&tag=", vec![&made[4]]),
        ("q=nobody", vec![]),
    ] {
        let found = kit.look(&format!("/conversations?{query}")).await;
        assert_eq!(texts(&found, "id").iter().collect::<Vec<_>>(), ids, "{query}");
    }
    for (query, field) in [("limit=0", "limit"), ("limit=1001", "limit"), ("view=odd", "view")] {
        let error = kit.control("GET", &format!("/conversations?{query}"), Value::Null).await.error(400);
        assert!(error.starts_with(&format!("{field}: ")), "{error}");
    }
    assert_eq!(kit.look("/tags").await[0]["count"], 1);
}

#[tokio::test]
async fn a_conversation_is_shown_whole_to_whoever_may_see_everything() {
    let kit = Kit::start().await;
    let long = "long ".repeat(2_000);
    let id = kit.mail("kim@customer.example", &long).await;
    let request = json!({ "documents": [{ "label": "Receipt" }], "send": true });
    let request = kit.live().act(&id, "document-requests", request).await;
    kit.live().act(&id, "replies", json!({ "body": "A draft", "summary": "For a person" })).await;

    let whole = kit.look(&format!("/conversations/{id}")).await;
    assert_eq!(whole["timeline"][0]["text"], long.trim_end(), "nothing is cut");
    let scheduled = &whole["timeline"][1];
    assert_eq!((&scheduled["status"], &scheduled["sendsAt"]), (&json!("scheduled"), &request["sendsAt"]));
    assert_eq!(whole["timeline"][2]["summary"], "For a person");
    assert_eq!(whole["documentRequests"][0]["id"], request["requestId"]);
    assert_eq!(whole["mailbox"]["sandbox"], false);
    let (listed, _) = total(&kit, "/conversations").await;
    assert_eq!((&listed[0]["drafts"], &listed[0]["turn"]), (&json!(1), &json!("ours")));
    kit.control("GET", "/conversations/cnv_none", Value::Null).await.error(404);
}

#[tokio::test]
async fn documents_of_every_inbox_are_found_in_parts() {
    let kit = Kit::start().await;
    let to = kit.inbox().await;
    let files: Vec<Value> = (0..3)
        .map(|i| json!({ "filename": format!("bill{i}.pdf"), "contentType": "application/pdf", "size": 1 }))
        .collect();
    let mail = json!({ "to": to, "from": "x@customer.example", "text": "Bills", "attachments": files });
    kit.act("/inbound", mail).await;
    let (found, all) = total(&kit, "/documents?limit=2").await;
    assert_eq!((count(&found), all), (2, 3));
    assert_eq!(kit.look("/documents?q=bill1").await[0]["filename"], "bill1.pdf");
    assert_eq!(total(&kit, "/documents?kind=invoice").await.1, 0);
    assert!(kit.control("GET", "/documents?kind=odd", Value::Null).await.error(400).starts_with("kind: "));
}

#[tokio::test]
async fn a_search_for_a_trace_finds_every_request_of_it() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    let kit = Kit::start().await;
    let id = kit.mail("kim@customer.example", "Hello").await;
    let traceparent = format!("00-{TRACE}-b7ad6b7169203331-01");
    let traced = kit.mock.client().with_header("traceparent", &traceparent);
    let conversation = traced.conversation(&id.parse().unwrap());
    conversation.get().await.unwrap();
    conversation.add_note("Seen").await.unwrap();
    kit.live().get("/me").await.expect(200);
    let found = kit.look(&format!("/requests?q={TRACE}")).await;
    assert_eq!(texts(&found, "traceparent"), [traceparent.as_str(); 2], "{found}");
    let line = kit.look(&format!("/traces/{}", text(&found[1]["id"]))).await;
    assert_eq!(line["steps"][0]["traceparent"], traceparent, "{line}");
    assert_eq!(kit.look("/requests").await[2]["traceparent"], Value::Null);
}

#[tokio::test]
async fn a_request_keeps_its_headers_but_none_with_credentials() {
    let kit = Kit::start().await;
    let request = kit.http().get(format!("{}/me", kit.mock.base_url())).bearer_auth(kit.mock.live_key());
    let request = request
        .header("User-Agent", "my-app/1.2")
        .header("X-Twice", "one")
        .header("X-Twice", "two")
        .header("X-Key", kit.mock.live_key())
        .header("Cookie", "session=1")
        .header("Proxy-Authorization", "Basic eDp5");
    request.send().await.expect("a response");
    let headers = &kit.look("/requests").await[0]["requestHeaders"];
    assert_eq!(headers["user-agent"], "my-app/1.2");
    assert_eq!(headers["x-twice"], "one, two");
    assert_eq!(headers["x-key"], "rk_(key)");
    for name in ["authorization", "cookie", "proxy-authorization"] {
        assert_eq!(headers[name], Value::Null, "{name}");
    }
}

#[tokio::test]
async fn requests_have_ids_and_are_listed_in_parts_and_by_what_they_are() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@customer.example", "Hello").await;
    let (robot, agent) = kit.key("Robot", &["read"]).await;
    let rule = text(&kit.act("/faults", json!({ "path": "/tags", "effect": { "status": 500 } })).await["id"]);
    robot.get("/me").await.expect(200);
    kit.live().act(&id, "notes", json!({ "body": "Zoë was here" })).await;
    kit.live().get("/conversations/cnv_none").await.error(404);
    kit.sandbox().get("/mailboxes").await.expect(200);
    kit.live().get("/tags").await.error(500);
    let all = kit.look("/requests").await;
    let ids = texts(&all, "id");
    assert_eq!(kit.look(&format!("/requests/{}", ids[1])).await, all[1]);
    kit.control("GET", "/requests/call_999999", Value::Null).await.error(404);
    for (query, expected) in [
        ("order=newest&limit=2", &[4, 3][..]),
        ("offset=1&limit=1", &[1]),
        ("status=4xx", &[2]),
        ("status=201", &[1]),
        ("method=post", &[1]),
        ("q=zo%C3%AB", &[1]),
        ("transport=mcp", &[]),
        (&format!("agent={agent}"), &[0]),
        ("livemode=true", &[0, 1, 2, 4]),
        ("livemode=false", &[3]),
        ("fault=any", &[4]),
        (&format!("fault={rule}"), &[4]),
        ("fault=flt_99", &[]),
    ] {
        let found = texts(&kit.look(&format!("/requests?{query}")).await, "id");
        assert_eq!(found, expected.iter().map(|at| ids[*at].clone()).collect::<Vec<_>>(), "{query}");
    }
    assert_eq!(total(&kit, "/requests?limit=1").await.1, 5, "the header counts all");
    assert!(kit.control("GET", "/requests?status=abc", Value::Null).await.error(400).starts_with("status: "));
}

/// Kinds and words of the steps of a line.
fn steps(line: &Value) -> Vec<String> {
    let steps = line["steps"].as_array().expect("steps").iter();
    steps.map(|it| format!("{} {}", text(&it["kind"]), text(&it["what"]))).collect()
}

#[tokio::test]
async fn the_line_of_a_request_holds_what_it_made_and_everything_that_followed() {
    let kit = Kit::start().await;
    let receiver = Receiver::start().await;
    let hook =
        json!({ "url": receiver.url(), "livemode": true, "scope": "team", "events": ["message.sent"] });
    let hook = text(&kit.act("/webhooks", hook).await["id"]);
    let id = kit.mail("kim@customer.example", "Hello").await;
    let reply = kit.live().act(&id, "replies", json!({ "body": "On its way", "send": true })).await;
    let call = kit.list("/requests").await.pop().expect("one")["id"].clone();

    let before = kit.look(&format!("/traces/{}", text(&call))).await;
    assert_eq!(
        steps(&before),
        ["request /conversations/{id}/replies", "message draft", "message scheduled", "job send"]
    );
    assert_eq!(before["steps"][3]["dueAt"], reply["sendsAt"], "the job still waits");

    kit.advance(600).await;
    let after = kit.look(&format!("/traces/{}", text(&call))).await;
    let whole = [
        "request /conversations/{id}/replies",
        "message draft",
        "message scheduled",
        "job send",
        "message sent",
        "event message.sent",
        "event turn.changed",
    ];
    assert_eq!(steps(&after), whole);
    let step = |i: usize| &after["steps"][i];
    assert_eq!(step(0)["id"], call);
    assert_eq!(step(3)["cause"], step(0)["number"], "the request left the job behind");
    assert_eq!(step(5)["cause"], step(3)["number"], "the job caused the event");
    assert_eq!(step(4)["conversationId"], id);
    let delivery = &step(5)["deliveries"][0];
    assert_eq!((&delivery["webhookId"], &delivery["outcome"]), (&json!(hook), &json!("delivered")));
    assert_eq!(delivery["attempts"][0]["status"], 200);
    assert_eq!(step(6)["deliveries"], json!([]), "nobody hears of the turn");

    // The same from every end.
    for end in [text(&reply["messageId"]), text(&step(5)["id"])] {
        assert_eq!(steps(&kit.look(&format!("/traces/{end}")).await), whole, "{end}");
    }
    assert_eq!(kit.look("/traces/msg_none").await["steps"], json!([]));
}

#[tokio::test]
async fn what_people_do_with_a_draft_later_is_on_its_line() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@customer.example", "Hello").await;
    kit.live().act(&id, "notes", json!({ "body": "Another line" })).await;
    let draft = kit.live().act(&id, "replies", json!({ "body": "On its way" })).await;
    let message = text(&draft["messageId"]);
    kit.act(&format!("/messages/{message}/approve"), json!({})).await;
    kit.advance(600).await;
    let line = kit.look(&format!("/traces/{message}")).await;
    let expected = [
        "request /conversations/{id}/replies",
        "message draft",
        "control approve",
        "message scheduled",
        "event draft.approved",
        "job send",
        "message sent",
        "event message.sent",
        "event turn.changed",
    ];
    assert_eq!(steps(&line), expected);
    // Everything that happened in a conversation is on its own line.
    let all = steps(&kit.look(&format!("/traces/{id}")).await);
    assert!(
        all.iter().any(|it| it == "note written") && all.iter().any(|it| it == "message received"),
        "{all:?}"
    );
}

#[tokio::test]
async fn a_try_is_kept_as_it_was_sent_and_the_secret_never_shows() {
    let kit = Kit::start().await;
    let receiver = Receiver::start().await;
    let hook = kit.hook(&receiver).await;
    let event = kit.send_test(&hook).await;
    let path = |event: &str| format!("/webhooks/{}/deliveries/{event}", hook.id);
    let sent = kit.look(&path(&event)).await;
    let request = receiver.received().remove(0);
    assert_eq!(sent["body"].as_str().map(str::as_bytes), Some(&request.body[..]), "to the byte");
    let headers = sent["attempts"][0]["headers"].as_object().expect("headers");
    for (name, value) in headers {
        assert_eq!(request.headers[name.as_str()].to_str().ok(), value.as_str(), "{name}");
    }
    assert_eq!(headers.len(), 5);
    for path in [path(&event), format!("/traces/{event}")] {
        let shown = kit.look(&path).await.to_string();
        assert!(!shown.contains(hook.secret.trim_start_matches("whsec_")), "{path}");
    }
    kit.send_test(&hook).await;
    let (part, all) = total(&kit, &format!("/webhooks/{}/deliveries?limit=1", hook.id)).await;
    assert_eq!((count(&part), all), (1, 2));
    kit.control("GET", &path("evt_none"), Value::Null).await.error(404);
}

#[tokio::test]
async fn a_follower_hears_of_requests_only_when_it_asks() {
    let kit = Kit::start().await;
    let mut all = Follower::start(&kit, "?requests=true").await;
    let mut changes = Follower::start(&kit, "").await;
    kit.live().get("/me").await.expect(200);
    assert!(all.until("").await.starts_with("event: request\n"));
    kit.act("/users", json!({ "name": "Ida" })).await;
    assert!(changes.until("").await.starts_with("id: "), "a change comes first");
}

#[tokio::test]
async fn one_stream_carries_several_worlds_and_says_which_is_meant_and_which_is_gone() {
    let kit = Kit::start().await;
    let other = text(&kit.act("/worlds", json!({ "empty": true })).await["id"]);
    let mut stream = Follower::start(&kit, &format!("?worlds={other},wld_99")).await;
    stream.until(r#"{"world":"wld_99"}"#).await;
    kit.act(&format!("/worlds/{other}/users"), json!({ "name": "Ida" })).await;
    stream.until(&format!(r#""world":"{other}""#)).await;
    kit.act("/users", json!({ "name": "Ida" })).await;
    let own = stream.until("event: change").await;
    assert!(!own.contains("\"world\""), "{own}");
    kit.control("DELETE", &format!("/worlds/{other}"), Value::Null).await;
    assert!(stream.until(&format!(r#"{{"world":"{other}"}}"#)).await.contains("event: gone"));
    kit.act("/users", json!({ "name": "Ole" })).await;
    stream.until("event: change").await;
}
