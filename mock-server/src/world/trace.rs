//! Traces: what a request or control call created, the jobs that it queued, and the events that they caused.
//!
//! [`World::begin_cause`] names the initiator of what follows; everything until [`World::end_cause`] has that cause, and so has a job
//! that it queues. Like the journal, traces are not part of the world document.

use std::collections::{HashMap, HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use shared_inbox::{ConversationId, EventId, Timestamp, WebhookId};

use super::{Attempt, DeliveryOutcome, Item, Job, World};

/// How many steps are stored; the oldest are dropped first.
const MAX_STEPS: usize = 50_000;

/// The kind of a trace's step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StepKind {
    /// A request to the service.
    Request,
    /// A call of the control API: what people and customers do.
    Control,
    /// A job that fell due, or will.
    Job,
    /// A message was created, or its status changed.
    Message,
    /// A note was written.
    Note,
    /// Something was done to a conversation.
    Conversation,
    /// A document was filed.
    Document,
    /// Documents were requested.
    DocumentRequest,
    /// A time was booked, or a booking cancelled.
    Booking,
    /// Mail of an app was recorded.
    AppMail,
    /// A webhook event happened.
    Event,
    /// A webhook was turned off or paused.
    Webhook,
}

/// One step of a trace.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use shared_inbox_mock::{MockServer, journal::StepKind};
///
/// let mock = MockServer::builder().manual_clock().start().await;
/// let id = mock.client().conversations().await?[0].id.clone();
/// let sent = mock.client().conversation(&id).reply("On its way.").and_send().await?;
///
/// let line = mock.control().trace(&sent.message_id).await.steps;
/// assert_eq!(line[0].kind, StepKind::Request);
/// let waits = line.iter().find(|step| step.kind == StepKind::Job).expect("the send");
/// assert!(waits.due_at.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TraceStep {
    /// Its number in the order of everything that happened in the world, as
    /// [`JournalEntry`](crate::journal::JournalEntry) and [`AttemptDetail`](crate::webhooks::AttemptDetail)
    /// have one; a cause has a smaller one than what it led to.
    pub number: u64,
    /// The step that led to it; none for the step that began the trace.
    pub cause: Option<u64>,
    /// When it happened.
    pub at: Timestamp,
    /// What it is about.
    pub kind: StepKind,
    /// The id that it is about.
    pub id: String,
    /// What happened.
    pub what: String,
    /// The conversation that it happened in.
    pub conversation_id: Option<ConversationId>,
    /// When a job that has not run yet is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// The deliveries of an event to each webhook that subscribes to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<Vec<TraceDelivery>>,
    /// The `traceparent` header of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The name or the address of the customer in that conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
    /// The subject of that conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The first words of the message or note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// The method of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The status of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The fault rule that fired for the request, or that made the control call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault_id: Option<String>,
}

redacted_debug!(TraceStep { number, cause, at, kind, id, what, due_at, deliveries });

impl TraceStep {
    /// Returns the only step of a request that changed nothing.
    pub(crate) fn of_request(id: &str, at: Timestamp) -> Self {
        Self::new(0, StepKind::Request, id.to_owned(), at)
    }

    fn new(number: u64, kind: StepKind, id: String, at: Timestamp) -> Self {
        Self {
            number,
            cause: None,
            at,
            kind,
            id,
            what: String::new(),
            conversation_id: None,
            due_at: None,
            deliveries: None,
            traceparent: None,
            customer: None,
            subject: None,
            excerpt: None,
            method: None,
            path: None,
            status: None,
            fault_id: None,
        }
    }
}

/// Characters of an excerpt.
const MAX_EXCERPT: usize = 120;

/// The delivery of an event to one webhook.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TraceDelivery {
    /// The webhook.
    pub webhook_id: WebhookId,
    /// The address of the receiver.
    pub url: String,
    /// Its outcome so far.
    pub outcome: DeliveryOutcome,
    /// When the next attempt is due.
    pub next_attempt_at: Option<Timestamp>,
    /// Every attempt so far, oldest first.
    pub attempts: Vec<Attempt>,
}

