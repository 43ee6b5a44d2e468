//! What was found, for people and as JSON.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::verdict::oracle::Oracle;

/// Whether anything was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing was found.
    Held,
    /// Something was found.
    Broken,
    /// The explorer could not run.
    CouldNotRun,
}

/// What an exploration did and found.
#[derive(Debug, Clone, Serialize)]
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
    /// Why it could not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What was found.
    pub findings: Vec<Finding>,
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
    /// The steps of the schedule.
    pub steps: Vec<Value>,
    /// How many steps the schedule had when it was found.
    pub shrunk_from: usize,
    /// The token for `--replay`.
    pub replay: String,
    /// How often it happened again, such as `5 of 5`.
    pub reproduced: String,
    /// Tests to paste.
    pub tests: Tests,
}

/// A test that fails for the same reason without the explorer, in three languages.
#[derive(Clone, Serialize)]
#[non_exhaustive]
pub struct Tests {
    /// For pytest.
    pub python: String,
    /// For vitest.
    pub typescript: String,
    /// For `cargo test`.
    pub rust: String,
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
    pub fn could_not_run(seed: u64, why: &str) -> Self {
        Self {
            verdict: Verdict::CouldNotRun,
            seed,
            schedules: 0,
            states: 0,
            seconds: 0.0,
            why: Some(why.to_owned()),
            findings: Vec::new(),
        }
    }

    /// Returns how much was run and found, in a line.
    pub fn summary(&self) -> String {
        let Self { schedules, states, seconds, seed, .. } = self;
        let found = match self.findings.len() {
            0 => "nothing found".to_owned(),
            1 => "1 finding".to_owned(),
            more => format!("{more} findings"),
        };
        format!("{found}: {schedules} schedules, {states} states, {seconds:.0} s, seed {seed}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        match &self.why {
            Some(why) => writeln!(f, "could not run: {why}"),
            None => writeln!(f, "{}", self.summary()),
        }
    }
}

impl Finding {
    /// Writes what happened, without a test.
    pub fn write_story(&self, f: &mut impl fmt::Write) -> fmt::Result {
        writeln!(f, "BROKEN {}: {}", self.oracle, self.summary)?;
        for line in &self.timeline {
            writeln!(f, "  {line}")?;
        }
        let (steps, before) = (self.steps.len(), self.shrunk_from);
        writeln!(f, "  steps: {steps}, shrunk from {before}; it happened again {} times", self.reproduced)?;
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_story(f)?;
        writeln!(f, "  again: --replay {}", self.replay)?;
        writeln!(f, "\nA test to paste (--json has it in TypeScript and Rust too):\n\n{}", self.tests.python)
    }
}
