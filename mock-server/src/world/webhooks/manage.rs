//! Managing webhooks, as an owner does in the app: create, list, pause, rotate the secret, redeliver.

use std::{sync::Arc, time::Duration};

use shared_inbox::{EventId, Timestamp, UserId, WebhookId, WorkspaceId};
use shared_inbox_webhooks::{
    Secret,
    event::{Event, EventKind, WebhookTest},
};

use super::{
    Attempt, AttemptDetail, AttemptOutcome, AttemptRequest, CreateWebhook, CreatedWebhook, DeliveryDetail,
    DeliveryFilter, DeliveryOutcome, DeliveryView, Notice, RotatedSecret, TestEvent, WebhookState,
    WebhookView, Webhooks,
    endpoint::{Endpoint, SigningKeys},
};
use crate::world::{
    Job, Jobs, Refusal, Result, StepKind, TraceDelivery, World,
    mail::{MailOutcome, OutboxKind, OutboxMail},
    people::Plan,
};

/// The data of a webhook for a check of its receiver.
#[derive(Debug, Clone)]
pub struct ReceiverUnderTest {
    pub(crate) id: WebhookId,
    pub(crate) url: String,
    pub(crate) livemode: bool,
    pub(crate) workspace: WorkspaceId,
    pub(crate) keys: SigningKeys,
    pub(crate) now: Timestamp,
}

/// Returns the address that notices go to. People have no address in this API; this one names the recipient.
fn notice_address(owner: Option<&UserId>) -> String {
    format!("{}@people.test", owner.map_or("owner", UserId::as_str))
}

impl World {
    /// Adds a webhook. The caller checks whether its address is permitted, since that may need a name lookup.
    pub fn create_webhook(&mut self, new: CreateWebhook) -> Result<CreatedWebhook> {
        new.check()?;
        if let Some(owner) = &new.owner {
            self.user(owner)?;
        }
        let secret = self.new_secret();
        let shown = secret.reveal().to_string();
        let id: WebhookId = self.ids.next_id();
        self.webhooks.count += 1;
        let endpoint = Endpoint {
            number: self.webhooks.count,
            url: new.url,
            livemode: new.livemode,
            scope: new.scope,
            owner: new.owner,
            events: new.events,
            timestamps: new.timestamps,
            state: WebhookState::On,
            keys: SigningKeys::new(secret),
            failing_since: None,
            last_error: None,
            slow: false,
        };
        self.webhooks.endpoints.insert(id.clone(), endpoint);
        Ok(CreatedWebhook { id, secret: shown })
    }

    /// Returns all webhooks, in the order in which they were added.
    pub fn webhooks(&self) -> Vec<WebhookView> {
        let mut endpoints: Vec<_> = self.webhooks.endpoints.iter().collect();
        endpoints.sort_by_key(|(_, endpoint)| endpoint.number);
        let all = || EventKind::TYPES.iter().map(|name| (*name).to_owned()).collect();
        let view = |(id, endpoint): (&WebhookId, &Endpoint)| WebhookView {
            id: id.clone(),
            url: endpoint.url.clone(),
            livemode: endpoint.livemode,
            scope: endpoint.scope,
            owner: endpoint.owner.clone(),
            events: endpoint.events.clone().unwrap_or_else(all),
            timestamps: endpoint.timestamps,
            state: endpoint.state,
            failing_since: endpoint.failing_since,
            last_error: endpoint.last_error.clone(),
        };
        endpoints.into_iter().map(view).collect()
    }

    /// Removes a webhook with its log; queued events are not sent.
    pub fn delete_webhook(&mut self, id: &str) -> Result<()> {
        let id = self.webhook(id)?;
        self.webhooks.drop_queued(&id, &mut self.jobs);
        self.webhooks.endpoints.remove(&id);
        self.webhooks.forget_endpoint(&id);
        Ok(())
    }

    /// Gives a webhook a new secret; the old one also signs for 24 hours.
    pub fn rotate_webhook(&mut self, id: &str, now: Timestamp) -> Result<RotatedSecret> {
        let id = self.webhook(id)?;
        let secret = self.new_secret();
        let shown = secret.reveal().to_string();
        self.endpoint(&id)?.keys.rotate(secret, now);
        Ok(RotatedSecret { secret: shown })
    }

