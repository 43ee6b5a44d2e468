//! Everything a test can do that is not part of the service: what people and customers do, the passing of time, and
//! failures on demand.
//!
//! [`Control`] is the control API. The HTTP handlers below `/_mock` and a test that embeds the server call the same
//! methods.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared_inbox::{BookingId, Timestamp};
use tokio::sync::broadcast;

use crate::{
    ready::{Addresses, Ready},
    server::{
        clock::ClockMode,
        document::Origin,
        exam::{self, ExamReport},
        faults::{Fault, FaultRule},
        hub::Hub,
        journal::JournalEntry,
        realm::{Advanced, ClockReading, Realm},
        sse::{Cause, Change},
    },
    world::{
        Approval, Approved, Assignment, CreateWebhook, CreatedWebhook, DeliveryFilter, DeliveryView,
        InboundMail, JobEntry, KeyEntry, MadeKey, MailboxEntry, NewBooking, NewKey, NewMailbox, NewUser,
        OutboxMail, Plan, Received, Refusal, RotatedSecret, Snooze, Stop, TestSent, Upload, Uploaded, User,
        Waiting, WebhookView, World,
    },
};

/// What a call of the control API gives.
pub type Controlled<T> = Result<T, Refusal>;

/// Plays everyone but the program under test, in one world: people, customers, time, bad luck.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use shared_inbox_mock::{InboundMail, MockServer};
///
/// let mock = MockServer::builder().manual_clock().empty().start().await;
/// let inbox = &mock.control().mailboxes().await?[0];
///
/// let mail = InboundMail::new(&inbox.address, "vera@customer.example", "Where is my parcel?");
/// let received = mock.control().inbound(mail).await?;
/// assert!(received.created);
///
/// let before = mock.control().clock().await.now;
/// let after = mock.control().advance(Duration::from_secs(600)).await?.now;
/// assert_eq!(after.duration_since(before), Duration::from_secs(600));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Control {
    hub: Arc<Hub>,
    realm: Arc<Realm>,
    addresses: Arc<Addresses>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("world", &self.realm.number()).finish_non_exhaustive()
    }
}

/// How a new world starts.
///
/// ```
/// use shared_inbox_mock::{ClockMode, NewWorld};
/// let new = NewWorld::empty().clock(ClockMode::Manual);
/// assert_eq!(serde_json::to_string(&new).unwrap(), r#"{"empty":true,"clock":"manual"}"#);
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NewWorld {
    /// The document it starts from; the demo workspace when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Box<RawValue>>,
    /// Starts with nothing in it.
    #[serde(default)]
    pub empty: bool,
    /// How its clock runs; as the server's when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockMode>,
}

impl NewWorld {
    /// The demo workspace.
    pub fn demo() -> Self {
        Self::default()
    }

    /// A workspace with nothing in it.
    pub fn empty() -> Self {
        Self { empty: true, ..Self::default() }
    }

    /// The world that a document describes.
    ///
    /// # Errors
    ///
    /// When the document is not JSON.
    pub fn seed(document: impl Into<String>) -> serde_json::Result<Self> {
        Ok(Self { seed: Some(RawValue::from_string(document.into())?), ..Self::default() })
    }

    /// How its clock runs.
    pub fn clock(mut self, mode: ClockMode) -> Self {
        self.clock = Some(mode);
        self
    }
}

impl Control {
    pub(crate) fn new(hub: Arc<Hub>, realm: Arc<Realm>, addresses: Arc<Addresses>) -> Self {
        Self { hub, realm, addresses }
    }

    /// Reads the world.
    fn read<R>(&self, act: impl FnOnce(&World, Timestamp) -> R) -> R {
        self.realm.enter(|world, now| act(world, now))
    }

    /// Does something to the world.
    fn act<R>(&self, what: &str, act: impl FnOnce(&mut World, Timestamp) -> Controlled<R>) -> Controlled<R> {
        self.realm.change(Cause::Control, what, act)
    }

    // ---- the world

