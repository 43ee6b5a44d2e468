//! What people do with messages: approve and discard drafts, stop scheduled messages.

use serde::{Deserialize, Serialize};
use serde_json::json;
use shared_inbox::{
    ActorId, ConversationId, MessageId, MessageStatus, Status, Timestamp, Turn,
    input::{Input, Reply},
};

use super::MailOutcome;
use crate::world::{Actor, Job, Refusal, Result, StepKind, World, conversation::Item, people::SERVICE_NAME};

/// An approval of a draft by a person.
///
/// ```
/// use shared_inbox_mock::Approval;
/// let approval = Approval::new().by("usr_anna".parse::<shared_inbox::UserId>()?).body("Your refund is on its way, Kim.");
/// assert_eq!(serde_json::to_value(&approval)?["by"], "usr_anna");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Approval {
    /// Who approves it: a person, an agent or `system`. By default the inbox's owner, or else the first
    /// person of the workspace.
    pub by: Option<Actor>,
    /// The edited text.
    pub body: Option<String>,
}

impl Approval {
    /// Returns an approval by the default person, unchanged.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets who approves it.
        by(by: impl Into<Actor>) => by = Some(by.into());
        /// Sets the edited text.
        body(body: impl Into<String>) => body = Some(body.into());
    }
}

/// The result of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApprovalResult {
    /// `scheduled`.
    pub status: MessageStatus,
    /// When it leaves.
    pub sends_at: Timestamp,
}

/// Stops a scheduled message.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StopMessage {
    /// Who does it; by default as in an approval.
    pub by: Option<Actor>,
}

/// Discards a draft.
///
/// ```
/// use shared_inbox_mock::{world::{Actor, DiscardDraft}};
/// assert_eq!(serde_json::to_value(DiscardDraft::new().by(Actor::System))?, serde_json::json!({ "by": "system" }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DiscardDraft {
    /// Who does it; by default as in an approval.
    pub by: Option<Actor>,
}

impl DiscardDraft {
    /// Creates one by the default person.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets who does it.
        by(by: impl Into<Actor>) => by = Some(by.into());
    }
}

/// A draft in the approval queue.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct QueuedDraft {
    /// The id of the draft.
    pub message_id: MessageId,
    /// The conversation that it is in.
    pub conversation_id: ConversationId,
    /// Who wrote it.
    pub drafted_by: Option<ActorId>,
    /// The line for the person who approves it.
    pub summary: Option<String>,
    /// Its text.
    pub text: String,
    /// When it was written.
    pub at: Timestamp,
    /// The name of who wrote it; the drafting helper has none.
    pub drafted_by_name: Option<String>,
    /// The name or the address of the customer.
    pub customer: Option<String>,
    /// The subject of the conversation.
    #[serde(default)]
    pub subject: String,
}

redacted_debug!(QueuedDraft { message_id, conversation_id, drafted_by, at });

impl World {
    fn message_for_person(
        &self,
        id: &str,
        by: Option<&Actor>,
        status: MessageStatus,
    ) -> Result<((usize, usize), Option<ActorId>)> {
        let place = match self.conversation_or_customer(id) {
            Ok(at) => self.latest_message(at, &status),
            Err(_) => self.message(id),
        };
        let place = place.ok_or_else(|| Refusal::no_such("message"))?;
        Ok((place, self.resolve_actor(place.0, by)?))
    }

    /// Returns the newest message of a conversation with this status.
    fn latest_message(&self, at: usize, status: &MessageStatus) -> Option<(usize, usize)> {
        let found = self.conversations[at].messages().rfind(|it| it.status.as_ref() == Some(status));
        found.and_then(|message| self.message(message.id.as_str()))
    }

    /// Approves a draft, which is sent when the undo window has passed.
    pub fn approve(&mut self, id: &str, approval: Approval, now: Timestamp) -> Result<ApprovalResult> {
        if let Some(body) = &approval.body {
            Reply::new(body.as_str()).check()?;
        }
        let (place, by) = self.message_for_person(id, approval.by.as_ref(), MessageStatus::Draft)?;
        let message = self.message_at(place);
        if message.status != Some(MessageStatus::Draft) {
            return Err(Refusal::conflict("Only a draft can be approved; this message is none."));
        }
        if self.mailbox_of(place.0).sandbox {
            return Err(Refusal::conflict(
                "Nobody can approve drafts in the sandbox; to test a send, use send: true.",
            ));
        }
        let (message_id, request) = (message.id.clone(), message.request.clone());
        let edited = approval.body.as_ref().is_some_and(|body| *body != message.text);
        let mut text = approval.body.unwrap_or_else(|| message.text.clone());
        if let Some(request) = &request {
            self.add_checklist(request, &mut text, true);
        }
        if text != self.message_at(place).text {
            self.message_mut(place).text = text;
            self.reindex_words(place.0);
        }
        let sends_at = self.schedule(&message_id, now);
        self.emit_approved(place.0, &message_id, by.as_ref(), edited, now);
        Ok(ApprovalResult { status: MessageStatus::Scheduled, sends_at })
    }

