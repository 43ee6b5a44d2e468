//! What changed between two reports.

use std::{collections::BTreeMap, fmt};

use crate::reports::report::{Report, RuleReport, RuleResult};

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
    let received = rule.received.as_deref().map(stable).unwrap_or_default();
    match rule.result {
        RuleResult::NotTried => "not tried".to_owned(),
        RuleResult::Holds if received.is_empty() => "holds".to_owned(),
        RuleResult::Holds => format!("holds: {received}"),
        RuleResult::Differs => format!("differs: {received}"),
    }
}

/// Returns the text without what is another in every run: ids, times, the mark of the run.
fn stable(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.' | '@');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        out.push_str(&rest[..start]);
        let word = &rest[start..];
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        out.push_str(if varies(&word[..end]) { "…" } else { &word[..end] });
        rest = &word[end..];
    }
    out + rest
}

fn varies(word: &str) -> bool {
    let (prefix, rest) = word.split_at(word.len().min(4));
    let id = prefix.len() == 4
        && prefix.ends_with('_')
        && prefix[..3].bytes().all(|c| c.is_ascii_lowercase())
        && rest.bytes().any(|c| c.is_ascii_digit());
    let time = word.len() >= 19 && word.as_bytes()[4] == b'-' && word.as_bytes()[10] == b'T';
    id || time || word.contains("conform") || word.ends_with(".test")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_times_and_marks_do_not_count_as_changes() {
        let text = r#"201 {"messageId":"msg_0a1b2c","sendsAt":"2026-01-02T03:04:05.678Z","from":"a@cconform12.test"}"#;
        assert_eq!(stable(text), r#"201 {"messageId":"…","sendsAt":"…","from":"…"}"#);
        assert_eq!(stable("no event"), "no event");
        assert_eq!(stable("not_found is a word"), "not_found is a word");
    }
}
