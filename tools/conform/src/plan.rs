//! What a run will do: said beforehand.

use std::fmt;

use super::{
    preflight::Key,
    rule::{Level, Rule},
};

/// How the rules are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Reads,
    Sandbox,
    Worlds,
}

impl Mode {
    fn description(self) -> &'static str {
        match self {
            Mode::Reads => "GET requests only.",
            Mode::Sandbox => "In the sandbox of this test key; nobody is mailed.",
            Mode::Worlds => "With the control API, in worlds of its own.",
        }
    }
}

/// The scopes beside `read`.
static SCOPES: [&str; 4] = ["write", "draft", "send", "record"];

/// About how many requests a rule takes, by what it needs: to say beforehand how long a run will take.
const fn requests_for(level: Level) -> f64 {
    match level {
        Level::Reads => 0.9,
        Level::Sandbox => 2.3,
        Level::Shared => 0.5,
        Level::World => 5.7,
    }
}

/// What a run will do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// Rules that will be tried.
    pub rules: usize,
    /// Rules that cannot be tried here.
    pub left_out: usize,
    /// About how many requests that takes.
    pub requests: u64,
    /// About how many minutes, at the pace that was set; 0 where a control API moves the clock.
    pub minutes: f64,
    /// What keeps rules from being tried that the user may not know of, such as a scope that the key lacks.
    pub warnings: Vec<String>,
    mode: Mode,
    base_url: String,
    run: String,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rules, left_out, requests, minutes, mode, base_url, run, .. } = self;
        writeln!(f, "{base_url}: {rules} rules to try, {left_out} that cannot be tried here.")?;
        write!(f, "{} About {requests} requests", mode.description())?;
        match *minutes {
            0.0 => writeln!(f, ", no waiting.")?,
            minutes => writeln!(f, ", about {} min.", minutes.ceil())?,
        }
        match mode {
            Mode::Reads => Ok(()),
            _ => writeln!(f, "What it creates is marked `{run}`."),
        }
    }
}

impl Plan {
    pub(super) fn new(
        mode: Mode,
        base_url: &str,
        run: &str,
        tried: Vec<&Rule>,
        chosen: usize,
        key: &Key,
        budget: u32,
    ) -> Self {
        let requests = tried.iter().map(|rule| requests_for(rule.needs.level)).sum::<f64>().ceil() as u64;
        let minutes = match mode {
            Mode::Worlds => 0.0,
            // Undo windows and answers of the sandbox take half a minute.
            Mode::Sandbox | Mode::Reads => requests as f64 / f64::from(budget) + 0.5,
        };
        let lacks = |scope: &&'static &'static str| key.lacks(std::slice::from_ref(*scope)).is_some();
        let warnings = SCOPES
            .iter()
            .filter(|scope| mode != Mode::Reads && lacks(scope))
            .map(|scope| format!("the key lacks the scope `{scope}`: its rules are not tried"))
            .collect();
        Self {
            rules: tried.len(),
            left_out: chosen - tried.len(),
            requests,
            minutes,
            warnings,
            mode,
            base_url: base_url.to_owned(),
            run: run.to_owned(),
        }
    }
}
