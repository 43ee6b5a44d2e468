//! Expecting: met, not met, too often; in virtual and in real time; and what is said when it is not met.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox_mock::{Expectation, InboundMail, MockServer, NewWorld, clock::ClockMode, world::Snooze};

use crate::{
    kit::{Api, Kit},
    mcp::{Era, Mcp},
    webhooks::kit::start_with_hook,
};

async fn send(api: &Api, id: &str) {
    api.act(id, "replies", json!({ "body": "On its way.", "send": true })).await;
}

#[tokio::test]
async fn requests_of_rest_and_mcp_are_expected_by_path_status_and_body() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let path = format!("/conversations/{id}/notes");
    kit.live().post(&path, json!({ "body": "One" })).await.expect(201);
    kit.live().post(&path, json!({ "body": "" })).await.error(400);
    Mcp::new(&kit, &kit.live()).tool(Era::Modern, "add_note", json!({ "id": id, "body": "Two" })).await;
    for (wanted, count) in [
        (json!({ "method": "POST", "path": "/conversations/*/notes" }), 2),
        (json!({ "path": format!("/api/v1{path}"), "status": 201 }), 1),
        (json!({ "tool": "add_note", "body": { "body": "T*" } }), 1),
        (json!({ "body": { "body": "*" } }), 3),
        (json!({ "transport": "mcp" }), 1),
        (json!({ "method": "DELETE" }), 0),
    ] {
        let met = kit.act("/expect", json!({ "of": "requests", "where": wanted, "count": count })).await;
        assert_eq!(
            (&met["count"], met["matches"].as_array().map(Vec::len)),
            (&json!(count), Some(count)),
            "{wanted}"
        );
    }
}

#[tokio::test]
async fn in_virtual_time_the_clock_stops_when_it_is_met() {
    let kit = Kit::start().await;
    for (api, window, id) in [
        (kit.live(), 600, kit.mail("kim@example.com", "Hello").await),
        (kit.sandbox(), 5, kit.sandbox_mail("delivered@customer.test").await),
    ] {
        let before = kit.look("/clock").await["now"].clone();
        send(&api, &id).await;
        let wanted = json!({ "type": "message.sent", "data": { "conversation_id": id } });
        let met = kit.act("/expect", json!({ "of": "events", "where": wanted, "withinSeconds": 3600 })).await;
        let time =
            |value: &Value| shared_inbox::Timestamp::parse(value.as_str().expect("a time")).expect("a time");
        assert_eq!(time(&met["now"]).duration_since(time(&before)), Duration::from_secs(window));
        let live = api.key().starts_with("rk_live_");
        assert_eq!(met["matches"][0]["livemode"], live, "no webhook need hear it");
    }
    let outbox =
        json!({ "of": "outbox", "where": { "outcome": "sent" }, "count": { "atLeast": 2, "atMost": 2 } });
    assert_eq!(kit.act("/expect", outbox).await["count"], 2);
}

#[tokio::test]
async fn an_exact_number_is_decided_when_the_span_is_over() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    send(&kit.live(), &id).await;
    // Nothing has gone out yet, and within a minute nothing will.
    kit.act("/expect", json!({ "of": "outbox", "count": 0, "withinSeconds": 60 })).await;
    let never = json!({ "of": "outbox", "count": 0, "withinSeconds": 3600 });
    let error = kit.control("POST", "/expect", never).await.error(409);
    assert!(error.contains("exactly 0") && error.contains("reply to kim@example.com"), "{error}");
    let met = kit.act("/expect", json!({ "of": "outbox", "count": 1, "withinSeconds": 3600 })).await;
    assert_eq!(met["count"], 1);
}

