//! A typing error does not make a test pass: what the control API does not know is refused, with the nearest that it knows.

use serde_json::{Value, json};
use shared_inbox_mock::{Effect, Expectation, FaultRule};

use crate::{
    kit::{Kit, text},
    webhooks::kit::start_with_hook,
};

/// Four typing errors that would each make a test pass.
#[tokio::test]
async fn each_of_four_typing_errors_is_told_with_what_to_write_instead() {
    let kit = Kit::start().await;
    let inbox = kit.inbox().await;
    for (path, body, said) in [
        (
            "/faults",
            json!({ "path": "/conversations/*/replys", "effect": { "drop": "after" } }),
            "path: no route of the service has it; did you mean /conversations/*/replies?",
        ),
        (
            "/inbound",
            json!({ "to": inbox, "from": "v@customer.example", "text": "Hi", "auto_reply": true }),
            "auto_reply: unknown; did you mean autoReply?",
        ),
        (
            "/expect",
            json!({ "of": "outbox", "where": { "recipient": "v@customer.example" }, "count": 0 }),
            "where.recipient: unknown; did you mean to?",
        ),
        (
            "/expect",
            json!({ "of": "requests", "where": { "metod": "POST" }, "count": 0 }),
            "where.metod: unknown; did you mean method?",
        ),
    ] {
        assert_eq!(kit.control("POST", path, body).await.error(400), said);
    }
    assert!(kit.list("/faults").await.is_empty() && kit.list("/conversations").await.is_empty());
}

/// Sends each call a field that it does not know, at the top and one level down.
#[tokio::test]
async fn every_control_call_refuses_an_unknown_field_at_the_top_and_one_level_down() {
    let kit = Kit::start().await;
    let document = kit.document().control().value();
    let (mut calls, mut inner) = (0, 0);
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let ids = path.replace(['{', '}'], "");
        for (method, call) in methods.as_object().expect("methods") {
            calls += 1;
            let method = method.to_uppercase();
            let asked = format!("{ids}?zebra=1");
            let error = kit.control(&method, &asked, Value::Null).await.error(400);
            assert!(error.contains("zebra: unknown"), "{method} {asked}: {error}");
            let error = kit.control(&method, &ids, json!({ "zebra": 1 })).await.error(400);
            assert!(error.contains("zebra: unknown"), "{method} {path}: {error}");
            let body = resolved(document, &call["requestBody"]["content"]["application/json"]["schema"]);
            for (name, field) in body["properties"].as_object().into_iter().flatten() {
                let Some((value, place)) = with_unknown_field(document, field) else { continue };
                inner += 1;
                let error = kit.control(&method, &ids, json!({ name: value })).await.error(400);
                assert!(error.contains(&format!("{name}{place}.zebra: unknown")), "{method} {path}: {error}");
            }
        }
    }
    assert!(calls > 70 && inner >= 7, "{calls} calls, {inner} fields with fields of their own");
    // Objects whose fields the document leaves open.
    let call = json!([{ "method": "POST", "path": "/inbound?zebra=1", "body": { "attachments": [{ "zebra": 1 }] } }]);
    for (method, path, body, said) in [
        (
            "PUT",
            "/state",
            json!({ "mailboxes": [], "workspace": { "id": "wsp_1", "zebra": 1 } }),
            "workspace.zebra: unknown",
        ),
        (
            "POST",
            "/worlds",
            json!({ "seed": { "mailboxes": [{ "zebra": 1 }] } }),
            "mailboxes[0].zebra: unknown",
        ),
        (
            "POST",
            "/expect",
            json!({ "of": "events", "where": { "data": { "zebra": 1 } } }),
            "where.data.zebra: unknown",
        ),
        (
            "POST",
            "/expect",
            json!({ "of": "events", "where": { "data.zebra": 1 } }),
            "where.data.zebra: unknown",
        ),
        ("POST", "/expect", json!({ "of": "deliveries", "where": { "zebra": 1 } }), "where.zebra: unknown"),
        (
            "POST",
            "/faults",
            json!({ "effect": { "act": call } }),
            "effect.act[0].path: query parameter zebra: unknown",
        ),
        (
            "POST",
            "/faults",
            json!({ "effect": { "act": call } }),
            "effect.act[0].body.attachments[0].zebra: unknown",
        ),
        ("POST", "/faults", json!({ "effect": { "delayMs": { "mini": 1, "max": 2 } } }), "did you mean min?"),
        ("POST", "/expect", json!({ "of": "outbox", "count": { "atleast": 1 } }), "did you mean atLeast?"),
    ] {
        let error = kit.control(method, path, body.clone()).await.error(400);
        assert!(error.contains(said), "{path} {body}: {error}");
    }
}

