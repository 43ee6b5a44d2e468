//! What the control API refuses beside unknown names: input that is not JSON, rules that could do nothing, and how it says so.

use serde_json::{Value, json};
use shared_inbox_mock::{Expectation, FaultRule};

use crate::{
    kit::{Kit, text},
    webhooks::kit::start_with_hook,
};

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

#[tokio::test]
async fn a_value_that_a_world_document_cannot_have_is_named_with_the_nearest() {
    let kit = Kit::start().await;
    kit.mail("vera@customer.example", "Hi").await;
    let good = kit.look("/state").await;
    for (place, value, said) in [
        (
            "/conversations/0/turn",
            json!("our"),
            "conversations[0].turn: must be one of ours, theirs, done, not our; did you mean ours?",
        ),
        (
            "/conversations/0/status",
            json!("opened"),
            "conversations[0].status: must be one of open, waiting, closed, not opened; did you mean open?",
        ),
        (
            "/keys/0/scopes",
            json!(["read", "wirte"]),
            "keys[0].scopes: must be one of read, write, draft, send, record, not wirte; did you mean write?",
        ),
    ] {
        let mut world = good.clone();
        *world.pointer_mut(place).expect("it is there") = value;
        let error = kit.control("PUT", "/state", world).await.error(400);
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(kit.look("/state").await, good);
}

#[tokio::test]
async fn a_range_has_no_other_fields_and_is_one_that_a_number_can_be_in() {
    let kit = Kit::start().await;
    for (count, said) in [
        (json!({ "atLeast": 1, "atmost": 3 }), "count.atmost: unknown; did you mean atMost?"),
        (json!({ "zebra": 1 }), "count.zebra: unknown; there are atLeast, atMost"),
    ] {
        let body = json!({ "of": "outbox", "count": count });
        assert_eq!(kit.control("POST", "/expect", body.clone()).await.error(400), said);
        let read = serde_json::from_value::<Expectation>(body.clone());
        assert!(read.is_err(), "the type takes it: {body}");
    }
    let body = json!({ "of": "outbox", "count": { "atLeast": 3, "atMost": 1 } });
    let error = kit.control("POST", "/expect", body).await.error(400);
    assert_eq!(error, "count: `atLeast` must not be more than `atMost`");
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
async fn what_a_rule_would_expect_or_add_is_checked_before_it_is_asked_to() {
    let kit = Kit::start().await;
    let inner = json!({ "path": "/mee", "times": 0, "effect": { "status": 500 } });
    for (call, said) in [
        (
            json!({ "method": "POST", "path": "/expect", "body": { "of": "outbox", "where": { "recipient": "x" } } }),
            "effect.act[0].body.where.recipient: unknown; did you mean to?",
        ),
        (
            json!({ "method": "POST", "path": "/faults", "body": inner }),
            "effect.act[0].body.times: must be 1 or more, or null for always; \
             effect.act[0].body.path: no route of the service has it; did you mean /me?",
        ),
        (
            json!({ "method": "POST", "path": "/faults",
                "body": { "effect": { "act": [{ "method": "POST", "path": "/inbond" }] } } }),
            "effect.act[0].body.effect.act[0]: there is no `POST /inbond` in the control API; did you mean POST /inbound?",
        ),
    ] {
        let error = kit.control("POST", "/faults", json!({ "effect": { "act": [call] } })).await.error(400);
        assert_eq!(error, said);
    }
}

#[tokio::test]
async fn a_rule_that_could_do_nothing_is_refused_with_its_field() {
    let kit = Kit::start().await;
    let (status, twice) = (json!({ "status": 500 }), json!({ "twice": true }));
    for (rule, said) in [
        (json!({ "times": 0, "effect": status }), "times: must be 1 or more, or null for always"),
        (
            json!({ "forSeconds": 0, "effect": status }),
            "forSeconds: must be a number of seconds, more than 0",
        ),
        (json!({ "effect": { "act": [] } }), "effect.act: must have a call"),
        (
            json!({ "webhook": "hook*", "effect": twice }),
            "webhook: must be the id of a webhook, `whk_…`, or `*` for all",
        ),
        (
            json!({ "webhook": "whk_*.*", "effect": twice }),
            "webhook: must be the id of a webhook, `whk_…`, or `*` for all",
        ),
    ] {
        assert_eq!(kit.control("POST", "/faults", rule).await.error(400), said);
    }
    for webhook in ["*", "w*", "whk_*", "whk_1*2", "*k_1"] {
        kit.act("/faults", json!({ "webhook": webhook, "effect": twice })).await;
    }
}

#[tokio::test]
async fn a_pattern_of_an_expectation_that_none_of_the_values_has_is_refused_or_told() {
    let (kit, _receiver, _hook) = start_with_hook(200).await;
    for (of, wanted, said) in [
        (
            "events",
            json!({ "type": "cleint.*" }),
            "where.type: must be one of ask.completed, booking.cancelled, booking.created, client.replied,",
        ),
        (
            "outbox",
            json!({ "outcome": "sended*" }),
            "where.outcome: must be one of sent, failed, not sended*",
        ),
    ] {
        let body = json!({ "of": of, "where": wanted, "count": 0 });
        let error = kit.control("POST", "/expect", body).await.error(400);
        assert!(error.starts_with(said), "{error}");
    }
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

#[tokio::test]
async fn several_problems_of_a_rule_or_an_expectation_are_all_told() {
    let kit = Kit::start().await;
    let effect = json!({ "status": 500 });
    for (path, body, said) in [
        (
            "/faults",
            json!({ "path": "/mee", "method": "PSOT", "effect": effect }),
            "path: no route of the service has it; did you mean /me?; \
             method: the service takes DELETE, GET, HEAD, POST, not PSOT; did you mean POST?",
        ),
        (
            "/faults",
            json!({ "path": "conversations", "method": "PSOT", "tool": "repyl", "effect": effect }),
            "path: must start with `/`, as in `/conversations/*/notes`; \
             method: the service takes DELETE, GET, HEAD, POST, not PSOT; did you mean POST?; \
             tool: there is no such MCP tool; did you mean reply?",
        ),
        (
            "/faults",
            json!({ "path": "/conversations/*/notes", "method": "PSOT", "effect": effect }),
            "method: /conversations/*/notes takes POST, not PSOT; did you mean POST?",
        ),
        (
            "/expect",
            json!({ "of": "outbox", "where": { "recipient": "x", "subjekt": "y" }, "withinSeconds": -1,
                "count": { "atLeast": 2, "atMost": 1 } }),
            "where.recipient: unknown; did you mean to?; where.subjekt: unknown; did you mean subject?; \
             count: `atLeast` must not be more than `atMost`; withinSeconds: must be from 0 to 3155760000 in virtual time",
        ),
    ] {
        assert_eq!(kit.control("POST", path, body).await.error(400), said);
    }
}

#[tokio::test]
async fn a_refusal_names_what_its_reader_has_written() {
    let kit = Kit::start().await;
    let rule =
        |method: &str, path: &str| json!({ "effect": { "act": [{ "method": method, "path": path }] } });
    for (path, body, said) in [
        (
            "/faults",
            rule("PSOT", "/reset"),
            "effect.act[0]: there is no `PSOT /reset` in the control API; did you mean POST /reset?",
        ),
        (
            "/faults",
            rule("PSOT", "/conversations/cnv_0123456789abcdefghijklmnopqrstuvwxyz/snooze"),
            "effect.act[0]: there is no `PSOT /conversations/cnv_0123456789abcdefghijklmnopqrstuvwxyz/snooze` in the \
             control API; did you mean POST /conversations/{id}/snooze?",
        ),
        (
            "/faults",
            rule("POST", "/reset?zebra=1"),
            "effect.act[0].path: query parameter zebra: unknown; there are none here",
        ),
        (
            "/faults",
            rule("GET", "/requests?ordr=newest&limit=many"),
            "effect.act[0].path: query parameter ordr: unknown; did you mean order?; \
             effect.act[0].path: query parameter limit: must be a whole number, 0 or more",
        ),
        (
            "/expect",
            json!({ "of": "outbox", "withinSeconds": -1 }),
            "withinSeconds: must be from 0 to 3155760000 in virtual time",
        ),
        (
            "/expect",
            json!({ "of": "outbox", "withinSeconds": 301, "time": "real" }),
            "withinSeconds: must be from 0 to 300 in real time",
        ),
    ] {
        assert_eq!(kit.control("POST", path, body).await.error(400), said);
    }
}

#[test]
fn the_type_of_a_rule_takes_no_unknown_fields_in_a_latency() {
    let rule = json!({ "effect": { "delayMs": { "min": 1, "max": 2, "mean": 1 } } });
    assert!(serde_json::from_value::<FaultRule>(rule).is_err());
}