    /// Stops a scheduled message inside its undo window; it is a draft again.
    pub fn stop(&mut self, id: &str, stop: StopMessage, now: Timestamp) -> Result<()> {
        let (place, _) = self.message_for_person(id, stop.by.as_ref(), MessageStatus::Scheduled)?;
        let message = self.message_mut(place);
        let scheduled = message.status == Some(MessageStatus::Scheduled);
        let Some(sends_at) = message.sends_at.filter(|sends_at| scheduled && now < *sends_at) else {
            return Err(Refusal::conflict(
                "Only a scheduled message can be stopped, inside its undo window.",
            ));
        };
        message.sends_at = None;
        let message = message.id.clone();
        self.set_message_status(place, MessageStatus::Draft);
        self.jobs.cancel(sends_at, &Job::Send { message });
        self.record_message_step(place, now);
        Ok(())
    }

    /// Discards a draft: removes it from the timeline, with its document request.
    pub fn discard(&mut self, id: &str, discard: DiscardDraft, now: Timestamp) -> Result<()> {
        let (place, by) = self.message_for_person(id, discard.by.as_ref(), MessageStatus::Draft)?;
        let message = self.message_at(place);
        if message.status != Some(MessageStatus::Draft) {
            return Err(Refusal::conflict("Only a draft can be thrown away; this message is none."));
        }
        let (message_id, request) = (message.id.clone(), message.request.clone());
        self.record_step(StepKind::Message, message_id.as_str(), "discarded", Some(place.0), now);
        self.remove_message(place);
        if let Some(request) = request {
            self.forget_request(&request);
        }
        let actor = self.actor_name(by.as_ref());
        self.append(place.0, Item::event(now, &actor, "draft-discarded", [("messageId", json!(message_id))]));
        Ok(())
    }

    /// Bounces an email. One in its undo window fails when it is sent; one that was sent fails now, and it is
    /// the team's turn again.
    pub fn bounce(&mut self, id: &str, now: Timestamp) -> Result<()> {
        let place = self.message(id).ok_or_else(|| Refusal::no_such("message"))?;
        let message = self.message_mut(place);
        match message.status {
            Some(MessageStatus::Scheduled) => {
                message.bounces = true;
                self.record_step(StepKind::Message, id, "will bounce", Some(place.0), now);
                return Ok(());
            }
            Some(MessageStatus::Sent) => {}
            _ => {
                return Err(Refusal::conflict(
                    "Only a mail that was sent, or is about to be, can come back; this message is neither.",
                ));
            }
        }
        let (message_id, request) = (message.id.clone(), message.request.clone());
        self.set_message_status(place, MessageStatus::Failed);
        self.record_message_step(place, now);
        let left = self.outbox.iter().position(|mail| mail.message_id.as_ref() == Some(&message_id));
        if let Some(left) = left {
            self.outbox[left].outcome = MailOutcome::Failed;
        }
        if let Some(request) = request {
            self.jobs.remove(|job| matches!(job, Job::Reminder { request: of, .. } if *of == request));
        }
        let at = place.0;
        let email = self.conversations[at].contact.email.clone();
        let data = [("messageId", json!(message_id)), ("email", json!(email))];
        if self.conversations[at].status == Status::Waiting {
            self.conversations[at].status = Status::Open;
        }
        self.append(at, Item::event(now, SERVICE_NAME, "bounced", data));
        if self.conversations[at].status == Status::Open {
            self.turn(at, Turn::Ours, now);
        }
        Ok(())
    }

    /// Returns the approval queue, oldest first.
    pub fn approvals(&self) -> Vec<QueuedDraft> {
        let waiting = |(_, at, item): &(Timestamp, u32, u32)| {
            let place = (*at as usize, *item as usize);
            let message = self.message_at(place);
            QueuedDraft {
                message_id: message.id.clone(),
                conversation_id: self.conversations[place.0].id.clone(),
                drafted_by: message.author.clone(),
                summary: message.summary.clone(),
                text: message.text.clone(),
                at: message.at,
                drafted_by_name: message.author.as_ref().and_then(|who| self.name_of(who)).map(str::to_owned),
                customer: self.customer(place.0),
                subject: self.conversations[place.0].subject.clone(),
            }
        };
        self.index.drafts.iter().map(waiting).collect()
    }
}
