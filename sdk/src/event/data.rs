//! What goes with each kind of event: ids, and who did it.

use serde::{Deserialize, Serialize};

use crate::{
    ActorId, ActorType, AskKind, BookingId, BookingTypeId, ConversationId, DocumentRequestId, MailboxId,
    MessageId, Timestamp, Turn, UserId, WebhookId,
    model::{constructors, shows},
};

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
        /// What was requested.
        pub kind: AskKind,
        /// In which conversation.
        pub conversation_id: ConversationId,
    }

    /// Someone wrote back.
    ///
    /// A reference says which address was written to, not who wrote: look at the conversation's contact before
    /// you act on it.
    pub struct ClientReplied {
        /// In which conversation.
        pub conversation_id: ConversationId,
        /// The message that came.
        pub message_id: MessageId,
        /// In which inbox.
        pub mailbox_id: MailboxId,
        /// Whether it was written on a secure page.
        pub secure: bool,
        /// The app's reference, when there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "__schemas", schemars(with = "String"))]
        pub reference: Option<String>,
    }

    /// A conversation was given to someone or to nobody.
    pub struct ConversationAssigned {
        /// Which conversation.
        pub conversation_id: ConversationId,
        /// Who has it now.
        pub assignee: Option<EventAssignee>,
        /// Who gave it.
        pub assigned_by: EventActor,
    }

    /// It is another one's turn.
    pub struct TurnChanged {
        /// In which conversation.
        pub conversation_id: ConversationId,
        /// Whose turn it is now.
        pub turn: Turn,
        /// Whose it was; `None` on the first change.
        pub previous: Option<Turn>,
        /// Who has the conversation.
        pub assignee: Option<EventAssignee>,
    }

    /// A person approved a draft.
    pub struct DraftApproved {
        /// In which conversation.
        pub conversation_id: ConversationId,
        /// The message, which goes out when the undo window has passed.
        pub message_id: MessageId,
        /// Who wrote it.
        pub drafted_by: EventDrafter,
        /// Who approved it.
        pub approved_by: EventActor,
        /// Whether the text was changed first.
        pub edited: bool,
    }

    /// An email went out.
    pub struct MessageSent {
        /// In which conversation.
        pub conversation_id: ConversationId,
        /// The message.
        pub message_id: MessageId,
        /// From which inbox.
        pub mailbox_id: MailboxId,
        /// Who wrote it; `None` for the service's own mail.
        pub author: Option<EventAuthor>,
        /// Whether it went as a secure link.
        pub secure: bool,
    }

    /// A booking that was made or cancelled.
    pub struct Booking {
        /// The booking.
        pub booking_id: BookingId,
        /// What kind of booking.
        pub booking_type_id: BookingTypeId,
        /// With whom.
        pub host_user_id: UserId,
        /// The conversation it belongs to, if any.
        pub conversation_id: Option<ConversationId>,
        /// When it starts.
        pub starts_at: Timestamp,
        /// When it ends.
        pub ends_at: Timestamp,
    }

    /// The sorting helper held a likely scam.
    pub struct ScoutHeld {
        /// In which conversation.
        pub conversation_id: ConversationId,
    }

    /// Someone pressed "send test event".
    pub struct WebhookTest {
        /// The webhook that is tested.
        pub endpoint_id: WebhookId,
    }

    /// Who has a conversation, in an event.
    pub struct EventAssignee {
        /// Person or agent.
        #[serde(rename = "type")]
        pub kind: ActorType,
        /// Which one.
        pub id: ActorId,
        /// The name, if known.
        pub name: Option<String>,
    }

    /// Who did something, in an event.
    pub struct EventActor {
        /// Person, agent or the service.
        #[serde(rename = "type")]
        pub kind: ActorType,
        /// Which one; `None` when the service did it.
        pub id: Option<ActorId>,
        /// The name to show.
        pub name: String,
    }

    /// Who wrote a draft.
    #[derive(Default)]
    pub struct EventDrafter {
        /// Person or agent, if known.
        #[serde(rename = "type")]
        pub kind: Option<ActorType>,
        /// Which one, if known.
        pub id: Option<ActorId>,
    }

    /// Who wrote an email that went out.
    pub struct EventAuthor {
        /// Person or agent.
        #[serde(rename = "type")]
        pub kind: ActorType,
        /// Which one, if known.
        pub id: Option<ActorId>,
    }
}

constructors! { hidden:
    AskCompleted(ask_id: DocumentRequestId, kind: AskKind, conversation_id: ConversationId);
    ClientReplied(conversation_id: ConversationId, message_id: MessageId, mailbox_id: MailboxId) { secure: false, reference: None };
    ConversationAssigned(conversation_id: ConversationId, assigned_by: EventActor) { assignee: None };
    TurnChanged(conversation_id: ConversationId, turn: Turn) { previous: None, assignee: None };
    DraftApproved(conversation_id: ConversationId, message_id: MessageId, approved_by: EventActor) {
        drafted_by: EventDrafter::default(), edited: false
    };
    MessageSent(conversation_id: ConversationId, message_id: MessageId, mailbox_id: MailboxId) { author: None, secure: false };
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
