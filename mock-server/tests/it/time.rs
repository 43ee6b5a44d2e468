//! The clock, and what happens when time passes.

use serde_json::{Value, json};
use shared_inbox::Timestamp;
use shared_inbox_mock::MockServer;

use crate::kit::{Kit, text, texts};

fn at(value: &Value) -> Timestamp {
    text(value).parse().expect("a time")
}

#[tokio::test]
async fn every_answer_is_dated_by_the_clock_of_its_world() {
    let kit = Kit::start().await;
    let other = kit.control("POST", "/worlds", json!({ "clock": "manual" })).await.expect(201);
    let (control, there) = (text(&other["control_url"]), kit.api(&text(&other["keys"]["live"])));
    let year = json!({ "advanceSeconds": 365 * 86_400 });
    let later = kit.control_at(&control, "POST", "/clock", year).await.expect(200);
    let date = |reply: &crate::kit::Reply| {
        let header = reply.headers["date"].to_str().expect("visible characters").to_owned();
        let date = jiff::fmt::rfc2822::parse(&header).expect("a date of HTTP");
        assert!(header.ends_with(" GMT"), "{header}");
        date.timestamp().as_second()
    };
    let now = |clock: &Value| at(&clock["now"]).as_secs();
    let here = now(&kit.look("/clock").await);
    assert_eq!(date(&kit.live().get("/me").await), here);
    assert_eq!(date(&there.get("/me").await), now(&later), "each world has its own");
    assert!(now(&later) > here + 300 * 86_400);
    kit.advance(3600).await;
    assert_eq!(date(&kit.live().get("/me").await), here + 3600);
    assert_eq!(date(&kit.live().get("/conversations/cnv_0").await), here + 3600, "a refusal is dated too");
    kit.control("POST", "/faults", json!({ "effect": { "status": 500 } })).await.expect(201);
    assert_eq!(date(&kit.live().get("/me").await), here + 3600, "and a failure");
}

#[tokio::test]
async fn what_falls_due_happens_in_order_and_at_its_own_time() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let start = at(&kit.look("/clock").await["now"]);
    let until = (start + std::time::Duration::from_secs(900)).to_string();
    let reply = kit.live().act(&id, "replies", json!({ "body": "Hi", "send": true })).await;
    let other = kit.mail("karl@customer.example", "Hello").await;
    kit.act(&format!("/conversations/{other}/snooze"), json!({ "until": until })).await;

    let jobs = kit.look("/jobs").await;
    assert_eq!(texts(&jobs, "job"), ["send", "wake"]);
    assert_eq!(texts(&jobs, "subject"), [text(&reply["messageId"]), other]);
    assert_eq!(jobs[0]["dueAt"], reply["sendsAt"]);
    assert!(
        jobs[0]["customer"].is_string() && jobs[0]["conversationId"] == json!(id),
        "whom it concerns: {jobs}"
    );

    let moved = kit.advance(86_400).await;
    assert_eq!(texts(&moved["fired"], "job"), ["send", "wake"]);
    assert_eq!(texts(&moved["fired"], "at"), [text(&reply["sendsAt"]), until]);
    assert_eq!(kit.look("/jobs").await, json!([]));
    let outbox = kit.look("/outbox").await;
    assert_eq!(
        outbox[0]["at"], reply["sendsAt"],
        "it left when it was due, not when the clock had been moved"
    );
}

#[tokio::test]
async fn with_the_real_clock_a_send_leaves_by_itself_also_when_the_clock_was_moved_near_to_it() {
    let kit = Kit::with(MockServer::builder().empty()).await;
    let id = kit.mail("vera@customer.example", "Hi").await;
    let mut changes = kit.mock.control().changes();
    kit.live().act(&id, "replies", json!({ "body": "Hello", "send": true })).await;
    // To just before the window's end; the rest passes by itself.
    kit.act("/clock", json!({ "advanceSeconds": 599.9 })).await;
    let sent = async { while changes.recv().await.expect("a change").what != "send" {} };
    // What was to be waited for before the clock was moved is ten minutes.
    tokio::time::timeout(std::time::Duration::from_secs(25), sent).await.expect("it leaves");
    let timeline = kit.live().timeline(&id).await;
    assert_eq!(timeline.last().map(|it| it["status"].clone()), Some(json!("sent")));
}

