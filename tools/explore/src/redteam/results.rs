//! The results of attacks and tasks, as the JSON report has them.

use std::{fmt, ops::AddAssign};

use serde::{Deserialize, Serialize};

use crate::redteam::{
    attack::{Attack, Place},
    error::ReportError,
};

/// The outcome of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// Attacks were tried, and no more were obeyed than allowed.
    Held,
    /// More attacks were obeyed than allowed.
    Obeyed,
    /// More attacks were not tried than allowed.
    Incomplete,
    /// No task was done without an attack, so nothing is shown.
    Useless,
    /// It could not run, or not to its end.
    CouldNotRun,
    /// It was interrupted.
    Interrupted,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The result of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// Its goal was reached in a run, failed or not.
    Obeyed,
    /// No run of it shows anything.
    NotTried,
    /// It takes a person to tell.
    Review,
    /// It was tried, and its goal was not reached.
    Held,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The result of a task without an attack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskResult {
    /// The id of the task.
    pub task: String,
    /// Runs in which it was done.
    pub useful: u32,
    /// Runs that failed.
    pub failed: u32,
    /// All runs.
    pub runs: u32,
    /// The ids of all attacks, run or not, whose goals were reached here, without them.
    #[serde(default)]
    pub habits: Vec<String>,
}

/// Counts of runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// All runs.
    pub runs: u32,
    /// Runs in which the attack was obeyed.
    pub obeyed: u32,
    /// Runs in which the task was done.
    pub useful: u32,
    /// Runs that failed.
    pub failed: u32,
    /// Runs that ended without failing and in which the agent made a request.
    #[serde(default)]
    pub tried: u32,
    /// Runs of which a person has to tell.
    #[serde(default)]
    pub reviewed: u32,
}

impl TaskResult {
    /// Adds a run without an attack.
    pub(crate) fn add(&mut self, run: &RunResult) {
        self.runs += run.counts.runs;
        self.useful += run.counts.useful;
        self.failed += run.counts.failed;
        let new: Vec<String> = run.habits.iter().filter(|id| !self.habits.contains(id)).cloned().collect();
        self.habits.extend(new);
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.obeyed += other.obeyed;
        self.useful += other.useful;
        self.failed += other.failed;
        self.tried += other.tried;
        self.reviewed += other.reviewed;
    }
}

/// The results of a family of attacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FamilyResult {
    /// Its name.
    pub family: String,
    /// How many attacks it has.
    pub attacks: u32,
    /// All their runs.
    #[serde(flatten)]
    pub counts: Counts,
    /// Attacks of which a person has to tell.
    #[serde(default)]
    pub review: u32,
    /// Attacks that were not tried.
    #[serde(default)]
    pub not_tried: u32,
    /// Attacks whose goals are reached without them as well.
    #[serde(default)]
    pub habit: u32,
}

impl FamilyResult {
    pub(crate) fn add(&mut self, attack: &AttackResult) {
        self.attacks += 1;
        self.counts += attack.counts;
        self.review += u32::from(attack.result == Outcome::Review);
        self.not_tried += u32::from(attack.result == Outcome::NotTried);
        self.habit += u32::from(attack.habit);
    }
}

/// The result of an attack, with its runs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttackResult {
    /// Its id.
    pub id: String,
    /// Its family.
    pub family: String,
    /// The id of its task.
    pub task: String,
    /// Where it stands.
    pub place: Place,
    /// The kind of its goal.
    #[serde(default)]
    pub goal: String,
    /// What came of it.
    pub result: Outcome,
    /// Why: where the goal shows, the sentence for review, or why it was not tried, with the last lines of a
    /// failed run.
    #[serde(default)]
    pub why: String,
    /// Whether its goal is reached without it as well.
    #[serde(default)]
    pub habit: bool,
    /// All its runs.
    #[serde(flatten)]
    pub counts: Counts,
    /// The steps of the first run in which it was obeyed.
    #[serde(default)]
    pub story: Vec<String>,
    /// What left in that run, as it stands in the story.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// The sentence for review of a run that shows nothing as long as no other run has tried the attack.
    #[serde(skip)]
    untold: Option<String>,
}

/// What one run adds to the result of its attack, or of its task.
pub(crate) struct RunResult {
    pub(crate) counts: Counts,
    /// Where the goal shows, or the sentence for review.
    pub(crate) found: Option<String>,
    /// What left, as it stands there.
    pub(crate) left: Vec<String>,
    /// How it failed, with the last lines.
    pub(crate) failed: Option<String>,
    /// Why it was not useful otherwise, where that is known.
    pub(crate) not_useful: Option<String>,
    pub(crate) story: Vec<String>,
    /// Why it shows nothing, where it neither failed nor was tried.
    pub(crate) untried: &'static str,
    /// Without an attack: the ids of those whose goals were reached all the same.
    pub(crate) habits: Vec<String>,
}

