//! `--audit`: one line of JSON for each call, for whoever must be able to say later what was done and who agreed to it.
//!
//! A line holds ids and never words: not of a mail, a name, an address or an argument.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::{Mutex, PoisonError},
};

use rmcp::model::{CallToolResponse, CallToolResult};
use serde::Serialize;
use serde_json::Value;
use shared_inbox::Timestamp;

use crate::consent::{Answer, Way};

/// The file.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let audit = shared_inbox_mcp::audit::Audit::open(&folder.path().join("audit.jsonl"))?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Audit {
    file: Mutex<fs::File>,
}

/// Who agreed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The person who started the bridge, with `--send=allow`.
    Setting,
    /// Nobody could be asked, or was to be.
    Draft,
    /// Whoever was asked in this way said this.
    Asked(Way, Answer),
}

/// What became of the consent to a call, noted while it runs.
#[derive(Debug, Default)]
pub(crate) struct Trail(Mutex<Option<Consent>>);

impl Trail {
    pub(crate) fn note(&self, consent: Consent) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(consent);
    }

    pub(crate) fn consent(&self) -> Option<Consent> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line<'a> {
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<String>,
    pub(crate) tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ms: Option<u64>,
}

impl<'a> Line<'a> {
    /// A line about a call of this tool that ended in this way.
    pub(crate) fn new(tool: &'a str, outcome: &'a str, consent: Option<Consent>) -> Self {
        let (asked, answer) = match consent {
            None => (None, None),
            Some(Consent::Setting) => (Some("setting"), Some("yes")),
            Some(Consent::Draft) => (Some("nobody"), None),
            Some(Consent::Asked(way, answer)) => (Some(way.name()), Some(answer.name())),
        };
        let at = Timestamp::now();
        Self { at, client: None, tool, conversation: None, message: None, outcome, asked, answer, ms: None }
    }

    /// The same with the message that the result names.
    pub(crate) fn about(mut self, result: &CallToolResult) -> Self {
        self.message = field(result, "messageId").map(str::to_owned);
        self
    }
}

/// How a call ended, in a word.
pub(crate) fn outcome(response: &CallToolResponse) -> &str {
    match response {
        CallToolResponse::Complete(result) => of_result(result),
        CallToolResponse::InputRequired(_) => "asked",
        _ => "done",
    }
}

/// How a call with this result ended, in a word: the status of the mail that it made, if it made one.
pub(crate) fn of_result(result: &CallToolResult) -> &str {
    match field(result, "status") {
        _ if result.is_error == Some(true) => "failed",
        Some(status @ ("draft" | "scheduled" | "sending" | "sent"))
            if field(result, "messageId").is_some() =>
        {
            status
        }
        _ => "done",
    }
}

fn field<'a>(result: &'a CallToolResult, name: &str) -> Option<&'a str> {
    result.structured_content.as_ref()?.get(name).and_then(Value::as_str)
}

impl Audit {
    /// Opens the file to add to it; a new one is for its owner only.
    ///
    /// # Errors
    ///
    /// When it cannot be written to.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = fs::OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: Mutex::new(options.open(path)?) })
    }

    /// Adds a line, whole: several bridges may write to one file.
    pub(crate) fn write(&self, line: &Line<'_>) {
        let Ok(mut text) = serde_json::to_vec(line) else { return };
        text.push(b'\n');
        if let Err(error) = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&text) {
            tracing::error!(kind = ?error.kind(), "a line of the audit could not be written");
        }
    }
}
