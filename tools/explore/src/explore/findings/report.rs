//! What was found, for people and as JSON.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::explore::{oracle::Oracle, verdict::variations::NotJudged};

/// Whether anything was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing was found.
    Held,
    /// Something was found.
    Broken,
    /// The explorer could not run.
    #[default]
    CouldNotRun,
    /// It was ended before it was through; the findings are those so far.
    Interrupted,
}

/// How many of the schedules that there are were tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Tried {
    /// Those that were run.
    pub tried: usize,
    /// Those that there are; pairs become more while single steps are tried.
    pub of: usize,
}

/// Single steps of one kind at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GridCell {
    /// The place: a request, a delivery, or a quiet moment of a round.
    pub place: String,
    /// The kind: `failure`, `kill`, `delivery`, `person`, `customer` or `time`.
    pub kind: &'static str,
    /// Those that were run.
    pub tried: usize,
    /// Those that there are.
    pub of: usize,
}

/// How far an exploration looked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// Requests that the app made without trouble.
    pub requests: usize,
    /// Schedules with a single step.
    pub singles: Tried,
    /// Schedules with two steps near each other.
    pub pairs: Tried,
    /// Schedules at random.
    pub random: usize,
    /// Single steps by place and kind, in the order of the undisturbed run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grid: Vec<GridCell>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, singles, pairs, random, .. } = self;
        write!(
            f,
            "{} of {} single steps tried, {} of {} pairs, {random} at random; ",
            singles.tried, singles.of, pairs.tried, pairs.of
        )?;
        match requests {
            1 => write!(f, "1 request without trouble"),
            _ => write!(f, "{requests} requests without trouble"),
        }
    }
}

/// What an exploration did and found.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// Whether anything was found.
    pub verdict: Verdict,
    /// What the chance started from.
    pub seed: u64,
    /// Schedules that were run.
    pub schedules: u64,
    /// Distinct states that they reached.
    pub states: usize,
    /// How long it took.
    pub seconds: f64,
    /// What differs between undisturbed runs, such as `outbox.text`.
    pub varies: Vec<String>,
    /// What could not be judged.
    pub not_judged: Vec<NotJudged>,
    /// What was found, but is not more frequent than without trouble beyond chance.
    pub unstable: Vec<Finding>,
    /// How far it looked.
    pub coverage: Coverage,
    /// Why it could not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What the user should know of the run without trouble.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Of a replay without a finding: who did what, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<String>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Whether it is the report of a replay.
    #[serde(skip)]
    pub is_replay: bool,
}

/// A schedule under which the app breaks a rule.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Finding {
    /// The rule.
    pub oracle: Oracle,
    /// What went wrong, in a sentence.
    pub summary: String,
    /// Who did what, in order.
    pub timeline: Vec<String>,
    /// Where in the timeline the trouble struck and the rule broke.
    pub marks: Vec<Mark>,
    /// The steps of the schedule.
    pub steps: Vec<Value>,
    /// How many steps the schedule had when it was found.
    pub shrunk_from: usize,
    /// The token for `--replay`.
    pub replay: String,
    /// How often it happened again, such as `5 of 5`; `0 of 0` when it was not run again.
    pub reproduced: String,
    /// How often undisturbed runs broke the same rule, such as `0 of 5`.
    pub without_trouble: String,
    /// Tests that replay it.
    pub tests: Tests,
}

/// A line of a timeline that a reader looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mark {
    /// The line, from 0.
    pub line: usize,
    /// What happened there.
    pub kind: MarkKind,
}

/// What a marked line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MarkKind {
    /// A step of the schedule: a fault struck, or somebody acted.
    Trouble,
    /// The rule broke.
    Broken,
}

/// The shortest test that replays a finding, for each runner.
#[derive(Clone, Serialize)]
#[non_exhaustive]
pub struct Tests {
    /// For pytest.
    pub python: String,
    /// For vitest, and for the runner of Node.
    pub typescript: String,
    /// For `cargo test`.
    pub rust: String,
    /// A command line; its exit status is the verdict.
    pub shell: String,
}

impl fmt::Debug for Report {
    /// Without what quotes mails.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("verdict", &self.verdict)
            .field("findings", &self.findings)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Finding {
    /// Without what quotes mails.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finding")
            .field("oracle", &self.oracle)
            .field("replay", &self.replay)
            .field("reproduced", &self.reproduced)
            .finish_non_exhaustive()
    }
}

