//! Checks that everything in a world document fits together.

use std::{borrow::Cow, collections::HashSet, fmt::Display};

use shared_inbox::{
    ActorId, ConversationId, Direction, DocumentKind, MessageStatus, Problems, Scope, Status, Turn, Urgency,
    UserId,
};

use crate::{
    json::schema::not_one_of,
    world::{Job, World, conversation::Item},
};

/// The problems and the ids found so far.
#[derive(Default)]
struct Checks<'w> {
    problems: Problems,
    seen: HashSet<Cow<'w, str>>,
}

impl<'w> Checks<'w> {
    /// Records a problem of a field unless the condition holds.
    fn require(&mut self, holds: bool, field: impl FnOnce() -> String, problem: &str) {
        if !holds {
            self.problems.push(field(), problem);
        }
    }

    /// Records each value of a field that is none of the known ones.
    fn require_known<'v, T: Display + PartialEq + 'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v T>,
        field: impl Fn() -> String,
        known: &[T],
    ) {
        for value in values.into_iter().filter(|value| !known.contains(value)) {
            let words: Vec<String> = known.iter().map(T::to_string).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.problems.push(field(), not_one_of(&words, &value.to_string()));
        }
    }

    /// Records an id, or that it occurs twice.
    fn require_unique(&mut self, id: impl Into<Cow<'w, str>>, field: impl FnOnce() -> String) {
        let id = id.into();
        if self.seen.contains(&id) {
            self.problems.push(field(), format!("{id} is there twice"));
        } else {
            self.seen.insert(id);
        }
    }
}