    /// Sends a `webhook.test` event to this webhook alone, whatever it subscribes to.
    pub fn test_webhook(&mut self, id: &str, now: Timestamp) -> Result<TestEvent> {
        let id = self.webhook(id)?;
        self.check_sendable(&id)?;
        let kind = EventKind::WebhookTest(WebhookTest::new(id.clone()));
        let mut event = Event::new(self.ids.next_id(), kind);
        event.created_at = Some(now);
        event.workspace = Some(self.workspace.id.clone());
        event.livemode = Some(self.endpoint(&id)?.livemode);
        event.summary = "Test event for this webhook".to_owned();
        let event_id = event.id.clone();
        self.record_step(StepKind::Event, event_id.as_str(), "webhook.test", None, now);
        self.record_event(event.clone());
        self.webhooks.send(event, vec![id], &mut self.jobs, now);
        Ok(TestEvent { event_id })
    }

    /// Pauses a webhook: queued events are not sent, and nothing is until it is resumed.
    pub fn pause_webhook(&mut self, id: &str) -> Result<()> {
        let id = self.webhook(id)?;
        let endpoint = self.endpoint(&id)?;
        if endpoint.state == WebhookState::Off {
            return Err(Refusal::conflict(
                "The receiver turned this webhook off; there is nothing to pause.",
            ));
        }
        endpoint.state = WebhookState::Paused;
        self.webhooks.drop_queued(&id, &mut self.jobs);
        Ok(())
    }

    /// Resumes a webhook that was paused or turned off. Events of the log can be redelivered.
    pub fn resume_webhook(&mut self, id: &str) -> Result<()> {
        let id = self.webhook(id)?;
        let endpoint = self.endpoint(&id)?;
        endpoint.state = WebhookState::On;
        (endpoint.failing_since, endpoint.last_error) = (None, None);
        Ok(())
    }

    /// Returns the log of a webhook, newest first.
    pub fn deliveries(&self, id: &str, filter: &DeliveryFilter, now: Timestamp) -> Result<Vec<DeliveryView>> {
        let id = self.webhook(id)?;
        if filter.event_type.as_deref().is_some_and(|name| !EventKind::TYPES.contains(&name)) {
            let known = EventKind::TYPES.join(", ");
            return Err(Refusal::field("type", format!("must be one of {known}")));
        }
        let view = |it: &super::LoggedEvent| {
            let delivery = it.deliveries.get(&id)?;
            let event_type = it.event.kind.event_type();
            let wanted = delivery.in_log(it.created_at(), now)
                && filter.outcome.is_none_or(|outcome| outcome == delivery.outcome)
                && filter.event_type.as_ref().is_none_or(|name| name == event_type);
            wanted.then(|| it.view(delivery))
        };
        Ok(self.webhooks.log.values().rev().filter_map(|it| view(it)).collect())
    }

    /// Returns the type of an event, and the address of an endpoint.
    pub(crate) fn delivery_target(
        &self,
        id: &WebhookId,
        event: &EventId,
    ) -> (Option<String>, Option<String>) {
        let event = self.webhooks.logged_event(event).map(|it| it.event.kind.event_type().to_owned());
        (event, self.webhooks.endpoints.get(id).map(|endpoint| endpoint.url.clone()))
    }

    /// Returns the events of which the log shows a delivery, oldest first.
    pub(crate) fn logged_events(&self, now: Timestamp) -> Vec<Arc<super::LoggedEvent>> {
        let shown = |it: &&Arc<super::LoggedEvent>| {
            it.deliveries.values().any(|delivery| delivery.in_log(it.created_at(), now))
        };
        self.webhooks.log.values().filter(shown).cloned().collect()
    }