    /// The addresses and keys of this world.
    pub fn ready(&self) -> Ready {
        self.addresses.ready(self.realm.number(), self.realm.keys())
    }

    /// The world as it was at the start, its clock too; no faults, an empty journal.
    ///
    /// # Errors
    ///
    /// None that a world that has started could give.
    pub async fn reset(&self) -> Controlled<()> {
        self.realm.reset()?;
        self.hub.index(&self.realm);
        Ok(())
    }

    /// The whole world as one document.
    ///
    /// # Errors
    ///
    /// When the world cannot be written as JSON, which would be a mistake of this crate.
    pub async fn state(&self) -> Controlled<String> {
        String::from_utf8(self.document()?).map_err(|_| Refusal::new(500, "The world is not text."))
    }

    pub(crate) fn document(&self) -> Controlled<Vec<u8>> {
        self.realm.document()
    }

    /// The world becomes what the document says.
    ///
    /// # Errors
    ///
    /// 400 with line, field and reason when the document is not sound.
    pub async fn restore(&self, document: impl AsRef<[u8]>) -> Controlled<()> {
        self.realm.restore(document.as_ref())?;
        self.hub.index(&self.realm);
        Ok(())
    }

    /// What the clock shows.
    pub async fn clock(&self) -> ClockReading {
        self.realm.clock()
    }

    /// Moves the clock ahead. Everything that falls due on the way happens in order, each at its own time; webhook
    /// tries that fell due or were under way have ended when this returns.
    ///
    /// # Errors
    ///
    /// 409 when the world is replaced or reset meanwhile.
    pub async fn advance(&self, by: Duration) -> Controlled<Advanced> {
        self.realm.advance(by).await
    }

    /// The requests to the service so far, oldest first.
    pub async fn requests(&self) -> Vec<JournalEntry> {
        self.realm.journal(|journal| journal.list())
    }

    /// Forgets the requests so far.
    pub async fn clear_requests(&self) {
        self.realm.journal(|journal| journal.clear());
    }

    /// What is due and when, soonest first.
    pub async fn jobs(&self) -> Vec<JobEntry> {
        self.read(|world, _| world.jobs())
    }