impl Report {
    /// Returns whether nothing was found.
    pub fn held(&self) -> bool {
        self.verdict == Verdict::Held
    }

    /// The report of an exploration that could not run.
    #[doc(hidden)]
    pub fn could_not_run(seed: u64, why: impl fmt::Display) -> Self {
        Self { seed, why: Some(why.to_string()), ..Self::default() }
    }

    /// The report of an exploration that was interrupted before anything was known.
    #[doc(hidden)]
    pub fn interrupted(seed: u64) -> Self {
        Self { verdict: Verdict::Interrupted, seed, ..Self::default() }
    }

    /// Returns whether nothing was found and everything could be judged.
    pub fn held_strictly(&self) -> bool {
        self.held() && self.not_judged.is_empty()
    }

    /// Returns how much was run and found, in a line.
    pub fn summary(&self) -> String {
        let Self { schedules, seconds, seed, coverage, .. } = self;
        let found = match self.findings.len() {
            0 => "nothing found",
            1 => "1 finding",
            more => &format!("{more} findings"),
        };
        let interrupted = if self.verdict == Verdict::Interrupted { "interrupted; " } else { "" };
        let plural = if *schedules == 1 { "" } else { "s" };
        let ran = format!("{schedules} schedule{plural} in {seconds:.0} s, seed {seed}");
        let left = coverage.singles.of - coverage.singles.tried.min(coverage.singles.of);
        let left = match left {
            0 => String::new(),
            _ if !self.findings.is_empty() => String::new(),
            1 => "; 1 single step is left".to_owned(),
            left => format!("; {left} single steps are left"),
        };
        let unstable = match self.unstable.len() {
            0 => String::new(),
            count => format!("; {count} unstable, which may be chance"),
        };
        let parts: Vec<String> =
            self.not_judged.iter().map(|it| format!("{} of {}", it.rule, it.part)).collect();
        let not_judged =
            if parts.is_empty() { String::new() } else { format!("; not judged: {}", parts.join(", ")) };
        if self.is_replay && self.verdict != Verdict::Interrupted {
            let held = if self.findings.is_empty() { "the schedule was run and held" } else { found };
            return format!("{held}, in {seconds:.0} s{unstable}{not_judged}");
        }
        format!("{interrupted}{found}: {coverage}; {ran}{left}{unstable}{not_judged}")
    }

    /// Writes what may be chance, what could not be judged, and what else there is to know.
    #[doc(hidden)]
    pub fn write_remarks(&self, f: &mut impl fmt::Write) -> fmt::Result {
        for finding in &self.unstable {
            let Finding { oracle, summary, reproduced, without_trouble, .. } = finding;
            writeln!(
                f,
                "unstable {oracle}: {summary} {reproduced} times, {without_trouble} without trouble: {}",
                finding.replay
            )?;
        }
        for it in &self.not_judged {
            writeln!(f, "not judged: {} of {}: {}", it.rule, it.part, it.why)?;
        }
        match &self.note {
            Some(note) => writeln!(f, "note: {note}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for line in &self.timeline {
            writeln!(f, "  {line}")?;
        }
        self.write_remarks(f)?;
        match &self.why {
            Some(why) => writeln!(f, "could not run: {why}"),
            None => writeln!(f, "{}", self.summary()),
        }
    }
}

impl Finding {
    /// Writes what happened, without how to run it again.
    pub fn write_story(&self, f: &mut impl fmt::Write) -> fmt::Result {
        writeln!(f, "BROKEN {}: {}", self.oracle, self.summary)?;
        for (n, line) in self.timeline.iter().enumerate() {
            let sign = match self.marks.iter().rfind(|mark| mark.line == n).map(|mark| mark.kind) {
                Some(MarkKind::Trouble) => '!',
                Some(MarkKind::Broken) => 'X',
                None => ' ',
            };
            writeln!(f, "{sign} {line}")?;
        }
        let (steps, before) = (self.steps.len(), self.shrunk_from);
        write!(f, "  steps: {steps}, shrunk from {before}; ")?;
        match self.reproduced.as_str() {
            "0 of 0" => writeln!(f, "it was not run again"),
            times => writeln!(
                f,
                "it happened again {times} times, and {} times without trouble",
                self.without_trouble
            ),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_story(f)?;
        writeln!(f, "  again: {}", self.tests.shell)
    }
}
