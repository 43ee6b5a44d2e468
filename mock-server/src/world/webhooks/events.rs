//! When a webhook event happens, and with what data.
//!
//! Every summary is a sentence of ours: it never holds a word of a mail, a note, a name of a customer or of a file.

use std::sync::Arc;

use shared_inbox::{
    ActorId, ActorType, AskKind, ConversationId, DocumentRequestId, Event, EventKind, MessageId, Timestamp,
    Turn,
    event::{
        AskCompleted, Booking, ClientReplied, ConversationAssigned, DraftApproved, EventActor, EventAssignee,
        EventAuthor, EventDrafter, MessageSent, ScoutHeld, TurnChanged,
    },
    limits,
};

use super::{Audience, Inbox};
use crate::world::{
    StepKind, World,
    conversation::start,
    people::{Plan, kind_of},
};

/// Events that are kept for those who look at what happened.
const MAX_EVENTS_KEPT: usize = 10_000;

/// Where the app would show a conversation.
fn url(conversation: &ConversationId) -> String {
    format!("https://app.shared-inbox.example/conversations/{conversation}")
}

impl World {
    fn emit(
        &mut self,
        audience: &Audience,
        url: Option<String>,
        summary: &str,
        kind: EventKind,
        at: Option<usize>,
        now: Timestamp,
    ) {
        if self.workspace.plan == Plan::Free {
            return;
        }
        let event = Event {
            id: self.ids.fresh(),
            version: Some(1),
            created_at: Some(now),
            workspace: Some(self.workspace.id.clone()),
            livemode: Some(audience.livemode),
            summary: start(summary, limits::EVENT_SUMMARY).to_owned(),
            url,
            kind,
            raw: None,
        };
        self.step(StepKind::Event, event.id.as_str(), event.kind.event_type(), at, now);
        self.remember(event.clone());
        self.webhooks.emit(event, audience, &mut self.jobs, now);
    }

    /// Keeps an event for those who look at what happened, whether or not a webhook hears it.
    pub(in crate::world) fn remember(&mut self, event: Event) {
        if self.emitted.len() >= MAX_EVENTS_KEPT {
            self.emitted.pop_front();
        }
        self.emitted.push_back(Arc::new(event));
    }

    /// The last events of the service, oldest first, whether or not a webhook heard them. Not part of the document.
    pub fn emitted(&self) -> impl Iterator<Item = &Event> {
        self.emitted.iter().map(Arc::as_ref)
    }

    /// The same, to be looked at without keeping others waiting.
    pub(crate) fn latest_events(&self) -> Vec<Arc<Event>> {
        self.emitted.iter().cloned().collect()
    }

    /// An event about a conversation, for those who may hear of its inbox.
    fn emit_in(&mut self, at: usize, summary: &str, kind: EventKind, now: Timestamp) {
        let mailbox = self.mailbox_of(at);
        let inbox = mailbox.owner.clone().map_or(Inbox::Team, Inbox::Private);
        let audience = Audience { livemode: !mailbox.sandbox, inbox };
        let url = url(&self.conversations[at].id);
        self.emit(&audience, Some(url), summary, kind, Some(at), now);
    }

    fn event_assignee(&self, at: usize) -> Option<EventAssignee> {
        let who = self.conversations[at].assignee.as_ref()?;
        let name = self.name_of(who).map(str::to_owned);
        Some(EventAssignee { kind: kind_of(who), id: who.clone(), name })
    }

    /// `None` is the service itself.
    fn event_actor(&self, who: Option<&ActorId>) -> EventActor {
        let kind = who.map_or(ActorType::System, kind_of);
        EventActor { kind, id: who.cloned(), name: self.name_of_doer(who) }
    }

    pub(in crate::world) fn emit_ask_completed(
        &mut self,
        at: usize,
        ask: &DocumentRequestId,
        now: Timestamp,
    ) {
        let data = AskCompleted {
            ask_id: ask.clone(),
            kind: AskKind::Documents,
            conversation_id: self.conversations[at].id.clone(),
        };
        self.emit_in(at, "Everything that was asked for is in", EventKind::AskCompleted(data), now);
    }

    pub(in crate::world) fn emit_client_replied(
        &mut self,
        at: usize,
        message: &MessageId,
        secure: bool,
        now: Timestamp,
    ) {
        let data = ClientReplied {
            conversation_id: self.conversations[at].id.clone(),
            message_id: message.clone(),
            mailbox_id: self.conversations[at].mailbox.clone(),
            secure,
            reference: self.conversations[at].reference.clone(),
        };
        let summary = format!("Someone wrote back to {}", self.mailbox_of(at).name);
        self.emit_in(at, &summary, EventKind::ClientReplied(data), now);
    }