    /// Every change of the world from now on.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.realm.follow()
    }

    /// A new world beside this one, with keys, data, clock, faults, journal and limits of its own.
    ///
    /// # Errors
    ///
    /// 400 when the seed is not sound, or goes together with `empty`.
    pub async fn create_world(&self, new: NewWorld) -> Controlled<Control> {
        let origin = match (&new.seed, new.empty) {
            (Some(_), true) => return Err(Refusal::field("empty", "goes with no seed")),
            (Some(seed), false) => Origin::Document(seed.get().as_bytes().into()),
            (None, true) => Origin::Empty,
            (None, false) => Origin::Demo,
        };
        let realm = self.hub.create(origin, new.clock)?;
        Ok(Self { realm, ..self.clone() })
    }

    /// The control of the world with this id.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub fn world(&self, id: &str) -> Controlled<Control> {
        Ok(Self { realm: self.hub.world(id)?, ..self.clone() })
    }

    /// Ends a world beside the main one; its keys are wrong from now on.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn delete_world(&self, id: &str) -> Controlled<()> {
        self.hub.delete(id)
    }

    // ---- people, inboxes, keys

    /// A new person on the team.
    ///
    /// # Errors
    ///
    /// 400 for a name that is empty.
    pub async fn create_user(&self, new: NewUser) -> Controlled<User> {
        self.act("users", |world, _| world.create_user(new))
    }

    /// Everyone on the team.
    pub async fn users(&self) -> Vec<User> {
        self.read(|world, _| world.users().to_vec())
    }

    /// A new inbox.
    ///
    /// # Errors
    ///
    /// 400 for a bad address, 404 for an unknown owner, 409 for an address that is taken.
    pub async fn create_mailbox(&self, new: NewMailbox) -> Controlled<MailboxEntry> {
        self.act("mailboxes", |world, _| world.create_mailbox(new))
    }

    /// All inboxes, private ones and the sandbox included.
    pub async fn mailboxes(&self) -> Controlled<Vec<MailboxEntry>> {
        Ok(self.read(|world, _| world.mailboxes()))
    }

    /// A new key, shown this once.
    ///
    /// # Errors
    ///
    /// 400 for bad input, 404 for an unknown maker.
    pub async fn create_key(&self, new: NewKey) -> Controlled<MadeKey> {
        let made = self.act("keys", |world, _| world.create_key(new))?;
        self.hub.index(&self.realm);
        Ok(made)
    }

    /// All keys, without what is secret about them.
    pub async fn keys(&self) -> Vec<KeyEntry> {
        self.read(|world, _| world.keys())
    }

    /// Revokes the key of an agent.
    ///
    /// # Errors
    ///
    /// 404 when there is no such agent.
    pub async fn revoke_key(&self, agent: impl AsRef<str>) -> Controlled<()> {
        self.act("keys", |world, _| world.revoke_key(agent.as_ref()))
    }

    /// Changes the workspace's plan.
    pub async fn set_plan(&self, plan: Plan) -> Controlled<()> {
        self.act("plan", |world, _| {
            world.set_plan(plan);
            Ok(())
        })
    }

    // ---- what people and customers do

    /// A customer's mail comes in.
    ///
    /// # Errors
    ///
    /// 400 for bad input, 404 for an unknown conversation or inbox.
    pub async fn inbound(&self, mail: InboundMail) -> Controlled<Received> {
        self.act("inbound", |world, now| world.inbound(mail, now))
    }

    /// A person approves a draft.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message or person, 409 when it is not a draft.
    pub async fn approve(&self, message: impl AsRef<str>, approval: Approval) -> Controlled<Approved> {
        self.act("approve", |world, now| world.approve(message.as_ref(), approval, now))
    }

    /// A person stops a message in its undo window.
    ///
    /// # Errors
    ///
    /// 404 for an unknown message or person, 409 when it is not waiting to go out.
    pub async fn stop(&self, message: impl AsRef<str>, stop: Stop) -> Controlled<()> {
        self.act("stop", |world, now| world.stop(message.as_ref(), stop, now))
    }

    /// The drafts that wait for a person, oldest first.
    pub async fn approvals(&self) -> Vec<Waiting> {
        self.read(|world, _| world.approvals())
    }

    /// A person snoozes a conversation, or ends its snooze.
    ///
    /// # Errors
    ///
    /// 404 for an unknown conversation.
    pub async fn snooze(&self, conversation: impl AsRef<str>, snooze: Snooze) -> Controlled<()> {
        self.act("snooze", |world, now| world.snooze(conversation.as_ref(), snooze, now))
    }

    /// A person gives a conversation to someone.
    ///
    /// # Errors
    ///
    /// 404 for an unknown conversation, 400 for someone who is not on the team or cannot see it.
    pub async fn assign(&self, conversation: impl AsRef<str>, to: Assignment) -> Controlled<()> {
        self.act("assign", |world, now| world.assign_by_person(conversation.as_ref(), to, now))
    }

    /// A customer uploads a document that was asked for.
    ///
    /// # Errors
    ///
    /// 404 for an unknown request, 400 for an item that it does not have.
    pub async fn upload(&self, request: impl AsRef<str>, upload: Upload) -> Controlled<Uploaded> {
        self.act("uploads", |world, now| world.upload(request.as_ref(), upload, now))
    }

    /// Someone books a time.
    ///
    /// # Errors
    ///
    /// 400 for bad times, 404 for an unknown host or conversation.
    pub async fn create_booking(&self, new: NewBooking) -> Controlled<BookingId> {
        self.act("bookings", |world, now| world.create_booking(new, now))
    }

    /// A booking is cancelled.
    ///
    /// # Errors
    ///
    /// 404 for an unknown booking, 409 when it is cancelled already.
    pub async fn cancel_booking(&self, booking: impl AsRef<str>) -> Controlled<()> {
        self.act("bookings", |world, now| world.cancel_booking(booking.as_ref(), now))
    }

    /// Every mail that left or was meant to.
    pub async fn outbox(&self) -> Vec<OutboxMail> {
        self.read(|world, _| world.outbox().to_vec())
    }

    // ---- webhooks

    /// Adds a webhook endpoint.
    ///
    /// # Errors
    ///
    /// 400 for an address that may not be sent to, 404 for an unknown owner.
    pub async fn create_webhook(&self, new: CreateWebhook) -> Controlled<CreatedWebhook> {
        self.realm.deliverer().targets().admit(&new.url).await?;
        self.act("webhooks", |world, _| world.create_webhook(new))
    }

    /// All webhook endpoints.
    pub async fn webhooks(&self) -> Vec<WebhookView> {
        self.read(|world, _| world.webhooks())
    }

    /// Removes a webhook endpoint; what is queued for it is not sent.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn delete_webhook(&self, webhook: impl AsRef<str>) -> Controlled<()> {
        self.act("webhooks", |world, _| world.delete_webhook(webhook.as_ref()))
    }

    /// Gives a webhook a new secret; for 24 hours both sign.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn rotate_webhook(&self, webhook: impl AsRef<str>) -> Controlled<RotatedSecret> {
        self.act("webhooks", |world, now| world.rotate_webhook(webhook.as_ref(), now))
    }

    /// Sends a test event.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 409 when nothing is sent to it at present.
    pub async fn test_webhook(&self, webhook: impl AsRef<str>) -> Controlled<TestSent> {
        self.act("webhooks", |world, now| world.test_webhook(webhook.as_ref(), now))
    }

    /// Sends nothing to a webhook until it is resumed.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 409 when it is off.
    pub async fn pause_webhook(&self, webhook: impl AsRef<str>) -> Controlled<()> {
        self.act("webhooks", |world, _| world.pause_webhook(webhook.as_ref()))
    }

    /// Sends to a webhook again.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn resume_webhook(&self, webhook: impl AsRef<str>) -> Controlled<()> {
        self.act("webhooks", |world, _| world.resume_webhook(webhook.as_ref()))
    }

    /// The log of a webhook, newest first.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn deliveries(
        &self,
        webhook: impl AsRef<str>,
        filter: DeliveryFilter,
    ) -> Controlled<Vec<DeliveryView>> {
        self.read(|world, now| world.deliveries(webhook.as_ref(), &filter, now))
    }

    /// Sends an event again, with the same id.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook or event, 409 when nothing is sent to it at present.
    pub async fn redeliver(&self, webhook: impl AsRef<str>, event: impl AsRef<str>) -> Controlled<()> {
        self.act("webhooks", |world, now| world.redeliver(webhook.as_ref(), event.as_ref(), now))
    }

    /// Sends a receiver a fixed series of good and bad requests, and reports what it made of them.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook.
    pub async fn exam(&self, webhook: impl AsRef<str>) -> Controlled<ExamReport> {
        let examinee = self.read(|world, now| world.examinee(webhook.as_ref(), now))?;
        Ok(exam::run(self.realm.deliverer(), examinee).await)
    }

    // ---- faults

    /// Makes requests go wrong.
    ///
    /// # Errors
    ///
    /// 400 for a rule that makes no sense.
    pub async fn add_fault(&self, rule: FaultRule) -> Controlled<Fault> {
        rule.check().map_err(|problem| Refusal::new(400, problem))?;
        Ok(self.realm.faults(|faults| faults.add(rule)))
    }

    /// The rules, and how often each has fired.
    pub async fn faults(&self) -> Vec<Fault> {
        self.realm.faults(|faults| faults.list())
    }

    /// Removes all rules.
    pub async fn clear_faults(&self) {
        self.realm.faults(|faults| faults.clear());
    }

    /// Removes one rule.
    ///
    /// # Errors
    ///
    /// 404 when there is none with this id.
    pub async fn remove_fault(&self, id: &str) -> Controlled<()> {
        let removed = self.realm.faults(|faults| faults.remove(id));
        if removed { Ok(()) } else { Err(Refusal::new(404, "There is no such fault.")) }
    }
}
