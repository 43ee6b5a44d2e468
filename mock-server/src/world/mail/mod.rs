//! The way of a mail.
//!
//! In: [`inbound`] takes it, [`threading`] finds its conversation, [`app_mail`] knows what an app sent before it,
//! [`quoted`] strips its history, [`scam`] judges it. Out: [`sending`] writes it, the team writes it in [`team`], a person
//! approves or stops it in [`drafts`], and [`outbox`] keeps what left. In the [`sandbox`] both ways are simulated.

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

pub(crate) use app_mail::{AppMail, AppMails};
pub use drafts::{Approval, Approved, Discard, Stop, Waiting};
pub use inbound::{Dmarc, InboundMail, Received};
pub use outbox::{OutboxKind, OutboxMail, Outcome, SentMail};
pub use team::{HelperDraft, TeamReply};

pub(super) use inbound::IncomingMail;
