//! What became of each rule: the report, as JSON and for people.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    early_end::Difference,
    rule::{Kind, Rule},
};

/// Whether an implementation does what the document demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing demanded differs.
    Conforms,
    /// Something demanded differs.
    Differs,
}

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RuleResult {
    /// It holds; for an observation, the mock does the same.
    Holds,
    /// It does not hold; for an observation, the mock does something else.
    Differs,
    /// It was not tried.
    NotTried,
}

/// One rule in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RuleReport {
    /// The rule.
    pub id: String,
    /// The most specific section of the document.
    pub section: String,
    /// Whether the document demands it.
    pub kind: Kind,
    /// What became of it.
    pub result: RuleResult,
    /// What the document says; or why it was not tried.
    pub why: Option<String>,
    /// What was asked, where it differs.
    pub request: Option<String>,
    /// What the document demands; for an observation, what the mock does.
    pub expected: Option<String>,
    /// What came instead; for an observation, what was seen.
    pub received: Option<String>,
}

/// What a run has found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// The service.
    pub base_url: String,
    /// Whether it does what the document demands.
    pub verdict: Verdict,
    /// Requests to the service.
    pub requests: u64,
    /// How long it took.
    pub seconds: f64,
    /// Every rule that was chosen, in the order of the document.
    pub rules: Vec<RuleReport>,
}

impl RuleReport {
    fn new(rule: &Rule, result: RuleResult) -> Self {
        Self {
            id: rule.id.clone(),
            section: rule.section.to_owned(),
            kind: rule.kind,
            result,
            why: Some(rule.says.clone()),
            request: None,
            expected: rule.mock.map(str::to_owned),
            received: None,
        }
    }

    pub(crate) fn not_tried(rule: &Rule, why: String) -> Self {
        Self { why: Some(why), ..Self::new(rule, RuleResult::NotTried) }
    }

    /// Returns a check that came to its end, with what it saw.
    pub(crate) fn seen(rule: &Rule, seen: Option<String>) -> Self {
        let same = seen.as_deref() == rule.mock;
        let result = if same { RuleResult::Holds } else { RuleResult::Differs };
        Self { received: seen, ..Self::new(rule, result) }
    }

    pub(crate) fn differs(rule: &Rule, difference: Difference) -> Self {
        let Difference { request, expected, received } = difference;
        Self {
            request: Some(request),
            expected: Some(expected),
            received: Some(received),
            ..Self::new(rule, RuleResult::Differs)
        }
    }

    /// With these secrets blotted out.
    pub(crate) fn without(mut self, secrets: &[&str]) -> Self {
        for text in [&mut self.why, &mut self.request, &mut self.expected, &mut self.received] {
            for secret in secrets.iter().filter(|secret| secret.len() > 8) {
                if let Some(text) = text.as_mut().filter(|text| text.contains(secret)) {
                    *text = text.replace(secret, "[key]");
                }
            }
        }
        self
    }
}

impl Report {
    pub(crate) fn new(base_url: &str, requests: u64, took: Duration, rules: Vec<RuleReport>) -> Self {
        let differs = |rule: &RuleReport| rule.kind == Kind::Demanded && rule.result == RuleResult::Differs;
        let verdict = if rules.iter().any(differs) { Verdict::Differs } else { Verdict::Conforms };
        let seconds = (took.as_secs_f64() * 1000.0).round() / 1000.0;
        Self { base_url: base_url.to_owned(), verdict, requests, seconds, rules }
    }

    /// Returns whether nothing demanded differs.
    #[must_use]
    pub fn conforms(&self) -> bool {
        self.verdict == Verdict::Conforms
    }

    /// Returns the rules of this kind with this result.
    pub fn rules_with(&self, kind: Kind, result: RuleResult) -> impl Iterator<Item = &RuleReport> {
        self.rules.iter().filter(move |rule| rule.kind == kind && rule.result == result)
    }
}

/// For people: what differs, what was seen, a line for each section.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        for rule in self.rules_with(Kind::Demanded, RuleResult::Differs) {
            writeln!(f, "DIFFERS  {}  ({})  {}", rule.id, rule.section, text(&rule.why))?;
            writeln!(f, "  request   {}", text(&rule.request))?;
            writeln!(f, "  expected  {}", text(&rule.expected))?;
            writeln!(f, "  received  {}\n", text(&rule.received))?;
        }
        for rule in self.rules_with(Kind::Observation, RuleResult::Differs) {
            writeln!(f, "OBSERVED {}  ({})  {}", rule.id, rule.section, text(&rule.why))?;
            writeln!(f, "  {} (the mock: {})\n", text(&rule.received), text(&rule.expected))?;
        }
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for rule in self.rules.iter().filter(|rule| rule.result == RuleResult::NotTried) {
            *reasons.entry(text(&rule.why)).or_default() += 1;
        }
        for (why, count) in &reasons {
            writeln!(f, "not tried: {count} {} ({why})", if *count == 1 { "rule" } else { "rules" })?;
        }
        writeln!(f, "section   holds  differs  not tried")?;
        let mut sections: Vec<&str> = self.rules.iter().map(|rule| rule.section.as_str()).collect();
        sections.dedup();
        for section in sections {
            let count = |result| {
                let of = |rule: &&RuleReport| rule.section == section && rule.result == result;
                self.rules.iter().filter(of).count()
            };
            let [holds, differs, not] =
                [RuleResult::Holds, RuleResult::Differs, RuleResult::NotTried].map(count);
            writeln!(f, "{section:<9} {holds:>5}  {differs:>7}  {not:>9}")?;
        }
        let verdict = match self.verdict {
            Verdict::Conforms => "conforms: nothing demanded differs".to_owned(),
            Verdict::Differs => {
                let count = self.rules_with(Kind::Demanded, RuleResult::Differs).count();
                format!(
                    "differs: {count} demanded {} not hold",
                    if count == 1 { "rule does" } else { "rules do" }
                )
            }
        };
        let Self { base_url, requests, seconds, .. } = self;
        writeln!(f, "\n{base_url} {verdict} ({requests} requests, {seconds:.1} s)")
    }
}
