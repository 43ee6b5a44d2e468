//! Rules of faults: which requests they match, for how long, with what effect; and the bundles.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    kit::{Api, Kit, texts},
    mcp::{Era, Mcp},
};

/// The status of a call, without holding it against the document.
async fn status(api: &Api, kit: &Kit, path: &str) -> Option<u16> {
    let url = format!("{}{path}", kit.mock.base_url());
    kit.http().get(url).bearer_auth(api.key()).send().await.ok().map(|answer| answer.status().as_u16())
}

#[tokio::test]
async fn a_rule_strikes_one_key_one_query_and_one_body_only() {
    let kit = Kit::start().await;
    let (live, (robot, agent)) = (kit.live(), kit.key("Robot", &["read", "draft"]).await);
    kit.act("/faults", json!({ "agentId": agent, "times": null, "effect": { "status": 500 } })).await;
    assert_eq!(status(&robot, &kit, "/me").await, Some(500));
    assert_eq!(status(&live, &kit, "/me").await, Some(200));
    kit.control("DELETE", "/faults", Value::Null).await.expect(204);

    let rule =
        json!({ "query": { "view": "wait*", "limit": "5" }, "times": null, "effect": { "status": 500 } });
    kit.act("/faults", rule).await;
    for (query, expected) in [
        ("?view=waiting&limit=5", 500),
        ("?limit=5&q=x&view=waiting", 500),
        ("?view=waiting", 200),
        ("?view=open&limit=5", 200),
    ] {
        assert_eq!(status(&live, &kit, &format!("/conversations{query}")).await, Some(expected), "{query}");
    }
    kit.control("DELETE", "/faults", Value::Null).await.expect(204);

    let id = kit.mail("kim@example.com", "Hello").await;
    let rule =
        json!({ "body": { "send": true, "body": "*refund*" }, "times": null, "effect": { "status": 500 } });
    kit.act("/faults", rule).await;
    let path = format!("/conversations/{id}/replies");
    live.post(&path, json!({ "body": "Your refund comes.", "send": true })).await.error(500);
    live.post(&path, json!({ "body": "Your refund comes." })).await.expect(201);
    live.post(&path, json!({ "body": "Hello", "send": true })).await.expect(201);
    // The arguments of a tool are its body.
    let mcp = Mcp::new(&kit, &live);
    let call = |body: &str| json!({ "name": "reply", "arguments": { "id": id, "body": body, "send": true } });
    assert_eq!(mcp.ask(Era::Legacy, "tools/call", call("A refund.")).await.status, 500);
    assert_eq!(mcp.ask(Era::Legacy, "tools/call", call("A word.")).await.status, 200);
    kit.control("DELETE", "/faults", Value::Null).await.expect(204);
    kit.act("/faults", json!({ "tool": "list_tags", "times": null, "effect": { "status": 500 } })).await;
    kit.act("/faults", json!({ "body": "needle in the text", "times": null, "effect": { "status": 500 } }))
        .await;
    let tags = json!({ "name": "list_tags", "arguments": {} });
    assert_eq!(mcp.ask(Era::Legacy, "tools/call", tags).await.status, 500);
    live.get("/tags").await.expect(200);
    live.post(&path, json!({ "body": "the needle in the text" })).await.error(500);
}

#[tokio::test]
async fn an_answer_carries_the_headers_that_a_rule_says() {
    let kit = Kit::start().await;
    kit.act("/faults", json!({ "effect": { "status": 429, "headers": { "Retry-After": "7" } } })).await;
    let reply = kit.live().get("/me").await;
    reply.error(429);
    assert_eq!(reply.headers["retry-after"], "7");
    kit.act("/faults", json!({ "effect": { "headers": { "X-Odd": "yes" } } })).await;
    let reply = kit.live().get("/me").await;
    assert_eq!((reply.status, &reply.headers["x-odd"]), (200, &"yes".parse().expect("a value")));
    let bad = json!({ "effect": { "status": 429, "headers": { "Retry After": "7" } } });
    assert!(kit.control("POST", "/faults", bad).await.error(400).starts_with("effect.headers: "));
}

