//! What goes with each kind of event: ids, and who did it.

use serde::{Deserialize, Serialize};
use shared_inbox::{
    ActorId, ActorType, AskKind, BookingId, BookingTypeId, ConversationId, DocumentRequestId, MailboxId,
    MessageId, Timestamp, Turn, UserId, WebhookId,
};

use super::{constructors, shows};

macro_rules! data {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "__schemas", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub struct $name { $($body)* }
    )*};
}

data! {
    /// A customer has uploaded everything that was requested.
    pub struct AskCompleted {
        /// The request.
        pub ask_id: DocumentRequestId,
        /// The kind of request.
        pub kind: AskKind,
        /// The conversation.
        pub conversation_id: ConversationId,
    }

    /// Someone wrote back.
    ///
    /// A reference says which address was written to, not who wrote: look at the conversation's contact
    /// before you act on it.
    pub struct ClientReplied {
        /// The conversation.
        pub conversation_id: ConversationId,
        /// The message that came.
        pub message_id: MessageId,
        /// The inbox.
        pub mailbox_id: MailboxId,
        /// Whether it was written on a secure page.
        pub secure: bool,
        /// The app's reference, when there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "__schemas", schemars(with = "String"))]
        pub reference: Option<String>,
    }

    /// A conversation was assigned to someone or to nobody.
    pub struct ConversationAssigned {
        /// The conversation.
        pub conversation_id: ConversationId,
        /// The person or agent it is assigned to now; `None` for nobody.
        pub assignee: Option<EventAssignee>,
        /// The person or agent that assigned it.
        pub assigned_by: EventActor,
    }

    /// It is another side's turn.
    pub struct TurnChanged {
        /// The conversation.
        pub conversation_id: ConversationId,
        /// The side whose turn it is now.
        pub turn: Turn,
        /// The side whose turn it was; `None` on the first change.
        pub previous: Option<Turn>,
        /// The person or agent the conversation is assigned to; `None` for nobody.
        pub assignee: Option<EventAssignee>,
    }

    /// A person approved a draft.
    pub struct DraftApproved {
        /// The conversation.
        pub conversation_id: ConversationId,
        /// The message, which goes out when the undo window has passed.
        pub message_id: MessageId,
        /// The author.
        pub drafted_by: EventDrafter,
        /// The person who approved it.
        pub approved_by: EventActor,
        /// Whether the text was changed first.
        pub edited: bool,
    }

    /// An email went out.
    pub struct MessageSent {
        /// The conversation.
        pub conversation_id: ConversationId,
        /// The message.
        pub message_id: MessageId,
        /// The inbox it was sent from.
        pub mailbox_id: MailboxId,
        /// The author; `None` for an email of the service itself.
        pub author: Option<EventAuthor>,
        /// Whether it went as a secure link.
        pub secure: bool,
    }

    /// A booking that was made or cancelled.
    pub struct Booking {
        /// The booking.
        pub booking_id: BookingId,
        /// The kind of booking.
        pub booking_type_id: BookingTypeId,
        /// The host.
        pub host_user_id: UserId,
        /// The conversation it belongs to, if any.
        pub conversation_id: Option<ConversationId>,
        /// The time at which it starts.
        pub starts_at: Timestamp,
        /// The time at which it ends.
        pub ends_at: Timestamp,
    }

    /// The sorting helper held a likely scam.
    pub struct ScoutHeld {
        /// The conversation.
        pub conversation_id: ConversationId,
    }

    /// Someone pressed "send test event".
    pub struct WebhookTest {
        /// The webhook that is tested.
        pub endpoint_id: WebhookId,
    }

    /// The person or agent that a conversation is assigned to, in an event.
    pub struct EventAssignee {
        /// Person or agent.
        #[serde(rename = "type")]
        pub kind: ActorType,
        /// The id of the person or agent.
        pub id: ActorId,
        /// The name, if known.
        pub name: Option<String>,
    }

    /// The person, agent or service that did something, in an event.
    pub struct EventActor {
        /// Person, agent or the service.
        #[serde(rename = "type")]
        pub kind: ActorType,
        /// The id of the person or agent; `None` for the service.
        pub id: Option<ActorId>,
        /// The name to show.
        pub name: String,
    }

    /// The author of a draft.
    #[derive(Default)]
    pub struct EventDrafter {
        /// Person or agent, if known.
        #[serde(rename = "type")]
        pub kind: Option<ActorType>,
        /// The id of the person or agent, if known.
        pub id: Option<ActorId>,
    }

    /// The author of an email that was sent.
    pub struct EventAuthor {
        /// Person or agent.
        #[serde(rename = "type")]
        pub kind: ActorType,
        /// The id of the person or agent, if known.
        pub id: Option<ActorId>,
    }
}

constructors! {
    AskCompleted(ask_id: DocumentRequestId, kind: AskKind, conversation_id: ConversationId);
    ClientReplied(conversation_id: ConversationId, message_id: MessageId, mailbox_id: MailboxId) {
        secure: false, reference: None
    };
    ConversationAssigned(conversation_id: ConversationId, assigned_by: EventActor) { assignee: None };
    TurnChanged(conversation_id: ConversationId, turn: Turn) { previous: None, assignee: None };
    DraftApproved(conversation_id: ConversationId, message_id: MessageId, approved_by: EventActor) {
        drafted_by: EventDrafter::default(), edited: false
    };
    MessageSent(conversation_id: ConversationId, message_id: MessageId, mailbox_id: MailboxId) {
        author: None, secure: false
    };
    Booking(
        booking_id: BookingId,
        booking_type_id: BookingTypeId,
        host_user_id: UserId,
        starts_at: Timestamp,
        ends_at: Timestamp
    ) { conversation_id: None };
    ScoutHeld(conversation_id: ConversationId);
    WebhookTest(endpoint_id: WebhookId);
    EventAssignee(kind: ActorType, id: impl Into<ActorId>) { name: None };
    EventActor(kind: ActorType, name: impl Into<String>) { id: None };
    EventAuthor(kind: ActorType) { id: None };
}

shows! {
    AskCompleted: ask_id kind conversation_id;
    ClientReplied: conversation_id message_id mailbox_id secure reference;
    ConversationAssigned: conversation_id assignee assigned_by;
    TurnChanged: conversation_id turn previous assignee;
    DraftApproved: conversation_id message_id drafted_by approved_by edited;
    MessageSent: conversation_id message_id mailbox_id author secure;
    Booking: booking_id booking_type_id host_user_id conversation_id starts_at ends_at;
    ScoutHeld: conversation_id;
    WebhookTest: endpoint_id;
    EventAssignee: kind id;
    EventActor: kind id;
    EventDrafter: kind id;
    EventAuthor: kind id;
}
