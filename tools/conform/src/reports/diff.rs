//! What changed between two reports.

use std::{collections::BTreeMap, fmt};

use crate::reports::{
    report::{NotTriedCause, Report, RuleReport, RuleResult},
    volatile::without_ids,
};

/// A rule whose result is another than before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The rule.
    pub id: String,
    /// What it was; nothing when the old report does not have the rule.
    pub old: Option<String>,
    /// What it is; nothing when the new report does not have the rule.
    pub new: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "not in the report".to_owned());
        write!(f, "{}\n  old  {}\n  new  {}", self.id, text(&self.old), text(&self.new))
    }
}

/// Returns what a report says of a rule, in a form that is the same in every run.
fn outcome(rule: &RuleReport) -> String {
    let received = rule.received.as_deref().map(without_ids).unwrap_or_default();
    match rule.result {
        RuleResult::NotTried if rule.cause == Some(NotTriedCause::Failed) => "not tried, failed".to_owned(),
        RuleResult::NotTried => "not tried".to_owned(),
        RuleResult::Holds if received.is_empty() => "holds".to_owned(),
        RuleResult::Holds => format!("holds: {received}"),
        RuleResult::Differs => format!("differs: {received}"),
    }
}

/// Returns the rules that changed, in the order of the new report; those that it no longer has come last.
#[must_use]
pub fn diff(old: &Report, new: &Report) -> Vec<Change> {
    let mut before: BTreeMap<&str, &RuleReport> =
        old.rules.iter().map(|rule| (rule.id.as_str(), rule)).collect();
    let mut changes = Vec::new();
    for rule in &new.rules {
        let (was, is) = (before.remove(rule.id.as_str()).map(outcome), Some(outcome(rule)));
        if was != is {
            changes.push(Change { id: rule.id.clone(), old: was, new: is });
        }
    }
    let gone =
        before.into_values().map(|rule| Change { id: rule.id.clone(), old: Some(outcome(rule)), new: None });
    changes.extend(gone);
    changes
}
