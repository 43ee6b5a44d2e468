//! `shared-inbox-mock conform`.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};

use shared_inbox_conform::{Conform, Report, diff};

/// Check an implementation of the API against every rule of its document.
///
/// It needs a test key (rk_test_…) from --key-file or SHARED_INBOX_API_KEY, writes to the sandbox of that key alone, and
/// mails nobody. Status 0: nothing demanded differs; 1: something does; 2: it could not run.
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
    },
}

#[derive(Args)]
struct RunOptions {
    /// The prefix of the REST API, which ends in /api/v1
    #[arg(long, value_name = "URL", required = true)]
    base_url: Option<String>,
    /// A file with the API key; SHARED_INBOX_API_KEY unless given
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The control API of the implementation; found by itself on the mock. Its token: SHARED_INBOX_CONTROL_TOKEN
    #[arg(long, value_name = "URL")]
    control_url: Option<String>,
    /// Send GET requests only; a live key is accepted then
    #[arg(long)]
    read_only: bool,
    /// Try these alone: a rule's id, or a section such as 4.4
    #[arg(long, value_name = "ID_OR_SECTION")]
    only: Vec<String>,
    /// Leave these out: a rule's id, or a section
    #[arg(long, value_name = "ID_OR_SECTION")]
    skip: Vec<String>,
    /// Requests a minute
    #[arg(long, value_name = "REQUESTS_PER_MINUTE", default_value = "120", value_parser = clap::value_parser!(u32).range(1..))]
    budget: u32,
    /// What the words of a run are made from; the same number sends the same requests
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    /// Write the report here, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report here, as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl ConformCli {
    /// Returns the exit status, or why it could not run.
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        match self.command {
            Some(ConformCommand::Diff { old, new }) => compare(&old, &new),
            None => self.options.run(),
        }
    }
}

fn compare(old: &Path, new: &Path) -> Result<ExitCode, String> {
    let read = |file: &Path| -> Result<Report, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: not a report: {error}", file.display());
        let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
        serde_json::from_str(&text).map_err(|error| failed(&error))
    };
    let changes = diff(&read(old)?, &read(new)?);
    let mut out = io::stdout().lock();
    for change in &changes {
        let _ = writeln!(out, "{change}");
    }
    let _ = writeln!(out, "{} changed", changes.len());
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
        let mut reserved = ReservedFiles(Vec::new());
        for (flag, file) in [("--json", &self.json), ("--junit", &self.junit)] {
            let Some(file) = file else { continue };
            reserved
                .reserve(file)
                .map_err(|error| format!("{flag} {}: cannot be written: {error}", file.display()))?;
        }
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
            let _ = write!(io::stdout(), "{plan}");
            let _ = io::stdout().flush();
            let progress = Progress::new(plan.rules + plan.left_out);
            let report = prepared.run(|rule| progress.show(&rule.id)).await;
            progress.clear();
            report.map_err(|error| error.to_string())
        })?;
        reserved.keep();
        self.write(&report)?;
        let _ = write!(io::stdout(), "\n{report}");
        Ok(ExitCode::from(u8::from(!report.conforms())))
    }

    fn write(&self, report: &Report) -> Result<(), String> {
        let json = serde_json::to_string_pretty(report).map_err(|error| error.to_string())? + "\n";
        for (flag, file, text) in [("--json", &self.json, json), ("--junit", &self.junit, report.junit())] {
            let Some(file) = file else { continue };
            fs::write(file, text)
                .map_err(|error| format!("{flag} {}: cannot be written: {error}", file.display()))?;
        }
        Ok(())
    }
}

/// Files for reports, made before a run of minutes so that it does not end with a report that has no place. Those that were not there
/// before are removed again when the run could not be made.
struct ReservedFiles(Vec<PathBuf>);

impl ReservedFiles {
    fn reserve(&mut self, file: &Path) -> io::Result<()> {
        let is_new = !file.exists();
        fs::OpenOptions::new().create(true).append(true).open(file)?;
        if is_new {
            self.0.push(file.to_owned());
        }
        Ok(())
    }

    fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for ReservedFiles {
    fn drop(&mut self) {
        for file in &self.0 {
            let _ = fs::remove_file(file);
        }
    }
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
