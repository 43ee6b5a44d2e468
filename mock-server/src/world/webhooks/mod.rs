//! Webhooks as plain data: endpoints, deliveries and the retry rules. Attempts leave as [`AttemptRequest`]
//! and come back as [`AttemptOutcome`].
//!
//! Each endpoint has at most one attempt under way, so a receiver gets events in the order in which they were
//! due, and a 410 or a pause takes effect exactly.

mod delivery;
mod endpoint;
mod events;
mod log;
mod manage;
mod schedule;
mod view;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use shared_inbox::{EventId, Timestamp, UserId, WebhookId};
use shared_inbox_webhooks::Event;

pub(crate) use delivery::ReceiverResponse;
pub use delivery::{Attempt, AttemptOutcome, AttemptRequest, DeliveryOutcome, SignatureHeaders};
pub use endpoint::{TimestampSource, WebhookScope, WebhookState};
pub(crate) use manage::ReceiverUnderTest;
pub(crate) use view::USER_AGENT;
pub use view::{
    AttemptDetail, CreateWebhook, CreatedWebhook, DeliveryDetail, DeliveryFilter, DeliveryView,
    RotatedSecret, TestEvent, WebhookView,
};

use delivery::{AttemptToken, Delivery, StoredResponses};
use endpoint::Endpoint;
pub(crate) use log::LoggedEvent;

use crate::world::{Job, Jobs, store::LayeredMap};

/// The audience of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Audience {
    /// `false` for the sandbox.
    pub livemode: bool,
    /// Where it happened.
    pub inbox: EventSource,
}

/// Where an event happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// In a team inbox.
    Team,
    /// In a private inbox of this person.
    Private(UserId),
    /// In no inbox: a booking outside a conversation.
    Workspace,
}

/// All endpoints of a workspace and the events that were or are to be sent to them.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Webhooks {
    /// Counts endpoints and events, for their order.
    count: u64,
    endpoints: BTreeMap<WebhookId, Endpoint>,
    /// Oldest first.
    log: BTreeMap<u64, Arc<LoggedEvent>>,
    #[serde(skip)]
    numbers: LayeredMap<EventId, u64>,
    /// How many deliveries the log has.
    #[serde(skip)]
    held: usize,
    #[serde(skip)]
    queues: BTreeMap<WebhookId, EndpointQueue>,
    /// The event that a fault delays until the next one for the same endpoint, and its latest time.
    #[serde(skip)]
    swapped: BTreeMap<WebhookId, (Timestamp, EventId)>,
    #[serde(skip)]
    responses: StoredResponses,
}

/// The attempts of an endpoint. Not part of the world document: a restored world makes them again.
#[derive(Clone)]
struct EndpointQueue {
    in_flight: Option<InFlight>,
    /// Attempts that were due while another was under way, in order.
    waiting: VecDeque<(Timestamp, EventId)>,
    /// The earliest time at which any of these may be retried.
    horizon: Timestamp,
}

#[derive(Clone)]
struct InFlight {
    token: AttemptToken,
    event: EventId,
    /// Set by a redelivery meanwhile.
    again: Option<Timestamp>,
}

/// A notice to an endpoint's owner by email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) endpoint: WebhookId,
    pub(crate) owner: Option<UserId>,
    pub(crate) at: Timestamp,
    /// [`WebhookState::Off`] or [`WebhookState::Paused`].
    pub(crate) state: WebhookState,
}

impl Webhooks {
    /// Queues an event for every endpoint that subscribes to it.
    pub(crate) fn emit(&mut self, event: Event, audience: &Audience, jobs: &mut Jobs, now: Timestamp) {
        let to: Vec<WebhookId> = self
            .endpoints
            .iter()
            .filter(|(_, endpoint)| endpoint.subscribes_to(&event, audience))
            .map(|(id, _)| id.clone())
            .collect();
        self.send(event, to, jobs, now);
    }

    fn send(&mut self, event: Event, to: Vec<WebhookId>, jobs: &mut Jobs, now: Timestamp) {
        if to.is_empty() {
            return;
        }
        self.forget(jobs, now);
        for endpoint in &to {
            jobs.push(now, Job::WebhookAttempt { endpoint: endpoint.clone(), event: event.id.clone() });
        }
        self.count += 1;
        self.held += to.len();
        self.numbers.insert(event.id.clone(), self.count);
        let deliveries = to.into_iter().map(|id| (id, Delivery::due(now))).collect();
        self.log.insert(self.count, Arc::new(LoggedEvent { event, deliveries }));
    }

