//! `shared-inbox-mock conform`.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};

use serde_json::{Value, json};
use shared_inbox_conform::{Conform, Kind, Profile, Report, RuleInfo, Verdict, diff};

use crate::{
    page::Tool,
    report_files::{PageFiles, ReportFiles, write_json},
};

/// Check an implementation of the API against every rule of its document.
///
/// It needs a test key (rk_test_…) from --key-file or SHARED_INBOX_API_KEY, writes to the sandbox of that key
/// alone, and mails nobody. Status 0: nothing demanded differs; 1: something does; 2: it could not run, or
/// more rules than --max-not-tried were not tried because something failed.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ConformCli {
    #[command(subcommand)]
    command: Option<ConformCommand>,
    #[command(flatten)]
    options: RunOptions,
}

#[derive(Subcommand)]
enum ConformCommand {
    /// Say which rules and observations changed between two reports; status 0: none, 1: some, 2: unreadable
    Diff {
        /// The report of an earlier run, as --json wrote it
        old: PathBuf,
        /// The report of a later run
        new: PathBuf,
        #[command(flatten)]
        pages: PageFiles,
    },
}

#[derive(Args)]
struct RunOptions {
    /// The prefix of the REST API, which ends in /api/v1
    #[arg(long, value_name = "URL", required_unless_present = "list")]
    base_url: Option<String>,
    /// A file with the API key; SHARED_INBOX_API_KEY unless given
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The control API of the implementation; found by itself on the mock. Its token:
    /// SHARED_INBOX_CONTROL_TOKEN
    #[arg(long, value_name = "URL")]
    control_url: Option<String>,
    /// Send GET requests only; a live key is accepted then
    #[arg(long)]
    read_only: bool,
    /// Try the sections of this profile: read, write, webhooks or full; --list says which they are
    #[arg(long, value_name = "NAME", default_value = "full", hide_default_value = true)]
    profile: Profile,
    /// Try these alone: a rule's id, or a section such as 4.4
    #[arg(long, value_name = "ID_OR_SECTION")]
    only: Vec<String>,
    /// Leave these out: a rule's id, or a section
    #[arg(long, value_name = "ID_OR_SECTION")]
    skip: Vec<String>,
    /// The most rules that may be not tried because something failed
    #[arg(long, value_name = "N", default_value = "0")]
    max_not_tried: usize,
    /// Requests a minute
    #[arg(long, value_name = "REQUESTS_PER_MINUTE", default_value = "120", value_parser = clap::value_parser!(u32).range(1..))]
    budget: u32,
    /// What the words of a run are made from; the same number sends the same requests
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    #[command(flatten)]
    reports: ReportFiles,
    /// Show the profiles and the rules with what each takes, and try nothing; with --json FILE as JSON, `-`
    /// is stdout
    #[arg(long)]
    list: bool,
}

impl ConformCli {
    /// Returns the exit status, or why it could not run.
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        match self.command {
            Some(ConformCommand::Diff { old, new, pages }) => compare(&old, &new, &pages),
            None if self.options.list => self.options.list(),
            None => self.options.run(),
        }
    }
}

fn compare(old: &Path, new: &Path, pages: &PageFiles) -> Result<ExitCode, String> {
    let read = |file: &Path| -> Result<Report, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: not a report: {error}", file.display());
        let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
        serde_json::from_str(&text).map_err(|error| failed(&error))
    };
    let (old, new) = (read(old)?, read(new)?);
    let changes = diff(&old, &new);
    let mut report = serde_json::to_value(&new).map_err(|error| error.to_string())?;
    let shown = changes.iter().map(|change| json!({ "id": change.id, "old": change.old, "new": change.new }));
    report["changes"] = shown.collect();
    pages.write(Tool::Conform, &report)?;
    let mut text: String = changes.iter().map(|change| format!("{change}\n")).collect();
    text += &format!("{} changed\n", changes.len());
    pages.say(&text);
    Ok(ExitCode::from(u8::from(!changes.is_empty())))
}

/// Returns a variable that says something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

