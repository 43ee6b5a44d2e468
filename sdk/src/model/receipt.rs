//! What the service returns when a call has changed something.

use serde::{Deserialize, Deserializer, de::Error};

use super::{constructors, shows, wire};
use crate::json::{self, Json};
use crate::{ConversationId, DocumentRequestId, MessageId, MessageStatus, Timestamp};

wire! {
    /// A success that carries no data.
    pub struct Ack {
        /// Always true; a response with `false` is an error.
        #[serde(deserialize_with = "yes")]
        pub ok: bool,
    }

    /// The result of a reply or a document request.
    pub struct ReplyResult {
        /// The message that was made.
        pub message_id: MessageId,
        /// `draft`: a person must approve it; `scheduled`: it goes out on its own.
        pub status: MessageStatus,
        /// The time at which it is sent, if it is scheduled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "__schemas", schemars(with = "Timestamp"))]
        pub sends_at: Option<Timestamp>,
        /// The document request that was made with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "__schemas", schemars(with = "DocumentRequestId"))]
        pub request_id: Option<DocumentRequestId>,
        /// A sentence on what happens next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "__schemas", schemars(with = "String"))]
        pub note: Option<String>,
    }

    /// The result of a simulated email.
    pub struct SandboxReceipt {
        /// The conversation that it started or joined.
        pub conversation_id: ConversationId,
        /// The message that it became, if the service says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "__schemas", schemars(with = "MessageId"))]
        pub message_id: Option<MessageId>,
        /// Fields that this version does not know.
        #[serde(flatten, deserialize_with = "json::rest")]
        #[cfg_attr(feature = "__schemas", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
        pub extra: Json,
    }
}

fn yes<'de, D: Deserializer<'de>>(d: D) -> Result<bool, D::Error> {
    match bool::deserialize(d)? {
        true => Ok(true),
        false => Err(D::Error::custom("the service says that it was not done")),
    }
}

constructors! {
    ReplyResult(message_id: MessageId, status: MessageStatus) { sends_at: None, request_id: None, note: None };
    SandboxReceipt(conversation_id: ConversationId) { message_id: None, extra: Json::default() };
}

shows! {
    Ack: ok;
    ReplyResult: message_id status sends_at request_id;
    SandboxReceipt: conversation_id message_id;
}
