//! Replies: written as drafts or scheduled, and sent.

use shared_inbox::{
    ActorId, Direction, DocumentRequestId, MessageId, MessageStatus, ReplyResult, Sender, Status, Timestamp,
    Turn,
    input::{Reply, RequestDocuments},
};

use super::{MailOutcome, OutboxKind, OutboxMail};
use crate::world::{
    Job, StepKind, World,
    conversation::{Item, MessageRecord},
};

/// The text above a checklist without a message.
const PLEASE_SEND: &str = "Please send us the following:";

/// Who writes it.
pub(super) enum Author {
    /// A person or an agent.
    Someone(ActorId),
    /// The drafting helper of the app.
    Helper,
    /// The service itself.
    Service,
}

impl Author {
    pub(super) fn from_actor(by: Option<ActorId>) -> Self {
        by.map_or(Author::Service, Author::Someone)
    }
}

impl World {
    pub(crate) fn reply(
        &mut self,
        at: usize,
        by: Option<ActorId>,
        reply: Reply,
        now: Timestamp,
    ) -> ReplyResult {
        self.write(at, Author::from_actor(by), reply, None, now)
    }

    pub(crate) fn request_documents(
        &mut self,
        at: usize,
        by: Option<ActorId>,
        request: RequestDocuments,
        now: Timestamp,
    ) -> ReplyResult {
        let text = request.message.filter(|text| !text.is_empty()).unwrap_or_else(|| PLEASE_SEND.to_owned());
        let mut reply = Reply::new(text);
        (reply.send, reply.documents) = (request.send, Some(request.documents));
        let due_date = request.due_date.map(|date| date.to_string());
        self.write(at, Author::from_actor(by), reply, due_date, now)
    }

    /// Writes a reply and schedules it if it is to be sent. `due_date` is that of the document request.
    pub(super) fn write(
        &mut self,
        at: usize,
        author: Author,
        reply: Reply,
        due_date: Option<String>,
        now: Timestamp,
    ) -> ReplyResult {
        let mailbox = self.mailbox_of(at);
        let name = match &author {
            Author::Someone(who) => self.name_of(who).unwrap_or_default(),
            Author::Helper | Author::Service => &mailbox.name,
        };
        let mut from = Sender::new(&mailbox.address);
        from.name = Some(name.to_owned());
        let mut message = MessageRecord::outbound(self.ids.next_id(), now, from, reply.body);
        message.helper = matches!(author, Author::Helper);
        if let Author::Someone(who) = author {
            message.author = Some(who);
        }
        message.summary = reply.summary;
        message.status = Some(MessageStatus::Draft);
        let id = message.id.clone();
        let documents = reply.documents.unwrap_or_default();
        let request_id =
            (!documents.is_empty()).then(|| self.create_document_request(at, &id, documents, due_date));
        if let Some(request) = &request_id {
            self.add_checklist(request, &mut message.text, reply.send);
        }
        message.request = request_id.clone();
        self.append(at, Item::Message(message));
        if let Some(request) = &request_id {
            self.record_step(StepKind::DocumentRequest, request.as_str(), "asked", Some(at), now);
        }
        let sends_at = reply.send.then(|| self.schedule(&id, now));
        let note = match (sends_at, self.mailbox_of(at).sandbox) {
            (Some(_), _) => {
                "It goes out when the undo window has passed; anyone on the team can stop it until then."
            }
            (None, false) => "It waits for a person's approval; nothing reaches the customer before.",
            (None, true) => {
                "It waits for approval, which nobody can give in the sandbox; to test a send, set send to true."
            }
        };
        let status = if reply.send { MessageStatus::Scheduled } else { MessageStatus::Draft };
        let mut result = ReplyResult::new(id, status);
        (result.sends_at, result.request_id, result.note) = (sends_at, request_id, Some(note.to_owned()));
        result
    }

    /// Schedules a draft for the end of its undo window.
    pub(crate) fn schedule(&mut self, id: &MessageId, now: Timestamp) -> Timestamp {
        let Some(place) = self.message(id.as_str()) else { return now };
        let sends_at = now + self.undo_window(self.index.positions[place.0].mailbox);
        self.set_message_status(place, MessageStatus::Scheduled);
        self.message_mut(place).sends_at = Some(sends_at);
        self.record_message_step(place, now);
        self.schedule_job(sends_at, Job::Send { message: id.clone() }, now);
        sends_at
    }

    /// A scheduled message leaves.
    pub(crate) fn send(&mut self, id: &MessageId, now: Timestamp) {
        let Some(place) = self.message(id.as_str()) else { return };
        let message = self.message_mut(place);
        if message.status != Some(MessageStatus::Scheduled) {
            return;
        }
        message.status = Some(MessageStatus::Sending);
        message.sends_at = None;
        let request = message.request.clone();
        if self.deliver(id, OutboxKind::Reply, now) {
            self.went_out(place, request, now);
        }
        self.react(id, now);
    }

    /// Updates the conversation of a sent message. An email that came in after the message was written is not
    /// answered by it: the conversation stays open then, and it stays the team's turn.
    fn went_out(
        &mut self,
        (at, written): (usize, usize),
        request: Option<DocumentRequestId>,
        now: Timestamp,
    ) {
        let thread = &mut self.conversations[at];
        let unanswered =
            thread.timeline.iter().skip(written + 1).any(
                |item| matches!(item, Item::Message(message) if message.direction == Direction::Inbound),
            );
        if thread.status == Status::Open && !unanswered {
            thread.status = Status::Waiting;
            self.update_lists(at);
        }
        if let Some(request) = request {
            self.request_went_out(&request, now);
        }
        // A closed conversation stays done.
        if self.conversations[at].status != Status::Closed && !unanswered {
            self.turn(at, Turn::Theirs, now);
        }
    }

    /// Delivers a message; returns whether it was sent.
    pub(crate) fn deliver(&mut self, id: &MessageId, kind: OutboxKind, now: Timestamp) -> bool {
        let Some(place) = self.message(id.as_str()) else { return false };
        let thread = &self.conversations[place.0];
        let to = thread.contact.email.clone().unwrap_or_default();
        let subject = format!("Re: {}", thread.subject);
        let text = self.message_at(place).text.clone();
        let sandbox = self.mailbox_of(place.0).sandbox;
        let refused = to.is_empty() || self.message_at(place).bounces || (sandbox && self.bounces(&to));
        let sent = !refused;
        let (status, outcome) = if sent {
            (MessageStatus::Sent, MailOutcome::Sent)
        } else {
            (MessageStatus::Failed, MailOutcome::Failed)
        };
        self.set_message_status(place, status);
        self.record_message_step(place, now);
        self.outbox.push(OutboxMail {
            at: now,
            kind,
            message_id: Some(id.clone()),
            to,
            subject,
            text,
            outcome,
        });
        if sent {
            self.emit_sent(place.0, id, now);
        }
        sent
    }
}
