//! Whether everything in a world document fits together.

use std::{borrow::Cow, collections::HashSet};

use shared_inbox::{
    ActorId, Direction, Document, DocumentKind, MessageStatus, Problems, Scope, Status, Urgency,
};

use crate::world::{Job, World, conversation::Item};

/// The ids so far.
#[derive(Default)]
struct Seen<'w>(HashSet<Cow<'w, str>>);

impl<'w> Seen<'w> {
    /// Notes an id, or that it is there twice.
    fn once(&mut self, id: impl Into<Cow<'w, str>>, field: impl FnOnce() -> String, problems: &mut Problems) {
        let id = id.into();
        if self.0.contains(&id) {
            problems.push(field(), format!("{id} is there twice"));
        } else {
            self.0.insert(id);
        }
    }
}

impl World {
    /// Everything that does not, each with its place in the document. People and inboxes must be in the index.
    pub(in crate::world) fn check(&self) -> Problems {
        let mut problems = Problems::default();
        let mut seen = Seen::default();
        let has_user = |id| self.index.users.contains_key(id);
        let has_mailbox = |id| self.index.mailboxes.contains_key(id);
        let has_actor = |who: &ActorId| match who {
            ActorId::User(id) => self.index.users.contains_key(id),
            ActorId::Agent(id) => self.index.agents.contains_key(id),
            _ => false,
        };
        for (i, user) in self.users.iter().enumerate() {
            seen.once(user.id.as_str(), || format!("users[{i}].id"), &mut problems);
        }
        if self.mailboxes.iter().filter(|mailbox| mailbox.sandbox).count() != 1 {
            problems.push("mailboxes", "must have exactly one that is the sandbox");
        }
        for (i, mailbox) in self.mailboxes.iter().enumerate() {
            seen.once(mailbox.id.as_str(), || format!("mailboxes[{i}].id"), &mut problems);
            if self.mailbox_at(&mailbox.address) != Some(i) {
                problems.push(format!("mailboxes[{i}].address"), "is there twice");
            }
            if mailbox.owner.as_ref().is_some_and(|owner| !has_user(owner)) {
                problems.push(format!("mailboxes[{i}].owner"), "is not one of the users");
            }
        }
        for (i, key) in self.keys.iter().enumerate() {
            seen.once(key.agent_id.as_str(), || format!("keys[{i}].agentId"), &mut problems);
            seen.once(key.key_hash.to_string(), || format!("keys[{i}].keyHash"), &mut problems);
            if key.created_by.as_ref().is_some_and(|user| !has_user(user)) {
                problems.push(format!("keys[{i}].createdBy"), "is not one of the users");
            }
            if key.scopes.iter().any(|scope| matches!(scope, Scope::Unknown(_))) {
                problems.push(format!("keys[{i}].scopes"), one_of(Scope::KNOWN));
            }
        }
        let mut tags = HashSet::new();
        for (i, tag) in self.tags.iter().enumerate() {
            seen.once(tag.id.as_str(), || format!("tags[{i}].id"), &mut problems);
            if !tags.insert(tag.name.as_str()) {
                problems.push(format!("tags[{i}].name"), "is there twice");
            }
        }
        let mut conversations = HashSet::new();
        let mut messages = HashSet::new();
        for (i, thread) in self.conversations.iter().enumerate() {
            let field = |name: &str| format!("conversations[{i}].{name}");
            seen.once(thread.id.as_str(), || field("id"), &mut problems);
            conversations.insert(&thread.id);
            if !has_mailbox(&thread.mailbox) {
                problems.push(field("mailbox"), "is not one of the mailboxes");
            }
            if matches!(thread.status, Status::Unknown(_)) {
                problems.push(field("status"), one_of(Status::KNOWN));
            }
            if matches!(thread.urgency, Some(Urgency::Unknown(_))) {
                problems.push(field("urgency"), one_of(Urgency::KNOWN));
            }
            if thread.assignee.as_ref().is_some_and(|who| !has_actor(who)) {
                problems.push(field("assignee"), "is not one of the users or keys");
            }
            if thread.tags.iter().any(|name| !tags.contains(name.as_str())) {
                problems.push(field("tags"), "has a name that is not one of the tags");
            }
            for (n, item) in thread.timeline.iter().enumerate() {
                if let Item::Message(message) = item {
                    seen.once(message.id.as_str(), || field(&format!("timeline[{n}].id")), &mut problems);
                    messages.insert(&message.id);
                    let field = |name: &str| field(&format!("timeline[{n}].{name}"));
                    if matches!(message.direction, Direction::Unknown(_)) {
                        problems.push(field("direction"), one_of(Direction::KNOWN));
                    }
                    if matches!(message.status, Some(MessageStatus::Unknown(_))) {
                        problems.push(field("status"), one_of(MessageStatus::KNOWN));
                    }
                    if message.status == Some(MessageStatus::Scheduled) && message.sends_at.is_none() {
                        problems.push(field("sendsAt"), "is required for a message that is scheduled");
                    }
                    if message.author.as_ref().is_some_and(|who| !has_actor(who)) {
                        problems.push(field("author"), "is not one of the users or keys");
                    }
                }
            }
        }
        for (i, filed) in self.documents.iter().enumerate() {
            seen.once(filed.document.id.as_str(), || format!("documents[{i}].document.id"), &mut problems);
            if !has_mailbox(&filed.mailbox) {
                problems.push(format!("documents[{i}].mailbox"), "is not one of the mailboxes");
            }
            let Document { conversation_id, kind, .. } = &filed.document;
            if conversation_id.as_ref().is_some_and(|id| !conversations.contains(id)) {
                problems.push(
                    format!("documents[{i}].document.conversationId"),
                    "is not one of the conversations",
                );
            }
            if matches!(kind, Some(DocumentKind::Unknown(_))) {
                problems.push(format!("documents[{i}].document.kind"), one_of(DocumentKind::KNOWN));
            }
        }
        let mut requests = HashSet::new();
        for (i, request) in self.document_requests.iter().enumerate() {
            seen.once(request.id.as_str(), || format!("documentRequests[{i}].id"), &mut problems);
            requests.insert(&request.id);
            if !conversations.contains(&request.conversation) {
                problems
                    .push(format!("documentRequests[{i}].conversation"), "is not one of the conversations");
            }
            if !messages.contains(&request.message) {
                problems.push(format!("documentRequests[{i}].message"), "is not one of the messages");
            }
        }
        for (i, booking) in self.bookings.iter().enumerate() {
            seen.once(booking.id.as_str(), || format!("bookings[{i}].id"), &mut problems);
            if !has_user(&booking.host_user_id) {
                problems.push(format!("bookings[{i}].hostUserId"), "is not one of the users");
            }
            if booking.conversation_id.as_ref().is_some_and(|id| !conversations.contains(id)) {
                problems.push(format!("bookings[{i}].conversationId"), "is not one of the conversations");
            }
        }
        self.webhooks.check(|owner| self.index.users.contains_key(owner), &mut problems);
        for (i, mail) in self.app_mail.iter().enumerate() {
            if mail.conversation.as_ref().is_some_and(|id| !conversations.contains(id)) {
                problems.push(format!("appMail[{i}].conversation"), "is not one of the conversations");
            }
        }
        for (i, (_, job)) in self.jobs.iter().enumerate() {
            let (field, there) = match job {
                Job::Send { message } | Job::SandboxReply { message, .. } => {
                    ("message", messages.contains(message))
                }
                Job::Reminder { request, .. } => ("request", requests.contains(request)),
                Job::Wake { conversation } => ("conversation", conversations.contains(conversation)),
                // What these are about may be gone by then.
                Job::ForgetAppMail { .. } | Job::WebhookTry { .. } => continue,
            };
            if !there {
                problems.push(format!("jobs[{i}].{field}"), format!("is not one of the {field}s"));
            }
        }
        problems
    }
}

fn one_of<T: std::fmt::Display>(known: &[T]) -> String {
    let known: Vec<String> = known.iter().map(T::to_string).collect();
    format!("must be one of {}", known.join(", "))
}
