//! Looking at everything by the control API: lists in parts, requests by id, and what led to what.

use serde_json::{Value, json};

use crate::{
    kit::{Kit, text},
    webhooks::receiver::Receiver,
};

async fn total(kit: &Kit, path: &str) -> (Vec<Value>, usize) {
    let reply = kit.control("GET", path, Value::Null).await;
    let all = reply.headers["x-total-count"].to_str().expect("text").parse().expect("a number");
    (reply.expect(200).as_array().expect("a list").clone(), all)
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
    let simulated = json!({ "from": "x@customer.test", "text": "In the sandbox" });
    let sandbox = kit.sandbox().post("/sandbox/inbound", simulated).await.expect(201);
    let sandbox = text(&sandbox["conversationId"]);

    let (all, count) = total(&kit, "/conversations").await;
    let ids: Vec<String> = all.iter().map(|it| text(&it["id"])).collect();
    let expected: Vec<String> =
        [sandbox.clone(), secret.clone()].into_iter().chain(made.iter().rev().cloned()).collect();
    assert_eq!((ids, count), (expected.clone(), 7));
    assert_eq!((&all[0]["sandbox"], &all[1]["mailboxId"]), (&json!(true), &json!(private)));

    let (part, count) = total(&kit, "/conversations?offset=2&limit=3").await;
    let ids: Vec<String> = part.iter().map(|it| text(&it["id"])).collect();
    assert_eq!((ids.as_slice(), count), (&expected[2..5], 7));
    assert_eq!(total(&kit, "/conversations?offset=9").await, (Vec::new(), 7));

    kit.live()
        .post(&format!("/conversations/{}/status", made[0]), json!({ "status": "closed" }))
        .await
        .expect(200);
    kit.live()
        .post(&format!("/conversations/{}/tags", made[1]), json!({ "add": ["refund"] }))
        .await
        .expect(200);
    for (query, ids) in [
        ("view=closed", vec![&made[0]]),
        ("tag=refund", vec![&made[1]]),
        (&format!("mailbox={private}"), vec![&secret]),
        ("q=anna", vec![&secret]),
        ("view=open&q=mail%204&tag=", vec![&made[4]]),
        ("q=nobody", vec![]),
    ] {
        let (found, _) = total(&kit, &format!("/conversations?{query}")).await;
        assert_eq!(
            found.iter().map(|it| text(&it["id"])).collect::<Vec<_>>(),
            ids.into_iter().cloned().collect::<Vec<_>>(),
            "{query}"
        );
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
    let path = format!("/conversations/{id}");
    let asked = json!({ "documents": [{ "label": "Receipt" }], "send": true });
    let asked = kit.live().post(&format!("{path}/document-requests"), asked).await.expect(201);
    let draft = json!({ "body": "A draft", "summary": "For a person" });
    kit.live().post(&format!("{path}/replies"), draft).await.expect(201);

    let whole = kit.look(&path).await;
    assert_eq!(
        whole["timeline"][0]["text"].as_str().map(str::len),
        Some(long.trim_end().len()),
        "nothing is cut"
    );
    let scheduled = &whole["timeline"][1];
    assert_eq!((&scheduled["status"], &scheduled["sendsAt"]), (&json!("scheduled"), &asked["sendsAt"]));
    assert_eq!(whole["timeline"][2]["summary"], "For a person");
    assert_eq!(whole["documentRequests"][0]["id"], asked["requestId"]);
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
    kit.act(
        "/inbound",
        json!({ "to": to, "from": "x@customer.example", "text": "Bills", "attachments": files }),
    )
    .await;
    let (found, count) = total(&kit, "/documents?limit=2").await;
    assert_eq!((found.len(), count), (2, 3));
    let (found, _) = total(&kit, "/documents?q=bill1").await;
    assert_eq!(found[0]["filename"], "bill1.pdf");
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
    let (found, of) = total(&kit, &format!("/requests?q={TRACE}")).await;
    assert_eq!((found.len(), of), (2, 2), "{found:?}");
    assert!(found.iter().all(|it| it["traceparent"] == traceparent), "{found:?}");
    let line = kit.look(&format!("/traces/{}", text(&found[1]["id"]))).await;
    assert_eq!(line["steps"][0]["traceparent"], traceparent, "{line}");
    let others = kit.look("/requests").await;
    assert!(others.as_array().unwrap().iter().any(|it| it["traceparent"] == Value::Null));
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
async fn requests_are_listed_by_key_by_mode_and_by_fault() {
    let kit = Kit::start().await;
    let (robot, agent) = kit.key("Robot", &["read"]).await;
    for api in [&robot, &kit.live(), &kit.api(kit.mock.test_key())] {
        api.get("/me").await.expect(200);
    }
    let rule = json!({ "path": "/tags", "effect": { "status": 500 } });
    let rule = text(&kit.control("POST", "/faults", rule).await.expect(201)["id"]);
    kit.live().get("/tags").await.error(500);
    for (query, found) in [
        (format!("agent={agent}"), 1),
        ("livemode=true".to_owned(), 3),
        ("livemode=false".to_owned(), 1),
        ("fault=any".to_owned(), 1),
        (format!("fault={rule}"), 1),
        ("fault=flt_99".to_owned(), 0),
    ] {
        assert_eq!(total(&kit, &format!("/requests?{query}")).await.1, found, "{query}");
    }
}

#[tokio::test]
async fn requests_have_ids_and_are_listed_in_parts_and_by_what_they_are() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@customer.example", "Hello").await;
    kit.look("/requests").await;
    kit.control("DELETE", "/requests", Value::Null).await.expect(204);
    kit.live().get("/me").await.expect(200);
    kit.live()
        .post(&format!("/conversations/{id}/notes"), json!({ "body": "Zoë was here" }))
        .await
        .expect(201);
    kit.live().get("/conversations/cnv_none").await.error(404);
    let all = kit.look("/requests").await;
    let ids: Vec<String> = all.as_array().expect("a list").iter().map(|it| text(&it["id"])).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(kit.look(&format!("/requests/{}", ids[1])).await, all[1]);
    kit.control("GET", "/requests/call_999999", Value::Null).await.error(404);
    for (query, expected) in [
        ("order=newest&limit=2", vec![&ids[2], &ids[1]]),
        ("offset=1&limit=1", vec![&ids[1]]),
        ("status=4xx", vec![&ids[2]]),
        ("status=200", vec![&ids[0]]),
        ("method=post", vec![&ids[1]]),
        ("q=zo%C3%AB", vec![&ids[1]]),
        ("transport=mcp", vec![]),
    ] {
        let (found, _) = total(&kit, &format!("/requests?{query}")).await;
        let found: Vec<String> = found.iter().map(|it| text(&it["id"])).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    assert_eq!(total(&kit, "/requests?limit=1").await.1, 3, "the header counts all");
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
    let reply = json!({ "body": "On its way", "send": true });
    let reply = kit.live().post(&format!("/conversations/{id}/replies"), reply).await.expect(201);
    let call = kit.look("/requests").await.as_array().expect("a list").last().expect("one")["id"].clone();

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
    let other =
        kit.live().post(&format!("/conversations/{id}/notes"), json!({ "body": "Another line" })).await;
    other.expect(201);
    let draft = json!({ "body": "On its way" });
    let draft = kit.live().post(&format!("/conversations/{id}/replies"), draft).await.expect(201);
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
    let hook =
        kit.act("/webhooks", json!({ "url": receiver.url(), "livemode": true, "scope": "team" })).await;
    let (hook, secret) = (text(&hook["id"]), text(&hook["secret"]));
    let event = text(&kit.act(&format!("/webhooks/{hook}/test"), json!({})).await["eventId"]);
    kit.advance(1).await;
    let sent = kit.look(&format!("/webhooks/{hook}/deliveries/{event}")).await;
    let got = receiver.got().into_iter().next().expect("it came");
    assert_eq!(sent["body"].as_str().map(str::as_bytes), Some(&got.body[..]), "to the byte");
    let headers = sent["attempts"][0]["headers"].as_object().expect("headers");
    for (name, value) in headers {
        assert_eq!(got.headers[name.as_str()].to_str().ok(), value.as_str(), "{name}");
    }
    assert_eq!(headers.len(), 5);
    for path in [
        format!("/webhooks/{hook}/deliveries/{event}"),
        format!("/webhooks/{hook}/deliveries"),
        format!("/traces/{event}"),
    ] {
        let text = kit.look(&path).await.to_string();
        assert!(!text.contains(secret.trim_start_matches("whsec_")), "{path}");
    }
    let (part, count) = total(&kit, &format!("/webhooks/{hook}/deliveries?limit=1")).await;
    assert_eq!((part.len(), count), (1, 1));
    kit.control("GET", &format!("/webhooks/{hook}/deliveries/evt_none"), Value::Null).await.error(404);
}

#[tokio::test]
async fn a_follower_hears_of_requests_only_when_it_asks() {
    let kit = Kit::start().await;
    let follow = async |query: &str| {
        let url = format!("{}/events{query}", kit.mock.control_url());
        let mut stream = kit.http().get(url).send().await.expect("an answer");
        stream.chunk().await.expect("a chunk").expect("the opening");
        stream
    };
    let (mut all, mut changes) = (follow("?requests=true").await, follow("").await);
    kit.live().get("/me").await.expect(200);
    let heard = all.chunk().await.expect("a chunk").expect("something");
    assert!(heard.starts_with(b"event: request\n"), "{heard:?}");
    kit.act("/users", json!({ "name": "Ida" })).await;
    let heard = changes.chunk().await.expect("a chunk").expect("something");
    assert!(heard.starts_with(b"id: "), "a change comes first: {heard:?}");
}

#[tokio::test]
async fn one_stream_carries_several_worlds_and_says_which_is_meant_and_which_is_gone() {
    let kit = Kit::start().await;
    let other = text(&kit.act("/worlds", json!({ "empty": true })).await["id"]);
    let url = format!("{}/events?worlds={other},wld_99", kit.mock.control_url());
    let mut stream = kit.http().get(url).send().await.expect("a response");
    let mut received = String::new();
    let mut until = async |wanted: String| {
        while !received.contains(&wanted) {
            let chunk =
                stream.chunk().await.expect("a chunk").unwrap_or_else(|| panic!("no {wanted}: {received}"));
            received.push_str(std::str::from_utf8(&chunk).expect("text"));
        }
        std::mem::take(&mut received)
    };
    until(r#"{"world":"wld_99"}"#.to_owned()).await;
    kit.act(&format!("/worlds/{other}/users"), json!({ "name": "Ida" })).await;
    until(format!(r#""world":"{other}""#)).await;
    kit.act("/users", json!({ "name": "Ida" })).await;
    let own = until("event: change".to_owned()).await;
    assert!(!own.contains("\"world\""), "{own}");
    kit.control("DELETE", &format!("/worlds/{other}"), Value::Null).await;
    assert!(until(format!(r#"{{"world":"{other}"}}"#)).await.contains("event: gone"));
    kit.act("/users", json!({ "name": "Ole" })).await;
    until("event: change".to_owned()).await;
}