/// Returns a value for a field with an unknown field in it, and where that stands; `None` for a field without fields.
fn with_unknown_field(document: &Value, schema: &Value) -> Option<(Value, &'static str)> {
    let schema = resolved(document, schema);
    let closed = |schema: &Value| schema["properties"].is_object().then(|| json!({ "zebra": 1 }));
    let variants = schema["anyOf"].as_array().into_iter().flatten();
    if let Some(object) =
        std::iter::once(schema).chain(variants).find_map(|one| closed(resolved(document, one)))
    {
        return Some((object, ""));
    }
    closed(resolved(document, &schema["items"])).map(|object| (json!([object]), "[0]"))
}

fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let target = schema["$ref"].as_str().and_then(|path| document.pointer(path.trim_start_matches('#')));
    target.unwrap_or(schema)
}

#[tokio::test]
async fn a_value_that_an_enum_does_not_have_is_refused_with_the_nearest() {
    let (kit, _receiver, hook) = start_with_hook(200).await;
    let (delivered, typed) = (
        format!("/webhooks/{}/deliveries?outcome=delivred", hook.id),
        format!("/webhooks/{}/deliveries?type=client.reply", hook.id),
    );
    let mail = |field: &str, value: &str| json!({ "to": "x", "from": "v@customer.example", "text": "Hi", field: value });
    for (method, path, body, said) in [
        (
            "POST",
            "/inbound",
            mail("dmarc", "pas"),
            "dmarc: must be one of pass, fail, not pas; did you mean pass?",
        ),
        (
            "POST",
            "/inbound",
            mail("urgency", "hihg"),
            "urgency: must be one of low, normal, high, not hihg; did you mean high?",
        ),
        ("PUT", "/plan", json!({ "plan": "teams" }), "did you mean team?"),
        (
            "POST",
            "/keys",
            json!({ "name": "A", "livemode": true, "scopes": ["wirte"] }),
            "scopes[0]: must be one of read, write",
        ),
        (
            "POST",
            "/webhooks",
            json!({ "url": "http://127.0.0.1:1/", "livemode": true, "scope": "team", "timestamp": "real" }),
            "timestamp: unknown; did you mean timestamps?",
        ),
        (
            "POST",
            "/webhooks",
            json!({ "url": "http://127.0.0.1:1/", "livemode": true, "scope": "team", "events": ["client.reply"] }),
            "did you mean client.replied?",
        ),
        (
            "POST",
            "/expect",
            json!({ "of": "outbox", "where": { "outcome": "send" }, "count": 0 }),
            "where.outcome: must be one of sent, failed",
        ),
        (
            "POST",
            "/expect",
            json!({ "of": "events", "where": { "type": "client.reply" }, "count": 0 }),
            "where.type: must be one of",
        ),
        (
            "POST",
            "/expect",
            json!({ "of": "requests", "where": { "status": "201" }, "count": 0 }),
            "where.status: must be a whole number",
        ),
        ("GET", "/requests?order=newst", Value::Null, "order: must be one of oldest, newest"),
        ("GET", "/requests?limit=many", Value::Null, "limit: must be a whole number"),
        ("GET", &delivered, Value::Null, "did you mean delivered?"),
        ("GET", &typed, Value::Null, "did you mean client.replied?"),
    ] {
        let error = kit.control(method, path, body.clone()).await.error(400);
        assert!(error.contains(said), "{path} {body}: {error}");
    }
    // Patterns may stand for several.
    for wanted in
        [json!({ "type": "client.*" }), json!({ "type": null }), json!({ "data.reference": "inv-*" })]
    {
        kit.act("/expect", json!({ "of": "events", "where": wanted, "count": 0 })).await;
    }
}

