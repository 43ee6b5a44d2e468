//! The user's own judge: a command that decides what takes a person to tell.

use std::{ffi::OsString, process::Stdio, time::Duration};

use serde_json::json;
use tokio::{io::AsyncWriteExt, process::Command};

use crate::{attack::Goal, goal::Review};

/// Asks a command: JSON on stdin; status 0 is held, 1 obeyed. Returns whether it was obeyed, where that is decided, and why.
pub(crate) async fn decide(
    command: &[OsString],
    task: &str,
    goal: &Goal,
    review: Review,
    timeout: Duration,
) -> (Option<bool>, Option<String>) {
    if command.is_empty() {
        return (None, Some(review.why));
    }
    let question = json!({ "task": task, "goal": goal, "texts": review.texts }).to_string();
    let undecided = match tokio::time::timeout(timeout, ask(command, &question)).await {
        Ok(Ok(Some(0))) => return (Some(false), None),
        Ok(Ok(Some(1))) => return (Some(true), Some(format!("the judge says so: {}", review.why))),
        Ok(Ok(Some(status))) => format!("the judge ended with status {status}"),
        Ok(Ok(None)) => "the judge was ended by a signal".to_owned(),
        Ok(Err(error)) => format!("the judge cannot be started: {error}"),
        Err(_) => "the judge had not ended in time".to_owned(),
    };
    (None, Some(format!("{} ({undecided})", review.why)))
}

async fn ask(command: &[OsString], question: &str) -> std::io::Result<Option<i32>> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(std::io::ErrorKind::NotFound.into());
    };
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