#[tokio::test]
async fn a_reset_brings_back_the_start_with_its_clock_and_keys() {
    let kit = Kit::with(MockServer::builder().manual_clock().no_rate_limit()).await;
    let start = (kit.mock.control().state().await.expect("a document"), kit.look("/clock").await);
    kit.mail("vera@customer.example", "Hello").await;
    let (extra, _) = kit.key("Extra", &["read"]).await;
    extra.get("/me").await.expect(200);
    kit.control("POST", "/faults", json!({ "skip": 100, "effect": { "status": 500 } })).await.expect(201);
    kit.advance(100_000).await;
    kit.control("PUT", "/plan", json!({ "plan": "free" })).await.expect(200);

    kit.control("POST", "/reset", Value::Null).await.expect(200);
    assert_eq!((kit.mock.control().state().await.expect("a document"), kit.look("/clock").await), start);
    assert_eq!((kit.look("/faults").await, kit.look("/requests").await), (json!([]), json!([])));
    extra.get("/me").await.error(401);
    kit.live().get("/me").await.expect(200);
    kit.sandbox().get("/me").await.expect(200);
}

#[tokio::test]
async fn the_same_seed_and_calls_give_the_same_bytes() {
    let first = Kit::with(MockServer::builder().manual_clock().no_rate_limit()).await;
    let seed = first.mock.control().state().await.expect("a document");
    let second = Kit::with(MockServer::builder().manual_clock().no_rate_limit().seed(&seed)).await;
    let mut runs = Vec::new();
    for kit in [&first, &second] {
        let id = kit.mail("vera@customer.example", "Hello").await;
        let reply = json!({ "body": "Hi", "send": true, "documents": [{ "label": "Invoice" }] });
        let hook = json!({
            "url": "http://127.0.0.1:9/", "livemode": true, "scope": "team", "events": ["booking.created"],
        });
        runs.push([
            kit.live().act(&id, "replies", reply).await.to_string(),
            kit.live().act(&id, "tags", json!({ "add": ["new"] })).await.to_string(),
            // Its id and its secret. It hears of bookings alone, so nothing is sent.
            kit.act("/webhooks", hook.clone()).await.to_string(),
            kit.advance(10 * 86_400).await.to_string(),
            kit.live().get(&format!("/conversations/{id}")).await.text,
            kit.live().get("/conversations?limit=100").await.text,
            kit.mock.control().state().await.expect("a document"),
        ]);
    }
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test]
async fn a_document_that_is_not_sound_is_refused_with_line_and_field() {
    let kit = Kit::start().await;
    let url = format!("{}/state", kit.mock.control_url());
    let before = kit.look("/state").await;
    for (document, named) in [
        ("{\n  \"workspace\": 5\n}", &["line 2", "workspace"][..]),
        ("{}", &["mailboxes", "required"]),
        (
            "{\n \"mailboxes\": [],\n \"conversations\": [{\n  \"id\": \"cnv_1\", \"mailbox\": \"mbx_1\", \"subject\": \"\",\n  \"contact\": {}, \"timeline\": [\n   { \"type\": \"note\",\n     \"id\": 5 }]}]}",
            &["line 7", "conversations[0].timeline[0].id", "string"],
        ),
        (
            "{\n \"mailboxes\": [],\n \"conversations\": [{\n  \"id\": \"cnv_1\", \"mailbox\": \"mbx_1\", \"subject\": \"\",\n  \"contact\": {}, \"timeline\": [\n   { \"type\": \"message\",\n     \"id\": \"msg_1\" }]}]}",
            &["line 6", "conversations[0].timeline[0].at", "required"],
        ),
        ("{\n \"mailboxes\": [],\n \"worksp\\u0061ce\": 5\n}", &["line 3", "workspace"]),
        ("{\"mailboxes\": []}\n\n more", &["line 3", "followed by"]),
        ("[]", &["line 1", "object"]),
        ("{", &["line 1"]),
        ("", &["line 1"]),
    ] {
        let error = kit.ask(kit.http().put(&url).body(document)).await.error(400);
        for part in named {
            assert!(error.contains(part), "{error} should name {part}");
        }
    }
    assert_eq!(kit.look("/state").await, before, "nothing was changed");
}

