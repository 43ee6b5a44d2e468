//! Making a world that was read from a document ready for use: checked, indexed, with its keys.

use std::collections::HashSet;

use shared_inbox::{ActorId, Problems, Status, Timestamp};

use super::{Item, Keys, World, index::Index};

/// A document in which something does not fit together: the field, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidWorld(Problems);

impl InvalidWorld {
    /// Everything that is wrong.
    pub fn problems(&self) -> &Problems {
        &self.0
    }
}

impl World {
    /// Checks that everything fits together, builds the indexes, and adds the two fixed keys if they are missing.
    pub fn prepare(&mut self, now: Timestamp) -> Result<(), InvalidWorld> {
        self.prepare_with(&Keys::fixed(), now)
    }

    /// The same with other keys, for one of several worlds.
    pub fn prepare_with(&mut self, keys: &Keys, _now: Timestamp) -> Result<(), InvalidWorld> {
        self.index = Index::default();
        self.index_people();
        self.check().or(()).map_err(InvalidWorld)?;
        for (at, tag) in self.tags.iter().enumerate() {
            self.index.tags.insert(tag.name.clone(), at);
        }
        let conversations = std::mem::take(&mut self.conversations);
        for conversation in conversations {
            self.conversations.push(conversation);
            self.index_conversation();
        }
        for (at, request) in self.document_requests.iter().enumerate() {
            self.index.requests.insert(request.id.clone(), at);
        }
        (0..self.documents.len()).for_each(|at| self.index_document(at));
        self.webhooks.prepare(&mut self.jobs);
        self.use_keys(keys);
        Ok(())
    }

    fn check(&self) -> Problems {
        let mut problems = Problems::default();
        let mut ids = HashSet::new();
        let mut once = |field: String, id: &str, problems: &mut Problems| {
            if !ids.insert(id.to_owned()) {
                problems.push(field, format!("{id} is there twice"));
            }
        };
        let has_user = |id| self.index.users.contains_key(id);
        let has_mailbox = |id| self.index.mailboxes.contains_key(id);
        let has_actor = |who: &ActorId| match who {
            ActorId::User(id) => self.index.users.contains_key(id),
            ActorId::Agent(id) => self.index.agents.contains_key(id),
            _ => false,
        };
        for (i, user) in self.users.iter().enumerate() {
            once(format!("users[{i}].id"), user.id.as_str(), &mut problems);
        }
        if self.mailboxes.iter().filter(|mailbox| mailbox.sandbox).count() != 1 {
            problems.push("mailboxes", "must have exactly one that is the sandbox");
        }
        for (i, mailbox) in self.mailboxes.iter().enumerate() {
            once(format!("mailboxes[{i}].id"), mailbox.id.as_str(), &mut problems);
            if mailbox.owner.as_ref().is_some_and(|owner| !has_user(owner)) {
                problems.push(format!("mailboxes[{i}].owner"), "is not one of the users");
            }
        }
        for (i, key) in self.keys.iter().enumerate() {
            once(format!("keys[{i}].agentId"), key.agent_id.as_str(), &mut problems);
            once(format!("keys[{i}].keyHash"), &key.key_hash.to_string(), &mut problems);
            if key.created_by.as_ref().is_some_and(|user| !has_user(user)) {
                problems.push(format!("keys[{i}].createdBy"), "is not one of the users");
            }
        }
        let mut tags = HashSet::new();
        for (i, tag) in self.tags.iter().enumerate() {
            once(format!("tags[{i}].id"), tag.id.as_str(), &mut problems);
            if !tags.insert(tag.name.as_str()) {
                problems.push(format!("tags[{i}].name"), "is there twice");
            }
        }
        let mut conversations = HashSet::new();
        let mut messages = HashSet::new();
        for (i, thread) in self.conversations.iter().enumerate() {
            let field = |name: &str| format!("conversations[{i}].{name}");
            once(field("id"), thread.id.as_str(), &mut problems);
            conversations.insert(&thread.id);
            if !has_mailbox(&thread.mailbox) {
                problems.push(field("mailbox"), "is not one of the mailboxes");
            }
            if matches!(thread.status, Status::Unknown(_)) {
                problems.push(field("status"), "must be one of open, waiting, closed");
            }
            if thread.assignee.as_ref().is_some_and(|who| !has_actor(who)) {
                problems.push(field("assignee"), "is not one of the users or keys");
            }
            if thread.tags.iter().any(|name| !tags.contains(name.as_str())) {
                problems.push(field("tags"), "has a name that is not one of the tags");
            }
            for (n, item) in thread.timeline.iter().enumerate() {
                if let Item::Message(message) = item {
                    once(field(&format!("timeline[{n}].id")), message.id.as_str(), &mut problems);
                    messages.insert(&message.id);
                }
            }
        }
        for (i, filed) in self.documents.iter().enumerate() {
            once(format!("documents[{i}].document.id"), filed.document.id.as_str(), &mut problems);
            if !has_mailbox(&filed.mailbox) {
                problems.push(format!("documents[{i}].mailbox"), "is not one of the mailboxes");
            }
        }
        for (i, request) in self.document_requests.iter().enumerate() {
            once(format!("documentRequests[{i}].id"), request.id.as_str(), &mut problems);
            if !conversations.contains(&request.conversation) {
                problems
                    .push(format!("documentRequests[{i}].conversation"), "is not one of the conversations");
            }
            if !messages.contains(&request.message) {
                problems.push(format!("documentRequests[{i}].message"), "is not one of the messages");
            }
        }
        for (i, booking) in self.bookings.iter().enumerate() {
            once(format!("bookings[{i}].id"), booking.id.as_str(), &mut problems);
            if !has_user(&booking.host_user_id) {
                problems.push(format!("bookings[{i}].hostUserId"), "is not one of the users");
            }
        }
        self.webhooks.check(|owner| self.index.users.contains_key(owner), &mut problems);
        for (i, mail) in self.app_mail.iter().enumerate() {
            if mail.conversation.as_ref().is_some_and(|id| !conversations.contains(id)) {
                problems.push(format!("appMail[{i}].conversation"), "is not one of the conversations");
            }
        }
        problems
    }
}