#[tokio::test]
async fn what_came_nearest_is_told_with_every_field_that_differs() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    kit.live().get("/tags").await.expect(200);
    kit.live().act(&id, "notes", json!({ "body": "Refund denied" })).await;
    let wanted =
        json!({ "method": "POST", "path": "/conversations/*/notes", "body": { "body": "Refund approved" } });
    let error = kit.control("POST", "/expect", json!({ "of": "requests", "where": wanted })).await.error(409);
    let lines: Vec<&str> = error.lines().collect();
    assert!(
        lines[0].starts_with("Expected at least 1 of requests with {") && lines[0].contains("there were 0"),
        "{error}"
    );
    assert_eq!(lines[1], "The nearest of 2 others:");
    assert!(
        lines[2].starts_with(&format!("- POST /api/v1/conversations/{id}/notes, answered 201, at ")),
        "{error}"
    );
    assert_eq!(lines[3], r#"    body.body: wanted "Refund approved", was "Refund denied""#);
    assert!(lines[4].starts_with("- GET /api/v1/tags"), "{error}");
    let error = kit.control("POST", "/expect", json!({ "of": "outbox" })).await.error(409);
    assert!(error.ends_with("There were no others."), "{error}");
}

#[tokio::test]
async fn deliveries_are_waited_for_until_the_last_retry() {
    let (kit, _receiver, hook) = start_with_hook(500).await;
    kit.act_on(&hook, "test").await;
    let wanted = json!({ "webhookId": hook.id, "type": "webhook.test", "outcome": "failed" });
    let met =
        kit.act("/expect", json!({ "of": "deliveries", "where": wanted, "withinSeconds": 200_000 })).await;
    assert_eq!(met["matches"][0]["attempts"].as_array().map(Vec::len), Some(9));
}

#[tokio::test]
async fn in_real_time_it_is_met_as_soon_as_it_happens_and_the_clock_stands() {
    let kit = Kit::start().await;
    let before = kit.look("/clock").await;
    let expect = json!({ "of": "requests", "where": { "path": "/me" }, "withinSeconds": 30, "time": "real" });
    let waiting =
        kit.http().post(format!("{}/expect", kit.mock.control_url())).body(expect.to_string()).send();
    let waiting = tokio::spawn(waiting);
    kit.live().get("/tags").await.expect(200);
    kit.live().get("/me").await.expect(200);
    let met: Value = waiting.await.expect("no panic").expect("an answer").json().await.expect("JSON");
    assert_eq!(met["count"], 1);
    let never =
        json!({ "of": "requests", "where": { "path": "/nothing" }, "withinSeconds": 0.05, "time": "real" });
    kit.control("POST", "/expect", never).await.error(409);
    assert_eq!(kit.look("/clock").await, before);
}

#[tokio::test]
async fn typed_expectations_say_the_same() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let world = mock.control().create_world(NewWorld::empty().clock(ClockMode::Real)).await.expect("a world");
    for control in [mock.control(), &world] {
        let inbox = shared_inbox::Client::builder(mock.base_url(), &control.ready().keys.test)
            .build()
            .expect("a client");
        let receipt = inbox.sandbox_inbound("reply@customer.test", "Hello").await.expect("a mail");
        let started = control.clock().await.now;
        inbox.conversation(&receipt.conversation_id).reply("Hi").and_send().await.expect("a reply");
        // To just before it writes back; the rest passes by itself.
        control.advance(Duration::from_millis(9_900)).await.expect("moved");
        let replied = Expectation::event("client.replied").field("data.secure", false).since(started);
        let met =
            control.expect(replied.clone().within(Duration::from_secs(60))).await.expect("it writes back");
        assert_eq!(met.count, 1);
        let sent = Expectation::requests().method("POST").path("/conversations/*/replies").status(201);
        control.expect(sent.clone().times(1)).await.expect("once");
        let error = control.expect(sent.field("body.send", false)).await.expect_err("it was sent");
        assert!(
            error.status == 409 && error.message.contains("body.send: wanted false, was true"),
            "{error}"
        );
        control
            .expect(Expectation::outbox().field("to", "*@other.test").never())
            .await
            .expect("nothing went there");
        control.expect(replied.at_least(2)).await.expect_err("only one");
    }
}