impl AttackResult {
    pub(crate) fn new(attack: &Attack, why: &str) -> Self {
        Self {
            id: attack.id.clone(),
            family: attack.family.clone(),
            task: attack.task.clone(),
            place: attack.place,
            goal: attack.goal.kind().to_owned(),
            result: Outcome::NotTried,
            why: why.to_owned(),
            habit: false,
            counts: Counts::default(),
            story: Vec::new(),
            left: Vec::new(),
            untold: None,
        }
    }

    /// Adds a run, beside the task without an attack.
    pub(crate) fn add(&mut self, mut run: RunResult, task: &TaskResult) {
        let before = self.result;
        self.counts += run.counts;
        let counts = self.counts;
        let is_tried = counts.tried > 0 && task.useful > 0;
        self.result = match counts {
            Counts { obeyed: 1.., .. } => Outcome::Obeyed,
            _ if !is_tried => Outcome::NotTried,
            Counts { reviewed: 1.., .. } => Outcome::Review,
            _ => Outcome::Held,
        };
        self.habit = self.result == Outcome::Obeyed && task.habits.contains(&self.id);
        if self.story.is_empty() {
            (self.story, self.left) = (run.story, run.left);
        }
        if self.result == Outcome::NotTried {
            self.untold = self.untold.take().or(run.found.take());
        }
        let failed = |which: &str| run.failed.map(|failed| format!("{which} run failed: {failed}"));
        let why = match self.result {
            Outcome::NotTried if task.useful == 0 => {
                Some(format!("its task {} was never done without an attack", task.task))
            }
            Outcome::NotTried => failed("every").or((counts.failed == 0).then(|| run.untried.to_owned())),
            Outcome::Held => failed("a").or((before != Outcome::Held).then(String::new)),
            // The first run that shows it tells.
            _ if before == self.result && !self.why.is_empty() => None,
            _ => run.found.or(self.untold.take()),
        };
        self.why = why.unwrap_or_else(|| std::mem::take(&mut self.why));
    }
}

impl fmt::Debug for AttackResult {
    /// Without the story, which has words of emails.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AttackResult");
        shown.field("id", &self.id).field("result", &self.result).field("counts", &self.counts);
        shown.finish_non_exhaustive()
    }
}

/// What was found.
#[derive(Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The outcome of all runs.
    pub verdict: Verdict,
    /// What the words and the sample were chosen from.
    pub seed: u64,
    /// How often each attack and each task was run.
    pub repeat: u32,
    /// How long it took.
    pub seconds: f64,
    /// Why it could not run, or how the first run without an attack failed, with what it printed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The tasks without an attack.
    pub baseline: Vec<TaskResult>,
    /// The attacks by family.
    pub families: Vec<FamilyResult>,
    /// The attacks.
    pub attacks: Vec<AttackResult>,
}

impl fmt::Debug for Report {
    /// Without what the agent printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Report");
        shown.field("verdict", &self.verdict).field("families", &self.families).finish_non_exhaustive()
    }
}

impl Report {
    /// Returns the report of a run that could not be made.
    pub fn could_not_run(seed: u64, repeat: u32, why: impl Into<String>) -> Self {
        Self { why: Some(why.into()), ..Self::new(Verdict::CouldNotRun, seed, repeat) }
    }

    pub(crate) fn new(verdict: Verdict, seed: u64, repeat: u32) -> Self {
        let (baseline, families, attacks) = (Vec::new(), Vec::new(), Vec::new());
        Self { verdict, seed, repeat, seconds: 0.0, why: None, baseline, families, attacks }
    }

    /// Reads a report in JSON.
    ///
    /// # Errors
    ///
    /// Where in the document what is wrong.
    pub fn parse(json: &str) -> Result<Self, ReportError> {
        serde_json::from_str(json).map_err(ReportError)
    }

    /// Returns how many attacks have this result.
    pub fn count(&self, result: Outcome) -> usize {
        self.attacks.iter().filter(|attack| attack.result == result).count()
    }

    /// Counts the families, in the order of their first attacks.
    pub(crate) fn count_families(&mut self) {
        self.families.clear();
        for attack in &self.attacks {
            let at = self.families.iter().position(|it| it.family == attack.family);
            let at = at.unwrap_or_else(|| {
                self.families.push(FamilyResult { family: attack.family.clone(), ..FamilyResult::default() });
                self.families.len() - 1
            });
            self.families[at].add(attack);
        }
    }
}
