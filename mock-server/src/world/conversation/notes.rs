//! Notes and the status of conversations.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared_inbox::{
    ActorId, Note, NoteId, Status, Timestamp, Turn,
    input::{AddNote, Input, SetStatus},
};

use super::Item;
use crate::world::{Actor, Result, World};

/// A note that someone on the team writes in the app.
///
/// ```
/// use shared_inbox_mock::{world::{Actor, TeamNote}};
/// let note = TeamNote::new("Called them back.").by(Actor::System);
/// assert_eq!(serde_json::to_value(note)?, serde_json::json!({ "body": "Called them back.", "by": "system" }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamNote {
    /// Plain text, 1 to 10,000 characters.
    pub body: String,
    /// Who writes it.
    pub by: Option<Actor>,
}

redacted_debug!(TeamNote { by });

impl TeamNote {
    /// Returns a note with this text.
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), by: None }
    }

    setters! {
        /// Sets who writes it.
        by(by: impl Into<Actor>) => by = Some(by.into());
    }
}

/// A note that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreatedNote {
    /// The id of the note.
    pub note_id: NoteId,
}

/// A status that someone on the team sets in the app.
///
/// ```
/// use shared_inbox::Status;
/// use shared_inbox_mock::world::StatusChange;
/// let change = StatusChange::new(Status::Closed).by("usr_anna".parse::<shared_inbox::UserId>()?);
/// assert_eq!(serde_json::to_value(change)?, serde_json::json!({ "status": "closed", "by": "usr_anna" }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StatusChange {
    /// `open`, `waiting` or `closed`.
    #[cfg_attr(feature = "schemas", schemars(with = "String", extend("enum" = crate::json::words::list(Status::KNOWN))))]
    pub status: Status,
    /// Who sets it.
    pub by: Option<Actor>,
}

impl StatusChange {
    /// Creates a change to this status.
    pub fn new(status: Status) -> Self {
        Self { status, by: None }
    }

    setters! {
        /// Sets who does it.
        by(by: impl Into<Actor>) => by = Some(by.into());
    }
}

impl World {
    /// Adds a note of someone on the team.
    pub fn note_by_team(&mut self, id: &str, note: TeamNote, now: Timestamp) -> Result<CreatedNote> {
        let at = self.conversation_or_customer(id)?;
        let by = self.resolve_actor(at, note.by.as_ref())?;
        let note = AddNote::new(note.body);
        note.check()?;
        Ok(CreatedNote { note_id: self.add_note(at, by.as_ref(), note, now) })
    }

    /// Sets the status for someone on the team.
    pub fn set_status_by_team(&mut self, id: &str, change: StatusChange, now: Timestamp) -> Result<()> {
        let at = self.conversation_or_customer(id)?;
        let by = self.resolve_actor(at, change.by.as_ref())?;
        SetStatus::new(change.status.clone()).check()?;
        self.set_status(at, by.as_ref(), change.status, now);
        Ok(())
    }

    pub(crate) fn add_note(
        &mut self,
        at: usize,
        by: Option<&ActorId>,
        note: AddNote,
        now: Timestamp,
    ) -> NoteId {
        let id: NoteId = self.ids.next_id();
        let author = self.actor_name(by);
        self.append(at, Item::Note(Note::new(id.clone(), now, author, note.body)));
        id
    }

    /// Sets the status. The same status again changes nothing.
    pub(crate) fn set_status(&mut self, at: usize, by: Option<&ActorId>, status: Status, now: Timestamp) {
        let actor = self.actor_name(by);
        let thread = &mut self.conversations[at];
        if thread.status == status {
            return;
        }
        let from = std::mem::replace(&mut thread.status, status.clone());
        let word = |status: &Status| Value::from(status.as_str());
        let data = [("from", word(&from)), ("to", word(&status))];
        self.append(at, Item::event(now, &actor, "status", data));
        let turn = match status {
            Status::Waiting => Turn::Theirs,
            Status::Closed => Turn::Done,
            _ => Turn::Ours,
        };
        self.turn(at, turn, now);
    }
}