impl World {
    /// Returns everything that does not fit, each with its place in the document. People and inboxes must be
    /// indexed.
    pub(crate) fn check(&self) -> Problems {
        let mut checks = Checks::default();
        let has_user = |id: &UserId| self.index.users.contains_key(id);
        let has_mailbox = |id| self.index.mailboxes.contains_key(id);
        let has_actor = |who: &ActorId| match who {
            ActorId::User(id) => self.index.users.contains_key(id),
            ActorId::Agent(id) => self.index.agents.contains_key(id),
            _ => false,
        };
        for (i, user) in self.users.iter().enumerate() {
            checks.require_unique(user.id.as_str(), || format!("users[{i}].id"));
        }
        let sandboxes = self.mailboxes.iter().filter(|mailbox| mailbox.sandbox).count();
        checks.require(
            sandboxes == 1,
            || "mailboxes".to_owned(),
            "must have exactly one that is the sandbox",
        );
        for (i, mailbox) in self.mailboxes.iter().enumerate() {
            let field = |name: &str| format!("mailboxes[{i}].{name}");
            checks.require_unique(mailbox.id.as_str(), || field("id"));
            let first = self.mailbox_at(&mailbox.address) == Some(i);
            checks.require(first, || field("address"), "is there twice");
            let owned = mailbox.owner.as_ref().is_none_or(has_user);
            checks.require(owned, || field("owner"), "is not one of the users");
        }
        for (i, key) in self.keys.iter().enumerate() {
            let field = |name: &str| format!("keys[{i}].{name}");
            checks.require_unique(key.agent_id.as_str(), || field("agentId"));
            checks.require_unique(key.key_hash.to_string(), || field("keyHash"));
            let created = key.created_by.as_ref().is_none_or(has_user);
            checks.require(created, || field("createdBy"), "is not one of the users");
            checks.require_known(&key.scopes, || field("scopes"), Scope::KNOWN);
        }
        let mut tags = HashSet::new();
        for (i, tag) in self.tags.iter().enumerate() {
            checks.require_unique(tag.id.as_str(), || format!("tags[{i}].id"));
            let first = tags.insert(tag.name.as_str());
            checks.require(first, || format!("tags[{i}].name"), "is there twice");
        }
        let mut conversations = HashSet::new();
        let mut messages = HashSet::new();
        for (i, thread) in self.conversations.iter().enumerate() {
            let field = |name: &str| format!("conversations[{i}].{name}");
            checks.require_unique(thread.id.as_str(), || field("id"));
            conversations.insert(&thread.id);
            checks.require(has_mailbox(&thread.mailbox), || field("mailbox"), "is not one of the mailboxes");
            checks.require_known([&thread.status], || field("status"), Status::KNOWN);
            checks.require_known(&thread.turn, || field("turn"), Turn::KNOWN);
            checks.require_known(&thread.urgency, || field("urgency"), Urgency::KNOWN);
            let assigned = thread.assignee.as_ref().is_none_or(has_actor);
            checks.require(assigned, || field("assignee"), "is not one of the users or keys");
            let tagged = thread.tags.iter().all(|name| tags.contains(name.as_str()));
            checks.require(tagged, || field("tags"), "has a name that is not one of the tags");
            for (n, item) in thread.timeline.iter().enumerate() {
                let Item::Message(message) = item else { continue };
                let field = |name: &str| field(&format!("timeline[{n}].{name}"));
                checks.require_unique(message.id.as_str(), || field("id"));
                messages.insert(&message.id);
                checks.require_known([&message.direction], || field("direction"), Direction::KNOWN);
                checks.require_known(&message.status, || field("status"), MessageStatus::KNOWN);
                let timed = message.status != Some(MessageStatus::Scheduled) || message.sends_at.is_some();
                checks.require(timed, || field("sendsAt"), "is required for a message that is scheduled");
                let authored = message.author.as_ref().is_none_or(has_actor);
                checks.require(authored, || field("author"), "is not one of the users or keys");
            }
        }
        let has_conversation = |id: &ConversationId| conversations.contains(id);
        for (i, filed) in self.documents.iter().enumerate() {
            let (field, document) = (|name: &str| format!("documents[{i}].{name}"), &filed.document);
            checks.require_unique(document.id.as_str(), || field("document.id"));
            checks.require(has_mailbox(&filed.mailbox), || field("mailbox"), "is not one of the mailboxes");
            let there = document.conversation_id.as_ref().is_none_or(has_conversation);
            checks.require(there, || field("document.conversationId"), "is not one of the conversations");
            checks.require_known(&document.kind, || field("document.kind"), DocumentKind::KNOWN);
        }
        let mut requests = HashSet::new();
        for (i, request) in self.document_requests.iter().enumerate() {
            let field = |name: &str| format!("documentRequests[{i}].{name}");
            checks.require_unique(request.id.as_str(), || field("id"));
            requests.insert(&request.id);
            let there = has_conversation(&request.conversation);
            checks.require(there, || field("conversation"), "is not one of the conversations");
            let sent = messages.contains(&request.message);
            checks.require(sent, || field("message"), "is not one of the messages");
        }
        for (i, booking) in self.bookings.iter().enumerate() {
            let field = |name: &str| format!("bookings[{i}].{name}");
            checks.require_unique(booking.id.as_str(), || field("id"));
            checks.require(
                has_user(&booking.host_user_id),
                || field("hostUserId"),
                "is not one of the users",
            );
            let there = booking.conversation_id.as_ref().is_none_or(has_conversation);
            checks.require(there, || field("conversationId"), "is not one of the conversations");
        }
        self.webhooks.check(has_user, &mut checks.problems);
        for (i, mail) in self.app_mail.iter().enumerate() {
            let there = mail.conversation.as_ref().is_none_or(has_conversation);
            checks.require(there, || format!("appMail[{i}].conversation"), "is not one of the conversations");
        }
        for (i, (_, job)) in self.jobs.iter().enumerate() {
            let (field, there) = match job {
                Job::Send { message } | Job::SandboxReply { message, .. } => {
                    ("message", messages.contains(message))
                }
                Job::Reminder { request, .. } => ("request", requests.contains(request)),
                Job::Wake { conversation } => ("conversation", has_conversation(conversation)),
                // What these are about may be gone by then.
                Job::ForgetAppMail { .. } | Job::WebhookAttempt { .. } => continue,
            };
            checks.require(there, || format!("jobs[{i}].{field}"), &format!("is not one of the {field}s"));
        }
        checks.problems
    }
}
