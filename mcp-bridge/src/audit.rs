//! `--audit`: lines of JSON that record what each call did and who agreed to it.
//!
//! A line holds ids, and never the text of an email, a name, an address or an argument.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use serde::Serialize;
use shared_inbox::Timestamp;

/// The audit file, open for appending.
#[derive(Debug)]
pub struct Audit {
    file: fs::File,
}

/// How a call ended, as its lines say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuditOutcome {
    Intent,
    Done,
    Draft,
    Scheduled,
    Sending,
    Sent,
    Undelivered,
    Repeat,
    Asked,
    Failed,
    Unknown,
    Cancelled,
    TooLong,
    CutOff,
}

impl AuditOutcome {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Done => "done",
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Undelivered => "undelivered",
            Self::Repeat => "repeat",
            Self::Asked => "asked",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::TooLong => "too long",
            Self::CutOff => "cut off",
        }
    }

    /// Returns the outcome of a create whose message has this status.
    pub(crate) fn of_status(status: Option<&str>) -> Self {
        match status {
            Some("draft") => Self::Draft,
            Some("scheduled") => Self::Scheduled,
            Some("sending") => Self::Sending,
            Some("sent") => Self::Sent,
            Some("failed") => Self::Undelivered,
            _ => Self::Done,
        }
    }

    pub(crate) fn of_failure(is_unknown: bool) -> Self {
        if is_unknown { Self::Unknown } else { Self::Failed }
    }
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

    /// Appends a line in one write, since several bridges may write to one file. No lock: a line must not
    /// wait for a disk that another one is being synced to.
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
