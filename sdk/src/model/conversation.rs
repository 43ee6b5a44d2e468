//! A conversation, as a list shows it and as a read gives it.

use super::{Assignee, Message, Team, TimelineItem, constructors, shows, wire};
use crate::json::{self, Json};
use crate::{ConversationId, Status, Timestamp, Urgency};

wire! {
    /// The customer of a conversation.
    #[derive(Default)]
    pub struct Contact {
        /// The name, if known.
        pub name: Option<String>,
        /// The address, if known.
        pub email: Option<String>,
    }

    /// A conversation in a list.
    pub struct ConversationSummary {
        /// The conversation's id.
        pub id: ConversationId,
        /// Its subject.
        pub subject: String,
        /// The start of the latest message.
        pub snippet: String,
        /// Its status. A snoozed conversation keeps it: only the view `snoozed` shows that it is snoozed.
        pub status: Status,
        /// The customer.
        pub contact: Contact,
        /// The name of the inbox.
        pub mailbox: String,
        /// The time of the latest message, in either direction.
        pub last_message_at: Timestamp,
        /// The number of its messages.
        pub message_count: u64,
        /// The person or agent it is assigned to.
        pub assignee: Option<Assignee>,
        /// Its tags.
        pub tags: Vec<String>,
        /// The topic that the sorting helper gave it.
        pub topic: Option<String>,
        /// Its urgency, as the sorting helper sees it.
        pub urgency: Option<Urgency>,
        /// A warning such as `phishing`; `None` when nothing looks wrong.
        pub risk: Option<String>,
        /// The app's reference, when there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "__schemas", schemars(with = "String"))]
        pub reference: Option<String>,
    }

    /// A conversation with everything in it.
    pub struct Conversation {
        /// The conversation's id.
        pub id: ConversationId,
        /// Its subject.
        pub subject: String,
        /// Its status.
        pub status: Status,
        /// The customer.
        pub contact: Contact,
        /// The address of the inbox (a list gives its name).
        pub mailbox: String,
        /// The time of the latest message, in either direction.
        pub last_message_at: Timestamp,
        /// The person or agent it is assigned to.
        pub assignee: Option<Assignee>,
        /// Its tags.
        pub tags: Vec<String>,
        /// The topic that the sorting helper gave it.
        pub topic: Option<String>,
        /// Its urgency, as the sorting helper sees it.
        pub urgency: Option<Urgency>,
        /// A warning such as `phishing`; `None` when nothing looks wrong.
        pub risk: Option<String>,
        /// Up to three plain reasons for the warning.
        pub risk_reasons: Vec<String>,
        /// The time until which it is snoozed.
        pub snoozed_until: Option<Timestamp>,
        /// Its messages, notes and events, oldest first.
        pub timeline: Vec<TimelineItem>,
        /// The people and agents it can be assigned to.
        pub team: Team,
        /// The app's reference, when there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "__schemas", schemars(with = "String"))]
        pub reference: Option<String>,
        /// The email that the app sent, when it was recorded; kept as it came.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::optional_object")]
        #[cfg_attr(feature = "__schemas", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
        pub app_sent: Option<Json>,
    }
}

impl Conversation {
    /// Returns the latest message, of the customer or of the team.
    #[must_use]
    pub fn last_message(&self) -> Option<&Message> {
        self.timeline.iter().rev().find_map(TimelineItem::as_message)
    }
}

constructors! {
    ConversationSummary(
        id: ConversationId,
        subject: impl Into<String>,
        status: Status,
        contact: Contact,
        mailbox: impl Into<String>,
        last_message_at: Timestamp
    ) {
        snippet: String::new(), message_count: 0, assignee: None, tags: Vec::new(), topic: None, urgency: None, risk: None,
        reference: None
    };
    Conversation(
        id: ConversationId,
        subject: impl Into<String>,
        status: Status,
        contact: Contact,
        mailbox: impl Into<String>,
        last_message_at: Timestamp
    ) {
        assignee: None, tags: Vec::new(), topic: None, urgency: None, risk: None, risk_reasons: Vec::new(),
        snoozed_until: None, timeline: Vec::new(), team: Team::default(), reference: None, app_sent: None
    };
}

shows! {
    Contact: ;
    ConversationSummary: id status last_message_at message_count assignee urgency;
    Conversation: id status last_message_at assignee urgency snoozed_until timeline;
}
