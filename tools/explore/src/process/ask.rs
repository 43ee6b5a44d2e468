//! A command of the user's that answers a question.

use std::{ffi::OsStr, process::Stdio, time::Duration};

use tokio::{io::AsyncWriteExt, process::Command};

/// Asks a command, which gets the question on stdin and ends with status 0 for yes or 1 for no.
///
/// # Errors
///
/// How it ended otherwise, in words that follow its name.
pub async fn ask<S: AsRef<OsStr>>(command: &[S], question: &str, timeout: Duration) -> Result<bool, String> {
    let (program, arguments) = command.split_first().ok_or("has no words")?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let ended = async {
        if let Some(mut stdin) = child.stdin.take() {
            // It need not read it.
            let _ = stdin.write_all(question.as_bytes()).await;
        }
        child.wait().await
    };
    let ended = tokio::time::timeout(timeout, ended).await.map_err(|_| "had not ended in time")?;
    match ended.map_err(|error| error.to_string())?.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        Some(status) => Err(format!("ended with status {status}")),
        None => Err("was ended by a signal".to_owned()),
    }
}