    pub(in crate::world) fn emit_assigned(&mut self, at: usize, by: Option<&ActorId>, now: Timestamp) {
        let assignee = self.event_assignee(at);
        let to = assignee.as_ref().and_then(|who| who.name.as_deref()).unwrap_or("nobody");
        let assigned_by = self.event_actor(by);
        let summary = format!("{} gave a conversation to {to}", assigned_by.name);
        let conversation_id = self.conversations[at].id.clone();
        let data = ConversationAssigned { conversation_id, assignee, assigned_by };
        self.emit_in(at, &summary, EventKind::ConversationAssigned(data), now);
    }

    /// Makes it another one's turn, and tells of it if it was not so before.
    pub(in crate::world) fn turn(&mut self, at: usize, turn: Turn, now: Timestamp) {
        let thread = &mut self.conversations[at];
        if thread.turn.as_ref() == Some(&turn) {
            return;
        }
        let previous = thread.turn.replace(turn.clone());
        let conversation_id = thread.id.clone();
        let summary = match turn {
            Turn::Ours => "It is the team's turn",
            Turn::Theirs => "It is the customer's turn",
            _ => "The conversation is done",
        };
        let data = TurnChanged { conversation_id, turn, previous, assignee: self.event_assignee(at) };
        self.emit_in(at, summary, EventKind::TurnChanged(data), now);
    }

    pub(in crate::world) fn emit_approved(
        &mut self,
        at: usize,
        message: &MessageId,
        by: Option<&ActorId>,
        edited: bool,
        now: Timestamp,
    ) {
        let author = self.message(message.as_str()).and_then(|place| self.message_at(place).author.clone());
        let approved_by = self.event_actor(by);
        let summary = format!("{} approved a draft", approved_by.name);
        let data = DraftApproved {
            conversation_id: self.conversations[at].id.clone(),
            message_id: message.clone(),
            drafted_by: EventDrafter { kind: author.as_ref().map(kind_of), id: author },
            approved_by,
            edited,
        };
        self.emit_in(at, &summary, EventKind::DraftApproved(data), now);
    }

    pub(in crate::world) fn emit_sent(&mut self, at: usize, message: &MessageId, now: Timestamp) {
        let Some(record) = self.message(message.as_str()).map(|place| self.message_at(place)) else { return };
        // The drafting helper is an agent without an id; the service's own mail has no author.
        let helper = record.helper.then_some(EventAuthor { kind: ActorType::Agent, id: None });
        let someone = record.author.clone().map(|who| EventAuthor { kind: kind_of(&who), id: Some(who) });
        let author = someone.or(helper);
        let data = MessageSent {
            conversation_id: self.conversations[at].id.clone(),
            message_id: message.clone(),
            mailbox_id: self.conversations[at].mailbox.clone(),
            author,
            secure: record.secure,
        };
        let summary = format!("An email went out from {}", self.mailbox_of(at).name);
        self.emit_in(at, &summary, EventKind::MessageSent(data), now);
    }

    pub(in crate::world) fn emit_held(&mut self, at: usize, now: Timestamp) {
        let data = ScoutHeld { conversation_id: self.conversations[at].id.clone() };
        let summary = format!("A likely scam to {} was held", self.mailbox_of(at).name);
        self.emit_in(at, &summary, EventKind::ScoutHeld(data), now);
    }

    pub(in crate::world) fn emit_booking(&mut self, booking: usize, now: Timestamp) {
        let record = &self.bookings[booking];
        let data = Booking {
            booking_id: record.id.clone(),
            booking_type_id: record.booking_type_id.clone(),
            host_user_id: record.host_user_id.clone(),
            conversation_id: record.conversation_id.clone(),
            starts_at: record.starts_at,
            ends_at: record.ends_at,
        };
        let host = self.name_of(&record.host_user_id.clone().into()).unwrap_or_default().to_owned();
        let (summary, kind) = if record.cancelled {
            (format!("A booking with {host} was cancelled"), EventKind::BookingCancelled(data))
        } else {
            (format!("Someone booked a time with {host}"), EventKind::BookingCreated(data))
        };
        let conversation = self.bookings[booking].conversation_id.clone();
        match conversation.and_then(|id| self.conversation(id.as_str()).ok()) {
            Some(at) => self.emit_in(at, &summary, kind, now),
            None => {
                self.emit(
                    &Audience { livemode: true, inbox: Inbox::Workspace },
                    None,
                    &summary,
                    kind,
                    None,
                    now,
                );
            }
        }
    }
}
