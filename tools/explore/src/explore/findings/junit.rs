//! The report as JUnit XML.

use std::{fmt, time::Duration};

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::report::{Finding, Report, Verdict};

impl Report {
    /// Returns the report as JUnit XML. A finding is a failure; what may be chance and what could not be
    /// judged are skipped. The case `exploration` says how much was tried, and is an error when it could not
    /// run or was interrupted.
    #[must_use]
    pub fn junit(&self) -> String {
        let time = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        let not_judged =
            self.not_judged.iter().map(|it| skipped(&it.part, it.rule, format!("not judged: {}", it.why)));
        let mut suite = TestSuite::new("explore");
        suite
            .set_time(time)
            .add_test_case(self.exploration())
            .add_test_cases(self.findings.iter().map(failure))
            .add_test_cases(self.unstable.iter().map(maybe_chance))
            .add_test_cases(not_judged);
        let mut report = quick_junit::Report::new("explore");
        report.set_time(time).add_test_suite(suite);
        report.to_string().unwrap_or_default()
    }

    fn exploration(&self) -> TestCase {
        let said = self.why.clone().unwrap_or_else(|| self.summary());
        let status = match self.verdict {
            Verdict::Held | Verdict::Broken => TestCaseStatus::success(),
            Verdict::CouldNotRun | Verdict::Interrupted => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
                status.set_message(said.as_str());
                status
            }
        };
        let mut case = to_case("exploration", "explore", status);
        case.set_system_out(said);
        case
    }
}

fn failure(finding: &Finding) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(finding.summary.as_str()).set_description(finding.to_string());
    to_case(&finding.replay, finding.oracle, status)
}

fn maybe_chance(finding: &Finding) -> TestCase {
    let Finding { replay, oracle, summary, reproduced, without_trouble, .. } = finding;
    let why = format!("may be chance: {summary} {reproduced} times, {without_trouble} without trouble");
    skipped(replay, oracle, why)
}

fn skipped(name: &str, class: impl fmt::Display, why: String) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    to_case(name, class, status)
}

fn to_case(name: &str, class: impl fmt::Display, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(class.to_string());
    case
}
