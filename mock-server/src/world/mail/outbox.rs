//! The outbox: every email that was sent or failed to send.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_inbox::{ConversationId, MessageId, Timestamp};

use crate::world::{Refusal, Result, World};

/// The reason for an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OutboxKind {
    /// A reply to a customer.
    Reply,
    /// A reminder of documents that are missing.
    Reminder,
    /// A notice to the owner of a webhook.
    Notice,
}

/// The outcome of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MailOutcome {
    /// It went out.
    Sent,
    /// It could not be delivered.
    Failed,
}

/// An email that was sent or failed to send.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct OutboxMail {
    /// When it was sent.
    pub at: Timestamp,
    /// The reason for it.
    pub kind: OutboxKind,
    /// The message, if it is one of a conversation.
    pub message_id: Option<MessageId>,
    /// The recipient.
    pub to: String,
    /// Its subject.
    pub subject: String,
    /// Its text.
    pub text: String,
    /// Its outcome.
    pub outcome: MailOutcome,
}

redacted_debug!(OutboxMail { at, kind, message_id, outcome });

/// An email of the outbox as its recipient would get it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SentMail {
    /// The email.
    #[serde(flatten)]
    pub mail: OutboxMail,
    /// The conversation that it is part of.
    pub conversation_id: Option<ConversationId>,
    /// Its headers.
    pub headers: BTreeMap<String, String>,
    /// The whole email, headers first.
    pub source: String,
}

redacted_debug!(SentMail { mail, conversation_id });

/// Who sends notices to the owners of webhooks.
const NOTICES_FROM: &str = "Shared inbox <notices@shared-inbox.example>";

impl World {
    /// Returns one email of the outbox, by its number from 1.
    pub fn outbox_mail(&self, number: usize) -> Result<SentMail> {
        let mail = number.checked_sub(1).filter(|at| *at < self.outbox.len()).map(|at| &self.outbox[at]);
        let mail = mail.ok_or_else(|| Refusal::no_such("mail"))?;
        let place = mail.message_id.as_ref().and_then(|id| self.message(id.as_str()));
        let from = place.map_or_else(
            || NOTICES_FROM.to_owned(),
            |(at, _)| {
                let mailbox = self.mailbox_of(at);
                format!("{} <{}>", mailbox.name, mailbox.address)
            },
        );
        // No text may start a header of its own.
        let one_line = |text: &str| text.split(char::is_control).collect::<Vec<_>>().join(" ");
        let mut headers: Vec<(&str, String)> = vec![
            ("Date", mail.at.to_string()),
            ("From", one_line(&from)),
            ("To", one_line(&mail.to)),
            ("Subject", one_line(&mail.subject)),
            ("MIME-Version", "1.0".to_owned()),
            ("Content-Type", "text/plain; charset=utf-8".to_owned()),
        ];
        if let Some(id) = &mail.message_id {
            headers.push(("Message-ID", format!("<{id}@shared-inbox.example>")));
        }
        let source = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<String>();
        Ok(SentMail {
            source: source + "\r\n" + &mail.text,
            headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            conversation_id: place.map(|(at, _)| self.conversations[at].id.clone()),
            mail: mail.clone(),
        })
    }

    /// Returns every email that was sent or failed, oldest first.
    pub fn outbox(&self) -> Vec<OutboxMail> {
        self.outbox.iter().cloned().collect()
    }
}
