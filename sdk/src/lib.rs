//! A typed client for a shared customer-email inbox.
//!
//! Without the feature `client` the crate is the types of the API alone: ids, models, inputs with their limits,
//! events, and the catalogue of operations.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "client")]
mod client;
pub mod event;
mod ids;
pub mod input;
pub mod limits;
pub mod model;
mod operation;
mod problems;
mod reference;
mod time;
mod words;

#[cfg(feature = "client")]
pub use client::{
    ApiKey, BoxFuture, Call, Certainty, Change, Changes, Client, ClientBuilder, Clock, Create, Created,
    Error, Gap, InvalidApiKey, InvalidDomain, Lane, LimitError, MemoryLimiter, RateLimiter, Raw, RawAnswer,
    Result, RetryPolicy, Sighting, Thread, TokioClock, Unconfirmed, Verification, WaitForReply,
    WaitUntilSent, new_message_id,
};
pub use event::{Event, EventKind};
/// The crate `http`, whose types appear in the client's interface.
#[cfg(feature = "client")]
pub use http;
pub use ids::{
    ActorId, AgentId, BookingId, BookingTypeId, ConversationId, DocumentId, DocumentRequestId, EventId,
    InvalidId, MailboxId, MessageId, NoteId, TagId, UserId, WebhookId, WorkspaceId,
};
pub use input::{AssignTo, Input, InvalidAssignTo};
pub use model::{
    Agent, Assignee, Attachment, Contact, Conversation, ConversationSummary, Document, DocumentFields, Done,
    Mailbox, Maybe, Me, Message, Note, ReplyResult, SandboxReceipt, Sender, Tag, Team, TeamMember,
    TimelineEvent, TimelineItem,
};
#[cfg(feature = "schemas")]
pub use operation::Tool;
pub use operation::{Method, Operation, Repeat};
pub use problems::{Problem, Problems};
pub use reference::{InvalidAddress, InvalidReference, Reference, ReplyAddress};
pub use time::{Date, InvalidDate, InvalidTimestamp, Timestamp};
pub use words::{
    ActorType, AskKind, Assigned, Direction, DocumentKind, MessageStatus, Scope, Status, Turn, Urgency, View,
};
