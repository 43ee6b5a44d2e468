//! Bad luck on demand: whom a rule strikes, for how long, with what, and the bundles.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    kit::{Api, Kit, text},
    mcp::{Era, Mcp},
};

async fn fault(kit: &Kit, rule: Value) -> Value {
    kit.control("POST", "/faults", rule).await.expect(201)
}

/// The status of a call, without holding it against the document.
async fn status(api: &Api, kit: &Kit, path: &str) -> Option<u16> {
    let url = format!("{}{path}", kit.mock.base_url());
    kit.http().get(url).bearer_auth(api.key()).send().await.ok().map(|answer| answer.status().as_u16())
}

#[tokio::test]
async fn a_rule_strikes_one_key_one_query_and_one_body_only() {
    let kit = Kit::start().await;
    let (live, (robot, agent)) = (kit.live(), kit.key("Robot", &["read", "draft"]).await);
    fault(&kit, json!({ "agentId": agent, "times": null, "effect": { "status": 500 } })).await;
    assert_eq!(status(&robot, &kit, "/me").await, Some(500));
    assert_eq!(status(&live, &kit, "/me").await, Some(200));
    kit.control("DELETE", "/faults", Value::Null).await.expect(204);

    let rule =
        json!({ "query": { "view": "wait*", "limit": "5" }, "times": null, "effect": { "status": 500 } });
    fault(&kit, rule).await;
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
    fault(&kit, rule).await;
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
    fault(&kit, json!({ "tool": "list_tags", "times": null, "effect": { "status": 500 } })).await;
    fault(&kit, json!({ "body": "needle in the text", "times": null, "effect": { "status": 500 } })).await;
    let tags = json!({ "name": "list_tags", "arguments": {} });
    assert_eq!(mcp.ask(Era::Legacy, "tools/call", tags).await.status, 500);
    live.get("/tags").await.expect(200);
    live.post(&path, json!({ "body": "the needle in the text" })).await.error(500);
}

#[tokio::test]
async fn an_answer_carries_the_headers_that_a_rule_says() {
    let kit = Kit::start().await;
    fault(&kit, json!({ "effect": { "status": 429, "headers": { "Retry-After": "7" } } })).await;
    let reply = kit.live().get("/me").await;
    reply.error(429);
    assert_eq!(reply.headers["retry-after"], "7");
    fault(&kit, json!({ "effect": { "headers": { "X-Odd": "yes" } } })).await;
    let reply = kit.live().get("/me").await;
    assert_eq!((reply.status, &reply.headers["x-odd"]), (200, &"yes".parse().expect("a value")));
    let bad = json!({ "effect": { "status": 429, "headers": { "Retry After": "7" } } });
    assert!(kit.control("POST", "/faults", bad).await.error(400).starts_with("effect.headers: "));
}

#[tokio::test]
async fn a_share_of_requests_fails_by_seeded_chance_and_each_rule_has_its_own() {
    let run = async |seed: u64| {
        let kit = Kit::start().await;
        let rule = json!({ "probability": 0.3, "times": null, "seed": seed, "effect": { "status": 500 } });
        fault(&kit, rule).await;
        // Another rule draws from a chance of its own, and changes nothing.
        fault(
            &kit,
            json!({ "path": "/nowhere", "probability": 0.5, "times": null, "effect": { "status": 500 } }),
        )
        .await;
        let mut struck = Vec::new();
        for _ in 0..200 {
            struck.push(status(&kit.live(), &kit, "/me").await == Some(500));
        }
        struck
    };
    let (one, again, other) = (run(1).await, run(1).await, run(2).await);
    assert_eq!(one, again);
    assert_ne!(one, other);
    let share = one.iter().filter(|struck| **struck).count();
    assert!((35..=85).contains(&share), "{share} of 200");
}

