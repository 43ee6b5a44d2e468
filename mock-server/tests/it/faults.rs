//! Failures on demand, as a client sees them.

use serde_json::{Value, json};

use crate::kit::{Kit, text};

async fn notes(kit: &Kit, id: &str) -> usize {
    kit.live().timeline(id).await.iter().filter(|item| item["type"] == "note").count()
}

/// Adds a note over a connection of its own; `None` when there was no whole answer.
async fn note(kit: &Kit, id: &str) -> Option<(u16, String)> {
    let request = kit.http().post(format!("{}/conversations/{id}/notes", kit.mock.base_url()));
    let request = request.bearer_auth(kit.mock.live_key()).json(&json!({ "body": "Seen" }));
    let response = request.send().await.ok()?;
    Some((response.status().as_u16(), response.text().await.ok()?))
}

#[tokio::test]
async fn a_status_before_leaves_no_trace_and_one_after_does() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    kit.act("/faults", json!({ "path": "/conversations/*/notes", "effect": { "status": 500 } })).await;
    let (status, body) = note(&kit, &id).await.expect("an answer");
    assert_eq!(status, 500);
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "the service's error body");
    assert!(body["error"].is_string());
    assert_eq!(notes(&kit, &id).await, 0);

    kit.act(
        "/faults",
        json!({ "path": "/conversations/*/notes", "effect": { "status": 503, "when": "after" } }),
    )
    .await;
    assert_eq!(note(&kit, &id).await.expect("an answer").0, 503);
    assert_eq!(notes(&kit, &id).await, 1);
    assert_eq!(note(&kit, &id).await.expect("an answer").0, 201, "each rule fired once");
}

#[tokio::test]
async fn a_drop_before_leaves_no_trace_and_one_after_does() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    kit.act("/faults", json!({ "method": "POST", "effect": { "drop": "before" } })).await;
    assert!(note(&kit, &id).await.is_none());
    assert_eq!(notes(&kit, &id).await, 0);
    kit.act("/faults", json!({ "method": "post", "effect": { "drop": "after" } })).await;
    assert!(note(&kit, &id).await.is_none());
    assert_eq!(notes(&kit, &id).await, 1);
    let journal = kit.list("/requests").await;
    assert_eq!(journal.iter().filter(|it| it["status"].is_null()).count(), 2);
}

#[tokio::test]
async fn a_body_comes_with_the_status_that_the_answer_would_have_had() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    kit.act("/faults", json!({ "path": "/conversations/*/notes", "effect": { "body": "<html>oops" } })).await;
    assert_eq!(note(&kit, &id).await.expect("an answer"), (201, "<html>oops".to_owned()));
    assert_eq!(notes(&kit, &id).await, 1);
    for (body, kind) in [("<!doctype html>", "text/html; charset=utf-8"), ("{}", "application/json")] {
        kit.act("/faults", json!({ "path": "/me", "effect": { "body": body } })).await;
        let request = kit.http().get(format!("{}/me", kit.mock.base_url())).bearer_auth(kit.mock.live_key());
        let answer = request.send().await.expect("an answer");
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &kind.parse().expect("text"))
        );
        assert_eq!(answer.text().await.expect("text"), body);
    }
}

#[tokio::test]
async fn skip_times_and_null_decide_which_requests_it_strikes() {
    let kit = Kit::start().await;
    kit.act("/faults", json!({ "path": "/me", "skip": 1, "times": 2, "effect": { "status": 500 } })).await;
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(kit.live().get("/me").await.status);
    }
    assert_eq!(seen, [200, 500, 500, 200, 200]);
    assert_eq!(kit.look("/faults").await[0]["fired"], 2);

    kit.control("DELETE", "/faults", Value::Null).await.expect(204);
    kit.act("/faults", json!({ "path": "/me", "times": null, "effect": { "status": 500 } })).await;
    for _ in 0..5 {
        kit.live().get("/me").await.error(500);
    }
}