impl RunOptions {
    fn key(&self) -> Result<String, String> {
        if let Some(file) = &self.key_file {
            let text = fs::read_to_string(file)
                .map_err(|error| format!("--key-file {}: cannot be read: {error}", file.display()))?;
            return match text.trim() {
                "" => Err(format!("--key-file {}: is empty", file.display())),
                key => Ok(key.to_owned()),
            };
        }
        variable("SHARED_INBOX_API_KEY")
            .ok_or_else(|| "an API key is required: in --key-file FILE or SHARED_INBOX_API_KEY".to_owned())
    }

    fn settings(&self) -> Result<Conform, String> {
        let base_url = self.base_url.clone().unwrap_or_default();
        let mut settings = Conform::new(base_url, self.key()?)
            .only(self.only.clone())
            .skip(self.skip.clone())
            .profile(self.profile)
            .max_not_tried(self.max_not_tried)
            .budget(self.budget);
        if let Some(url) = &self.control_url {
            settings = settings.control_url(url);
        }
        if let Some(token) = variable("SHARED_INBOX_CONTROL_TOKEN") {
            settings = settings.control_token(token);
        }
        if let Some(seed) = self.seed {
            settings = settings.seed(seed);
        }
        Ok(if self.read_only { settings.read_only() } else { settings })
    }

    fn run(self) -> Result<ExitCode, String> {
        let settings = self.settings()?;
        let reserved = self.reports.reserve()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        let report = runtime.block_on(async {
            let prepared = settings.prepare().await.map_err(|error| error.to_string())?;
            let plan = prepared.plan();
            for warning in &plan.warnings {
                let _ = writeln!(io::stderr(), "warning: {warning}");
            }
            self.reports.say(&plan.to_string());
            let progress = Progress::new(plan.rules + plan.left_out);
            let report = prepared.run(|rule| progress.show(&rule.id)).await;
            progress.clear();
            report.map_err(|error| error.to_string())
        })?;
        reserved.keep();
        self.reports.write(Tool::Conform, &report, &report.junit())?;
        self.reports.say(&format!("\n{report}"));
        Ok(ExitCode::from(match report.verdict {
            Verdict::Conforms => 0,
            Verdict::Differs => 1,
            _ => 2,
        }))
    }

    /// Shows the profiles and the rules.
    fn list(&self) -> Result<ExitCode, String> {
        let rules: Vec<RuleInfo> =
            Conform::rules().into_iter().filter(|rule| has(self.profile, rule)).collect();
        if let Some(file) = &self.reports.json {
            let profiles: Vec<Value> = Profile::ALL
                .iter()
                .map(|profile| json!({ "name": profile.name(), "sections": profile.sections() }))
                .collect();
            let list = json!({ "profiles": profiles, "rules": rules });
            write_json(file, &list)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut out = io::stdout().lock();
        let _ = writeln!(out, "profile   rules  sections");
        for profile in Profile::ALL {
            let count = Conform::rules().iter().filter(|rule| has(profile, rule)).count();
            let _ = writeln!(out, "{:<9} {count:>5}  {}", profile.name(), profile.sections().join(" "));
        }
        for rule in &rules {
            let kind = if rule.kind == Kind::Observation { ", observation" } else { "" };
            let _ = writeln!(out, "\n{}  ({}{kind})  {}", rule.id, rule.section, rule.says);
            let _ = match rule.control_calls.is_empty() {
                true => writeln!(out, "  needs {}", rule.needs),
                false => writeln!(out, "  needs {}: {}", rule.needs, rule.control_calls.join(", ")),
            };
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns whether a rule is of a profile.
fn has(profile: Profile, rule: &RuleInfo) -> bool {
    profile.sections().contains(&rule.section.as_str())
}

/// The line on a terminal that says how far it is.
struct Progress {
    of: usize,
    done: std::cell::Cell<usize>,
    shown: bool,
}

impl Progress {
    fn new(of: usize) -> Self {
        Self { of, done: std::cell::Cell::new(0), shown: io::stderr().is_terminal() }
    }

    fn show(&self, id: &str) {
        self.done.set(self.done.get() + 1);
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K{}/{} {id}", self.done.get(), self.of);
        }
    }

    fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
