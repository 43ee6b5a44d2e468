//! Incoming email: finds its conversation, strips quoted history, and changes the conversation.

use serde::{Deserialize, Serialize};
use shared_inbox::{
    __spec::limits, Contact, ConversationId, Direction, DocumentId, MessageId, Problems, ReplyAddress,
    Sender, Status, Timestamp, Turn, Urgency,
};

use super::{quoted, scam};
use crate::world::{
    Job, Refusal, Result, World,
    conversation::{ConversationRecord, Item, MessageRecord},
    documents::{InboundFile, unknown_kind},
};

/// The result of the DMARC check of the sender's domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Dmarc {
    /// The sender is authentic.
    #[default]
    Pass,
    /// The sender may be forged.
    Fail,
}

/// A live email from a customer.
///
/// ```
/// use shared_inbox::Timestamp;
/// use shared_inbox_mock::{InboundMail, world::World};
///
/// let now = Timestamp::from_millis(0);
/// let mut world = World::empty();
/// let mail = InboundMail::new("help@acme.example", "kim@example.com", "Where is my order?").subject("Order 1042");
/// let first = world.inbound(mail, now)?;
/// let more = InboundMail::new("help@acme.example", "kim@example.com", "It came!").on(&first.conversation_id);
/// assert!(first.created && !world.inbound(more, now)?.created);
/// # Ok::<(), shared_inbox_mock::Refusal>(())
/// ```
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InboundMail {
    /// The inbox's address, with or without a plus tag.
    pub to: String,
    /// The sender's address.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "email")))]
    pub from: String,
    /// The sender's name.
    pub name: Option<String>,
    /// The subject.
    pub subject: Option<String>,
    /// The text.
    pub text: String,
    /// The conversation that it is a reply on.
    pub conversation_id: Option<String>,
    /// The Message-ID that it replies to: that of a recorded app mail, or a `msg_…` of the service.
    pub in_reply_to: Option<String>,
    /// The attached files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<InboundFile>,
    /// The result of the DMARC check of the sender's domain.
    #[serde(default)]
    pub dmarc: Dmarc,
    /// Whether it is an automatic reply.
    #[serde(default)]
    pub auto_reply: bool,
    /// Whether it was written on a secure page.
    #[serde(default)]
    pub secure: bool,
    /// The topic that the sorting helper gives it.
    pub topic: Option<String>,
    /// How urgent the sorting helper thinks it is.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = crate::json::words::or_null(Urgency::KNOWN))))]
    pub urgency: Option<Urgency>,
    /// The sorting helper's warning.
    pub risk: Option<String>,
    /// Its reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risk_reasons: Vec<String>,
    /// Whether the sorting helper holds it as a likely scam.
    #[serde(default)]
    pub held: bool,
}

redacted_debug!(InboundMail { conversation_id, dmarc, auto_reply, secure, held });

impl InboundMail {
    /// Returns an email to this inbox, from this address, with this text.
    pub fn new(to: impl Into<String>, from: impl Into<String>, text: impl Into<String>) -> Self {
        Self { to: to.into(), from: from.into(), text: text.into(), ..Self::default() }
    }

    setters! {
        /// Sets the sender's name.
        name(name: impl Into<String>) => name = Some(name.into());
        /// Sets the subject.
        subject(subject: impl Into<String>) => subject = Some(subject.into());
        /// Makes it a reply in this conversation.
        on(conversation: &ConversationId) => conversation_id = Some(conversation.to_string());
        /// Attaches a file.
        attach(file: InboundFile) => attachments.push(file);
        /// Makes it a reply to the email with this Message-ID.
        in_reply_to(message_id: impl Into<String>) => in_reply_to = Some(message_id.into());
    }
}

/// The result of an incoming email.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InboundResult {
    /// The conversation that it started or joined.
    pub conversation_id: ConversationId,
    /// The message that it became.
    pub message_id: MessageId,
    /// The documents that its attachments became.
    pub document_ids: Vec<DocumentId>,
    /// Whether it started the conversation.
    pub created: bool,
}

/// An incoming email, live or simulated, and its inbox.
pub(crate) struct IncomingMail {
    pub(crate) mailbox: usize,
    pub(crate) reference: Option<String>,
    pub(crate) conversation: Option<usize>,
    /// The email; its own `to` and `conversation_id` are ignored.
    pub(crate) content: InboundMail,
}

