//! `shared-inbox-mock explore`.

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use shared_inbox_explore::explore::{Explore, Progress, Report, Scenario};

use crate::{
    page::Tool,
    pipe::{self, status},
    report_files::ReportFiles,
};

/// Find the failures and interruptions that break your app, with a command that replays them.
///
/// Runs COMMAND in worlds of its own mock server: once without trouble, then with lost responses, kills,
/// people and customers who act between two requests. The smallest scenario file is one line:
///
///   mails = ["Where is my order 1042?", "Order 1043 is broken"]
///
/// COMMAND is a job that runs to its end. It gets SHARED_INBOX_BASE_URL, SHARED_INBOX_API_KEY,
/// SHARED_INBOX_TIME, which is the time in its world, and SHARED_INBOX_STATE_DIR, a folder that it may keep
/// state in, and is run again when it fails:
///
///   shared-inbox-mock explore --scenario scenario.toml -- python app.py
///
/// With `mode = "server"` in the scenario COMMAND is started once and stays. It listens on PORT, receives
/// webhooks at `webhook_path` that are signed with SHARED_INBOX_WEBHOOK_SECRET, and is killed and started
/// again. Webhooks come twice, late, out of order, or are lost.
///
/// When everything has calmed down, every customer must be answered, none twice, what people decided
/// respected, and all else as without trouble. Status 0: nothing found; 1: something found; 2: it could not
/// run, or with --strict could not judge everything; 130: interrupted. An app whose words vary is judged by
/// how many emails, drafts and notes there are.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExploreCli {
    /// The scenario, a TOML file: `mails`, and optionally `mode`, `people`, `scopes`, `webhook_path`, `days`,
    /// `job`, `job_at`, `same`, `rules`, `ignore`, `expect`
    #[arg(long, value_name = "FILE", required_unless_present = "pipe")]
    scenario: Option<PathBuf>,
    /// How long to explore at most. Without it, each single step is tried once; with it, pairs of steps and
    /// steps at random follow. Shrinking what was found may take as long again
    #[arg(long, value_name = "N", value_parser = seconds)]
    seconds: Option<f64>,
    /// What chance starts from; another number tries other schedules
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Run the schedule of a finding again, and nothing else
    #[arg(long, value_name = "TOKEN")]
    replay: Option<String>,
    /// Run no more schedules than this
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..))]
    schedules: u64,
    /// How long one run of COMMAND may take before it is killed
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    app_timeout: f64,
    /// Go on after the first finding
    #[arg(long)]
    all: bool,
    /// End with status 2 when something could not be judged, such as the words of an app that vary from run
    /// to run
    #[arg(long)]
    strict: bool,
    /// Keep the world of the first finding open in the console afterwards, until Ctrl-C
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    reports: ReportFiles,
    /// Run a function of the process that started this one, over stdin and stdout; for test fixtures
    #[arg(long, hide = true, exclusive = true)]
    pipe: bool,
    /// The app, and its arguments
    #[arg(last = true, required_unless_present = "pipe", value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn seconds(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|seconds: &f64| (0.1..=86_400.0).contains(seconds));
    number.ok_or("must be a number of seconds from 0.1 to 86400")
}

impl ExploreCli {
    /// Returns the exit status, or why it could not run.
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let Some(file) = &self.scenario else { return pipe::explore() };
        let scenario = Scenario::from_file(file).map_err(|why| format!("--scenario {why}"))?;
        let explore = Explore::command(scenario, self.command.clone())
            .launched_by(crate::lifetime::launcher())
            .seed(self.seed)
            .max_schedules(self.schedules)
            .app_timeout(Duration::from_secs_f64(self.app_timeout));
        let explore = if self.all { explore.all() } else { explore };
        let explore = match self.seconds {
            Some(seconds) => explore.seconds(seconds),
            None => explore,
        };
        self.reports.reserve()?.keep();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        let explored = runtime.block_on(async {
            let stop = crate::lifetime::until_ended(false)
                .map_err(|error| shared_inbox_explore::explore::ExploreError::Mock(error.to_string()))?;
            match &self.replay {
                Some(token) => tokio::select! {
                    report = explore.clone().replay(token) => report,
                    () = stop => Ok(Report::interrupted(self.seed)),
                },
                None => explore.clone().run_until(stop, show()).await,
            }
        });
        clear();
        let report = explored.as_ref().map_or_else(|why| Report::could_not_run(self.seed, why), Clone::clone);
        self.reports.write(Tool::Explore, &report, &report.junit())?;
        let report = explored.map_err(|error| error.to_string())?;
        self.reports.say(&report.to_string());
        if let Some(finding) = report.findings.first().filter(|_| self.open) {
            runtime.block_on(keep_open(explore, &finding.replay))?;
        }
        if self.strict && report.held() && !report.held_strictly() {
            return Ok(ExitCode::from(2));
        }
        Ok(status(&report))
    }
}

/// Shows a schedule in the console until a signal comes.
async fn keep_open(explore: Explore, token: &str) -> Result<(), String> {
    let stop = crate::lifetime::until_ended(false).map_err(|error| error.to_string())?;
    let mut stop = std::pin::pin!(stop);
    let world = tokio::select! {
        world = explore.open(token) => world.map_err(|error| error.to_string())?,
        () = &mut stop => return Ok(()),
    };
    let _ = writeln!(io::stdout(), "open: {} (Ctrl-C ends it)", world.console_url());
    stop.await;
    Ok(())
}

/// Returns the line on a terminal that says how far it is.
fn show() -> impl FnMut(Progress) {
    let shown = io::stderr().is_terminal();
    move |progress| {
        if !shown {
            return;
        }
        let Progress { coverage, findings, .. } = progress;
        let (tried, of) = (coverage.singles.tried, coverage.singles.of);
        let left = match progress.seconds_left {
            _ if progress.is_shrinking => ", shrinking".to_owned(),
            Some(left) => format!(", {left} s left"),
            None => String::new(),
        };
        let _ = write!(io::stderr(), "\r\x1b[K{tried} of {of} single steps, {findings} found{left}");
    }
}

pub(crate) fn clear() {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
