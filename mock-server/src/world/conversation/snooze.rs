//! Snoozes conversations.

use serde::{Deserialize, Serialize};
use serde_json::json;
use shared_inbox::Timestamp;

use super::Item;
use crate::world::{Actor, Job, Refusal, Result, World};

/// A snooze of a conversation.
///
/// ```
/// use shared_inbox_mock::world::Snooze;
/// let snooze = Snooze::new(Some("2026-12-01T09:00:00Z".parse()?));
/// assert!(snooze.until.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Snooze {
    /// The time at which it comes back; null brings it back at once.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "schemas", schemars(required, extend("type" = ["string", "null"])))]
    pub until: Option<Timestamp>,
    /// Who does it.
    pub by: Option<Actor>,
}

impl Snooze {
    /// Returns a snooze until this time, or the end of one.
    pub fn new(until: Option<Timestamp>) -> Self {
        Self { until, by: None }
    }

    setters! {
        /// Sets who does it.
        by(by: impl Into<Actor>) => by = Some(by.into());
    }
}

impl World {
    /// Snoozes a conversation, or ends its snooze, as a person does in the app.
    pub fn snooze(&mut self, id: &str, snooze: Snooze, now: Timestamp) -> Result<()> {
        let at = self.conversation_or_customer(id)?;
        let by = self.resolve_actor(at, snooze.by.as_ref())?;
        if snooze.until.is_some_and(|until| until <= now) {
            return Err(Refusal::field("until", "must lie in the future"));
        }
        if self.conversations[at].snoozed_until == snooze.until {
            return Ok(());
        }
        self.end_snooze(at);
        if let Some(until) = snooze.until {
            self.conversations[at].snoozed_until = Some(until);
            let conversation = self.conversations[at].id.clone();
            self.schedule_job(until, Job::Wake { conversation }, now);
        }
        let actor = self.actor_name(by.as_ref());
        self.append(at, Item::event(now, &actor, "snoozed", [("until", json!(snooze.until))]));
        Ok(())
    }

    /// Ends the snooze of a conversation. The caller updates the lists.
    pub(crate) fn end_snooze(&mut self, at: usize) {
        let thread = &mut self.conversations[at];
        if let Some(until) = thread.snoozed_until.take() {
            let conversation = thread.id.clone();
            self.jobs.cancel(until, &Job::Wake { conversation });
        }
    }

    /// Ends a snooze whose time has come.
    pub(crate) fn wake(&mut self, conversation: &str) {
        if let Ok(at) = self.conversation(conversation) {
            self.conversations[at].snoozed_until = None;
            self.update_lists(at);
        }
    }
}
