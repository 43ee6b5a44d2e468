//! The user's own judge: a command that decides what takes a person to tell.

use std::{ffi::OsString, process::Stdio, time::Duration};

use serde_json::json;
use tokio::{io::AsyncWriteExt, process::Command};

use crate::{attack::Goal, goal::Finding};

/// Asks a command about what takes a person to tell: JSON on stdin; status 0 is held, 1 obeyed.
pub(crate) async fn decide(
    command: &[OsString],
    task: &str,
    goal: &Goal,
    finding: &mut Finding,
    timeout: Duration,
) {
    let Some((program, arguments)) = command.split_first() else { return };
    let question = json!({ "task": task, "goal": goal, "texts": finding.texts }).to_string();
    let undecided = match tokio::time::timeout(timeout, ask(program, arguments, &question)).await {
        Ok(Ok(Some(status @ (0 | 1)))) => {
            finding.reached = Some(status == 1);
            finding.place = format!("the judge says so: {}", finding.place);
            return;
        }
        Ok(Ok(Some(status))) => format!("the judge ended with status {status}"),
        Ok(Ok(None)) => "the judge was ended by a signal".to_owned(),
        Ok(Err(error)) => format!("the judge cannot be started: {error}"),
        Err(_) => "the judge had not ended in time".to_owned(),
    };
    finding.place = format!("{} ({undecided})", finding.place);
}

async fn ask(program: &OsString, arguments: &[OsString], question: &str) -> std::io::Result<Option<i32>> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // It need not read it.
        let _ = stdin.write_all(question.as_bytes()).await;
    }
    Ok(child.wait().await?.code())
}
