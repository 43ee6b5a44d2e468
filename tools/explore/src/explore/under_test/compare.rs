//! The user's command that says whether two texts are the same.

use std::time::Duration;

use crate::process::ask;
use serde_json::json;

use crate::explore::error::{ExploreError, Result};

/// How long it may take: a model may be asked.
const COMPARE_TIMEOUT: Duration = Duration::from_secs(60);

/// Asks the command whether two texts are the same: status 0 is yes, 1 no.
pub(crate) async fn compare(command: &[String], a: &str, b: &str) -> Result<bool> {
    let is_same = ask(command, &json!({ "a": a, "b": b }).to_string(), COMPARE_TIMEOUT).await;
    is_same.map_err(|why| ExploreError::Same(format!("{}: {why}", command.join(" "))))
}
