//! What differs between undisturbed runs of one app.

use serde::Serialize;

use crate::explore::{
    oracle::Oracle,
    run::record::{End, Execution},
    scenario::Part,
};

/// What differs from run to run by itself: parts whose words do, and parts whose number or value does.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Variations {
    words: Vec<Part>,
    counts: Vec<Part>,
}

/// A part of what a rule demands that could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NotJudged {
    /// The rule.
    pub rule: Oracle,
    /// What it is about, such as `outbox.text`.
    pub part: String,
    /// Why it could not be judged.
    pub why: String,
}

impl Variations {
    /// Compares undisturbed runs of the same mails, and adds what differs.
    pub(crate) fn learn<'r>(&mut self, mut runs: impl Iterator<Item = &'r Execution> + Clone) {
        let Some(first) = runs.next() else { return };
        for part in Part::ALL {
            for end in &first.ends {
                let ends = runs.clone().filter_map(|run| run.same_end(end));
                for other in ends.filter(|other| other.values(part) != end.values(part)) {
                    let same_count = other.counts(part) == end.counts(part) && !part.has_one_value();
                    let list = if same_count { &mut self.words } else { &mut self.counts };
                    if !list.contains(&part) {
                        list.push(part);
                    }
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.counts.is_empty()
    }

    /// Returns whether nothing differs in a part.
    pub(crate) fn is_constant(&self, part: Part) -> bool {
        !self.words.contains(&part) && !self.counts.contains(&part)
    }

    /// Returns whether a part is in one of the ends as it is in another, as far as it can be told. Texts that
    /// are alike in the undisturbed runs may have other words later; the user's command tells where there is
    /// one.
    pub(crate) fn fits(
        &self,
        part: Part,
        end: &End,
        others: &[&End],
        same: Option<&dyn Fn(&End) -> bool>,
    ) -> bool {
        if others.iter().any(|other| other.values(part) == end.values(part)) {
            return true;
        }
        if self.counts.contains(&part) && !part.has_one_value() {
            let (counts, known) = (end.counts(part), others.iter().flat_map(|other| other.values(part)));
            let is_known = part != Part::Tags || {
                let known: Vec<String> = known.collect();
                end.values(part).iter().all(|tag| known.contains(tag))
            };
            return is_known
                && (0..counts.len()).all(|n| {
                    let seen = || others.iter().map(|other| other.counts(part)[n]);
                    seen().min() <= Some(counts[n]) && Some(counts[n]) <= seen().max()
                });
        }
        let is_text = matches!(part, Part::Outbox | Part::Notes | Part::Documents);
        let may_vary = self.words.contains(&part) || (same.is_some() && is_text);
        let is_same = |other: &End| same.is_none_or(|same| same(other));
        may_vary && others.iter().any(|other| other.counts(part) == end.counts(part) && is_same(other))
    }

    /// Returns the names of what varies.
    pub(crate) fn names(&self) -> Vec<String> {
        let words = self.words.iter().map(|part| format!("{part}.text"));
        let counts = self.counts.iter().map(|part| count_name(*part));
        words.chain(counts).collect()
    }

    /// Returns what cannot be judged because of it.
    pub(crate) fn not_judged(&self, ignored: &[Part], has_same: bool) -> Vec<NotJudged> {
        let mut all = Vec::new();
        let mut add = |rule, part, why: &str| all.push(NotJudged { rule, part, why: why.to_owned() });
        for part in self.words.iter().filter(|part| !ignored.contains(part) && !has_same) {
            let why = "the words differ between undisturbed runs, so only their number is compared";
            add(Oracle::SameEnd, format!("{part}.text"), why);
            if *part == Part::Outbox {
                let why =
                    "the words differ between undisturbed runs, so one answer may be to any of two questions";
                add(Oracle::NobodyForgotten, format!("{part}.text"), why);
            }
        }
        for part in self.counts.iter().filter(|part| !ignored.contains(part)) {
            let why =
                "it differs between undisturbed runs, so everything in the range that was seen is allowed";
            add(Oracle::SameEnd, count_name(*part), why);
            if matches!(part, Part::Outbox | Part::Notes) {
                add(Oracle::NeverTwice, count_name(*part), why);
            }
        }
        all
    }
}

fn count_name(part: Part) -> String {
    if part.has_one_value() { part.to_string() } else { format!("{part}.count") }
}
