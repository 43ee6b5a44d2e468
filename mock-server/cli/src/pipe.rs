//! Functions of the process that started this one, run over stdin and stdout: a JSON document a line, one run at a time.
//!
//! That process sends `{"language", "function", "check", "options"}` first. It then gets `{"run": 1, "world"}` and
//! `{"check": 2, "world"}`, answers each with `{"done": 1}` or `{"failed": 1, "error"}`, and gets `{"report", "text"}` or
//! `{"error"}` last, or `{"wrong"}` where an option is.

use std::{
    io::{self, BufRead, Write},
    process::ExitCode,
    thread,
    time::Duration,
};

use serde_json::{Map, Value, json};
use shared_inbox_explore::{
    Explore, Report, Scenario,
    piped::{Function, Functions},
};
use tokio::sync::{mpsc, oneshot};

const MAX_SECONDS: f64 = 86_400.0;

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
        for server_only in ["mode", "webhook_path"] {
            if options.contains_key(server_only) {
                return Err(format!("{server_only}: a function is a job, which has no such option"));
            }
        }
        let known = ["mails", "people", "scopes", "ignore", "expect"];
        let others = "check, seconds, seed, schedules, replay and the timeout of a run";
        if let Some(option) = options.keys().find(|option| !known.contains(&option.as_str())) {
            return Err(format!("{option}: is no option; there are {}, {others}", known.join(", ")));
        }
        let scenario = Scenario::read(&options)?;
        let named = |name: &str| first["function"][name].as_str().map(str::to_owned);
        let function = named("module").zip(named("name")).map(|(module, name)| Function { module, name });
        let functions = Functions::new(write, answers, first["check"] == true, function);
        let mut explore = Explore::functions(scenario, functions);
        if let Some(token) = &replay {
            explore.check_token(token).map_err(|why| why.trim_start_matches("--").to_owned())?;
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
        if let Some(schedules) = schedules {
            explore = explore.max_schedules(schedules);
        }
        Ok(Self { explore, replay, language: first["language"].as_str().unwrap_or_default().to_owned() })
    }
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
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if lines.send(serde_json::from_str(&line).unwrap_or_default()).is_err() {
                break;
            }
        }
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
            None => explore.run_until(stop, |_| {}).await?,
            Some(token) => tokio::select! {
                report = explore.replay(token) => report?,
                () = stop => return Err("interrupted".to_owned()),
            },
        };
        write(&json!({ "report": report, "text": failure_message(&report, &language) }))?;
        Ok(ExitCode::from(u8::from(!report.held())))
    });
    if let Err(why) = &explored {
        write(&json!({ "error": why }))?;
    }
    runtime.shutdown_background();
    explored
}

/// Returns what a failing test says, with the test to paste in its own language.
fn failure_message(report: &Report, language: &str) -> String {
    let mut said = String::new();
    for finding in &report.findings {
        let _ = finding.write_story(&mut said);
        let (again, test) = match language {
            "typescript" => (format!("{{ replay: '{}' }}", finding.replay), &finding.tests.typescript),
            _ => (format!("replay=\"{}\"", finding.replay), &finding.tests.python),
        };
        said.push_str(&format!("  again: {again}\n\nA test to paste:\n\n{test}\n"));
    }
    said + &report.summary()
}
