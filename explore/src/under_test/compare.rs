//! The user's command that says whether two texts are the same.

use std::{process::Stdio, time::Duration};

use serde_json::json;
use tokio::{io::AsyncWriteExt, process::Command};

use crate::error::{ExploreError, Result};

/// How long it may take: a model may be asked.
const COMPARE_TIMEOUT: Duration = Duration::from_secs(60);

/// Asks the command whether two texts are the same: status 0 is yes, 1 no.
pub(crate) async fn compare(command: &[String], a: &str, b: &str) -> Result<bool> {
    let failed = |why: String| ExploreError::Same(format!("{}: {why}", command.join(" ")));
    let (program, arguments) = command.split_first().ok_or_else(|| failed("has no words".to_owned()))?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        // It need not read them.
        let _ = stdin.write_all(json!({ "a": a, "b": b }).to_string().as_bytes()).await;
    }
    let ended = tokio::time::timeout(COMPARE_TIMEOUT, child.wait()).await;
    let status = ended.map_err(|_| failed("does not end".to_owned()))?;
    match status.map_err(|error| failed(error.to_string()))?.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        other => Err(failed(format!("ended with {other:?}, neither 0 nor 1"))),
    }
}
