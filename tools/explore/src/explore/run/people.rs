//! People who look at the drafts of the app.

use serde_json::json;
use shared_inbox_mock::Approval;

use crate::explore::{error::Result, json::text, plan::step::Act, run::driver::Run, run::record::Event};

impl Run<'_> {
    /// People approve the drafts of the app, except those that were stopped and in conversations that a
    /// person has answered.
    pub(crate) async fn people(&mut self) -> Result<()> {
        let number = self.world.control.next_number().await;
        let mut approved = 0;
        for draft in self.world.control.approvals().await {
            let id = draft.message_id.as_str();
            if self.was_stopped(id).await || self.answered_by_person(draft.conversation_id.as_str()).await? {
                continue;
            }
            approved += u32::from(self.world.control.approve(id, Approval::new()).await.is_ok());
        }
        if approved > 0 {
            self.record.events.push((number, Event::Approved(approved)));
        }
        Ok(())
    }

    /// Returns whether a draft was on its way out before, so that someone must have stopped it.
    async fn was_stopped(&self, draft: &str) -> bool {
        self.schedule.acts().any(|(act, _)| act == Act::Stop)
            && self.world.control.history().await.iter().any(|it| it.id == draft && it.what == "scheduled")
    }

    async fn answered_by_person(&self, conversation: &str) -> Result<bool> {
        if !self.schedule.acts().any(|(act, _)| act == Act::Answer) {
            return Ok(false);
        }
        let view = json!(self.world.control.conversation(conversation).await?);
        let items = view["timeline"].as_array().cloned().unwrap_or_default();
        Ok(items
            .iter()
            .any(|item| item["direction"] == "outbound" && text(&item["author"]).starts_with("usr_")))
    }
}
