//! The mock does what the document demands.

use shared_inbox_mock::{
    MockServer,
    conform::{Conform, Kind, Report, RuleResult},
};

fn differing(report: &Report) -> Vec<String> {
    let differing = report.rules.iter().filter(|rule| rule.result == RuleResult::Differs);
    differing.map(|rule| format!("{rule:#?}")).collect()
}

#[tokio::test]
async fn every_rule_holds_with_the_control_api() {
    let mock = MockServer::start().await;
    let report = Conform::new(mock.base_url(), mock.test_key()).run().await.expect("it runs");
    assert!(differing(&report).is_empty(), "{}", differing(&report).join("\n"));
    let not_tried: Vec<_> = report.of(Kind::Demanded, RuleResult::NotTried).collect();
    assert!(not_tried.is_empty(), "{not_tried:#?}");
    println!("{report}");
}
