//! An agent that is a function of the process that started this one, over stdin and stdout: a JSON document a
//! line, one run at a time.
//!
//! That process sends `{"attack": "ID"}`, gets `{"run": 1, "world"}` for each run that this takes, answers it
//! with `{"done": 1}` or `{"failed": 1, "error"}`, and gets `{"result", "text"}` last, or `{"error"}`. Then
//! it may send the next attack.

use std::{
    collections::HashMap,
    io::{self, BufRead, Write},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use serde_json::{Value, json};
use shared_inbox_explore::redteam::{AgentContext, Attack, RedTeam, Report, Verdict};
use tokio::sync::{Mutex, mpsc};

/// What the other process sends.
type Lines = Arc<Mutex<mpsc::UnboundedReceiver<Value>>>;

fn write(line: &Value) -> Result<(), String> {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    written.map_err(|error| format!("stdout: {error}"))
}

/// Runs the function of the other process once.
async fn run(lines: Lines, number: u64, context: AgentContext) -> Result<(), String> {
    let mut lines = lines.lock().await;
    let AgentContext { base_url, key, mcp_url, state_dir, task, .. } = context;
    let world =
        json!({ "base_url": base_url, "key": key, "mcp_url": mcp_url, "state_dir": state_dir, "task": task });
    write(&json!({ "run": number, "world": world }))?;
    loop {
        let answer = lines.recv().await.ok_or("the process that has the function has ended")?;
        if answer["done"] == number {
            return Ok(());
        }
        if answer["failed"] == number {
            return Err(answer["error"].as_str().unwrap_or_default().to_owned());
        }
        // What a run says that took too long.
    }
}

/// `shared-inbox-mock redteam --pipe`: `configure` has the flags of the red team.
pub(crate) fn serve(configure: impl Fn(RedTeam) -> Result<RedTeam, String>) -> Result<ExitCode, String> {
    let (send, receive) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(serde_json::from_str(&line).unwrap_or_default()).is_err() {
                break;
            }
        }
    });
    let (lines, runs): (Lines, _) = (Arc::new(Mutex::new(receive)), Arc::new(AtomicU64::new(0)));
    let for_agent = Arc::clone(&lines);
    let team = configure(RedTeam::function(move |context| {
        run(Arc::clone(&for_agent), runs.fetch_add(1, Ordering::Relaxed) + 1, context)
    }))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async {
        // By task: what the agent does without an attack, and what was said where it does not do the task.
        // Neither is run again.
        let mut known: HashMap<String, Report> = HashMap::new();
        let mut useless: HashMap<String, Value> = HashMap::new();
        loop {
            let Some(wanted) = lines.lock().await.recv().await else { return Ok(ExitCode::SUCCESS) };
            // Anything else is the answer to a run that took too long.
            let Some(id) = wanted["attack"].as_str() else { continue };
            let one = team.clone().only([id]).jobs(1);
            let attack = match one.selected() {
                Ok(selected) => selected.into_iter().next(),
                Err(why) => {
                    write(&json!({ "error": why.to_string() }))?;
                    continue;
                }
            };
            let Some(Attack { id, family, task, place, goal, .. }) = attack else { continue };
            if let Some(answer) = useless.get_mut(&task) {
                let result = json!({ "id": id, "family": family, "place": place, "goal": goal.kind() });
                for (field, value) in result.as_object().into_iter().flatten() {
                    answer["result"][field] = value.clone();
                }
                write(answer)?;
                continue;
            }
            let one = match known.remove(&task) {
                Some(report) => one.resume(report),
                None => one,
            };
            let mut report = one.run().await.map_err(|error| error.to_string())?;
            let text = report.to_string();
            let answer = json!({ "result": report.attacks.first(), "why": report.why, "text": text });
            write(&answer)?;
            if report.verdict == Verdict::Useless {
                useless.insert(task, answer);
            } else {
                report.attacks.clear();
                known.insert(task, report);
            }
        }
    })
}
