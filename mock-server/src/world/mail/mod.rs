//! Incoming and outgoing email.
//!
//! Incoming: [`inbound`] receives it, [`threading`] finds its conversation, [`app_mail`] has the app's own
//! emails, [`quoted`] strips history, [`scam`] checks it. Outgoing: [`sending`] writes and sends it, [`team`]
//! is for people, [`drafts`] for approvals, and [`outbox`] stores what was sent. The [`sandbox`] simulates
//! both.

mod app_mail;
mod drafts;
mod inbound;
mod outbox;
mod quoted;
mod sandbox;
mod scam;
mod sending;
mod team;
mod threading;

#[cfg(feature = "schemas")]
pub(crate) use app_mail::AppMail;
pub(crate) use app_mail::AppMails;
pub use drafts::{Approval, ApprovalResult, DiscardDraft, QueuedDraft, StopMessage};
pub use inbound::{Dmarc, InboundMail, InboundResult};
pub use outbox::{MailOutcome, OutboxKind, OutboxMail, SentMail};
pub use team::{HelperDraft, TeamReply};

pub(super) use inbound::IncomingMail;
