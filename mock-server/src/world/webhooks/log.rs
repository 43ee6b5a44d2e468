//! The log of deliveries: its contents, retention and format.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use shared_inbox::{__spec::limits, EventId, Problems, Timestamp, UserId, WebhookId};
use shared_inbox_webhooks::Event;

use super::{Attempt, DeliveryView, WebhookScope, Webhooks, delivery::Delivery};
use crate::world::{Job, Jobs, store::LayeredMap};

/// How many deliveries are stored. Beyond that the oldest are dropped, completed ones first.
const DELIVERIES_KEPT: usize = 250_000;

/// An event, stored once, with its deliveries to each endpoint that subscribes to it.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct LoggedEvent {
    #[cfg_attr(feature = "schemas", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    #[serde(deserialize_with = "complete_event")]
    pub(super) event: Event,
    pub(super) deliveries: BTreeMap<WebhookId, Delivery>,
}

impl LoggedEvent {
    pub(super) fn created_at(&self) -> Timestamp {
        // Every event of the log has one.
        self.event.created_at.unwrap_or(Timestamp::from_millis(0))
    }

    /// Returns the deliveries of the event, as lists show them, each with its webhook.
    pub(crate) fn delivery_views(&self) -> impl Iterator<Item = (&WebhookId, DeliveryView)> {
        self.deliveries.iter().map(|(id, delivery)| (id, self.view(delivery)))
    }

    pub(super) fn view(&self, delivery: &Delivery) -> DeliveryView {
        DeliveryView {
            event_id: self.event.id.clone(),
            event_type: self.event.kind.event_type().to_owned(),
            created_at: self.created_at(),
            outcome: delivery.outcome,
            next_attempt_at: delivery.next_attempt_at,
            attempts: delivery.attempts.iter().map(Attempt::unsigned).collect(),
        }
    }

    /// Returns the body, which is the same for every attempt.
    pub(super) fn body(&self) -> Vec<u8> {
        // Serializing ids, flags and texts cannot fail.
        serde_json::to_vec(&self.event).unwrap_or_default()
    }
}

/// Reads an event strictly: a receiver ignores missing fields, but this is the sender.
fn complete_event<'de, D: Deserializer<'de>>(d: D) -> Result<Event, D::Error> {
    let event = Event::deserialize(d)?;
    match event.malformed_fields().first() {
        None => Ok(event),
        Some(malformed) => Err(D::Error::custom(malformed)),
    }
}

impl Webhooks {
    /// Returns a copy of everything that the document contains.
    pub(crate) fn data(&self) -> Self {
        let (endpoints, log) = (self.endpoints.clone(), self.log.clone());
        Self { count: self.count, endpoints, log, ..Self::default() }
    }

    /// Returns how many events the log has.
    pub(crate) fn len(&self) -> usize {
        self.log.len()
    }

    /// Prepares a document that was read: attempts that were under way when it was written are due again.
    pub(crate) fn prepare(&mut self, jobs: &mut Jobs) {
        self.queues.clear();
        self.numbers = LayeredMap::default();
        self.log.iter().for_each(|(number, it)| self.numbers.insert(it.event.id.clone(), *number));
        self.held = self.log.values().map(|it| it.deliveries.len()).sum();
        let queued: HashSet<(WebhookId, EventId)> = jobs
            .iter()
            .filter_map(|(_, job)| match job {
                Job::WebhookAttempt { endpoint, event } => Some((endpoint.clone(), event.clone())),
                _ => None,
            })
            .collect();
        for it in self.log.values() {
            for (endpoint, delivery) in &it.deliveries {
                let key = (endpoint.clone(), it.event.id.clone());
                if let Some(due) = delivery.next_attempt_at.filter(|_| !queued.contains(&key)) {
                    jobs.push(due, Job::WebhookAttempt { endpoint: key.0, event: key.1 });
                }
            }
        }
    }

    /// Checks a document that was read.
    pub(crate) fn check(&self, has_user: impl Fn(&UserId) -> bool, problems: &mut Problems) {
        for (id, endpoint) in &self.endpoints {
            let field = |name: &str| format!("webhooks.endpoints.{id}.{name}");
            if endpoint.owner.as_ref().is_some_and(|owner| !has_user(owner)) {
                problems.push(field("owner"), "is not one of the users");
            }
            if endpoint.scope == WebhookScope::Private && endpoint.owner.is_none() {
                problems.push(field("owner"), "is required for the scope private");
            }
        }
        let mut seen = HashSet::new();
        for (number, it) in &self.log {
            let field = format!("webhooks.log.{number}");
            if *number > self.count {
                problems.push(field.clone(), "is more than webhooks.count");
            }
            if !seen.insert(&it.event.id) {
                problems.push(format!("{field}.event.id"), "is there twice");
            }
            if it.deliveries.keys().any(|id| !self.endpoints.contains_key(id)) {
                problems.push(
                    format!("{field}.deliveries"),
                    "has an endpoint that is not one of webhooks.endpoints",
                );
            }
            if it.deliveries.values().any(|delivery| delivery.earlier > delivery.attempts.len()) {
                problems.push(format!("{field}.deliveries"), "counts more `earlier` attempts than there are");
            }
        }
    }

    /// Drops deliveries older than 30 days, and the oldest beyond the limit.
    pub(super) fn forget(&mut self, jobs: &mut Jobs, now: Timestamp) {
        let mut dropped = HashSet::new();
        let mut gone = Vec::new();
        // Events are sorted by time; old ones with a recent attempt stay.
        let old = |it: &LoggedEvent| now.duration_since(it.created_at()) > limits::DELIVERY_LOG;
        for (number, it) in self.log.iter_mut().take_while(|(_, it)| old(it)) {
            let before = it.deliveries.len();
            let created = it.created_at();
            Arc::make_mut(it).deliveries.retain(|_, delivery| delivery.in_log(created, now));
            self.held -= before - it.deliveries.len();
            if it.deliveries.is_empty() {
                self.numbers.remove(it.event.id.clone());
                gone.push(*number);
            }
        }
        gone.iter().for_each(|number| drop(self.log.remove(number)));
        if self.held < DELIVERIES_KEPT {
            return;
        }
        // Drops a tenth at once, so that a full log is not scanned for every event.
        let target = DELIVERIES_KEPT / 10 * 9;
        for pending in [false, true] {
            for it in self.log.values_mut() {
                if self.held <= target {
                    break;
                }
                let before = it.deliveries.len();
                Arc::make_mut(it).deliveries.retain(|_, delivery| !pending && delivery.is_pending());
                self.held -= before - it.deliveries.len();
                if it.deliveries.is_empty() {
                    self.numbers.remove(it.event.id.clone());
                    if pending {
                        dropped.insert(it.event.id.clone());
                    }
                }
            }
        }
        self.log.retain(|_, it| !it.deliveries.is_empty());
        if !dropped.is_empty() {
            jobs.remove(|job| matches!(job, Job::WebhookAttempt { event, .. } if dropped.contains(event)));
        }
    }
}