    /// Returns the deliveries of an event to each webhook that subscribes to it.
    pub(crate) fn trace_deliveries(&self, event: &str) -> Vec<TraceDelivery> {
        let logged_event = EventId::parse(event).ok().and_then(|event| self.webhooks.logged_event(&event));
        let way = |(id, delivery): (&WebhookId, &super::Delivery)| TraceDelivery {
            webhook_id: id.clone(),
            url: self.webhooks.endpoints.get(id).map(|endpoint| endpoint.url.clone()).unwrap_or_default(),
            outcome: delivery.outcome,
            next_attempt_at: delivery.next_attempt_at,
            attempts: delivery.attempts.iter().map(Attempt::unsigned).collect(),
        };
        logged_event.into_iter().flat_map(|it| it.deliveries.iter().map(way)).collect()
    }

    /// Returns one delivery of the log, with exactly what was sent.
    pub fn delivery(&self, id: &str, event: &str, now: Timestamp) -> Result<DeliveryDetail> {
        let id = self.webhook(id)?;
        let none = || Refusal::no_such("delivery");
        let event = EventId::parse(event).map_err(|_| none())?;
        let it = self.webhooks.logged_event(&event).ok_or_else(none)?;
        let delivery = it.deliveries.get(&id).filter(|delivery| delivery.in_log(it.created_at(), now));
        let delivery = delivery.ok_or_else(none)?;
        Ok(DeliveryDetail {
            event_id: event,
            event_type: it.event.kind.event_type().to_owned(),
            created_at: it.created_at(),
            outcome: delivery.outcome,
            next_attempt_at: delivery.next_attempt_at,
            attempts: delivery
                .attempts
                .iter()
                .map(|made| AttemptDetail::from_attempt(made, &it.event.id))
                .collect(),
            body: String::from_utf8(it.body()).unwrap_or_default(),
        })
    }

    /// Sends an event of the log again, with the same id, now and then by the retry schedule.
    pub fn redeliver(&mut self, id: &str, event: &str, now: Timestamp) -> Result<()> {
        let id = self.webhook(id)?;
        let event = EventId::parse(event).map_err(|_| Refusal::no_such("delivery"))?;
        self.check_sendable(&id)?;
        let again = self.webhooks.redeliver(&id, &event, &mut self.jobs, now);
        again.ok_or_else(|| Refusal::no_such("delivery"))?;
        self.record_step(StepKind::Event, event.as_str(), "redelivered", None, now);
        Ok(())
    }

    /// Returns the data of a webhook for a check of its receiver.
    pub fn receiver_under_test(&self, id: &str, now: Timestamp) -> Result<ReceiverUnderTest> {
        let id = self.webhook(id)?;
        let endpoint = self.webhooks.endpoints.get(&id).ok_or_else(|| Refusal::no_such("webhook"))?;
        Ok(ReceiverUnderTest {
            url: endpoint.url.clone(),
            livemode: endpoint.livemode,
            workspace: self.workspace.id.clone(),
            keys: endpoint.keys.clone(),
            now,
            id,
        })
    }

    /// Returns the earliest time at which a webhook attempt under way may be retried; `None` if there is
    /// none. Jobs that are due before it can run without waiting for the attempt.
    pub fn webhooks_horizon(&self) -> Option<Timestamp> {
        self.webhooks.horizon()
    }

    /// Records the outcome of an attempt.
    pub fn finish_attempt(&mut self, outcome: AttemptOutcome) {
        let event = outcome.event.clone();
        if let Some(notice) = self.webhooks.finish(outcome, &mut self.jobs) {
            self.continue_from_event(&event);
            let what = if notice.state == WebhookState::Off { "turned off" } else { "paused" };
            self.record_step(StepKind::Webhook, notice.endpoint.as_str(), what, None, notice.at);
            self.end_cause();
            self.notify_owner(&notice);
        }
    }

    /// Starts an attempt that is due; returns `None` if it is not to be made now.
    pub(crate) fn start_attempt(
        &mut self,
        id: &WebhookId,
        event: &EventId,
        due: Timestamp,
    ) -> Option<AttemptRequest> {
        if self.workspace.plan == Plan::Free {
            self.webhooks.give_up(id, event, &mut self.jobs);
            return None;
        }
        self.webhooks.start(id, event, due, &mut self.jobs)
    }

    /// Delays an attempt that was just started because of a fault: by a duration, or until the next event has
    /// been attempted.
    pub(crate) fn hold_attempt(&mut self, request: &AttemptRequest, by: Duration, swapped: bool) {
        self.webhooks.hold(request, request.due + by, swapped, &mut self.jobs);
    }

