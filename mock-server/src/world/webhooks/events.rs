//! Webhook events: when they happen, and their data.
//!
//! Summaries never contain text of an email or a note, or the name of a customer or a file.

use std::sync::Arc;

use shared_inbox::{
    __spec::limits, ActorId, ActorType, AskKind, ConversationId, DocumentRequestId, MessageId, Timestamp,
    Turn,
};
use shared_inbox_webhooks::event::{
    AskCompleted, Booking, ClientReplied, ConversationAssigned, DraftApproved, Event, EventActor,
    EventAssignee, EventAuthor, EventKind, MessageSent, ScoutHeld, TurnChanged,
};

use super::{Audience, EventSource};
use crate::world::{
    StepKind, World,
    conversation::start,
    people::{Plan, actor_type},
};

/// How many of the last events are stored.
const MAX_EVENTS_KEPT: usize = 10_000;

/// Returns the address of a conversation in the app.
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
        let mut event = Event::new(self.ids.next_id(), kind);
        event.created_at = Some(now);
        event.workspace = Some(self.workspace.id.clone());
        event.livemode = Some(audience.livemode);
        event.summary = start(summary, limits::EVENT_SUMMARY).to_owned();
        event.url = url;
        self.record_step(StepKind::Event, event.id.as_str(), event.kind.event_type(), at, now);
        self.record_event(event.clone());
        self.webhooks.emit(event, audience, &mut self.jobs, now);
    }

    /// Stores an event, whether or not a webhook subscribes to it.
    pub(crate) fn record_event(&mut self, event: Event) {
        if self.emitted.len() >= MAX_EVENTS_KEPT {
            self.emitted.pop_front();
        }
        self.emitted.push_back(Arc::new(event));
    }

    /// Returns the last events, oldest first, whether or not a webhook subscribes to them.
    pub(crate) fn latest_events(&self) -> Vec<Arc<Event>> {
        self.emitted.iter().cloned().collect()
    }

    /// Emits an event about a conversation, with the audience of its inbox.
    fn emit_in(&mut self, at: usize, summary: &str, kind: EventKind, now: Timestamp) {
        let mailbox = self.mailbox_of(at);
        let inbox = mailbox.owner.clone().map_or(EventSource::Team, EventSource::Private);
        let audience = Audience { livemode: !mailbox.sandbox, inbox };
        let url = url(&self.conversations[at].id);
        self.emit(&audience, Some(url), summary, kind, Some(at), now);
    }

    fn event_assignee(&self, at: usize) -> Option<EventAssignee> {
        let who = self.conversations[at].assignee.as_ref()?;
        let mut assignee = EventAssignee::new(actor_type(who), who.clone());
        assignee.name = self.name_of(who).map(str::to_owned);
        Some(assignee)
    }

    /// Returns an actor; `None` is the service itself.
    fn event_actor(&self, who: Option<&ActorId>) -> EventActor {
        let kind = who.map_or(ActorType::System, actor_type);
        let mut actor = EventActor::new(kind, self.actor_name(who));
        actor.id = who.cloned();
        actor
    }

    pub(crate) fn emit_ask_completed(&mut self, at: usize, ask: &DocumentRequestId, now: Timestamp) {
        let data = AskCompleted::new(ask.clone(), AskKind::Documents, self.conversations[at].id.clone());
        self.emit_in(at, "Everything that was asked for is in", EventKind::AskCompleted(data), now);
    }

    pub(crate) fn emit_client_replied(
        &mut self,
        at: usize,
        message: &MessageId,
        secure: bool,
        now: Timestamp,
    ) {
        let record = &self.conversations[at];
        let mut data = ClientReplied::new(record.id.clone(), message.clone(), record.mailbox.clone());
        data.secure = secure;
        data.reference.clone_from(&record.reference);
        let summary = format!("Someone wrote back to {}", self.mailbox_of(at).name);
        self.emit_in(at, &summary, EventKind::ClientReplied(data), now);
    }

    pub(crate) fn emit_assigned(&mut self, at: usize, by: Option<&ActorId>, now: Timestamp) {
        let assignee = self.event_assignee(at);
        let to = assignee.as_ref().and_then(|who| who.name.as_deref()).unwrap_or("nobody");
        let assigned_by = self.event_actor(by);
        let summary = format!("{} gave a conversation to {to}", assigned_by.name);
        let conversation_id = self.conversations[at].id.clone();
        let mut data = ConversationAssigned::new(conversation_id, assigned_by);
        data.assignee = assignee;
        self.emit_in(at, &summary, EventKind::ConversationAssigned(data), now);
    }

    /// Changes the turn, and emits an event if it was another's.
    pub(crate) fn turn(&mut self, at: usize, turn: Turn, now: Timestamp) {
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
        let mut data = TurnChanged::new(conversation_id, turn);
        (data.previous, data.assignee) = (previous, self.event_assignee(at));
        self.emit_in(at, summary, EventKind::TurnChanged(data), now);
    }

    pub(crate) fn emit_approved(
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
        let mut data = DraftApproved::new(self.conversations[at].id.clone(), message.clone(), approved_by);
        (data.drafted_by.kind, data.drafted_by.id) = (author.as_ref().map(actor_type), author);
        data.edited = edited;
        self.emit_in(at, &summary, EventKind::DraftApproved(data), now);
    }

    pub(crate) fn emit_sent(&mut self, at: usize, message: &MessageId, now: Timestamp) {
        let Some(record) = self.message(message.as_str()).map(|place| self.message_at(place)) else { return };
        // The drafting helper is an agent without an id; the service's own email has no author.
        let helper = record.helper.then(|| EventAuthor::new(ActorType::Agent));
        let someone = record.author.as_ref().map(|who| {
            let mut author = EventAuthor::new(actor_type(who));
            author.id = Some(who.clone());
            author
        });
        let conversation = &self.conversations[at];
        let mut data =
            MessageSent::new(conversation.id.clone(), message.clone(), conversation.mailbox.clone());
        (data.author, data.secure) = (someone.or(helper), record.secure);
        let summary = format!("An email went out from {}", self.mailbox_of(at).name);
        self.emit_in(at, &summary, EventKind::MessageSent(data), now);
    }

    pub(crate) fn emit_held(&mut self, at: usize, now: Timestamp) {
        let data = ScoutHeld::new(self.conversations[at].id.clone());
        let summary = format!("A likely scam to {} was held", self.mailbox_of(at).name);
        self.emit_in(at, &summary, EventKind::ScoutHeld(data), now);
    }

    pub(crate) fn emit_booking(&mut self, booking: usize, now: Timestamp) {
        let record = &self.bookings[booking];
        let mut data = Booking::new(
            record.id.clone(),
            record.booking_type_id.clone(),
            record.host_user_id.clone(),
            record.starts_at,
            record.ends_at,
        );
        data.conversation_id.clone_from(&record.conversation_id);
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
                    &Audience { livemode: true, inbox: EventSource::Workspace },
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
