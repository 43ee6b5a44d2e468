//! The queue of jobs, ordered by due time.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shared_inbox::{ConversationId, DocumentRequestId, EventId, MessageId, Timestamp, WebhookId};

/// Something to do at a certain time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "job", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub(crate) enum Job {
    /// A scheduled message leaves.
    Send {
        /// The message.
        message: MessageId,
    },
    /// A magic recipient writes back.
    SandboxReply {
        /// The message that it replies to.
        message: MessageId,
        /// Whether a PDF invoice comes with it.
        invoice: bool,
    },
    /// The customer is reminded of documents that are missing.
    Reminder {
        /// The request.
        request: DocumentRequestId,
        /// The number of the reminder, from 1.
        number: u8,
    },
    /// A snooze ends.
    Wake {
        /// The conversation.
        conversation: ConversationId,
    },
    /// A recorded email that nobody replied to is forgotten.
    ForgetAppMail {
        /// Its Message-ID.
        message_id: String,
        /// Whether it is live, or in the sandbox.
        livemode: bool,
    },
    /// An event is delivered to an endpoint.
    WebhookAttempt {
        /// The endpoint.
        endpoint: WebhookId,
        /// The event.
        event: EventId,
    },
}

impl Job {
    /// Returns the kind of job, as the control API names it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Job::Send { .. } => "send",
            Job::SandboxReply { .. } => "sandbox-reply",
            Job::Reminder { .. } => "reminder",
            Job::Wake { .. } => "wake",
            Job::ForgetAppMail { .. } => "forget-app-mail",
            Job::WebhookAttempt { .. } => "webhook-attempt",
        }
    }

    /// Returns the id that it is about.
    pub(crate) fn subject(&self) -> &str {
        match self {
            Job::Send { message } | Job::SandboxReply { message, .. } => message.as_str(),
            Job::Reminder { request, .. } => request.as_str(),
            Job::Wake { conversation } => conversation.as_str(),
            Job::ForgetAppMail { message_id, .. } => message_id,
            Job::WebhookAttempt { event, .. } => event.as_str(),
        }
    }
}

/// A job, and the trace step that queued it.
#[derive(Debug, PartialEq, Eq)]
struct QueuedJob {
    job: Arc<Job>,
    cause: Option<u64>,
}

/// A copy of a world has no trace: its jobs have no cause.
impl Clone for QueuedJob {
    fn clone(&self) -> Self {
        Self { job: Arc::clone(&self.job), cause: None }
    }
}

/// The queue. Jobs that are due at the same time run in the order in which they were queued.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Jobs {
    queue: BTreeMap<(Timestamp, u64), QueuedJob>,
    next: u64,
}

impl Jobs {
    /// Queues a job.
    pub(crate) fn push(&mut self, due: Timestamp, job: Job) {
        self.push_caused(due, job, None);
    }

    /// Queues a job that a trace step caused.
    pub(super) fn push_caused(&mut self, due: Timestamp, job: Job, cause: Option<u64>) {
        self.queue.insert((due, self.next), QueuedJob { job: Arc::new(job), cause });
        self.next += 1;
    }

    /// Returns when the next job is due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.queue.first_key_value().map(|((due, _), _)| *due)
    }

    /// Removes the earliest job that is due at `now`; returns it with its time and the step that caused it.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, Job, Option<u64>)> {
        let entry = self.queue.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((due, _), QueuedJob { job, cause }) = entry.remove_entry();
        Some((due, Arc::unwrap_or_clone(job), cause))
    }

    /// Removes one job that is due at exactly this time; returns whether it was queued.
    pub(crate) fn cancel(&mut self, due: Timestamp, job: &Job) -> bool {
        let found = self.queue.range((due, 0)..=(due, u64::MAX)).find(|(_, there)| *there.job == *job);
        let Some(key) = found.map(|(key, _)| *key) else { return false };
        self.queue.remove(&key).is_some()
    }

    /// Removes all jobs that match.
    pub(crate) fn remove(&mut self, is_removed: impl Fn(&Job) -> bool) {
        self.queue.retain(|_, queued| !is_removed(&queued.job));
    }

    /// Returns all jobs, soonest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Timestamp, &Job)> {
        self.caused().map(|(due, job, _)| (due, job))
    }

    /// Returns all jobs, soonest first, each with the step that caused it.
    pub(super) fn caused(&self) -> impl Iterator<Item = (Timestamp, &Job, Option<u64>)> {
        self.queue.iter().map(|((due, _), there)| (*due, &*there.job, there.cause))
    }

    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct Due<J> {
    due_at: Timestamp,
    #[serde(flatten)]
    job: J,
}

// Written as a list: sequence numbers would differ between equal worlds.
impl Serialize for Jobs {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.iter().map(|(due_at, job)| Due { due_at, job }))
    }
}

impl<'de> Deserialize<'de> for Jobs {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let mut jobs = Jobs::default();
        Vec::<Due<Job>>::deserialize(d)?.into_iter().for_each(|due| jobs.push(due.due_at, due.job));
        Ok(jobs)
    }
}

/// A job in the list of the control API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct JobEntry {
    /// When it is due.
    pub due_at: Timestamp,
    /// The kind of job.
    pub job: String,
    /// The id that it is about.
    pub subject: String,
    /// Whom and what it concerns.
    #[serde(flatten)]
    pub details: JobDetails,
}

/// Whom and what a job concerns.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct JobDetails {
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The name or the address of the customer in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
    /// The type of the event that is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The address that it is delivered to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

// The address may carry a password of the receiver's, so it is left out.
redacted_debug!(JobDetails { conversation_id, event });

impl super::World {
    /// Returns the queued jobs, soonest first.
    pub fn jobs(&self) -> Vec<JobEntry> {
        let entry = |(due_at, job): (Timestamp, &Job)| JobEntry {
            due_at,
            job: job.kind().to_owned(),
            subject: job.subject().to_owned(),
            details: self.job_details(job),
        };
        self.jobs.iter().map(entry).collect()
    }

    /// Returns whom and what a job concerns.
    pub(super) fn job_details(&self, job: &Job) -> JobDetails {
        let at = match job {
            Job::Send { message } | Job::SandboxReply { message, .. } => {
                self.message(message.as_str()).map(|(at, _)| at)
            }
            Job::Reminder { request, .. } => {
                let asked = self.index.requests.get(request).map(|at| &self.document_requests[*at]);
                asked.and_then(|asked| self.conversation(asked.conversation.as_str()).ok())
            }
            Job::Wake { conversation } => self.conversation(conversation.as_str()).ok(),
            Job::ForgetAppMail { .. } => None,
            Job::WebhookAttempt { endpoint, event } => {
                let (event, url) = self.delivery_target(endpoint, event);
                return JobDetails { event, url, ..JobDetails::default() };
            }
        };
        JobDetails {
            conversation_id: at.map(|at| self.conversations[at].id.clone()),
            customer: at.and_then(|at| self.customer(at)),
            ..JobDetails::default()
        }
    }
}
