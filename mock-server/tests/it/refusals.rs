//! A typing error does not make a test pass: what the control API does not know, and what could do nothing,
//! is refused with all problems at once, each with its field and the nearest that is known. `refusals.txt`
//! has the calls with their sentences.

use serde_json::{Value, json};
use shared_inbox_mock::{Effect, Expectation, FaultRule};
use shared_inbox_tests::generated;

use crate::{kit::Kit, webhooks::kit::start_with_hook};

const REFUSALS: &str = include_str!("refusals.txt");

/// Each call, without a body that `serde_json` would have put in order. `scripts/regenerate` writes the
/// sentences anew.
#[tokio::test]
async fn each_call_is_refused_as_the_file_says_and_nothing_happens() {
    let (kit, _receiver, hook) = start_with_hook(200).await;
    let before = kit.look("/state").await;
    let mut said = String::new();
    for line in REFUSALS.lines().filter(|line| !line.starts_with("    ")) {
        said.push_str(line);
        said.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut parts = line.splitn(3, ' ');
        let (method, path) = (parts.next().expect("a method"), parts.next().expect("a path"));
        let url = kit.mock.control_url().to_owned() + &path.replace("{hook}", &hook.id);
        let request = kit.http().request(method.parse().expect("a method"), url);
        let request = parts.next().into_iter().fold(request, |it, body| it.body(body.to_owned()));
        said.push_str(&format!("    {}\n", kit.ask(request).await.error(400)));
    }
    assert_eq!(kit.look("/state").await, before, "nothing happened");
    assert!(kit.list("/faults").await.is_empty() && kit.list("/worlds").await.len() == 1);
    if !generated::updates() {
        for (said, expected) in said.lines().zip(REFUSALS.lines()) {
            assert_eq!(said, expected);
        }
    }
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/refusals.txt");
    generated::assert_up_to_date(file, &said);
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
}

/// Returns a value for a field with an unknown field in it, and where that stands; `None` for a field without
/// fields.
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
async fn a_body_that_is_not_json_is_refused_by_every_call_and_changes_nothing() {
    let kit = Kit::start().await;
    let before = kit.look("/state").await;
    for (path, methods) in kit.document().control().value()["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let method = method.to_uppercase();
            for body in ["to=help&text=Hi", "{\"", "\u{feff}{}"] {
                let url = format!("{}{}", kit.mock.control_url(), path.replace(['{', '}'], ""));
                let request = kit.http().request(method.parse().expect("a method"), url).body(body);
                let error = kit.ask(request).await.error(400);
                assert!(error.contains("is not JSON: "), "{method} {path}: {error}");
            }
        }
    }
    assert_eq!(kit.look("/state").await, before);
    assert!(kit.list("/faults").await.is_empty() && kit.list("/snapshots").await.is_empty());
    assert_eq!(kit.list("/worlds").await.len(), 1);
}

/// Found at once, by types that a test in Rust makes of JSON too.
#[tokio::test]
async fn the_methods_and_types_of_rust_refuse_the_same() {
    let kit = Kit::start().await;
    let control = kit.mock.control();
    let rule = FaultRule::new(Effect::drop_after()).method("POST").path("/conversations/*/replys");
    assert!(control.add_fault(rule).await.expect_err("no such route").message.starts_with("path: "));
    let refused = control.expect(Expectation::outbox().field("recipient", "x").never()).await;
    assert!(refused.expect_err("no such field").message.starts_with("where.recipient: "));
    let rule = json!({ "effect": { "delayMs": { "min": 1, "max": 2, "mean": 1 } } });
    assert!(serde_json::from_value::<FaultRule>(rule).is_err());
    let count = json!({ "of": "outbox", "count": { "atLeast": 1, "atmost": 3 } });
    assert!(serde_json::from_value::<Expectation>(count).is_err());
}

#[tokio::test]
async fn what_may_match_later_and_patterns_for_several_are_taken() {
    let kit = Kit::start().await;
    let effect = json!({ "status": 500 });
    for rule in [
        json!({ "path": "/conversations/cnv_later/notes", "method": "post", "effect": effect }),
        json!({ "path": "/*", "method": "HEAD", "effect": effect }),
        json!({ "path": "/mcp", "method": "GET", "effect": effect }),
        json!({ "tool": "add_note", "path": "/mcp", "method": "post", "effect": effect }),
        json!({ "path": "/openapi.json", "effect": effect }),
        json!({ "query": { "anything": "x" }, "agentId": "agt_later", "effect": effect }),
        json!({ "webhook": "whk_later", "event": "client.replied", "effect": effect }),
        json!({ "webhook": "whk_1*2", "effect": { "twice": true } }),
        json!({ "webhook": "*k_1", "effect": { "twice": true } }),
    ] {
        kit.act("/faults", rule).await;
    }
    for wanted in
        [json!({ "type": "client.*" }), json!({ "type": null }), json!({ "data.reference": "inv-*" })]
    {
        kit.act("/expect", json!({ "of": "events", "where": wanted, "count": 0 })).await;
    }
}
