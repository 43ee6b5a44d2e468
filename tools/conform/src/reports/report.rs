//! What became of each rule: the report, as JSON and for people.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    reports::volatile::without_ids,
    rule::{Kind, Rule},
    rule_abort::Difference,
    wire::reply::printable,
};

/// The number of reasons that the last line names.
const MAX_REASONS: usize = 3;

/// Whether an implementation does what the document demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing demanded differs.
    Conforms,
    /// Something demanded differs.
    Differs,
    /// Nothing demanded differs, and more rules than allowed were not tried because something failed.
    Incomplete,
}

/// Why a rule was not tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NotTriedCause {
    /// The settings leave it out: no control API, a scope that the key lacks, requests that only read. Or it
    /// is about something optional that the service does not have.
    Settings,
    /// Something failed: a control call, a connection, the suite itself.
    Failed,
}

/// How many rules were not tried, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NotTried {
    /// Rules that the settings leave out.
    pub by_settings: usize,
    /// Rules that were not tried because something failed.
    pub failed: usize,
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
    /// For a rule that was not tried, whether the settings leave it out or something failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<NotTriedCause>,
    /// The calls of the control API that it made or, where there is none, would make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control_calls: Vec<String>,
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
    /// Rules that were tried.
    #[serde(default)]
    pub tried: usize,
    /// Rules that were not.
    #[serde(default)]
    pub not_tried: NotTried,
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
            cause: None,
            control_calls: rule.control_calls.clone(),
            request: None,
            expected: rule.mock.map(str::to_owned),
            received: None,
        }
    }

    pub(crate) fn left_out(rule: &Rule, why: String) -> Self {
        Self { cause: Some(NotTriedCause::Settings), ..Self::not_tried(rule, why) }
    }

    pub(crate) fn failed(rule: &Rule, why: String) -> Self {
        Self { cause: Some(NotTriedCause::Failed), ..Self::not_tried(rule, why) }
    }

    /// A panic of the check, with the last thing that it saw.
    pub(crate) fn fault(rule: &Rule, panic: &str, last: Option<(String, String)>) -> Self {
        let (request, received) = last.unzip();
        Self { request, received, ..Self::failed(rule, format!("a fault of this suite: {panic}")) }
    }

    fn not_tried(rule: &Rule, why: String) -> Self {
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

    /// With these secrets blotted out, and what the service sent in characters that a terminal shows as they
    /// are.
    pub(crate) fn without(mut self, secrets: &[&str]) -> Self {
        for text in [&mut self.why, &mut self.request, &mut self.expected, &mut self.received] {
            *text = text.take().map(|text| printable(&text));
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
    pub(crate) fn new(
        base_url: &str,
        requests: u64,
        took: Duration,
        rules: Vec<RuleReport>,
        max_not_tried: usize,
    ) -> Self {
        let differs = |rule: &RuleReport| rule.kind == Kind::Demanded && rule.result == RuleResult::Differs;
        let because = |cause| rules.iter().filter(|rule| rule.cause == Some(cause)).count();
        let not_tried = NotTried {
            by_settings: because(NotTriedCause::Settings),
            failed: because(NotTriedCause::Failed),
        };
        let verdict = match rules.iter().any(differs) {
            true => Verdict::Differs,
            false if not_tried.failed > max_not_tried => Verdict::Incomplete,
            false => Verdict::Conforms,
        };
        let tried = rules.iter().filter(|rule| rule.result != RuleResult::NotTried).count();
        let seconds = (took.as_secs_f64() * 1000.0).round() / 1000.0;
        Self { base_url: base_url.to_owned(), verdict, requests, seconds, tried, not_tried, rules }
    }

    /// Returns whether nothing demanded differs, and no more rules than allowed were not tried because
    /// something failed.
    #[must_use]
    pub fn conforms(&self) -> bool {
        self.verdict == Verdict::Conforms
    }

    /// Returns the rules of this kind with this result.
    pub fn rules_with(&self, kind: Kind, result: RuleResult) -> impl Iterator<Item = &RuleReport> {
        self.rules.iter().filter(move |rule| rule.kind == kind && rule.result == result)
    }
}

/// Why rules were not tried, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotTriedReason {
    /// Whether the settings leave them out or something failed.
    pub cause: NotTriedCause,
    /// The reason that they have in common.
    pub reason: String,
    /// How many rules have it.
    pub rules: usize,
}

impl Report {
    /// Returns why rules were not tried: what failed first, then by the number of rules.
    #[must_use]
    pub fn not_tried_reasons(&self) -> Vec<NotTriedReason> {
        let mut counts: BTreeMap<(NotTriedCause, String), usize> = BTreeMap::new();
        for rule in self.rules.iter().filter(|rule| rule.result == RuleResult::NotTried) {
            let why = rule.why.as_deref().unwrap_or_default();
            // What follows the colon is the rule's own.
            let common = without_ids(why.split(": ").next().unwrap_or_default());
            let cause = rule.cause.unwrap_or(NotTriedCause::Settings);
            *counts.entry((cause, common)).or_default() += 1;
        }
        let mut reasons: Vec<NotTriedReason> = counts
            .into_iter()
            .map(|((cause, reason), rules)| NotTriedReason { cause, reason, rules })
            .collect();
        reasons.sort_by_key(|it| (std::cmp::Reverse(it.cause), std::cmp::Reverse(it.rules)));
        reasons
    }

    /// Returns the verdict in words.
    fn verdict_in_words(&self) -> String {
        let rules = |count: usize| if count == 1 { "rule" } else { "rules" };
        match self.verdict {
            Verdict::Conforms => "conforms: nothing demanded differs".to_owned(),
            Verdict::Differs => {
                let count = self.rules_with(Kind::Demanded, RuleResult::Differs).count();
                let does = if count == 1 { "does" } else { "do" };
                format!("differs: {count} demanded {} {does} not hold", rules(count))
            }
            Verdict::Incomplete => {
                let failed = self.not_tried.failed;
                let was = if failed == 1 { "was" } else { "were" };
                format!("incomplete: {failed} {} {was} not tried because something failed", rules(failed))
            }
        }
    }

    /// Returns how many of how many rules were tried, and why not the others.
    fn tried_in_words(&self) -> String {
        let reasons = self.not_tried_reasons();
        let mut words = format!("{} of {} rules tried", self.tried, self.rules.len());
        for (place, NotTriedReason { reason, rules, .. }) in reasons.iter().take(MAX_REASONS).enumerate() {
            words += &format!("{}{rules} not: {reason}", if place == 0 { "; " } else { ", " });
        }
        if let Some(more) = reasons.len().checked_sub(MAX_REASONS).filter(|more| *more > 0) {
            words += &format!(", and {more} more {}", if more == 1 { "reason" } else { "reasons" });
        }
        words
    }
}

/// For people: what differs, what was seen, a line for each section, and in the last line the verdict and how
/// much was tried.
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
        let faults = self.rules.iter().filter(|rule| {
            rule.cause == Some(NotTriedCause::Failed) && (rule.request.is_some() || rule.received.is_some())
        });
        for rule in faults {
            writeln!(f, "FAILED   {}  ({})  {}", rule.id, rule.section, text(&rule.why))?;
            writeln!(f, "  request   {}", text(&rule.request))?;
            writeln!(f, "  received  {}\n", text(&rule.received))?;
        }
        for NotTriedReason { cause, reason, rules } in self.not_tried_reasons() {
            let cause = match cause {
                NotTriedCause::Settings => "not tried",
                NotTriedCause::Failed => "FAILED",
            };
            writeln!(f, "{cause}: {rules} {} ({reason})", if rules == 1 { "rule" } else { "rules" })?;
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
        let Self { base_url, requests, seconds, .. } = self;
        let (verdict, tried) = (self.verdict_in_words(), self.tried_in_words());
        writeln!(f, "\n{base_url} {verdict}; {tried} ({requests} requests, {seconds:.1} s)")
    }
}
