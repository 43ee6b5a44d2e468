//! The report as JUnit XML, a suite for each section.

use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use crate::{
    reports::report::{NotTriedCause, Report, RuleReport, RuleResult},
    rule::Kind,
};

impl Report {
    /// Returns the report as JUnit XML, a suite for each section.
    ///
    /// A rule that differs is a failure, one that was not tried because something failed is an error, and one
    /// that the settings leave out is skipped.
    pub fn junit(&self) -> String {
        let time = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        let mut report = quick_junit::Report::new("conform");
        report.set_time(time);
        for rules in self.rules.chunk_by(|one, next| one.section == next.section) {
            let section = rules.first().map(|rule| rule.section.as_str()).unwrap_or_default();
            let mut suite = TestSuite::new(format!("section {section}"));
            suite.add_test_cases(rules.iter().map(to_case));
            report.add_test_suite(suite);
        }
        report.to_string().unwrap_or_default()
    }
}

fn to_case(rule: &RuleReport) -> TestCase {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (request, expected, received) = (text(&rule.request), text(&rule.expected), text(&rule.received));
    let mut status = match (rule.result, rule.cause, rule.kind) {
        (RuleResult::NotTried, Some(NotTriedCause::Failed), _) => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
        (RuleResult::NotTried, ..) => TestCaseStatus::skipped(),
        (RuleResult::Differs, _, Kind::Demanded) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        _ => TestCaseStatus::success(),
    };
    match (rule.result, rule.kind) {
        (RuleResult::NotTried, _) => {
            status.set_message(text(&rule.why));
        }
        (RuleResult::Differs, Kind::Demanded) => {
            status.set_message(format!("expected {expected}"));
            status.set_description(format!("request {request}\nexpected {expected}\nreceived {received}"));
        }
        _ => {}
    }
    let mut case = TestCase::new(rule.id.as_str(), status);
    case.set_classname(format!("section {}", rule.section));
    if (rule.result, rule.kind) == (RuleResult::Differs, Kind::Observation) {
        case.set_system_out(format!("observed: {received} (the mock: {expected})"));
    }
    case
}