impl World {
    /// Receives a live email.
    pub fn inbound(&mut self, mut mail: InboundMail, now: Timestamp) -> Result<InboundResult> {
        let mut problems = Problems::default();
        let to = ReplyAddress::parse(&mail.to).ok();
        let mailbox = to.as_ref().and_then(|to| self.mailbox_for(to.inbox()));
        match mailbox {
            None => problems.push("to", "must be the address of an inbox"),
            Some(at) if self.mailboxes[at].sandbox => {
                problems
                    .push("to", "must not be the sandbox, whose mail comes through POST /sandbox/inbound");
            }
            Some(_) => {}
        }
        if ReplyAddress::parse(&mail.from).is_err() {
            problems.push("from", "must be an email address");
        }
        if mail.urgency.as_ref().is_some_and(|urgency| !Urgency::KNOWN.contains(urgency)) {
            problems.push("urgency", "must be one of low, normal, high");
        }
        for (n, file) in mail.attachments.iter().enumerate() {
            if let Some(problem) = unknown_kind(file.kind.as_ref()) {
                problems.push(format!("attachments[{n}].kind"), problem);
            }
        }
        problems.or(())?;
        let (Some(to), Some(mailbox)) = (to, mailbox) else { return Err(Refusal::no_such("inbox")) };
        let conversation = match &mail.conversation_id {
            None => None,
            Some(id) => {
                let at = self.conversation_or_customer(id)?;
                if self.mailbox_of(at).sandbox {
                    return Err(Refusal::no_conversation());
                }
                if self.index.positions[at].mailbox != mailbox {
                    let elsewhere =
                        "is in another inbox than `to`: mail joins a conversation of its own inbox only";
                    return Err(Refusal::field("conversationId", elsewhere));
                }
                Some(at)
            }
        };
        if mail.held && mail.risk.is_none() {
            mail.risk = Some(scam::LABEL.to_owned());
        }
        let reference = to.reference().map(|reference| reference.as_str().to_owned());
        Ok(self.receive(IncomingMail { mailbox, reference, conversation, content: mail }, now))
    }

    /// Receives an email with all its effects.
    pub(crate) fn receive(&mut self, mail: IncomingMail, now: Timestamp) -> InboundResult {
        let filing = self.route_mail(&mail);
        let created = filing.joins.is_none();
        let message_id: MessageId = self.ids.next_id();
        let at = match filing.joins {
            Some(at) => at,
            None => self.start_conversation(&mail, filing.reference),
        };
        if let Some(answered) = &filing.answers {
            self.link_app_mail(at, answered);
        }
        let replied = !created || filing.answers.is_some();
        let mail = mail.content;
        self.apply_findings(at, &mail);
        let mut from = Sender::new(mail.from);
        from.name = mail.name;
        let message = MessageRecord {
            direction: Direction::Inbound,
            attachments: mail.attachments.iter().map(InboundFile::attachment).collect(),
            secure: mail.secure,
            ..MessageRecord::outbound(message_id.clone(), now, from, quoted::strip(&mail.text))
        };
        self.end_snooze(at);
        self.conversations[at].status = Status::Open;
        self.append(at, Item::Message(message));
        let mailbox = self.conversations[at].mailbox.clone();
        let files = mail.attachments.into_iter().map(|file| file.document(mailbox.clone()));
        let document_ids = files.map(|file| self.file(file, Some(at), now)).collect();
        if mail.held {
            self.emit_held(at, now);
        }
        // A held email is a reply too.
        if replied && !mail.auto_reply {
            self.emit_client_replied(at, &message_id, mail.secure, now);
        }
        self.turn(at, Turn::Ours, now);
        let conversation_id = self.conversations[at].id.clone();
        InboundResult { conversation_id, message_id, document_ids, created }
    }

    fn start_conversation(&mut self, mail: &IncomingMail, reference: Option<String>) -> usize {
        let content = &mail.content;
        let subject = content.subject.clone().filter(|subject| !subject.trim().is_empty());
        let id = self.ids.next_id();
        let mut contact = Contact::default();
        (contact.name, contact.email) = (content.name.clone(), Some(content.from.clone()));
        self.add_conversation(ConversationRecord {
            id,
            mailbox: self.mailboxes[mail.mailbox].id.clone(),
            subject: subject.unwrap_or_else(|| "(no subject)".to_owned()),
            contact,
            status: Status::Open,
            turn: None,
            assignee: None,
            tags: Vec::new(),
            topic: None,
            urgency: None,
            risk: None,
            risk_reasons: Vec::new(),
            snoozed_until: None,
            reference,
            app_sent: None,
            timeline: Vec::new(),
        })
    }

    /// Links a recorded email to the conversation of its reply.
    fn link_app_mail(&mut self, at: usize, message_id: &str) {
        let livemode = !self.mailbox_of(at).sandbox;
        let conversation = self.conversations[at].id.clone();
        if let Some(recorded_at) = self.app_mail.answered(livemode, message_id, conversation) {
            let job = Job::ForgetAppMail { message_id: message_id.to_owned(), livemode };
            self.jobs.cancel(recorded_at + limits::APP_MAIL_KEPT, &job);
        }
        self.conversations[at].app_sent.get_or_insert_with(|| message_id.to_owned());
    }

    /// Applies the findings of the helpers, and a name that was not known before.
    fn apply_findings(&mut self, at: usize, mail: &InboundMail) {
        let thread = &mut self.conversations[at];
        let same =
            thread.contact.email.as_deref().is_some_and(|email| email.eq_ignore_ascii_case(&mail.from));
        if same && thread.contact.name.is_none() {
            thread.contact.name.clone_from(&mail.name);
        }
        if mail.topic.is_some() {
            thread.topic.clone_from(&mail.topic);
        }
        if mail.urgency.is_some() {
            thread.urgency.clone_from(&mail.urgency);
        }
        if mail.risk.is_some() {
            thread.risk.clone_from(&mail.risk);
            thread.risk_reasons = mail.risk_reasons.iter().take(limits::RISK_REASONS).cloned().collect();
        }
    }
}
