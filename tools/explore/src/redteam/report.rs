//! The report as text.

use std::{collections::BTreeMap, fmt};

use crate::redteam::{
    rate::Rate,
    results::{AttackResult, Counts, FamilyResult, Outcome, Report, Verdict},
    story::show,
};

const HEAD: [&str; 9] =
    ["family", "attacks", "obeyed", "habit", "review", "not tried", "useful", "without an attack", "failed"];

impl Report {
    fn rate(&self, count: u32, runs: u32) -> String {
        Rate { count, runs }.show(self.repeat > 1)
    }

    /// Returns a row of the table, beside these tasks without an attack.
    fn row(&self, family: &FamilyResult, is_task: &dyn Fn(&str) -> bool) -> [String; 9] {
        let tasks = self.baseline.iter().filter(|it| is_task(&it.task));
        let (useful, runs) = tasks.fold((0, 0), |(useful, runs), it| (useful + it.useful, runs + it.runs));
        [
            family.family.clone(),
            family.attacks.to_string(),
            self.rate(family.counts.obeyed, family.counts.runs),
            family.habit.to_string(),
            family.review.to_string(),
            family.not_tried.to_string(),
            self.rate(family.counts.useful, family.counts.runs),
            self.rate(useful, runs),
            family.counts.failed.to_string(),
        ]
    }

    fn write_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![HEAD.map(str::to_owned)];
        for family in &self.families {
            let is_of_family = |task: &str| {
                self.attacks.iter().any(|attack| attack.family == family.family && attack.task == task)
            };
            rows.push(self.row(family, &is_of_family));
        }
        let mut all = FamilyResult { family: "all".to_owned(), ..FamilyResult::default() };
        self.attacks.iter().for_each(|attack| all.add(attack));
        rows.push(self.row(&all, &|_| true));
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        for row in &rows {
            write!(f, "{:<width$}", row[0], width = widths[0])?;
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        writeln!(f)
    }

    /// Names the attacks under which a task was done never, or less often beyond chance than without them.
    fn write_cost(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for task in self.baseline.iter().filter(|task| task.useful > 0) {
            let usual = Rate { count: task.useful, runs: task.runs };
            let is_lost = |attack: &&AttackResult| {
                let Counts { useful, runs, .. } = attack.counts;
                attack.task == task.task
                    && attack.result != Outcome::NotTried
                    && (useful == 0 || usual.rose_from(Rate { count: useful, runs }))
            };
            let lost: Vec<&str> = self.attacks.iter().filter(is_lost).map(|it| it.id.as_str()).collect();
            if !lost.is_empty() {
                writeln!(f, "task {} was done less often under {}", task.task, lost.join(", "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |result: Outcome| self.attacks.iter().filter(move |attack| attack.result == result);
        for attack in with(Outcome::Obeyed) {
            let rate = self.rate(attack.counts.obeyed, attack.counts.runs);
            let habit = if attack.habit { ", without the attack as well" } else { "" };
            writeln!(f, "OBEYED {} ({}), {rate}{habit}", attack.id, attack.family)?;
            for line in &attack.story {
                writeln!(f, "  {line}")?;
            }
            writeln!(f)?;
        }
        for attack in with(Outcome::Review) {
            writeln!(f, "REVIEW {} ({})\n  {}\n", attack.id, attack.family, show(&attack.why))?;
        }
        let mut not_tried: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for attack in with(Outcome::NotTried) {
            not_tried.entry(&attack.why).or_default().push(&attack.id);
        }
        for (why, ids) in not_tried {
            writeln!(f, "NOT TRIED {}", ids.join(", "))?;
            for line in why.lines() {
                writeln!(f, "  {}", show(line))?;
            }
            writeln!(f)?;
        }
        self.write_table(f)?;
        self.write_cost(f)?;
        for task in self.baseline.iter().filter(|task| task.useful < task.runs) {
            let done = self.rate(task.useful, task.runs);
            writeln!(f, "task {} without an attack: done in {done}, failed in {}", task.task, task.failed)?;
        }
        for line in self.why.iter().flat_map(|why| why.lines()) {
            writeln!(f, "  | {}", show(line))?;
        }
        if self.verdict == Verdict::Useless {
            writeln!(f, "It does no task without an attack, so nothing is shown.")?;
        }
        let (verdict, attacks, seconds, seed) = (self.verdict, self.attacks.len(), self.seconds, self.seed);
        let [obeyed, review, not_tried] =
            [Outcome::Obeyed, Outcome::Review, Outcome::NotTried].map(|result| self.count(result));
        writeln!(
            f,
            "{verdict}: {obeyed} of {attacks} attacks obeyed, {review} for review, {not_tried} not tried; {seconds:.1} s, seed {seed}"
        )
    }
}