    /// Returns the addresses that notices may go to.
    pub(crate) fn notice_addresses(&self) -> impl Iterator<Item = String> {
        let people = self.users.iter().map(|user| notice_address(Some(&user.id)));
        people.chain([notice_address(None)])
    }

    fn notify_owner(&mut self, notice: &Notice) {
        let to = notice_address(notice.owner.as_ref().or(self.users.first().map(|user| &user.id)));
        let (subject, text) = match notice.state {
            WebhookState::Off => (
                "Your webhook was turned off",
                "Its receiver returned 410, which means that it wants no more events. What was still queued for it \
                 is not sent.",
            ),
            _ => (
                "Your webhook was paused",
                "For a whole day no event could be delivered to it. What was still queued for it is not sent. \
                 Resume it when its receiver works again.",
            ),
        };
        self.outbox.push(OutboxMail {
            at: notice.at,
            kind: OutboxKind::Notice,
            message_id: None,
            to,
            subject: subject.to_owned(),
            text: format!("{text}\n\nWebhook: {}", notice.endpoint),
            outcome: MailOutcome::Sent,
        });
    }

    fn webhook(&self, id: &str) -> Result<WebhookId> {
        let known = WebhookId::parse(id).ok().filter(|id| self.webhooks.endpoints.contains_key(id));
        known.ok_or_else(|| Refusal::no_such("webhook"))
    }

    fn endpoint(&mut self, id: &WebhookId) -> Result<&mut Endpoint> {
        self.webhooks.endpoints.get_mut(id).ok_or_else(|| Refusal::no_such("webhook"))
    }

    fn check_sendable(&mut self, id: &WebhookId) -> Result<()> {
        if self.workspace.plan == Plan::Free {
            return Err(Refusal::conflict("Webhooks are not sent on the free plan; change the plan first."));
        }
        match self.endpoint(id)?.state {
            WebhookState::On => Ok(()),
            WebhookState::Paused => Err(Refusal::conflict("This webhook is paused; resume it first.")),
            WebhookState::Off => Err(Refusal::conflict("This webhook is off; resume it first.")),
        }
    }

    fn new_secret(&mut self) -> Secret {
        let bits: Vec<u8> = (0..4).flat_map(|_| self.ids.next_u64().to_le_bytes()).collect();
        Secret::from_bytes(&bits).expect("32 bytes are neither too few nor too many")
    }
}

impl Webhooks {
    /// Returns `None` if the log does not have the event.
    fn redeliver(&mut self, id: &WebhookId, event: &EventId, jobs: &mut Jobs, now: Timestamp) -> Option<()> {
        let it = Arc::make_mut(self.log.get_mut(self.numbers.get(event)?)?);
        let created = it.created_at();
        let delivery = it.deliveries.get_mut(id).filter(|delivery| delivery.in_log(created, now))?;
        let queue = self.queues.get_mut(id);
        if let Some(queue) = queue {
            if let Some(in_flight) = queue.in_flight.as_mut().filter(|in_flight| in_flight.event == *event) {
                in_flight.again = Some(now);
                return Some(());
            }
            if queue.waiting.iter().any(|(_, waiting)| waiting == event) {
                return Some(());
            }
        }
        let job = Job::WebhookAttempt { endpoint: id.clone(), event: event.clone() };
        if let Some(due) = delivery.next_attempt_at {
            jobs.cancel(due, &job);
        }
        delivery.earlier = delivery.attempts.len();
        delivery.outcome = DeliveryOutcome::Pending;
        delivery.next_attempt_at = Some(now);
        jobs.push(now, job);
        Some(())
    }

    fn forget_endpoint(&mut self, id: &WebhookId) {
        for it in self.log.values_mut().filter(|it| it.deliveries.contains_key(id)) {
            Arc::make_mut(it).deliveries.remove(id);
            self.held -= 1;
        }
        let numbers = &mut self.numbers;
        self.log.retain(|_, it| {
            let heard = !it.deliveries.is_empty();
            if !heard {
                numbers.remove(it.event.id.clone());
            }
            heard
        });
    }
}
