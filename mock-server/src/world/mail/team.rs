//! Replies of the team and drafts of the drafting helper.

use serde::{Deserialize, Serialize};
use shared_inbox::{
    ReplyResult, Timestamp,
    input::{DocumentItem, Input, Reply},
};

use super::sending::Author;
use crate::world::{Actor, Result, World};

/// A reply that someone on the team writes in the app. It goes out when the undo window has passed, unless it
/// is kept as a draft.
///
/// ```
/// use shared_inbox_mock::world::TeamReply;
/// let reply = TeamReply::new("On its way.").secure();
/// assert_eq!(
///     serde_json::to_value(reply)?,
///     serde_json::json!({ "body": "On its way.", "send": true, "secure": true }),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamReply {
    /// Plain text, at most 50,000 characters.
    pub body: String,
    /// Who writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// `false` keeps it as a draft.
    #[serde(default = "yes")]
    pub send: bool,
    /// Whether it goes as a secure link.
    #[serde(default)]
    pub secure: bool,
    /// Documents to request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schemas", schemars(schema_with = "documents"))]
    pub documents: Vec<DocumentItem>,
}

fn yes() -> bool {
    true
}

/// As in the service's own call.
#[cfg(feature = "schemas")]
fn documents(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let field =
        shared_inbox::__spec::Operation::Reply.fields().iter().find(|field| field.name == "documents");
    field.and_then(|field| field.schema().try_into().ok()).unwrap_or_default()
}

redacted_debug!(TeamReply { by, send });

impl TeamReply {
    /// Returns a reply with this text.
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), by: None, send: true, secure: false, documents: Vec::new() }
    }

    setters! {
        /// Sets who writes it.
        by(by: impl Into<Actor>) => by = Some(by.into());
        /// Keeps it as a draft.
        draft() => send = false;
        /// Sends it as a secure link.
        secure() => secure = true;
        /// Requests these documents.
        documents(documents: impl IntoIterator<Item = DocumentItem>) => documents = documents.into_iter().collect();
    }
}

/// A draft of the helper that writes replies.
///
/// ```
/// use shared_inbox_mock::world::HelperDraft;
/// let draft = HelperDraft::new("Your parcel is on its way.").summary("Says where the parcel is");
/// assert_eq!(serde_json::to_value(draft)?["summary"], "Says where the parcel is");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HelperDraft {
    /// Plain text, at most 50,000 characters.
    pub body: String,
    /// One line for the person who approves it, at most 500 characters.
    pub summary: Option<String>,
}

redacted_debug!(HelperDraft {});

impl HelperDraft {
    /// Returns a draft with this text.
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), summary: None }
    }

    setters! {
        /// Sets the line for the person who approves it.
        summary(summary: impl Into<String>) => summary = Some(summary.into());
    }
}

impl World {
    /// Writes a reply of someone on the team.
    pub fn reply_by_team(&mut self, id: &str, reply: TeamReply, now: Timestamp) -> Result<ReplyResult> {
        let at = self.conversation_or_customer(id)?;
        let by = self.resolve_actor(at, reply.by.as_ref())?;
        let mut checked = Reply::new(reply.body);
        checked.send = reply.send;
        checked.documents = Some(reply.documents).filter(|documents| !documents.is_empty());
        checked.check()?;
        let written = self.write(at, Author::from_actor(by), checked, None, now);
        if let Some(place) = self.message(written.message_id.as_str()) {
            self.message_mut(place).secure = reply.secure;
        }
        Ok(written)
    }

    /// Writes a draft of the drafting helper.
    pub fn draft_by_helper(&mut self, id: &str, draft: HelperDraft, now: Timestamp) -> Result<ReplyResult> {
        let at = self.conversation_or_customer(id)?;
        let mut checked = Reply::new(draft.body);
        checked.summary = draft.summary;
        checked.check()?;
        self.check_helpers_run(self.mailbox_of(at))?;
        Ok(self.write(at, Author::Helper, checked, None, now))
    }
}
