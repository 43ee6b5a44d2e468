//! The report as JUnit XML, a suite for each section.

use std::fmt::Write;

use crate::{
    reports::report::{Report, RuleReport, RuleResult},
    rule::Kind,
};

/// Text as XML takes it; characters that XML has no way to write become a mark.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' => escaped.push(c),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

fn case(rule: &RuleReport, out: &mut String) {
    let text = |text: &Option<String>| escape(text.as_deref().unwrap_or_default());
    let _ = write!(out, r#"    <testcase classname="section {}" name="{}">"#, rule.section, escape(&rule.id));
    match (rule.result, rule.kind) {
        (RuleResult::NotTried, _) => {
            let _ = write!(out, r#"<skipped message="{}"/>"#, text(&rule.why));
        }
        (RuleResult::Differs, Kind::Demanded) => {
            let (request, expected, received) =
                (text(&rule.request), text(&rule.expected), text(&rule.received));
            let _ = write!(
                out,
                r#"<failure message="expected {expected}">request {request}{n}expected {expected}{n}received {received}</failure>"#,
                n = '\n'
            );
        }
        (RuleResult::Differs, Kind::Observation) => {
            let (expected, received) = (text(&rule.expected), text(&rule.received));
            let _ = write!(out, "<system-out>observed: {received} (the mock: {expected})</system-out>");
        }
        (RuleResult::Holds, _) => {}
    }
    out.push_str("</testcase>\n");
}

impl Report {
    /// Returns the report as JUnit XML, a suite for each section.
    pub fn junit(&self) -> String {
        let failed = |rule: &&RuleReport| rule.kind == Kind::Demanded && rule.result == RuleResult::Differs;
        let skipped = |rule: &&RuleReport| rule.result == RuleResult::NotTried;
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let (tests, failures) = (self.rules.len(), self.rules.iter().filter(failed).count());
        let _ = writeln!(
            out,
            r#"<testsuites name="conform" tests="{tests}" failures="{failures}" time="{}">"#,
            self.seconds
        );
        for rules in self.rules.chunk_by(|one, next| one.section == next.section) {
            let (tests, failures) = (rules.len(), rules.iter().filter(failed).count());
            let skipped = rules.iter().filter(skipped).count();
            let _ = writeln!(
                out,
                r#"  <testsuite name="section {}" tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}">"#,
                rules[0].section
            );
            rules.iter().for_each(|rule| case(rule, &mut out));
            out.push_str("  </testsuite>\n");
        }
        out.push_str("</testsuites>\n");
        out
    }
}