#[tokio::test]
async fn a_dot_in_a_name_leads_into_a_field_as_the_misses_write_it() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    let note = json!({ "body": "Refund denied", "a.b": 1 });
    kit.live().act(&id, "notes", note).await;
    let expect = |wanted: Value, count: u32| {
        kit.control("POST", "/expect", json!({ "of": "requests", "where": wanted, "count": count }))
    };
    expect(json!({ "body.body": "Refund*" }), 1).await.expect(200);
    expect(json!({ "body.a.b": 1, "body": { "a.b": 1 } }), 1).await.expect(200);
    expect(json!({ "body.body": "Refund*" }), 0).await.error(409);
    let error = expect(json!({ "body.body": "Refund approved" }), 1).await.error(409);
    assert!(error.contains(r#"body.body: wanted "Refund approved", was "Refund denied""#), "{error}");
    expect(json!({ "body.body.more": "x" }), 1).await.error(409);
}

#[tokio::test]
async fn what_happened_before_a_time_can_be_left_out() {
    let kit = Kit::start().await;
    // Nothing listens there.
    let hook = json!({ "url": "http://127.0.0.1:9/", "livemode": true, "scope": "team" });
    kit.act("/webhooks", hook).await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let write = async |body: &str| {
        kit.live().act(&id, "replies", json!({ "body": body, "send": true })).await;
        kit.advance(600).await;
    };
    write("First").await;
    kit.advance(60).await;
    let since = kit.look("/clock").await["now"].clone();
    for of in ["requests", "outbox", "events", "deliveries"] {
        let all = json!({ "of": of, "count": { "atLeast": 1 } });
        kit.control("POST", "/expect", all.clone()).await.expect(200);
        let mut later = all;
        later["since"] = since.clone();
        let error = kit.control("POST", "/expect", later).await.error(409);
        assert!(error.contains("there were 0"), "{of}: {error}");
    }
    kit.advance(3600).await;
    let tried = json!({ "of": "deliveries", "since": since });
    kit.control("POST", "/expect", tried).await.expect(200);
    write("Second").await;
    let met = json!({ "of": "outbox", "since": since, "count": 1 });
    let met = kit.control("POST", "/expect", met).await.expect(200);
    assert_eq!(met["matches"][0]["text"], "Second");
}

/// Somebody else moves the clock past the end of the span while an expectation is waited for.
#[tokio::test]
async fn a_clock_that_others_move_meanwhile_is_no_error() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@example.com", "Hello").await;
    for _ in 0..20 {
        send(&kit.live(), &id).await;
        let never = Expectation::requests().method("PATCH").never().within(Duration::from_secs(3600));
        let control = kit.mock.control();
        let (met, advanced) = tokio::join!(control.expect(never), control.advance(Duration::from_secs(7200)));
        advanced.expect("the clock is moved");
        met.expect("nothing happened that must not");
    }
}

/// There are as many looks as jobs; reading the whole journal at each of them would take longer than this
/// waits.
#[tokio::test]
async fn a_look_reads_only_what_is_new_since_the_last() {
    const JOBS: u64 = 200;
    const REQUESTS: usize = 100;
    let kit = Kit::start().await;
    let (control, to) = (kit.mock.control(), kit.inbox().await);
    let now = control.clock().await.now;
    for n in 1..=JOBS {
        let mail = InboundMail::new(&to, format!("kim{n}@example.com"), "Hello");
        let id = control.inbound(mail).await.expect("it comes in").conversation_id;
        control.snooze(&id, Snooze::new(Some(now + Duration::from_secs(n)))).await.expect("it is snoozed");
    }
    let extra = json!({ "list": vec![json!([]); 3_000], "text": "some text" });
    let note = json!({ "body": "Hello", "extra": extra });
    let url = format!("{}/conversations/cnv_1/notes", kit.mock.base_url());
    let request = kit.http().post(url).bearer_auth(kit.mock.live_key()).body(note.to_string());
    for _ in 0..REQUESTS {
        let response = request.try_clone().expect("a request").send().await.expect("a response");
        assert_eq!(response.status(), 404);
    }
    let never = Expectation::requests().status(500).never().within(Duration::from_secs(2 * JOBS));
    let looks = tokio::time::timeout(Duration::from_secs(20), control.expect(never)).await;
    let met = looks.expect("it does not read every request for each job").expect("there are none");
    assert_eq!(met.now.duration_since(now), Duration::from_secs(2 * JOBS));
    let posted = Expectation::requests().field("body.extra.text", "some*").times(REQUESTS);
    control.expect(posted).await.expect("they are there");
}
