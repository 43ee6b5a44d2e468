//! The mock does what the document demands: with its control API, as the sandbox of a service, and read alone.

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

/// The rule about a receiver that is late takes the receiver's time, which no clock shortens.
const LATE: [&str; 1] = ["delivered.late"];

/// That all of these rules are tried and hold, and that they are so many.
async fn assert_hold_with_the_control_api(select: impl FnOnce(Conform) -> Conform, least: usize) {
    let mock = MockServer::start().await;
    let before = conversations(&mock).await;
    let conform = select(Conform::new(mock.base_url(), mock.test_key())).skip(LATE);
    let report = conform.run().await.expect("it runs");
    assert_all_hold(&report);
    let not_tried: Vec<_> = report.rules_with(Kind::Demanded, RuleResult::NotTried).collect();
    assert!(not_tried.is_empty(), "{not_tried:#?}");
    assert!(report.rules.len() >= least, "{} rules", report.rules.len());
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

#[tokio::test]
#[ignore = "needs 12 seconds"]
async fn the_rule_about_a_late_receiver_holds_too() {
    let mock = MockServer::start().await;
    let conform = Conform::new(mock.base_url(), mock.test_key()).only(LATE);
    assert_all_hold(&conform.run().await.expect("it runs"));
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
    // A second run has a mark of its own, and meets a sandbox that the first one has filled.
    assert_all_hold(&as_a_sandbox(&mock).await);
    let reasons =
        report.rules.iter().filter(|it| it.result == RuleResult::NotTried).map(|it| it.why.as_deref());
    for why in reasons {
        assert!(why.is_some_and(|why| why.contains("control API")), "{why:?}");
    }
}

/// Each run has its own mark, and meets a sandbox that the runs before it have filled.
#[tokio::test]
#[ignore = "needs minutes"]
async fn no_rule_raises_a_false_alarm_in_run_after_run() {
    let runs = std::env::var("CONFORM_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(20);
    let mock = MockServer::builder().manual_clock().start().await;
    for run in 0..runs {
        let report = match run % 2 {
            0 => as_a_sandbox(&mock).await,
            _ => Conform::new(mock.base_url(), mock.test_key()).skip(LATE).run().await.expect("it runs"),
        };
        assert_all_hold(&report);
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