    /// Starts the attempt that was due at `due`. Returns `None` if it is not to be made, or if the endpoint
    /// is busy: then it is queued until the endpoint is free.
    pub(crate) fn start(
        &mut self,
        id: &WebhookId,
        event_id: &EventId,
        due: Timestamp,
        jobs: &mut Jobs,
    ) -> Option<AttemptRequest> {
        let it = self.numbers.get(event_id).and_then(|number| self.log.get(number));
        let pending = it.and_then(|it| it.deliveries.get(id).filter(|d| d.is_pending()).map(|d| (it, d)));
        let (Some((it, delivery)), Some(endpoint)) = (pending, self.endpoints.get(id)) else {
            self.start_next(id, jobs);
            return None;
        };
        let failures = delivery.attempts.len() - delivery.earlier + 1;
        let again = schedule::wait(id, event_id, failures, delivery.attempts.len() + 1);
        let horizon = again.map_or(Timestamp::from_millis(i64::MAX), |wait| due + wait);
        let queue = self.queues.entry(id.clone()).or_insert(EndpointQueue {
            in_flight: None,
            waiting: VecDeque::new(),
            horizon,
        });
        queue.horizon = queue.horizon.min(horizon);
        if queue.in_flight.is_some() {
            queue.waiting.push_back((due, event_id.clone()));
            return None;
        }
        let token = AttemptToken::new();
        queue.in_flight = Some(InFlight { token, event: event_id.clone(), again: None });
        Some(AttemptRequest {
            token,
            endpoint: id.clone(),
            event: event_id.clone(),
            due,
            kind: it.event.kind.event_type().to_owned(),
            held: delivery.held,
            number: 0,
            url: endpoint.url.clone(),
            body: it.body().into(),
            keys: endpoint.keys.clone(),
            timestamps: endpoint.timestamps,
            slow: endpoint.slow,
        })
    }

    /// Delays an attempt that was just started; a swapped one until the next event has been attempted.
    pub(crate) fn hold(
        &mut self,
        request: &AttemptRequest,
        until: Timestamp,
        swapped: bool,
        jobs: &mut Jobs,
    ) {
        let (id, event) = (&request.endpoint, &request.event);
        if let Some(queue) = self.queues.get_mut(id) {
            queue.in_flight = None;
        }
        if let Some(delivery) = self.delivery_mut(id, event) {
            delivery.next_attempt_at = Some(until);
            delivery.held = true;
            jobs.push(until, Job::WebhookAttempt { endpoint: id.clone(), event: event.clone() });
            if swapped {
                self.swapped.insert(id.clone(), (until, event.clone()));
            }
        }
        self.start_next(id, jobs);
    }

    /// Queues the swapped event that waited for this attempt.
    fn release_swapped(&mut self, id: &WebhookId, tried: &EventId, at: Timestamp, jobs: &mut Jobs) {
        let Some((until, event)) = self.swapped.get(id).filter(|(_, event)| event != tried).cloned() else {
            return;
        };
        self.swapped.remove(id);
        let job = Job::WebhookAttempt { endpoint: id.clone(), event: event.clone() };
        if jobs.cancel(until, &job) {
            if let Some(delivery) = self.delivery_mut(id, &event) {
                delivery.next_attempt_at = Some(at);
            }
            jobs.push(at, job);
        }
    }

    /// Fails an attempt because the workspace's plan has no webhooks.
    pub(crate) fn give_up(&mut self, id: &WebhookId, event: &EventId, jobs: &mut Jobs) {
        if let Some(delivery) = self.delivery_mut(id, event) {
            delivery.end(DeliveryOutcome::Failed);
        }
        self.start_next(id, jobs);
    }

