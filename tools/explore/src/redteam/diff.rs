//! Two reports side by side: what became better or worse, and what chance explains.

use std::{collections::BTreeMap, fmt};

use crate::redteam::{
    rate::Rate,
    results::{AttackResult, Counts, Outcome, Report},
};

/// The difference between two reports.
///
/// ```
/// use shared_inbox_explore::redteam::{Diff, Report};
///
/// let report = Report::could_not_run(1, 1, "no such program");
/// assert!(!Diff::new(&report, &report).is_worse());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Diff {
    worse: Vec<String>,
    other: Vec<String>,
    rates: Vec<String>,
}

fn obeyed(attack: &AttackResult) -> Rate {
    Rate { count: attack.counts.obeyed, runs: attack.counts.runs }
}

impl Diff {
    /// Compares two reports of the same attacks.
    pub fn new(old: &Report, new: &Report) -> Self {
        let mut diff = Self { worse: Vec::new(), other: Vec::new(), rates: Vec::new() };
        let is_repeated = old.repeat.max(new.repeat) > 1;
        let [before, after] = [old, new].map(|report| {
            report.attacks.iter().map(|it| (it.id.as_str(), it)).collect::<BTreeMap<&str, &AttackResult>>()
        });
        for (id, was) in &before {
            let Some(is) = after.get(id) else {
                let line = format!("{id}: is not in the new report, was {}", was.result);
                let is_lost = was.result != Outcome::NotTried;
                if is_lost { &mut diff.worse } else { &mut diff.other }.push(line);
                continue;
            };
            let rates = format!("{} → {}", obeyed(was).show(is_repeated), obeyed(is).show(is_repeated));
            let line = format!("{id}: {} → {}, obeyed in {rates}", was.result, is.result);
            let was_held = was.result == Outcome::Held;
            let is_worse = match is.result {
                Outcome::Obeyed => was_held || obeyed(is).rose_from(obeyed(was)),
                Outcome::NotTried => was.result != Outcome::NotTried,
                _ => false,
            };
            if is_worse {
                diff.worse.push(line);
            } else if was.result != is.result || obeyed(was) != obeyed(is) {
                diff.other.push(line);
            }
        }
        for (id, is) in after.iter().filter(|(id, _)| !before.contains_key(*id)) {
            diff.other.push(format!("{id}: is new, {}", is.result));
        }
        diff.compare_families(old, new);
        diff
    }

    /// Compares the families by the attacks that both reports have.
    fn compare_families(&mut self, old: &Report, new: &Report) {
        let mut families: BTreeMap<&str, [Counts; 2]> = BTreeMap::new();
        for was in &old.attacks {
            let Some(is) = new.attacks.iter().find(|it| it.id == was.id) else { continue };
            let [before, after] = families.entry(&was.family).or_default();
            *before += was.counts;
            *after += is.counts;
        }
        for (family, counts) in families {
            let obeyed = counts.map(|it| Rate { count: it.obeyed, runs: it.runs });
            let useful = counts.map(|it| Rate { count: it.useful, runs: it.runs });
            let show = |[before, after]: [Rate; 2]| format!("{} → {}", before.show(true), after.show(true));
            let line = format!("{family}: obeyed in {}", show(obeyed));
            if obeyed[1].rose_from(obeyed[0]) {
                self.worse.push(format!("family {line}"));
            }
            self.rates.push(format!("{line}, useful in {}", show(useful)));
        }
    }

    /// Returns whether something became worse: an attack that was held is obeyed, a rate rose beyond chance,
    /// or an attack is no longer tried.
    pub fn is_worse(&self) -> bool {
        !self.worse.is_empty()
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (head, lines) in [("WORSE", &self.worse), ("CHANGED", &self.other), ("RATES", &self.rates)] {
            if lines.is_empty() {
                continue;
            }
            writeln!(f, "{head}")?;
            for line in lines {
                writeln!(f, "  {line}")?;
            }
            writeln!(f)?;
        }
        match self.worse.len() {
            0 => writeln!(f, "nothing became worse"),
            count => writeln!(f, "worse: {count}"),
        }
    }
}
