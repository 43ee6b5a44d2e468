//! What a test has set up or expected, and what could have had no effect, is told.

use serde_json::{Value, json};

use crate::{
    kit::{Kit, text},
    webhooks::kit::start_with_hook,
};

#[tokio::test]
async fn a_fault_that_never_fired_is_told_until_it_fires_even_when_it_was_removed() {
    let kit = Kit::start().await;
    let unused = async || kit.list("/unused").await;
    assert!(unused().await.is_empty());
    let fault = kit
        .act("/faults", json!({ "method": "GET", "path": "/me", "skip": 1, "effect": { "status": 500 } }))
        .await;
    let said = unused().await;
    assert_eq!(
        said,
        [json!({ "what": "fault", "message": "the fault flt_1 (GET /me) never fired: nothing matched it" })]
    );
    kit.live().get("/me").await.expect(200);
    assert!(
        unused().await[0]["message"]
            .as_str()
            .is_some_and(|it| it.ends_with("1 matched it, and it skips the first 1"))
    );
    kit.control("DELETE", &format!("/faults/{}", fault["id"].as_str().expect("an id")), Value::Null)
        .await
        .expect(204);
    assert_eq!(unused().await.len(), 1, "a removed one counts too");
    kit.act("/faults", json!({ "path": "/me", "effect": { "status": 500 } })).await;
    kit.live().get("/me").await.error(500);
    assert_eq!(unused().await.len(), 1, "the other one fired");
    // Chance and bundles count by their matches.
    kit.act(
        "/faults",
        json!({ "path": "/tags", "probability": 0, "times": null, "effect": { "status": 500 } }),
    )
    .await;
    kit.act("/bundles/deploy", Value::Null).await;
    assert_eq!(unused().await.len(), 3);
    kit.advance(60).await;
    assert!(
        unused()
            .await
            .iter()
            .any(|it| it["message"].as_str().is_some_and(|it| it.contains("the bundle deploy")))
    );
    kit.live().get("/tags").await.expect(200);
    assert_eq!(unused().await.len(), 2, "it could have fired");
    kit.act("/faults", json!({ "skip": 9, "effect": { "status": 500 } })).await;
    let last = text(&unused().await.pop().expect("one more")["message"]);
    assert!(
        last.starts_with("the fault flt_") && last.contains(" never fired: nothing matched it"),
        "{last}"
    );
    assert!(!last.contains('('), "{last}");
    kit.act("/reset", Value::Null).await;
    assert!(unused().await.is_empty());
}

#[tokio::test]
async fn a_rule_whose_control_calls_were_all_refused_set_nothing_up() {
    let kit = Kit::start().await;
    let call = |path: &str| json!({ "method": "POST", "path": path, "body": { "until": null } });
    let rule = json!({ "path": "/me", "effect": { "act": [call("/conversations/cnv_nobody/snooze")] } });
    let id = text(&kit.act("/faults", rule).await["id"]);
    kit.live().get("/me").await.expect(200);
    let said = json!({
        "what": "fault",
        "message": "the fault flt_1 (/me) set nothing up: its control calls were refused, with 404",
    });
    assert_eq!(kit.list("/unused").await, std::slice::from_ref(&said));
    kit.control("DELETE", &format!("/faults/{id}"), Value::Null).await.expect(204);
    assert_eq!(kit.list("/unused").await, [said], "a removed one counts too");
    kit.act("/reset", Value::Null).await;
    let conversation = kit.mail("vera@customer.example", "Hi").await;
    let calls =
        [call("/conversations/cnv_nobody/snooze"), call(&format!("/conversations/{conversation}/snooze"))];
    kit.act("/faults", json!({ "path": "/me", "effect": { "act": calls } })).await;
    kit.live().get("/me").await.expect(200);
    assert!(kit.list("/unused").await.is_empty(), "one of them was made");
}

