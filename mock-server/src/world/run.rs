//! Runs due jobs, one at a time and each at its own time.

use serde::{Deserialize, Serialize};
use shared_inbox::Timestamp;

use super::{Job, JobDetails, World, webhooks::AttemptRequest};

/// The outcome of a due job.
#[derive(Debug)]
#[non_exhaustive]
pub enum JobOutcome {
    /// It ran.
    Ran(FiredJob),
    /// A webhook attempt has to be made over HTTP; its outcome is passed to [`World::finish_attempt`].
    Attempt(FiredJob, Box<AttemptRequest>),
}

/// A job that ran, as the control API reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FiredJob {
    /// When it was due.
    pub at: Timestamp,
    /// The kind of job.
    pub job: String,
    /// The id that it was about.
    #[serde(default)]
    pub subject: String,
    /// Whom and what it concerned.
    #[serde(flatten)]
    pub details: JobDetails,
}

impl JobOutcome {
    /// Returns the job.
    pub fn job(&self) -> &FiredJob {
        match self {
            JobOutcome::Ran(job) | JobOutcome::Attempt(job, _) => job,
        }
    }
}

impl World {
    /// Runs the earliest job that is due at `now`, at its own due time.
    pub fn run_due(&mut self, now: Timestamp) -> Option<JobOutcome> {
        loop {
            let (at, job, cause) = self.jobs.pop_due(now)?;
            let details = self.job_details(&job);
            let fired =
                FiredJob { at, job: job.kind().to_owned(), subject: job.subject().to_owned(), details };
            if let Job::WebhookAttempt { endpoint, event } = &job {
                match self.start_attempt(endpoint, event, at) {
                    Some(mut request) => {
                        request.number = self.draw_number();
                        return Some(JobOutcome::Attempt(fired, Box::new(request)));
                    }
                    // The attempt is not to be made, or not yet.
                    None => continue,
                }
            }
            self.run_caused(cause, &job, at, |world| world.run(&job, at));
            return Some(JobOutcome::Ran(fired));
        }
    }

    fn run(&mut self, job: &Job, at: Timestamp) {
        match job {
            Job::Send { message } => self.send(message, at),
            Job::SandboxReply { message, invoice } => self.send_sandbox_reply(message, *invoice, at),
            Job::Reminder { request, number } => self.remind(request, *number, at),
            Job::Wake { conversation } => self.wake(conversation.as_str()),
            Job::ForgetAppMail { message_id, livemode } => self.app_mail.forget(*livemode, message_id),
            // Handled by the caller.
            Job::WebhookAttempt { .. } => {}
        }
    }

    /// Returns when the next job is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.jobs.next_due()
    }
}
