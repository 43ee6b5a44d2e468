//! Prepares a world that was read from a document: checks it, indexes it and adds its keys.

use std::collections::HashSet;

use shared_inbox::{__spec::limits, MessageStatus, Problems, Timestamp};

use crate::world::{Job, Result, World, conversation::ConversationRecord, people::ReadyKeys};

impl World {
    /// Checks that everything fits together, builds the indexes, and adds the two fixed keys if they are
    /// missing.
    ///
    /// # Errors
    ///
    /// Every field that does not fit, with what is wrong with it.
    pub fn prepare(&mut self) -> Result<(), Problems> {
        self.prepare_with(&ReadyKeys::fixed())
    }

    /// Prepares one of several worlds, which has other keys.
    pub(crate) fn prepare_with(&mut self, keys: &ReadyKeys) -> Result<(), Problems> {
        (self.index, self.library) = Default::default();
        self.index_people();
        self.check().or(())?;
        for (at, tag) in self.tags.iter().enumerate() {
            self.index.tags.insert(tag.name.clone(), at);
        }
        self.index_conversations();
        self.index_requests();
        self.index_documents();
        self.queue_what_is_missing();
        self.webhooks.prepare(&mut self.jobs);
        self.use_keys(keys);
        Ok(())
    }

    /// Queues jobs that follow from the data: a document need not list the job of a snoozed conversation or a
    /// scheduled message.
    fn queue_what_is_missing(&mut self) {
        let snoozed = self.conversations.iter().filter_map(|thread| {
            Some((thread.snoozed_until?, Job::Wake { conversation: thread.id.clone() }))
        });
        let scheduled =
            self.conversations.iter().flat_map(ConversationRecord::messages).filter_map(|message| {
                let is = message.status == Some(MessageStatus::Scheduled);
                Some((message.sends_at.filter(|_| is)?, Job::Send { message: message.id.clone() }))
            });
        let unanswered = self.app_mail.iter().filter(|mail| mail.conversation.is_none()).map(|mail| {
            let (message_id, livemode) = (mail.message_id.clone(), mail.livemode);
            (mail.recorded_at + limits::APP_MAIL_KEPT, Job::ForgetAppMail { message_id, livemode })
        });
        let queued: HashSet<(Timestamp, &Job)> = self.jobs.iter().collect();
        let missing: Vec<(Timestamp, Job)> = snoozed
            .chain(scheduled)
            .chain(unanswered)
            .filter(|(due, job)| !queued.contains(&(*due, job)))
            .collect();
        missing.into_iter().for_each(|(due, job)| self.jobs.push(due, job));
    }
}
