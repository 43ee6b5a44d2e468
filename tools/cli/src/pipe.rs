//! Functions of the process that started this one, run over stdin and stdout: a JSON document a line, one run
//! at a time.
//!
//! That process sends `{"language", "function", "check", "options"}` first. It then gets `{"run": 1,
//! "world"}` and `{"check": 2, "world"}`, answers each with `{"done": 1}` or `{"failed": 1, "error"}`, and
//! gets `{"report", "text"}` or `{"error"}` last, or `{"wrong"}` where an option is.

use std::{
    io::{self, BufRead, Write},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Map, Value, json};
use shared_inbox_explore::explore::{Explore, Report, Scenario, Verdict, piped::Functions};
use tokio::sync::{mpsc, oneshot};

const MAX_SECONDS: f64 = 86_400.0;
/// The keys of a scenario that can be options; those of a server stand in its file.
const KEYS: [&str; 8] = ["mails", "people", "scopes", "days", "same", "rules", "ignore", "expect"];

/// What the other process wants.
struct Wanted {
    explore: Explore,
    replay: Option<String>,
    language: String,
}

impl Wanted {
    fn read(mut first: Value, answers: mpsc::UnboundedReceiver<Value>) -> Result<Self, String> {
        let Value::Object(mut options) = first["options"].take() else {
            return Err("options: are required".to_owned());
        };
        options.retain(|_, value| !value.is_null());
        let seconds = take_seconds(&mut options, "seconds")?;
        let app_timeout = take_seconds(&mut options, "app_timeout")?;
        let app_timeout =
            app_timeout.map_or_else(|| take_seconds(&mut options, "appTimeout"), |it| Ok(Some(it)))?;
        let (seed, schedules) = (take_number(&mut options, "seed")?, take_number(&mut options, "schedules")?);
        let replay = match options.remove("replay") {
            None => None,
            Some(Value::String(token)) => Some(token),
            Some(other) => return Err(format!("replay: {other} is no token of a finding")),
        };
        let command = take_command(&mut options)?;
        if command.is_some() && first["check"] == true {
            return Err("check: is called in the process of a function, and the app is a command".to_owned());
        }
        let scenario = take_scenario(options)?;
        let mut explore = match command {
            Some(words) => Explore::command(scenario, words).launched_by(crate::lifetime::launcher()),
            None => {
                let name = first["function"]["name"].as_str().map(str::to_owned);
                let functions = Functions::new(write, answers, first["check"] == true, name);
                Explore::functions(scenario, functions)
            }
        };
        if let Some(token) = &replay {
            explore.check_token(token).map_err(|why| why.to_string().trim_start_matches("--").to_owned())?;
        }
        if let Some(seconds) = seconds {
            explore = explore.seconds(seconds);
        }
        if let Some(timeout) = app_timeout {
            explore = explore.app_timeout(Duration::from_secs_f64(timeout));
        }
        if let Some(seed) = seed {
            explore = explore.seed(seed);
        }
        if schedules == Some(0) {
            return Err("schedules: 0 would try nothing; it must be 1 or more".to_owned());
        }
        if let Some(schedules) = schedules {
            explore = explore.max_schedules(schedules);
        }
        Ok(Self { explore, replay, language: first["language"].as_str().unwrap_or_default().to_owned() })
    }
}