#[tokio::test]
async fn an_expectation_of_none_that_nothing_could_meet_is_told() {
    let (kit, _receiver, hook) = start_with_hook(200).await;
    kit.mail("vera@customer.example", "Hi").await;
    let never = async |of: &str, wanted: Value| {
        let before = kit.list("/unused").await.len();
        kit.act("/expect", json!({ "of": of, "where": wanted, "count": 0 })).await;
        kit.list("/unused").await.len() - before
    };
    let person = kit.list("/users").await.remove(0);
    let narrow = kit.hook_with(json!({ "url": "http://127.0.0.1:1/", "events": ["message.sent"] })).await;
    for (of, wanted, told) in [
        ("requests", json!({ "path": "/conversations/*/replys" }), 1),
        ("requests", json!({ "method": "PUT", "path": "/conversations/*" }), 1),
        ("requests", json!({ "tool": "replies" }), 1),
        ("requests", json!({ "tool": "reply", "path": "/conversations/*/replies" }), 1),
        ("requests", json!({ "tool": "reply", "method": "POST", "path": "/mcp" }), 0),
        ("requests", json!({ "method": "POST", "path": "/conversations/*/replies" }), 0),
        ("requests", json!({ "path": "/conversations/*" }), 0),
        ("requests", json!({}), 0),
        ("outbox", json!({ "to": "vera@customer.exmple" }), 1),
        ("outbox", json!({ "to": "vera@*" }), 0),
        ("outbox", json!({ "kind": "notice", "to": "anna" }), 0),
        ("outbox", json!({ "to": format!("{}@people.test", text(&person["id"])) }), 0),
        ("deliveries", json!({ "webhookId": "whk_nobody" }), 1),
        ("deliveries", json!({ "webhookId": narrow.id, "type": "client.replied" }), 1),
        ("deliveries", json!({ "webhookId": narrow.id, "type": "message.*" }), 0),
        ("deliveries", json!({ "webhookId": narrow.id, "type": "webhook.test" }), 0),
        ("deliveries", json!({ "webhookId": hook.id, "type": "client.replied" }), 0),
        ("events", json!({ "type": "message.sent" }), 0),
    ] {
        assert_eq!(never(of, wanted.clone()).await, told, "{of} {wanted}");
    }
    assert_eq!(never("requests", json!({ "tool": "replies" })).await, 0, "the same is told once");
    let told: Vec<String> = kit.list("/unused").await.iter().map(|it| text(&it["message"])).collect();
    for why in [
        "there could be none: the service has no route at /conversations/*/replys; did you mean /conversations/*/replies?",
        "there could be none: the service has no route at PUT /conversations/*; did you mean GET /conversations/*?",
        "there could be none: the service has no tool at /conversations/*/replies",
    ] {
        assert!(told.iter().any(|message| message.ends_with(why)), "{why}: {told:?}");
    }
    // One that was not for none says what it has to say itself.
    kit.act("/reset", Value::Null).await;
    kit.control("POST", "/expect", json!({ "of": "outbox", "where": { "to": "x" } })).await.error(409);
    assert!(kit.list("/unused").await.is_empty());
}

#[tokio::test]
async fn a_pattern_of_an_expectation_that_none_of_the_values_has_is_told() {
    let kit = Kit::start().await;
    for (wanted, told) in [
        (json!({ "tool": "repyl*" }), "there is no MCP tool repyl*; did you mean reply?"),
        (json!({ "tool": "repyl" }), "there is no MCP tool repyl; did you mean reply?"),
        (json!({ "method": "PSOT" }), "the service has no route at PSOT; did you mean POST?"),
        (
            json!({ "method": "PSOT", "path": "/conversations/*/notes" }),
            "the service has no route at PSOT /conversations/*/notes; did you mean POST /conversations/*/notes?",
        ),
    ] {
        kit.act("/expect", json!({ "of": "requests", "where": wanted, "count": 0 })).await;
        let last = text(&kit.list("/unused").await.pop().expect("it is told")["message"]);
        assert!(last.ends_with(told), "{last}");
    }
    kit.act("/expect", json!({ "of": "requests", "where": { "tool": "rep*" }, "count": 0 })).await;
    assert_eq!(kit.list("/unused").await.len(), 4, "a tool has it");
}
