//! The sandbox: simulated email in both directions, and recipients with a behaviour of their own.

use serde_json::json;
use shared_inbox::{
    MessageId, MessageStatus, ReplyAddress, SandboxReceipt, Timestamp, input::SandboxInbound,
};

use super::{
    InboundResult, OutboxKind,
    inbound::{Dmarc, InboundMail, IncomingMail},
    scam,
};
use crate::world::{
    Job, Refusal, Result, World, conversation::Item, documents::InboundFile, people::SERVICE_NAME,
};

/// How long a recipient takes to reply.
const REPLY_DELAY: std::time::Duration = std::time::Duration::from_secs(5);

/// What a recipient does with an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecipientBehavior {
    Bounce,
    Complaint,
    Reply,
    Docs,
    OutOfOffice,
    Nothing,
}

/// Returns the behaviour of an address: its first part, before any plus, at any `.test` domain.
fn behavior_of(address: &str) -> RecipientBehavior {
    let address = address.to_ascii_lowercase();
    let Some((local, domain)) = address.rsplit_once('@') else { return RecipientBehavior::Nothing };
    if !domain.ends_with(".test") {
        return RecipientBehavior::Nothing;
    }
    match local.split('+').next().unwrap_or_default() {
        "bounce" => RecipientBehavior::Bounce,
        "complaint" => RecipientBehavior::Complaint,
        "reply" => RecipientBehavior::Reply,
        "docs" => RecipientBehavior::Docs,
        "ooo" => RecipientBehavior::OutOfOffice,
        _ => RecipientBehavior::Nothing,
    }
}

impl World {
    /// Receives a simulated email.
    pub(crate) fn sandbox_inbound(
        &mut self,
        key: usize,
        mail: SandboxInbound,
        now: Timestamp,
    ) -> Result<SandboxReceipt> {
        let sandbox =
            self.sandbox().ok_or_else(|| Refusal::new(404, "This workspace has no sandbox inbox."))?;
        let reference = match mail.to.as_deref().map(ReplyAddress::parse) {
            None => None,
            Some(Ok(to)) if self.mailbox_for(to.inbox()) == Some(sandbox) => {
                to.reference().map(|reference| reference.as_str().to_owned())
            }
            Some(_) => return Err(Refusal::field("to", "must be the sandbox inbox's address")),
        };
        let conversation =
            mail.conversation_id.as_deref().map(|id| self.conversation_for(key, id)).transpose()?;
        self.limits.count_inbound(now);
        let content = InboundMail {
            name: mail.name,
            subject: mail.subject,
            in_reply_to: mail.in_reply_to,
            ..InboundMail::new("", mail.from, mail.text)
        };
        let received =
            self.simulate(IncomingMail { mailbox: sandbox, reference, conversation, content }, now);
        let mut receipt = SandboxReceipt::new(received.conversation_id);
        receipt.message_id = Some(received.message_id);
        Ok(receipt)
    }

    /// Receives an email in the sandbox, where only the scam check runs.
    fn simulate(&mut self, mut mail: IncomingMail, now: Timestamp) -> InboundResult {
        let content = &mut mail.content;
        let found = scam::check(content.subject.as_deref().unwrap_or_default(), &content.text);
        if !found.is_empty() {
            content.risk = Some(scam::LABEL.to_owned());
            content.risk_reasons = found;
            content.held = true;
        }
        content.dmarc = Dmarc::Pass;
        self.receive(mail, now)
    }

    /// Returns whether email to this sandbox address bounces.
    pub(crate) fn bounces(&self, address: &str) -> bool {
        behavior_of(address) == RecipientBehavior::Bounce
            || self.complaints.contains(&address.to_ascii_lowercase())
    }

    /// Performs what a sandbox recipient does with a delivered message.
    pub(crate) fn react(&mut self, id: &MessageId, now: Timestamp) {
        let Some(place) = self.message(id.as_str()) else { return };
        let at = place.0;
        if !self.mailbox_of(at).sandbox || self.message_at(place).status != Some(MessageStatus::Sent) {
            return;
        }
        let address = self.conversations[at].contact.email.clone().unwrap_or_default();
        match behavior_of(&address) {
            RecipientBehavior::Complaint => {
                self.complaints.insert(address.to_ascii_lowercase());
                let event = Item::event(now, SERVICE_NAME, "spam-complaint", [("email", json!(address))]);
                self.append(at, event);
            }
            RecipientBehavior::Reply => {
                self.schedule_job(
                    now + REPLY_DELAY,
                    Job::SandboxReply { message: id.clone(), invoice: false },
                    now,
                );
            }
            RecipientBehavior::Docs => {
                self.schedule_job(
                    now + REPLY_DELAY,
                    Job::SandboxReply { message: id.clone(), invoice: true },
                    now,
                );
            }
            RecipientBehavior::OutOfOffice => {
                let text = "I am out of the office and will answer when I am back.";
                let mut mail = self.answer_on(at, address, text);
                mail.content.auto_reply = true;
                mail.content.subject = Some("Automatic reply".to_owned());
                self.simulate(mail, now);
            }
            RecipientBehavior::Bounce | RecipientBehavior::Nothing => {}
        }
    }

    fn answer_on(&self, at: usize, from: String, text: &str) -> IncomingMail {
        let name = self.conversations[at].contact.name.clone();
        let content = InboundMail { name, ..InboundMail::new("", from, text) };
        IncomingMail {
            mailbox: self.index.positions[at].mailbox,
            reference: None,
            conversation: Some(at),
            content,
        }
    }

    /// Sends the reply of a recipient.
    pub(crate) fn send_sandbox_reply(&mut self, message: &MessageId, invoice: bool, now: Timestamp) {
        let Some((at, _)) = self.message(message.as_str()) else { return };
        let from = self.conversations[at].contact.email.clone().unwrap_or_default();
        let mail = if invoice {
            let mut mail = self.answer_on(at, from, "Here is the document you asked for.");
            mail.content.attachments.push(InboundFile::new("invoice.pdf", "application/pdf", 48_213));
            mail
        } else {
            self.answer_on(at, from, "Thanks for your message. This is an answer from the sandbox.")
        };
        self.simulate(mail, now);
    }

    /// Delivers a reminder, with the recipient's reaction.
    pub(crate) fn deliver_reminder(&mut self, id: &MessageId, now: Timestamp) {
        self.deliver(id, OutboxKind::Reminder, now);
        self.react(id, now);
    }
}
