//! What an agent does to a conversation with a word: notes and the status.

use serde_json::Value;
use shared_inbox::{Note, Status, Timestamp, Turn, input::AddNote};

use super::Item;
use crate::world::World;

impl World {
    pub(in crate::world) fn add_note(&mut self, key: usize, at: usize, note: AddNote, now: Timestamp) {
        let author = self.keys[key].name.clone();
        let note = Note { id: self.ids.fresh(), at: now, author, body: note.body };
        self.append(at, Item::Note(note));
    }

    /// Sets the status. The same status again changes nothing.
    pub(in crate::world) fn set_status(&mut self, key: usize, at: usize, status: Status, now: Timestamp) {
        let actor = self.keys[key].name.clone();
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
