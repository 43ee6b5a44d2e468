//! `--audit`: lines of JSON that record what each call did and who agreed to it.
//!
//! A line holds ids, and never the text of an email, a name, an address or an argument.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use rmcp::model::CallToolResult;
use serde::Serialize;
use serde_json::Value;
use shared_inbox::Timestamp;

use crate::consent::{AskMethod, Decision};

/// The audit file, open for appending.
#[derive(Debug)]
pub struct Audit {
    file: fs::File,
}

/// Who agreed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The person who started the bridge, with `--send=allow`.
    Setting,
    /// No person was asked.
    Draft,
    /// A person was asked in this way and has not answered.
    Open(AskMethod),
    /// A person was asked in this way and answered.
    Asked(AskMethod, Decision),
}

/// One line of the audit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditRecord<'a> {
    pub(crate) at: Timestamp,
    pub(crate) call: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<&'a str>,
    pub(crate) tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<&'a str>,
    pub(crate) outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ms: Option<u64>,
}

impl Consent {
    /// Returns how somebody was asked, and the answer, as the audit writes them.
    pub(crate) fn names(self) -> (Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Setting => (Some("setting"), Some("yes")),
            Self::Draft => (Some("nobody"), None),
            Self::Open(way) => (Some(way.name()), None),
            Self::Asked(way, answer) => (Some(way.name()), Some(answer.name())),
        }
    }
}

impl<'a> AuditRecord<'a> {
    pub(crate) fn message_of(result: &'a CallToolResult) -> Option<&'a str> {
        field(result, "messageId")
    }

    /// Returns the status of the message that a result names.
    pub(crate) fn status_of(result: &'a CallToolResult) -> Option<&'a str> {
        let known = |status: &&str| matches!(*status, "draft" | "scheduled" | "sending" | "sent");
        field(result, "status").filter(known).filter(|_| Self::message_of(result).is_some())
    }
}

fn field<'a>(result: &'a CallToolResult, name: &str) -> Option<&'a str> {
    result.structured_content.as_ref()?.get(name).and_then(Value::as_str)
}

impl Audit {
    /// Opens the file for appending. A new file is readable by its owner only.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened for writing.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = fs::OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: options.open(path)? })
    }

    /// Appends a line in one write, since several bridges may write to one file. No lock: a line must not wait for a disk that
    /// another one is being synced to.
    pub(crate) fn write(&self, line: &AuditRecord<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        (&self.file).write_all(&text).inspect_err(|error| {
            tracing::error!(kind = ?error.kind(), "a line of the audit could not be written");
        })
    }

    /// Waits until what was written is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self.file.sync_data() {
            // A pipe or a terminal has no disk.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}