#[tokio::test]
async fn a_rule_lasts_for_a_span_of_the_worlds_clock() {
    let kit = Kit::start().await;
    let made = fault(&kit, json!({ "forSeconds": 30, "effect": { "status": 500 } })).await;
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
async fn delays_are_drawn_from_a_distribution_and_old_forms_stay_valid() {
    let kit = Kit::start().await;
    for delay in [json!(30), json!({ "min": 30, "max": 40 }), json!({ "median": 30, "p99": 31 })] {
        let rule = json!({ "effect": { "delayMs": delay } });
        assert_eq!(fault(&kit, rule).await["effect"]["delayMs"], delay);
        let started = Instant::now();
        kit.live().get("/me").await.expect(200);
        assert!(started.elapsed() >= Duration::from_millis(25), "{delay}");
    }
    for (delay, word) in
        [(json!({ "min": 9, "max": 3 }), "smaller"), (json!({ "median": 0, "p99": 3 }), "median")]
    {
        let error =
            kit.control("POST", "/faults", json!({ "effect": { "delayMs": delay } })).await.error(400);
        assert!(error.contains(word), "{error}");
    }
}

#[tokio::test]
async fn a_rule_that_makes_no_sense_is_refused_with_its_field() {
    let kit = Kit::start().await;
    for (rule, field) in [
        (json!({ "webhook": "*", "path": "/me", "effect": { "twice": true } }), "path: "),
        (json!({ "event": "client.replied", "effect": { "status": 500 } }), "event: "),
        (json!({ "webhook": "*", "event": "moon.rose", "effect": { "twice": true } }), "event: "),
        (json!({ "effect": { "twice": true } }), "effect: "),
        (json!({ "effect": { "lateSeconds": 5 } }), "effect: "),
        (json!({ "webhook": "*", "effect": { "body": "x" } }), "effect.body: "),
        (json!({ "forSeconds": -1, "effect": { "status": 500 } }), "forSeconds: "),
        (json!({ "effect": { "twice": true, "swap": true } }), "effect: "),
        (json!({ "effect": {} }), "effect: "),
    ] {
        let error = kit.control("POST", "/faults", rule.clone()).await.error(400);
        assert!(error.starts_with(field), "{rule}: {error}");
    }
    assert_eq!(kit.look("/faults").await, json!([]));
}

#[tokio::test]
async fn bundles_are_switched_on_and_off_by_name() {
    let kit = Kit::start().await;
    let bundles = kit.look("/bundles").await;
    let names: Vec<String> = bundles.as_array().expect("a list").iter().map(|it| text(&it["name"])).collect();
    assert_eq!(names, ["bad-day", "flaky-network", "deploy"]);
    fault(&kit, json!({ "path": "/nowhere", "effect": { "status": 500 } })).await;
    for name in &names {
        let made = kit.control("POST", &format!("/bundles/{name}"), Value::Null).await.expect(201);
        assert!(made.as_array().expect("rules").iter().all(|rule| rule["bundle"] == json!(name)));
        let again = kit.control("POST", &format!("/bundles/{name}"), Value::Null).await.expect(201);
        let faults = kit.look("/faults").await;
        assert_eq!(
            faults.as_array().map(Vec::len),
            again.as_array().map(|rules| rules.len() + 1),
            "begun anew"
        );
        let on = kit.look("/bundles").await;
        let on: Vec<&Value> = on.as_array().expect("a list").iter().filter(|it| it["on"] == true).collect();
        assert_eq!((on.len(), &on[0]["name"]), (1, &json!(name)));
        kit.control("DELETE", &format!("/bundles/{name}"), Value::Null).await.expect(204);
        assert_eq!(kit.look("/faults").await.as_array().map(Vec::len), Some(1), "other rules stay");
    }
    let error = kit.control("POST", "/bundles/doom", Value::Null).await.error(404);
    assert!(error.contains("flaky-network"), "{error}");
}

#[tokio::test]
async fn a_deploy_is_over_after_half_a_minute_and_a_flaky_network_loses_some() {
    let kit = Kit::start().await;
    let live = kit.live();
    kit.control("POST", "/bundles/deploy", Value::Null).await.expect(201);
    for _ in 0..10 {
        assert!(matches!(status(&live, &kit, "/me").await, None | Some(503)));
    }
    kit.advance(30).await;
    assert_eq!(status(&live, &kit, "/me").await, Some(200));
    kit.control("POST", "/bundles/flaky-network", Value::Null).await.expect(201);
    let mut lost = 0;
    for _ in 0..60 {
        lost += usize::from(status(&live, &kit, "/me").await.is_none());
    }
    assert!((1..30).contains(&lost), "{lost} of 60");
}