#[tokio::test]
async fn method_and_path_say_which_requests_it_strikes() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    kit.act(
        "/faults",
        json!({ "method": "GET", "path": "/conversations/*", "times": null, "effect": { "status": 500 } }),
    )
    .await;
    kit.live().get(&format!("/conversations/{id}")).await.error(500);
    kit.live().get("/conversations").await.expect(200);
    kit.live().get("/conversations/").await.error(404);
    kit.live().get("/me").await.expect(200);
    kit.live().act(&id, "notes", json!({ "body": "x" })).await;
}

#[tokio::test]
async fn the_control_api_is_never_struck() {
    let kit = Kit::start().await;
    kit.act("/faults", json!({ "times": null, "effect": { "drop": "before" } })).await;
    kit.look("/health").await;
    kit.control("DELETE", "/faults", Value::Null).await.expect(204);
    kit.live().get("/me").await.expect(200);
}

#[tokio::test]
async fn rules_are_listed_and_removed_by_id() {
    let kit = Kit::start().await;
    let rule = json!({ "method": "POST", "path": "/conversations/*/notes", "skip": 0, "times": 1, "probability": 1.0, "effect": { "drop": "after" } });
    let id = text(&kit.act("/faults", rule.clone()).await["id"]);
    let mut listed = kit.look("/faults").await[0].clone();
    let fields = listed.as_object_mut().expect("an object");
    assert_eq!((fields.remove("id"), fields.remove("fired")), (Some(json!(id)), Some(json!(0))));
    assert_eq!(fields.remove("matched"), Some(json!(0)));
    assert_eq!(listed, rule);
    kit.control("DELETE", &format!("/faults/{id}"), Value::Null).await.expect(204);
    kit.control("DELETE", &format!("/faults/{id}"), Value::Null).await.error(404);
}

#[tokio::test]
async fn a_rule_says_how_many_it_matched_beside_how_often_it_fired() {
    let kit = Kit::start().await;
    kit.act("/faults", json!({ "path": "/me", "skip": 2, "effect": { "status": 500 } })).await;
    let counts = async || {
        let rule = &kit.look("/faults").await[0];
        (rule["matched"].clone(), rule["fired"].clone())
    };
    kit.live().get("/tags").await.expect(200);
    assert_eq!(counts().await, (json!(0), json!(0)));
    for (status, matched, fired) in [(200, 1, 0), (200, 2, 0), (500, 3, 1), (200, 3, 1)] {
        assert_eq!(kit.live().get("/me").await.status, status);
        assert_eq!(counts().await, (json!(matched), json!(fired)));
    }
}

#[tokio::test]
async fn of_two_rules_that_fit_the_first_strikes_until_it_is_used_up() {
    let kit = Kit::start().await;
    for status in [500, 429] {
        kit.act("/faults", json!({ "effect": { "status": status } })).await;
    }
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(kit.live().get("/me").await.status);
    }
    assert_eq!(seen, [500, 429, 200]);
}

/// A draft of the app in a conversation.
async fn create_draft(kit: &Kit, id: &str) -> String {
    text(&kit.live().act(id, "replies", json!({ "body": "On its way." })).await["messageId"])
}

#[tokio::test]
async fn an_act_before_a_request_is_seen_by_that_request() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let rule = json!({ "method": "GET", "path": "/conversations/*",
        "effect": { "act": [{ "method": "POST", "path": format!("/messages/{id}/discard") }] } });
    kit.act("/faults", rule.clone()).await;
    create_draft(&kit, &id).await;
    let timeline = kit.live().timeline(&id).await;
    let events: Vec<_> = timeline.iter().filter(|item| item["type"] == "event").collect();
    assert_eq!(timeline.iter().filter(|item| item["direction"] == "outbound").count(), 0);
    assert!(events.iter().any(|event| event["event"] == "draft-discarded"), "a person threw the draft away");
    let listed = kit.look("/faults").await;
    assert_eq!((&listed[0]["fired"], &listed[0]["acted"]), (&json!(1), &json!([200])));
    assert_eq!(listed[0]["effect"], rule["effect"]);
    assert_eq!(kit.list("/requests").await.len(), 2, "control calls are not in the journal");
}

