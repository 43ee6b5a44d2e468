//! Running what has fallen due, one job at a time and each at its own time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared_inbox::Timestamp;

use super::{Job, World, webhooks::AttemptRequest};

/// A job that fell due.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fired {
    /// It was done.
    Ran(FiredJob),
    /// A webhook is to be tried over HTTP; the outcome comes back through [`World::finish_attempt`].
    Attempt(FiredJob, AttemptRequest),
}

/// What was done, as the control API tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FiredJob {
    /// When it was due.
    pub at: Timestamp,
    /// What kind of job.
    pub job: String,
    /// The id that it was about.
    #[serde(default)]
    pub subject: String,
}

impl Fired {
    /// What was done.
    pub fn job(&self) -> &FiredJob {
        match self {
            Fired::Ran(job) | Fired::Attempt(job, _) => job,
        }
    }
}

impl World {
    /// Runs the one earliest job that is due at `now` or before, at its own due time.
    pub fn run_due(&mut self, now: Timestamp) -> Option<Fired> {
        loop {
            let (at, job, cause) = self.jobs.pop_due(now)?;
            let fired = FiredJob { at, job: job.kind().to_owned(), subject: job.subject().to_owned() };
            if let Job::WebhookTry { endpoint, event } = &job {
                match self.start_attempt(endpoint, event, at) {
                    Some(request) => return Some(Fired::Attempt(fired, request)),
                    // Not to be made, or not yet: nothing happened.
                    None => continue,
                }
            }
            self.run_caused(cause, &job, at, |world| world.run(&job, at));
            return Some(Fired::Ran(fired));
        }
    }

    fn run(&mut self, job: &Job, at: Timestamp) {
        match job {
            Job::Send { message } => self.send(message, at),
            Job::SandboxReply { message, invoice } => self.send_sandbox_reply(message, *invoice, at),
            Job::Reminder { request, number } => self.remind(request, *number, at),
            Job::Wake { conversation } => self.wake(conversation.as_str()),
            Job::ForgetAppMail { message_id, livemode } => self.app_mail.forget(*livemode, message_id),
            // Its outcome comes from outside.
            Job::WebhookTry { .. } => {}
        }
    }

    /// When the next job is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.jobs.next_due()
    }
}
