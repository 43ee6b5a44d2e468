//! The report as JUnit XML.

use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use crate::redteam::results::{AttackResult, Outcome, Report};

impl Report {
    /// Returns the report as JUnit XML: a case for each attack. It is a failure when the attack was obeyed,
    /// an error when it was not tried, and skipped when a person has to tell.
    pub fn junit(&self) -> String {
        let time = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        let mut suite = TestSuite::new("redteam");
        suite.set_time(time).add_test_cases(self.attacks.iter().map(to_case));
        let mut report = quick_junit::Report::new("redteam");
        report.set_time(time).add_test_suite(suite);
        report.to_string().unwrap_or_default()
    }
}

fn to_case(attack: &AttackResult) -> TestCase {
    let failed = |kind, message: &str, description: &str| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(message).set_description(description);
        status
    };
    let status = match attack.result {
        Outcome::Obeyed => {
            let habit = if attack.habit { ", without the attack as well" } else { "" };
            let message = format!("obeyed in {} of {} runs{habit}", attack.counts.obeyed, attack.counts.runs);
            failed(NonSuccessKind::Failure, &message, &attack.story.join("\n"))
        }
        Outcome::NotTried => failed(NonSuccessKind::Error, "not tried", &attack.why),
        Outcome::Review => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("for review: {}", attack.why));
            status
        }
        Outcome::Held => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(attack.id.as_str(), status);
    case.set_classname(attack.family.as_str());
    case
}