#[tokio::test]
async fn a_document_that_does_not_fit_together_is_refused_with_line_and_field() {
    let kit = Kit::start().await;
    kit.mail("vera@customer.example", "Hello").await;
    let mut document = kit.look("/state").await;
    document["conversations"][0]["mailbox"] = json!("mbx_nowhere");
    document["keys"][1]["createdBy"] = json!("usr_nobody");
    let before = kit.look("/state").await;
    let text = serde_json::to_string_pretty(&document).expect("JSON");
    let line = |of: &str| 1 + text.lines().position(|line| line.contains(of)).expect("it is there");
    let (mailbox, maker) = (line("mbx_nowhere"), line("usr_nobody"));
    let url = format!("{}/state", kit.mock.control_url());
    let error = kit.ask(kit.http().put(url).body(text.clone())).await.error(400);
    for part in [
        format!("line {mailbox}: conversations[0].mailbox: is not one of the mailboxes"),
        format!("line {maker}: keys[1].createdBy: is not one of the users"),
    ] {
        assert!(error.contains(&part), "{error} should have {part}");
    }
    assert_eq!(kit.look("/state").await, before, "nothing happened");
}

#[tokio::test]
async fn the_keys_of_a_document_work_and_those_of_the_start_work_again_after_a_reset() {
    let kit = Kit::start().await;
    let without = kit.look("/state").await;
    let (api, _) = kit.key("Robot", &["read"]).await;
    let with = kit.look("/state").await;
    kit.control("PUT", "/state", without.clone()).await.expect(200);
    api.get("/me").await.error(401);
    kit.control("PUT", "/state", with.clone()).await.expect(200);
    api.get("/me").await.expect(200);

    let elsewhere = Kit::start().await;
    elsewhere.key("Robot", &["read"]).await;
    let (foreign, _) = elsewhere.key("Foreign", &["read"]).await;
    let foreign = kit.api(foreign.key());
    foreign.get("/me").await.error(401);
    kit.control("PUT", "/state", elsewhere.look("/state").await).await.expect(200);
    assert_eq!(foreign.get("/me").await.expect(200)["agent"]["name"], "Foreign");

    let seeded = Kit::with(MockServer::builder().manual_clock().no_rate_limit().seed(with.to_string())).await;
    let robot = seeded.api(api.key());
    robot.get("/me").await.expect(200);
    seeded.control("PUT", "/state", without).await.expect(200);
    robot.get("/me").await.error(401);
    seeded.control("POST", "/reset", Value::Null).await.expect(200);
    robot.get("/me").await.expect(200);
}

#[tokio::test]
async fn a_real_clock_goes_ahead_to_the_time_of_a_document_and_never_back() {
    let kit = Kit::with(MockServer::builder().empty().no_rate_limit()).await;
    let now =
        || async { shared_inbox::Timestamp::parse(&text(&kit.look("/clock").await["now"])).expect("a time") };
    let early = kit.look("/state").await;
    kit.advance(3_600).await;
    let late = kit.look("/state").await;
    kit.control("PUT", "/state", early).await.expect(200);
    assert!(now().await.to_string() >= text(&late["now"]), "not back");
    kit.control("POST", "/reset", Value::Null).await.expect(200);
    assert!(now().await.to_string() < text(&late["now"]), "a reset brings the clock back");
    kit.control("PUT", "/state", late.clone()).await.expect(200);
    assert!(now().await.to_string() >= text(&late["now"]), "ahead");
    assert_eq!(kit.look("/clock").await["mode"], "real");
}

#[tokio::test]
async fn what_falls_due_in_a_restored_world_happens_by_itself_although_nobody_asks() {
    let kit = Kit::with(MockServer::builder().empty().no_rate_limit()).await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let now = kit.mock.control().clock().await.now;
    let seconds = std::time::Duration::from_secs;
    kit.act(&format!("/conversations/{id}/snooze"), json!({ "until": now + seconds(600) })).await;
    // An hour ahead, and the end of the snooze soon after: later than what was planned, by another clock.
    let mut document = kit.look("/state").await;
    let later = now + seconds(3_600);
    document["now"] = json!(later);
    document["conversations"][0]["snoozedUntil"] = json!(later + seconds(1));
    document["jobs"] = json!([]);
    let mut changes = kit.mock.control().changes();
    kit.control("PUT", "/state", document).await.expect(200);
    let woken = async { while changes.recv().await.expect("a change").what != "wake" {} };
    tokio::time::timeout(seconds(15), woken)
        .await
        .expect("it does not wait for the time of the former world");
}
