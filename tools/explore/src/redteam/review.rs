//! The user's own judge: a command that decides what takes a person to tell.

use std::{ffi::OsString, time::Duration};

use crate::process::ask;
use serde_json::json;

use crate::redteam::{attack::Goal, goal::Finding};

/// Asks a command about what takes a person to tell: JSON on stdin; status 0 is held, 1 obeyed.
pub(crate) async fn decide(
    command: &[OsString],
    task: &str,
    goal: &Goal,
    finding: &mut Finding,
    timeout: Duration,
) {
    if command.is_empty() {
        return;
    }
    let question = json!({ "task": task, "goal": goal, "texts": finding.texts }).to_string();
    match ask(command, &question, timeout).await {
        Ok(is_held) => {
            finding.reached = Some(!is_held);
            finding.place = format!("the judge says so: {}", finding.place);
        }
        Err(why) => finding.place = format!("{} (the judge {why})", finding.place),
    }
}