#[tokio::test]
async fn all_problems_of_an_input_are_told_at_once() {
    let kit = Kit::start().await;
    for (method, path, body, said) in [
        (
            "POST",
            "/inbound",
            json!({ "to": "help@acme.example", "from": "nobody", "attachments": [{ "filename": 1 }] }),
            "attachments[0].filename: must be a string; attachments[0].contentType: is required; \
             attachments[0].size: is required; from: must be an email address; text: is required",
        ),
        (
            "POST",
            "/faults",
            json!({ "path": "/you", "probability": 2, "webhook": 3, "effect": { "drop": "later" }, "tims": 1 }),
            "effect.drop: must be one of before, after, not later; did you mean after?; tims: unknown; did you mean times?; webhook: must be a string",
        ),
        (
            "POST",
            "/faults",
            json!({ "path": "/mee", "probability": 2, "tool": "replies", "effect": { "status": 500 } }),
            "probability: must be from 0 to 1; path: no route of the service has it; did you mean /me?; \
             tool: there is no such MCP tool; did you mean reply?",
        ),
        (
            "POST",
            "/keys",
            json!({ "name": "A", "scopes": [], "livemode": "yes", "createdBy": "Anna" }),
            "createdBy: must be an id that starts with `usr_`; livemode: must be true or false",
        ),
    ] {
        assert_eq!(kit.control(method, path, body).await.error(400), said);
    }
    let mut world = kit.look("/state").await;
    world["mailboxes"][0]["adress"] = json!("x");
    world["conversations"] = json!([{ "timeline": [{ "type": "note", "body": 1 }, { "type": "nte" }] }]);
    let text = serde_json::to_string_pretty(&world).expect("JSON");
    let error = kit.mock.control().restore(&text).await.expect_err("it is not sound").message;
    for said in [
        "mailboxes[0].adress: unknown; did you mean address?",
        "conversations[0].id: is required",
        "conversations[0].timeline[0].body: must be a string",
        "conversations[0].timeline[0].author: is required",
        "conversations[0].timeline[1].type: must be one of message, note, event, not nte; did you mean note?",
    ] {
        assert!(error.contains(said), "{said}: {error}");
    }
    assert!(error.split("; line ").count() > 4, "each with its line: {error}");
    // A name may be spelled with escapes.
    let escaped = text.replacen("\"mailboxes\"", "\"mailb\\u006fxes\"", 1);
    assert_eq!(kit.mock.control().restore(&escaped).await.expect_err("it is the same").message, error);
}

#[tokio::test]
async fn a_fault_that_no_route_could_match_is_refused_and_one_that_may_match_later_is_not() {
    let kit = Kit::start().await;
    let effect = json!({ "status": 500 });
    for (rule, said) in [
        (json!({ "path": "/conversation", "effect": effect }), "did you mean /conversations?"),
        (json!({ "path": "/api/v1/me", "effect": effect }), "did you mean /me?"),
        (
            json!({ "path": "/conversations/cnv_1/note", "effect": effect }),
            "did you mean /conversations/*/notes?",
        ),
        (json!({ "path": "/nothing/of/the/kind", "effect": effect }), "there are /app-mail, /conversations,"),
        (
            json!({ "path": "/conversations/*/notes", "method": "GET", "effect": effect }),
            "method: /conversations/*/notes takes POST, not GET",
        ),
        (json!({ "method": "PUT", "effect": effect }), "method: the service takes"),
        (json!({ "tool": "add_notes", "effect": effect }), "did you mean add_note?"),
        // Only a whole segment may be left open: this would match nothing, whatever comes later.
        (
            json!({ "path": "/conversations/cnv_*/notes", "effect": effect }),
            "did you mean /conversations/*/notes?",
        ),
        (
            json!({ "path": "/conversations/*/rep*", "effect": effect }),
            "did you mean /conversations/*/replies?",
        ),
        (
            json!({ "tool": "add_note", "path": "/conversations/*/notes", "effect": effect }),
            "tool: is called by POST /mcp",
        ),
        (json!({ "tool": "add_note", "method": "GET", "effect": effect }), "tool: is called by POST /mcp"),
        (json!({ "webhook": "https://app.example", "effect": effect }), "webhook: must be the id"),
        (
            json!({ "webhook": "*", "event": "client.reply", "effect": effect }),
            "did you mean client.replied?",
        ),
        (
            json!({ "effect": { "act": [{ "method": "POST", "path": "/inbond" }] } }),
            "did you mean POST /inbound?",
        ),
        (
            json!({ "effect": { "act": [{ "method": "POST", "path": "/inbound" }] } }),
            "effect.act[0].body.text: is required",
        ),
    ] {
        let error = kit.control("POST", "/faults", rule.clone()).await.error(400);
        assert!(error.contains(said), "{rule}: {error}");
    }
    for rule in [
        json!({ "path": "/conversations/cnv_later/notes", "method": "post", "effect": effect }),
        json!({ "path": "/*", "method": "HEAD", "effect": effect }),
        json!({ "path": "/mcp", "method": "GET", "effect": effect }),
        json!({ "tool": "add_note", "path": "/mcp", "method": "post", "effect": effect }),
        json!({ "path": "/openapi.json", "effect": effect }),
        json!({ "query": { "anything": "x" }, "agentId": "agt_later", "effect": effect }),
        json!({ "webhook": "whk_later", "event": "client.replied", "effect": effect }),
    ] {
        kit.act("/faults", rule).await;
    }
}

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
async fn the_methods_of_rust_refuse_the_same() {
    let kit = Kit::start().await;
    let control = kit.mock.control();
    let rule = FaultRule::new(Effect::drop_after()).method("POST").path("/conversations/*/replys");
    assert!(control.add_fault(rule).await.expect_err("no such route").message.starts_with("path: "));
    let refused = control.expect(Expectation::outbox().field("recipient", "x").never()).await;
    assert!(refused.expect_err("no such field").message.starts_with("where.recipient: "));
}