#[tokio::test]
async fn a_share_of_requests_fails_by_seeded_chance_and_each_rule_has_its_own() {
    let run = async |seed: Option<u64>, requests: usize| {
        let kit = Kit::start().await;
        let mut rule = json!({ "probability": 0.3, "times": null, "effect": { "status": 500 } });
        if let Some(seed) = seed {
            rule["seed"] = json!(seed);
        }
        kit.act("/faults", rule).await;
        // Another rule draws from a chance of its own, and changes nothing.
        let other = json!({ "path": "/openapi.json", "probability": 0.5, "times": null, "effect": { "status": 500 } });
        kit.act("/faults", other).await;
        let mut failed = Vec::new();
        for _ in 0..requests {
            failed.push(status(&kit.live(), &kit, "/me").await == Some(500));
        }
        failed
    };
    let one = run(Some(1), 100).await;
    assert_eq!(one, run(Some(1), 100).await);
    assert_ne!(one, run(Some(2), 100).await);
    assert_eq!(run(None, 32).await, run(None, 32).await, "without a seed it is the same in every run too");
    let share = one.iter().filter(|failed| **failed).count();
    assert!((15..=45).contains(&share), "{share} of 100");
}

#[tokio::test]
async fn a_rule_lasts_for_a_span_of_the_worlds_clock() {
    let kit = Kit::start().await;
    let made = kit.act("/faults", json!({ "forSeconds": 30, "effect": { "status": 500 } })).await;
    assert!(made["until"].is_string() && made["times"].is_null(), "{made}");
    for _ in 0..3 {
        kit.live().get("/me").await.error(500);
    }
    kit.advance(29).await;
    kit.live().get("/me").await.error(500);
    kit.advance(1).await;
    kit.live().get("/me").await.expect(200);
    assert_eq!(kit.look("/faults").await[0]["fired"], 4);
}

#[tokio::test]
async fn delays_are_drawn_from_a_distribution_and_go_with_any_effect() {
    let kit = Kit::start().await;
    for (effect, status) in [
        (json!({ "delayMs": 30 }), 200),
        (json!({ "delayMs": 30, "status": 500 }), 500),
        (json!({ "delayMs": { "min": 30, "max": 40 } }), 200),
        (json!({ "delayMs": { "median": 30, "p99": 31 } }), 200),
    ] {
        assert_eq!(kit.act("/faults", json!({ "effect": effect })).await["effect"], effect);
        let started = Instant::now();
        assert_eq!(kit.live().get("/me").await.status, status);
        assert!(started.elapsed() >= Duration::from_millis(25), "{effect}");
    }
}

#[tokio::test]
async fn bundles_are_switched_on_and_off_by_name() {
    let kit = Kit::start().await;
    let names = texts(&kit.look("/bundles").await, "name");
    assert_eq!(names, ["bad-day", "flaky-network", "deploy"]);
    kit.act("/faults", json!({ "path": "/openapi.json", "effect": { "status": 500 } })).await;
    for name in &names {
        let path = format!("/bundles/{name}");
        let made = kit.act(&path, Value::Null).await;
        assert!(texts(&made, "bundle").iter().all(|bundle| bundle == name), "{made}");
        let again = texts(&kit.act(&path, Value::Null).await, "id");
        assert_eq!(kit.list("/faults").await.len(), again.len() + 1, "begun anew");
        let mut on = kit.list("/bundles").await;
        on.retain(|it| it["on"] == true);
        assert_eq!((on.len(), &on[0]["name"]), (1, &json!(name)));
        kit.control("DELETE", &path, Value::Null).await.expect(204);
        assert_eq!(kit.list("/faults").await.len(), 1, "other rules stay");
    }
    let error = kit.control("POST", "/bundles/doom", Value::Null).await.error(404);
    assert!(error.contains("flaky-network"), "{error}");
}

#[tokio::test]
async fn a_deploy_is_over_after_half_a_minute_and_a_flaky_network_loses_some() {
    let kit = Kit::start().await;
    let live = kit.live();
    kit.control("POST", "/bundles/deploy", Value::Null).await.expect(201);
    let requests = async |count| join_all((0..count).map(|_| status(&live, &kit, "/me"))).await;
    assert!(requests(10).await.iter().all(|status| matches!(status, None | Some(503))));
    kit.advance(30).await;
    assert_eq!(status(&live, &kit, "/me").await, Some(200));
    kit.control("POST", "/bundles/flaky-network", Value::Null).await.expect(201);
    let lost = requests(60).await.iter().filter(|status| status.is_none()).count();
    assert!((1..30).contains(&lost), "{lost} of 60");
}