    /// Records the outcome of an attempt; returns the notice to the owner, if any.
    pub(crate) fn finish(&mut self, outcome: AttemptOutcome, jobs: &mut Jobs) -> Option<Notice> {
        let AttemptOutcome { endpoint: id, event, made, timed_out, .. } = &outcome;
        let queue = self.queues.get_mut(id)?;
        let in_flight = queue.in_flight.take_if(|in_flight| in_flight.token == outcome.token)?;
        let (at, status) = (made.at, made.status);

        let mut state = None;
        if let Some(endpoint) = self.endpoints.get_mut(id) {
            endpoint.slow = *timed_out;
            if status.is_some_and(|status| (200..300).contains(&status)) {
                (endpoint.failing_since, endpoint.last_error) = (None, None);
            } else if endpoint.state == WebhookState::On {
                let responded = status.map(|status| format!("the response was {status}"));
                endpoint.last_error = responded.or_else(|| made.error.clone());
                let a_day = endpoint.failed(at);
                state = match status {
                    Some(410) => Some(WebhookState::Off),
                    _ if a_day => Some(WebhookState::Paused),
                    _ => None,
                };
                endpoint.state = state.unwrap_or(WebhookState::On);
            }
        }
        self.record(id, event, made.clone(), in_flight.again, jobs);
        self.keep_response(id, event);
        self.release_swapped(id, event, at, jobs);
        let notice = state.map(|state| {
            self.drop_queued(id, jobs);
            let owner = self.endpoints.get(id).and_then(|endpoint| endpoint.owner.clone());
            Notice { endpoint: id.clone(), owner, at, state }
        });
        self.start_next(id, jobs);
        notice
    }

    /// Adds an attempt to the log and queues the retry, if any.
    fn record(
        &mut self,
        id: &WebhookId,
        event: &EventId,
        made: Attempt,
        again: Option<Timestamp>,
        jobs: &mut Jobs,
    ) {
        let on = self.endpoints.get(id).is_some_and(|endpoint| endpoint.state == WebhookState::On);
        let Some(delivery) = self.delivery_mut(id, event) else { return };
        let (at, status) = (made.at, made.status);
        delivery.attempts.push(made);
        delivery.held = false;
        let next = match status {
            Some(200..=299) => {
                delivery.end(DeliveryOutcome::Delivered);
                None
            }
            _ => {
                delivery.end(DeliveryOutcome::Failed);
                let failures = delivery.attempts.len() - delivery.earlier;
                schedule::wait(id, event, failures, delivery.attempts.len()).map(|wait| at + wait)
            }
        };
        if again.is_some() {
            delivery.earlier = delivery.attempts.len();
        }
        if let Some(due) = again.or(next).filter(|_| on) {
            delivery.outcome = DeliveryOutcome::Pending;
            delivery.next_attempt_at = Some(due);
            jobs.push(due, Job::WebhookAttempt { endpoint: id.clone(), event: event.clone() });
        }
    }

    /// Returns the earliest time at which an attempt under way or queued may be retried: earlier times cannot
    /// change. `None` if there is no such attempt.
    fn horizon(&self) -> Option<Timestamp> {
        // Without an attempt under way the next one is in the job queue, before everything later.
        self.queues.values().filter(|queue| queue.in_flight.is_some()).map(|queue| queue.horizon).min()
    }

    /// Queues the next waiting attempt if the endpoint is free.
    fn start_next(&mut self, id: &WebhookId, jobs: &mut Jobs) {
        let Some(queue) = self.queues.get_mut(id).filter(|queue| queue.in_flight.is_none()) else { return };
        match queue.waiting.pop_front() {
            Some((due, event)) => {
                jobs.push(due, Job::WebhookAttempt { endpoint: id.clone(), event });
            }
            None => {
                self.queues.remove(id);
            }
        }
    }

    /// Fails what is queued for an endpoint. An attempt under way is not cancelled.
    fn drop_queued(&mut self, id: &WebhookId, jobs: &mut Jobs) {
        jobs.remove(|job| matches!(job, Job::WebhookAttempt { endpoint, .. } if endpoint == id));
        let in_flight = self.queues.get_mut(id).and_then(|queue| {
            queue.waiting.clear();
            let in_flight = queue.in_flight.as_mut()?;
            in_flight.again = None;
            Some(in_flight.event.clone())
        });
        if in_flight.is_none() {
            self.queues.remove(id);
        }
        let queued = |it: &&mut Arc<LoggedEvent>| it.deliveries.get(id).is_some_and(Delivery::is_pending);
        let others = self.log.values_mut().filter(|it| in_flight.as_ref() != Some(&it.event.id));
        for it in others.filter(queued) {
            if let Some(delivery) = Arc::make_mut(it).deliveries.get_mut(id) {
                delivery.end(DeliveryOutcome::Failed);
            }
        }
    }

    fn logged_event(&self, event: &EventId) -> Option<&LoggedEvent> {
        self.log.get(self.numbers.get(event)?).map(Arc::as_ref)
    }

    fn delivery_mut(&mut self, id: &WebhookId, event: &EventId) -> Option<&mut Delivery> {
        Arc::make_mut(self.log.get_mut(self.numbers.get(event)?)?).deliveries.get_mut(id)
    }
}