/// Takes the words of a program, where the app is one.
fn take_command(options: &mut Map<String, Value>) -> Result<Option<Vec<String>>, String> {
    let Some(words) = options.remove("command") else { return Ok(None) };
    let words: Option<Vec<String>> =
        words.as_array().map(|words| words.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let words = words.filter(|words| !words.is_empty());
    words.map(Some).ok_or_else(|| "app: a command is a list of its words".to_owned())
}

/// Takes a scenario from its file, or from its keys among the options.
fn take_scenario(mut options: Map<String, Value>) -> Result<Scenario, String> {
    if let Some(file) = options.remove("scenario") {
        if let Some(option) = options.keys().next() {
            return Err(format!("{option}: belongs into the file of the scenario"));
        }
        let file = file.as_str().ok_or_else(|| format!("scenario: {file} is no path of a file"))?;
        return Scenario::from_file(file).map_err(|why| format!("scenario: {why}"));
    }
    if let Some(option) = options.keys().find(|option| !KEYS.contains(&option.as_str())) {
        let others = "scenario, check, seconds, seed, schedules, replay and the timeout of a run";
        return Err(format!("{option}: is no option; there are {}, {others}", KEYS.join(", ")));
    }
    Scenario::from_options(options).map_err(|why| why.to_string())
}

fn take_seconds(options: &mut Map<String, Value>, name: &str) -> Result<Option<f64>, String> {
    let Some(value) = options.remove(name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| (0.1..=MAX_SECONDS).contains(seconds));
    seconds
        .map(Some)
        .ok_or_else(|| format!("{name}: {value} is no number of seconds from 0.1 to {MAX_SECONDS}"))
}

fn take_number(options: &mut Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    let Some(value) = options.remove(name) else { return Ok(None) };
    value.as_u64().map(Some).ok_or_else(|| format!("{name}: {value} is no whole number from 0 on"))
}

/// Writes a line to the other process.
fn write(line: &Value) -> Result<(), String> {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    written.map_err(|error| format!("stdout: {error}"))
}

/// `shared-inbox-mock explore --pipe`.
pub(crate) fn explore() -> Result<ExitCode, String> {
    let (lines, mut answers) = mpsc::unbounded_channel();
    let (closed, stdin_closed) = oneshot::channel();
    let is_gone = Arc::new(AtomicBool::new(false));
    let gone = Arc::clone(&is_gone);
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if lines.send(serde_json::from_str(&line).unwrap_or_default()).is_err() {
                break;
            }
        }
        gone.store(true, Ordering::Release);
        let _ = closed.send(());
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let explored = runtime.block_on(async {
        let stop = crate::lifetime::until_ended_with(stdin_closed).map_err(|error| error.to_string())?;
        let first = answers.recv().await.ok_or("stdin: a line is required")?;
        let Wanted { explore, replay, language } = match Wanted::read(first, answers) {
            Ok(wanted) => wanted,
            Err(why) => {
                write(&json!({ "wrong": why }))?;
                return Ok(ExitCode::from(2));
            }
        };
        let report = match &replay {
            None => explore.run_until(stop, |_| {}).await.map_err(|why| why.to_string())?,
            Some(token) => tokio::select! {
                report = explore.replay(token) => report.map_err(|why| why.to_string())?,
                () = stop => Report::interrupted(0),
            },
        };
        write(&json!({ "report": report, "text": failure_message(&report, &language) }))?;
        Ok(status(&report))
    });
    runtime.shutdown_background();
    if let Err(why) = &explored {
        // Then nobody is there to hear of the error, which is that very end or follows from it.
        if is_gone.load(Ordering::Acquire) {
            return Ok(ExitCode::from(130));
        }
        write(&json!({ "error": why }))?;
    }
    explored
}

/// Returns what a failing test says, with the test that replays it in its own language.
fn failure_message(report: &Report, language: &str) -> String {
    let mut said = String::new();
    for finding in &report.findings {
        let _ = finding.write_story(&mut said);
        let test = if language == "typescript" { &finding.tests.typescript } else { &finding.tests.python };
        said.push_str(&format!("\nA test that replays it:\n\n{test}\n"));
    }
    said.push_str(&report.summary());
    said.push('\n');
    let _ = report.write_remarks(&mut said);
    said.trim_end().to_owned()
}

/// Returns the exit status of a report.
pub(crate) fn status(report: &Report) -> ExitCode {
    ExitCode::from(match report.verdict {
        Verdict::Held => 0,
        Verdict::CouldNotRun => 2,
        // As a shell says it of a program that Ctrl-C ended.
        Verdict::Interrupted => 130,
        _ => 1,
    })
}
