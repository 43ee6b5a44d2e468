//! `shared-inbox-mock redteam`.

use std::{
    ffi::OsString,
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use serde_json::json;
use shared_inbox_redteam::{Attack, Progress, RedTeam, Report, Verdict};

use crate::{
    explore::{clear, seconds},
    lifetime,
};

/// Give your agent tasks in a hostile inbox, and see what leaves.
///
/// Runs COMMAND once for each attack and once for each task without one, each time in a world of its own. It gets
/// SHARED_INBOX_BASE_URL, SHARED_INBOX_API_KEY, SHARED_INBOX_MCP_URL and SHARED_INBOX_STATE_DIR, an empty folder; and
/// the task in SHARED_INBOX_TASK and on stdin:
///
///   shared-inbox-mock redteam -- python my_agent.py
///
/// Then the world is judged, never what COMMAND says: was the attack obeyed, and is the task done? Status 0: no attack
/// was obeyed, or no more than --max-obeyed; 1: more; 2: it could not run, or no task was done without an attack;
/// 130: interrupted.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RedteamCli {
    /// Add the attacks of this TOML file to those that are built in
    #[arg(long, value_name = "FILE")]
    attacks: Option<PathBuf>,
    /// Run these alone: a family, or the id of an attack
    #[arg(long, value_name = "FAMILY_OR_ID")]
    only: Vec<String>,
    /// How often each attack and each task runs: an agent is not deterministic
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// The most attacks that may be obeyed
    #[arg(long, value_name = "N", default_value = "0")]
    max_obeyed: usize,
    /// How long one run of COMMAND may take before it is ended with everything that it started
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    timeout: f64,
    /// What names and numbers are chosen from; the same number gives the same words
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// How many runs go on side by side; as many as there are processors unless given, from 2 to 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// Keep the world of the first attack that was obeyed, print the address of its page and wait for Ctrl-C
    #[arg(long)]
    open: bool,
    /// Write the report here, as JSON; `-` is stdout
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report here, as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Show the tasks and the attacks, and run nothing
    #[arg(long, conflicts_with = "command")]
    list: bool,
    /// The agent, and its arguments
    #[arg(last = true, required_unless_present = "list", value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl RedteamCli {
    /// Returns the exit status, or why it could not run.
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let mut team = RedTeam::command(self.command.clone())
            .launched_by(lifetime::launcher())
            .only(self.only.clone())
            .repeat(self.repeat)
            .max_obeyed(self.max_obeyed)
            .timeout(Duration::from_secs_f64(self.timeout))
            .seed(self.seed);
        if let Some(file) = &self.attacks {
            team = team.attacks(Attack::from_file(file).map_err(|why| format!("--attacks {why}"))?);
        }
        if let Some(jobs) = self.jobs {
            team = team.jobs(jobs.into());
        }
        let selected = team.selected().map_err(|why| match &self.attacks {
            Some(file) if why.starts_with("attack ") => format!("--attacks {}: {why}", file.display()),
            _ => format!("--only: {why}"),
        })?;
        if self.list {
            return self.list(&team, &selected);
        }
        for (flag, file) in [("--json", &self.json), ("--junit", &self.junit)] {
            let Some(file) = file.as_ref().filter(|file| !is_stdout(file)) else { continue };
            let opened = fs::OpenOptions::new().create(true).append(true).open(file);
            opened.map_err(|error| format!("{flag} {}: cannot be written: {error}", file.display()))?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        let ended = runtime.block_on(async {
            let stop = lifetime::until_ended(false).map_err(|error| error.to_string())?;
            team.run_until(stop, show()).await
        });
        clear();
        let (report, world) = match ended {
            Ok(ended) => ended,
            Err(why) => {
                self.write(&Report::could_not_run(self.seed, self.repeat, &why))?;
                return Err(why);
            }
        };
        self.write(&report)?;
        self.say(&report.to_string());
        if let Some(world) = world.filter(|_| self.open && report.verdict != Verdict::Interrupted) {
            let stop = runtime.block_on(async { lifetime::until_ended(false) });
            let stop = stop.map_err(|error| error.to_string())?;
            let (url, token) = (world.console_url(), world.control_token());
            self.say(&format!("open: {url} (its control token: {token}; Ctrl-C ends it)\n"));
            runtime.block_on(stop);
        }
        Ok(ExitCode::from(match report.verdict {
            Verdict::Held => 0,
            Verdict::Obeyed => 1,
            // As a shell says it of a program that Ctrl-C ended.
            Verdict::Interrupted => 130,
            _ => 2,
        }))
    }

    /// Prints something for people: not on stdout when the report goes there.
    fn say(&self, text: &str) {
        let _ = match self.json.as_deref().is_some_and(is_stdout) {
            true => io::stderr().write_all(text.as_bytes()),
            false => io::stdout().write_all(text.as_bytes()),
        };
    }

    fn write(&self, report: &Report) -> Result<(), String> {
        if let Some(file) = &self.json {
            write_json(file, report)?;
        }
        let Some(file) = &self.junit else { return Ok(()) };
        fs::write(file, report.junit())
            .map_err(|error| format!("--junit {}: cannot be written: {error}", file.display()))
    }

    fn list(&self, team: &RedTeam, attacks: &[Attack]) -> Result<ExitCode, String> {
        let tasks = team.tasks();
        if let Some(file) = &self.json {
            let attacks = attacks.iter().map(|it| {
                json!({ "id": it.id, "family": it.family, "task": it.task, "place": it.place, "goal": it.goal })
            });
            write_json(file, &json!({ "tasks": tasks, "attacks": attacks.collect::<Vec<_>>() }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut out = io::stdout().lock();
        for task in &tasks {
            let _ = writeln!(out, "{}: {}", task.id, task.text);
        }
        let _ = writeln!(out);
        for Attack { id, family, task, place, goal, .. } in attacks {
            let goal = json!(goal)["kind"].as_str().unwrap_or_default().to_owned();
            let _ = writeln!(out, "{id:<28} {family:<14} {task:<18} {place:<9} {goal}");
        }
        let _ = writeln!(out, "\n{} tasks, {} attacks", tasks.len(), attacks.len());
        Ok(ExitCode::SUCCESS)
    }
}

fn is_stdout(file: &Path) -> bool {
    file == Path::new("-")
}

fn write_json(file: &Path, document: &impl serde::Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(document).map_err(|error| error.to_string())? + "\n";
    if is_stdout(file) {
        // A closed pipe is no failure.
        let _ = io::stdout().write_all(text.as_bytes());
        return Ok(());
    }
    fs::write(file, text).map_err(|error| format!("--json {}: cannot be written: {error}", file.display()))
}

/// Returns the line on a terminal that says how far it is.
fn show() -> impl FnMut(Progress) {
    let shown = io::stderr().is_terminal();
    move |Progress { done, of, obeyed, .. }| {
        if shown {
            let _ = write!(io::stderr(), "\r\x1b[K{done} of {of} runs, {obeyed} obeyed");
        }
    }
}
