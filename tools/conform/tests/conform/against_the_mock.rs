//! The mock does what the document demands: with its control API, as the sandbox of a service, and read
//! alone.

use std::sync::Arc;

use http::Method;
use shared_inbox_conform::{Conform, Kind, Report, RuleResult};
use shared_inbox_mock::MockServer;

use crate::{
    clock::{Leaping, MockClock},
    proxy::Proxy,
};

fn differing(report: &Report) -> Vec<String> {
    let differing = report.rules.iter().filter(|rule| rule.result == RuleResult::Differs);
    differing.map(|rule| format!("{rule:#?}")).collect()
}

#[track_caller]
fn assert_all_hold(report: &Report) {
    assert!(differing(report).is_empty(), "{}", differing(report).join("\n"));
    assert!(report.conforms());
}

async fn conversations(mock: &MockServer) -> serde_json::Value {
    let state = mock.control().state().await.expect("a document");
    serde_json::from_str::<serde_json::Value>(&state).expect("JSON")["conversations"].take()
}

/// How many runs `CONFORM_RUNS` asks for; none in a plain run.
fn long_runs() -> Option<u32> {
    std::env::var("CONFORM_RUNS").ok().and_then(|runs| runs.parse().ok())
}

/// That all of these rules are tried and hold, and that they are so many.
async fn assert_hold_with_the_control_api(select: impl Fn(Conform) -> Conform, least: usize) {
    let mock = MockServer::start().await;
    let before = conversations(&mock).await;
    // The rule about a receiver that is late takes twelve seconds, which no clock shortens.
    let slow = long_runs().map_or(&["delivered.late"][..], |_| &[]);
    let conform = || select(Conform::new(mock.base_url(), mock.test_key())).skip(slow.iter().copied());
    let report = conform().run().await.expect("it runs");
    assert_all_hold(&report);
    let not_tried: Vec<_> = report.rules_with(Kind::Demanded, RuleResult::NotTried).collect();
    assert!(not_tried.is_empty(), "{not_tried:#?}");
    assert!(report.rules.len() >= least, "{} rules", report.rules.len());
    for _ in 1..long_runs().map_or(1, |runs| runs.div_ceil(5)) {
        assert_all_hold(&conform().run().await.expect("it runs"));
    }
    assert_eq!(before, conversations(&mock).await, "what the server held before is untouched");
}

#[tokio::test]
async fn every_rule_about_webhooks_holds_with_the_control_api() {
    assert_hold_with_the_control_api(|conform| conform.only(["6"]), 150).await;
}

#[tokio::test]
async fn every_rule_about_an_operation_holds_with_the_control_api() {
    assert_hold_with_the_control_api(|conform| conform.only(["4"]), 150).await;
}

#[tokio::test]
async fn every_other_rule_holds_with_the_control_api() {
    assert_hold_with_the_control_api(|conform| conform.skip(["4", "6"]), 150).await;
}

async fn as_a_sandbox(mock: &MockServer) -> Report {
    let conform = Conform::new(mock.base_url(), mock.test_key()).sandbox_only().clock(MockClock::new(mock));
    let prepared = conform.prepare().await.expect("it can run");
    let said = prepared.plan().requests as f64;
    let report = prepared.run(|_| ()).await.expect("it runs");
    let ratio = report.requests as f64 / said;
    assert!((0.75..1.25).contains(&ratio), "{said} requests were announced, {} made", report.requests);
    report
}

#[tokio::test]
async fn every_rule_of_the_sandbox_holds_with_a_test_key_alone_and_within_the_rate_limit() {
    let mock = MockServer::builder().manual_clock().start().await;
    let report = as_a_sandbox(&mock).await;
    assert_all_hold(&report);
    assert!(report.rules_with(Kind::Demanded, RuleResult::Holds).count() >= 200);
    let refused = mock.control().requests().await.iter().filter(|it| it.status == Some(429)).count();
    assert_eq!(refused, 0, "it stays below the limit by itself");
    // Each further run has a mark of its own, and meets a sandbox that those before it have filled.
    for _ in 1..long_runs().unwrap_or(2) {
        assert_all_hold(&as_a_sandbox(&mock).await);
    }
    let reasons =
        report.rules.iter().filter(|it| it.result == RuleResult::NotTried).map(|it| it.why.as_deref());
    for why in reasons {
        assert!(why.is_some_and(|why| why.contains("control API")), "{why:?}");
    }
}

/// A run that only reads; what it waits for the rate limit takes no time.
async fn reading_alone(proxy: &Proxy, key: &str) -> Report {
    let conform = Conform::new(proxy.base_url(), key).read_only().clock(Arc::new(Leaping::default()));
    conform.run().await.expect("it runs")
}

#[tokio::test]
async fn reading_alone_sends_get_requests_to_the_service_and_nothing_else() {
    let mock = MockServer::builder().no_rate_limit().start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    let before = conversations(&mock).await;
    for key in [mock.live_key(), mock.test_key()] {
        let report = reading_alone(&proxy, key).await;
        assert_all_hold(&report);
        assert!(report.rules_with(Kind::Demanded, RuleResult::Holds).count() >= 80, "{report}");
    }
    let seen = proxy.seen();
    assert!(seen.len() > 100);
    for (method, path) in seen {
        assert!(method == Method::GET && path.starts_with("/api/v1/"), "{method} {path}");
    }
    assert_eq!(before, conversations(&mock).await);
}

#[tokio::test]
async fn a_report_of_live_mail_shows_its_form_and_not_its_words() {
    let mock = MockServer::builder().no_rate_limit().start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    proxy.change(crate::proxy::Changes {
        after: Some(Arc::new(|request, response| {
            if request.is("GET /conversations") {
                let mut list = response.json();
                list.as_array_mut().into_iter().flatten().for_each(|it| {
                    it["snippet"] = serde_json::json!({ "words": "Secret of a customer" });
                    it["subject"] = serde_json::json!(["Secret of a customer"]);
                });
                response.set_json(&list);
            }
        })),
        ..Default::default()
    });
    let report = reading_alone(&proxy, mock.live_key()).await;
    let found: Vec<&str> =
        report.rules_with(Kind::Demanded, RuleResult::Differs).map(|it| it.id.as_str()).collect();
    assert!(found.contains(&"summary.snippet") && found.contains(&"summary.subject"), "{found:?}");
    let whole = serde_json::to_string(&report).expect("JSON") + &report.to_string();
    assert!(!whole.contains("Secret of a customer") && !whole.contains(mock.live_key()), "{whole}");
}