// The address may carry a password of the receiver's, so it is left out.
redacted_debug!(TraceDelivery { webhook_id, outcome, attempts });

/// The initiator of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Initiator {
    /// A request to the service: its number in the journal, and the operation.
    Request(u64, &'static str),
    /// A call of the control API.
    Control(&'static str),
    /// A call of the control API that has a step already.
    Step(u64, &'static str),
}

/// Returns the id of a request.
pub(crate) fn call_id(number: u64) -> String {
    format!("call_{number}")
}

struct RecordedStep {
    /// Drawn when it is stored.
    number: u64,
    cause: Option<u64>,
    at: Timestamp,
    kind: StepKind,
    id: String,
    what: String,
    conversation: Option<u32>,
    /// Of a control call that a fault made.
    fault: Option<Box<FaultCall>>,
}

/// The rule that made a control call, and the status of the response.
struct FaultCall {
    id: String,
    status: Option<u16>,
}

impl RecordedStep {
    fn new(kind: StepKind, id: impl Into<String>, what: impl Into<String>, at: Timestamp) -> Self {
        let (id, what) = (id.into(), what.into());
        Self { number: 0, cause: None, at, kind, id, what, conversation: None, fault: None }
    }

    fn of_job(job: &Job, cause: Option<u64>, at: Timestamp) -> Self {
        Self { cause, ..Self::new(StepKind::Job, job.subject(), job.kind(), at) }
    }
}

/// The cause of what is being done now.
#[derive(Default)]
enum CurrentCause {
    /// None: a world is being built, and nothing is recorded.
    #[default]
    Nobody,
    /// An initiator without a recorded step yet.
    Begun(Initiator),
    /// This step.
    Step(u64),
}

/// The recorded steps.
#[derive(Default)]
pub(super) struct Traces {
    steps: VecDeque<RecordedStep>,
    /// The next number: steps, requests and attempts draw from it.
    next: u64,
    now: CurrentCause,
}

/// A copy of a world has no trace.
impl Clone for Traces {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Traces {
    fn push(&mut self, step: RecordedStep) -> u64 {
        let number = self.draw();
        self.steps.push_back(RecordedStep { number, ..step });
        if self.steps.len() > MAX_STEPS {
            self.steps.pop_front();
        }
        number
    }

    fn draw(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Returns the number of the first stored step.
    fn first(&self) -> u64 {
        self.steps.front().map_or(self.next, |step| step.number)
    }

    /// Returns the step that causes what is being done now, recording the initiator if necessary.
    fn cause(&mut self, at: Timestamp) -> Option<u64> {
        if let CurrentCause::Begun(initiator) = self.now {
            let number = match initiator {
                Initiator::Request(number, what) => {
                    self.push(RecordedStep::new(StepKind::Request, call_id(number), what, at))
                }
                Initiator::Control(what) => {
                    let id = format!("ctl_{}", self.next);
                    self.push(RecordedStep::new(StepKind::Control, id, what, at))
                }
                Initiator::Step(number, _) => number,
            };
            self.now = CurrentCause::Step(number);
        }
        match self.now {
            CurrentCause::Step(number) => Some(number),
            _ => None,
        }
    }

    fn get(&self, number: u64) -> Option<&RecordedStep> {
        self.steps.get(self.position(number)?)
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.steps.binary_search_by_key(&number, |step| step.number).ok()
    }

    fn numbered(&self) -> impl DoubleEndedIterator<Item = (u64, &RecordedStep)> {
        self.steps.iter().map(|step| (step.number, step))
    }

    /// Returns the first stored step of a step's trace.
    fn root(&self, mut number: u64) -> u64 {
        while let Some(cause) = self.get(number).and_then(|step| step.cause).filter(|it| *it >= self.first())
        {
            number = cause;
        }
        number
    }

    /// Returns the roots of all traces with an id, and the ids of what they created.
    fn roots(&self, id: &str, conversation: Option<u32>) -> (HashSet<u64>, HashSet<&str>) {
        let mut roots = HashSet::new();
        let mut ids = HashSet::new();
        loop {
            let before = roots.len();
            for (number, step) in self.numbered() {
                if step.id == id
                    || ids.contains(step.id.as_str())
                    || (conversation.is_some() && step.conversation == conversation)
                {
                    roots.insert(self.root(number));
                }
            }
            if roots.len() == before {
                return (roots, ids);
            }
            // Later actions on a message belong to its trace; other actions in its conversation do not.
            for (number, step) in self.numbered() {
                if step.kind.may_have_later_steps() && roots.contains(&self.root(number)) {
                    ids.insert(step.id.as_str());
                }
            }
        }
    }
}

/// Leaves one step of each request: the control calls of a fault are recorded with one of their own.
fn merge_requests(steps: &mut Vec<TraceStep>) {
    let mut first: HashMap<String, u64> = HashMap::new();
    let mut merged: HashMap<u64, u64> = HashMap::new();
    steps.retain_mut(|step| {
        step.cause = step.cause.map(|cause| merged.get(&cause).copied().unwrap_or(cause));
        if step.kind != StepKind::Request {
            return true;
        }
        let number = *first.entry(step.id.clone()).or_insert(step.number);
        merged.insert(step.number, number);
        number == step.number
    });
}

impl StepKind {
    /// Returns whether later actions on the step's object belong to the same trace.
    fn may_have_later_steps(self) -> bool {
        matches!(
            self,
            StepKind::Request
                | StepKind::Message
                | StepKind::DocumentRequest
                | StepKind::Booking
                | StepKind::Event
                | StepKind::Note
        )
    }
}

impl World {
    /// Begins a change by this initiator.
    pub(crate) fn begin_cause(&mut self, initiator: Initiator) {
        self.traces.now = CurrentCause::Begun(initiator);
    }

    /// Ends the change.
    pub(crate) fn end_cause(&mut self) {
        self.traces.now = CurrentCause::Nobody;
    }

    /// Continues the trace of an earlier event.
    pub(super) fn continue_from_event(&mut self, event: &EventId) {
        let found = self.traces.numbered().rev().find(|(_, step)| step.id == event.as_str());
        self.traces.now = found.map_or(CurrentCause::Nobody, |(number, _)| CurrentCause::Step(number));
    }

    /// Records a step.
    pub(super) fn record_step(
        &mut self,
        kind: StepKind,
        id: &str,
        what: &str,
        conversation: Option<usize>,
        at: Timestamp,
    ) {
        if let Some(cause) = self.traces.cause(at) {
            let conversation = conversation.map(|at| at as u32);
            let step = RecordedStep::new(kind, id, what, at);
            self.traces.push(RecordedStep { cause: Some(cause), conversation, ..step });
        }
    }

    /// Records a control call that a fault makes because of a request; returns its step.
    pub(crate) fn record_fault_call(
        &mut self,
        request: u64,
        fault: &str,
        what: String,
        at: Timestamp,
    ) -> u64 {
        let cause = self.traces.push(RecordedStep::new(StepKind::Request, call_id(request), "", at));
        let fault = Some(Box::new(FaultCall { id: fault.to_owned(), status: None }));
        let step = RecordedStep::new(StepKind::Control, format!("ctl_{}", cause + 1), what, at);
        self.traces.push(RecordedStep { cause: Some(cause), fault, ..step })
    }

    /// Records the status of the response to a control call that a fault made.
    pub(crate) fn set_step_status(&mut self, step: u64, status: u16) {
        let fault = self
            .traces
            .position(step)
            .and_then(|at| self.traces.steps.get_mut(at))
            .and_then(|step| step.fault.as_mut());
        if let Some(fault) = fault {
            fault.status = Some(status);
        }
    }

    /// Records the status of a message.
    pub(super) fn record_message_step(&mut self, place: (usize, usize), at: Timestamp) {
        let message = self.message_at(place);
        let what = message.status.as_ref().map_or("received", |status| status.as_str()).to_owned();
        let id = message.id.as_str().to_owned();
        self.record_step(StepKind::Message, &id, &what, Some(place.0), at);
    }

    /// Queues a job with the present cause.
    pub(super) fn schedule_job(&mut self, due: Timestamp, job: Job, now: Timestamp) {
        let cause = self.traces.cause(now);
        self.jobs.push_caused(due, job, cause);
    }

    /// Runs a job with the cause that queued it.
    pub(super) fn run_caused<R>(
        &mut self,
        cause: Option<u64>,
        job: &Job,
        at: Timestamp,
        act: impl FnOnce(&mut World) -> R,
    ) -> R {
        let number = self.traces.push(RecordedStep::of_job(job, cause, at));
        let before = std::mem::replace(&mut self.traces.now, CurrentCause::Step(number));
        let result = act(self);
        self.traces.now = before;
        result
    }

    /// Returns the traces of an id: what led to it and what it led to, oldest first, then the jobs that are
    /// still queued.
    pub fn trace(&self, id: &str) -> Vec<TraceStep> {
        let conversation = self.conversation(id).ok().map(|at| at as u32);
        let (roots, ids) = self.traces.roots(id, conversation);
        let on = |number: u64| roots.contains(&self.traces.root(number));
        let happened = self.traces.numbered().filter(|(number, _)| on(*number));
        let mut steps: Vec<TraceStep> = happened.map(|(_, step)| self.show_step(step)).collect();
        merge_requests(&mut steps);
        let waiting = self.jobs.caused().filter(|(_, job, cause)| {
            !matches!(job, Job::WebhookAttempt { .. })
                && (cause.is_some_and(on) || job.subject() == id || ids.contains(job.subject()))
        });
        steps.extend((self.traces.next..).zip(waiting).map(|(number, (due, job, cause))| {
            let step = RecordedStep { number, ..RecordedStep::of_job(job, cause, due) };
            TraceStep { due_at: Some(due), ..self.show_step(&step) }
        }));
        steps
    }

    /// Returns everything that happened and is still stored, oldest first: the steps of all traces.
    pub fn history(&self) -> Vec<TraceStep> {
        self.traces.steps.iter().map(|step| self.show_step(step)).collect()
    }

    /// Draws the next number in the order of everything that happens in the world.
    pub(crate) fn draw_number(&mut self) -> u64 {
        self.traces.draw()
    }

    fn show_step(&self, step: &RecordedStep) -> TraceStep {
        let at = step.conversation.map(|at| at as usize);
        TraceStep {
            cause: step.cause.filter(|cause| *cause >= self.traces.first()),
            what: step.what.clone(),
            conversation_id: at.map(|at| self.conversations[at].id.clone()),
            deliveries: (step.kind == StepKind::Event).then(|| self.trace_deliveries(&step.id)),
            customer: at.and_then(|at| self.customer(at)),
            subject: at.map(|at| self.conversations[at].subject.clone()),
            excerpt: at.and_then(|at| self.excerpt(at, step)),
            status: step.fault.as_ref().and_then(|fault| fault.status),
            fault_id: step.fault.as_ref().map(|fault| fault.id.clone()),
            ..TraceStep::new(step.number, step.kind, step.id.clone(), step.at)
        }
    }

    /// Returns the first words of the message or note of a step.
    fn excerpt(&self, at: usize, step: &RecordedStep) -> Option<String> {
        let text = match step.kind {
            StepKind::Message => &self.message_at(self.message(&step.id)?).text,
            StepKind::Note => self.conversations[at].timeline.iter().find_map(|item| match item {
                Item::Note(note) if note.id.as_str() == step.id => Some(&note.body),
                _ => None,
            })?,
            _ => return None,
        };
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let excerpt: String = words.chars().take(MAX_EXCERPT).collect();
        Some(if excerpt.len() < words.len() { excerpt + "…" } else { excerpt })
    }
}