#[tokio::test]
async fn an_act_after_a_request_comes_once_it_took_effect_and_before_its_answer() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let discard = json!({ "method": "POST", "path": format!("/messages/{id}/discard"), "body": {} });
    kit.act(
        "/faults",
        json!({ "path": "/conversations/*/replies", "effect": { "act": [discard], "when": "after" } }),
    )
    .await;
    create_draft(&kit, &id).await;
    assert_eq!(kit.look("/approvals").await, json!([]), "thrown away when the app hears of it");
    create_draft(&kit, &id).await;
    assert_eq!(kit.list("/approvals").await.len(), 1, "only the first");
}

#[tokio::test]
async fn an_act_leaves_the_request_to_the_rules_after_it() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let again = json!({ "to": kit.inbox().await, "from": "vera@customer.example", "text": "And?", "conversationId": id });
    let calls = json!([{ "method": "POST", "path": "/inbound", "body": again },
        { "method": "POST", "path": "/clock", "body": { "advanceSeconds": 60 } },
        { "method": "POST", "path": "/messages/msg_nobody/stop" }]);
    kit.act("/faults", json!({ "method": "POST", "effect": { "act": calls } })).await;
    kit.act("/faults", json!({ "method": "POST", "effect": { "drop": "after" } })).await;
    assert!(note(&kit, &id).await.is_none());
    let timeline = kit.live().timeline(&id).await;
    let kinds: Vec<_> = timeline.iter().map(|item| text(&item["type"])).collect();
    assert_eq!(kinds, ["message", "message", "note"], "the mail, then the note a minute later");
    assert_eq!(
        kit.look("/faults").await[0]["acted"],
        json!([201, 200, 404]),
        "a call that fails keeps nobody waiting"
    );
}

#[tokio::test]
async fn the_calls_of_an_act_stand_in_the_trace_of_the_request() {
    let kit = Kit::start().await;
    let id = kit.mail("kim@customer.example", "Hello").await;
    let assign = format!("/conversations/{id}/assign");
    let calls = json!([
        { "method": "POST", "path": "/clock", "body": { "advanceSeconds": 60 } },
        { "method": "POST", "path": assign, "body": { "to": "none" } },
        { "method": "POST", "path": "/conversations/cnv_none/assign", "body": { "to": "none" } },
    ]);
    let rule = json!({ "path": "/conversations/*/notes", "effect": { "act": calls } });
    let act = kit.act("/faults", rule).await;
    let status = kit.act("/faults", json!({ "effect": { "status": 500, "when": "after" } })).await;
    assert_eq!(note(&kit, &id).await.expect("an answer").0, 500);

    let request = &kit.look("/requests").await[0];
    assert_eq!(request["faultId"], status["id"], "the last rule that fired");
    let trace = kit.look(&format!("/traces/{}", text(&request["id"]))).await;
    let steps = trace["steps"].as_array().expect("steps");
    let shown = |step: &Value| (text(&step["kind"]), text(&step["what"]), step["status"].clone());
    let controls: Vec<_> = steps.iter().filter(|step| step["kind"] == "control").map(shown).collect();
    let call = |what: &str, status: u16| ("control".to_owned(), format!("POST {what}"), json!(status));
    let expected = [call("/clock", 200), call(&assign, 200), call("/conversations/cnv_none/assign", 404)];
    assert_eq!(controls, expected, "{trace}");
    let requests: Vec<_> = steps.iter().filter(|step| step["kind"] == "request").collect();
    assert_eq!(requests.len(), 1, "one step for the request: {trace}");
    assert_eq!((&requests[0]["faultId"], &requests[0]["status"]), (&status["id"], &json!(500)));
    assert_eq!(requests[0]["at"], request["at"], "when it came in, not when it took effect");
    for step in steps.iter().filter(|step| step["kind"] != "request") {
        assert!(steps.iter().any(|cause| cause["number"] == step["cause"]), "a cause that is shown: {step}");
    }
    assert!(steps.iter().filter(|step| step["kind"] == "control").all(|step| step["faultId"] == act["id"]));
    assert!(steps.iter().any(|step| step["kind"] == "note"), "{trace}");
}
