//! A create under a key of the caller's happens once, whichever process calls and whatever was killed in
//! between. A process is a client of its own here; one that is killed is a future that is dropped, and a
//! lease that ends.

#[path = "../../../stores/tests/suite/once_keys.rs"]
mod suite;

use std::sync::Arc;
use std::time::Duration;

use shared_inbox::clock::{BoxFuture, Clock};
use shared_inbox::create::{CreateInput, CreateRequest};
use shared_inbox::once::{
    Begun, FileStore, LeaseStatus, MemoryStore, OnceRecord, OnceStore, OnceStoreError, StoreFuture,
    StoredRecord,
};
use shared_inbox::rate_limit::{AcquireRequest, LimitError, Permit, RateLimiter};
use shared_inbox::{Certainty, Client, ConversationHandle, ErrorKind, MessageStatus};
use tokio::sync::Notify;

use crate::support::{LeapClock, Outcome, Service, conversation_id};

const TEXT: &str = "It is on its way.";
const KEY: &str = "order-1042/shipped";

/// A service and a store by the same clock.
async fn start() -> (Service, Arc<MemoryStore>) {
    let service = Service::start().await;
    let store = Arc::new(MemoryStore::new().clock(since(&service.clock)));
    (service, store)
}

fn since(clock: &Arc<LeapClock>) -> impl Fn() -> Duration + Send + Sync + 'static {
    let (clock, start) = (Arc::clone(clock), clock.now());
    move || clock.now().saturating_duration_since(start)
}

/// A process with this store.
fn process(service: &Service, store: impl OnceStore, name: &str) -> Client {
    service.builder().once_store(store).once_owner(name).build().unwrap()
}

async fn note(client: &Client, key: &str) -> shared_inbox::Result<shared_inbox::Response<shared_inbox::Ack>> {
    client.conversation(&conversation_id()).add_note(TEXT).once(key).await
}

#[tokio::test]
async fn another_call_with_the_key_gets_the_result_and_sends_nothing() {
    let (service, store) = start().await;
    let first = process(&service, Arc::clone(&store), "one");
    let reply = first.conversation(&conversation_id()).reply(TEXT).and_send().once(KEY).await.unwrap();
    assert!(!reply.replayed() && !reply.recovered());
    let requests = service.requests().len();
    for client in [first, process(&service, Arc::clone(&store), "two")] {
        let again = client.conversation(&conversation_id()).reply(TEXT).and_send().once(KEY).await.unwrap();
        assert!(again.replayed() && !again.recovered());
        assert_eq!((again.status(), again.attempts()), (None, 0));
        assert_eq!((&again.message_id, &again.status), (&reply.message_id, &MessageStatus::Scheduled));
    }
    assert_eq!(service.requests().len(), requests, "nothing was asked of the service");
    assert_eq!(service.stored(), 1);
}

#[tokio::test]
async fn every_kind_of_create_has_it() {
    let (service, store) = start().await;
    let client = process(&service, store, "one");
    let thread = client.conversation(&conversation_id());
    let documents = || [shared_inbox::input::DocumentItem::new("Passport")];
    for is_again in [false, true] {
        assert_eq!(thread.add_note(TEXT).once("note").await.unwrap().replayed(), is_again);
        assert_eq!(thread.reply(TEXT).once("draft").await.unwrap().replayed(), is_again);
        assert_eq!(
            thread.request_documents(documents()).once("documents").await.unwrap().replayed(),
            is_again
        );
    }
    assert_eq!(service.stored(), 3);
}

#[tokio::test]
async fn a_key_without_a_store_is_an_error_before_anything_is_sent() {
    let service = Service::start().await;
    let error = note(&service.client(), KEY).await.unwrap_err();
    assert_eq!((error.kind(), error.certainty()), (ErrorKind::Config, Certainty::NotSent));
    assert!(error.to_string().contains("once_store"), "{error}");
    let (_, store) = start().await;
    let error = note(&process(&service, store, "one"), "").await.unwrap_err();
    assert_eq!(error.problems().unwrap().iter().next().unwrap().field, "once");
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn the_key_of_another_conversation_or_content_is_refused_with_both_fingerprints() {
    let (service, store) = start().await;
    let client = process(&service, Arc::clone(&store), "one");
    note(&client, KEY).await.unwrap();
    let requests = service.requests().len();
    let thread = client.conversation(&conversation_id());
    let elsewhere = client.conversation(&"cnv_2".parse().unwrap());
    let errors = [
        thread.add_note("Other words").once(KEY).await.unwrap_err(),
        elsewhere.add_note(TEXT).once(KEY).await.unwrap_err(),
        thread.reply(TEXT).once(KEY).await.unwrap_err(),
        thread.reply(TEXT).and_send().once(KEY).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.kind(), error.certainty()), (ErrorKind::OnceKeyTaken, Certainty::NotSent));
        let stored = error.once_record().unwrap().fingerprint().to_string();
        let text = error.to_string();
        assert!(text.contains(&stored) && !text.contains("way"), "{text}");
        assert!(!error.is_retryable());
    }
    assert_eq!(service.requests().len(), requests);
}

/// What becomes of a step of a store.
enum Fault {
    /// The process is killed: no renewal and no list ever ends.
    None,
    /// The process stands still right after its first record was written, until it is woken.
    StandsStill(Arc<Notify>),
    /// The store is away.
    BeginFails,
    FinishFails,
    /// Another owner has taken the key over.
    LeaseIsLost,
    /// The disk stalls while a lease is renewed.
    RenewsSlowly(Arc<LeapClock>),
}

struct Faulty(Arc<MemoryStore>, Fault);

fn away<'a, T>() -> StoreFuture<'a, T> {
    Box::pin(async { Err(OnceStoreError::new("it is away")) })
}

impl OnceStore for Faulty {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            match &self.1 {
                Fault::BeginFails => away().await,
                Fault::StandsStill(wake) => {
                    let begun = self.0.begin(record, lease).await;
                    if let Ok(Begun::Granted { previous: None, .. }) = &begun {
                        wake.notified().await;
                    }
                    begun
                }
                _ => self.0.begin(record, lease).await,
            }
        })
    }

    fn update<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        record: Option<&'a OnceRecord>,
        time: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        let is_result = record.is_some_and(OnceRecord::is_finished);
        match &self.1 {
            Fault::FinishFails if is_result => away(),
            Fault::LeaseIsLost if !is_result => Box::pin(async { Ok(LeaseStatus::Lost) }),
            Fault::RenewsSlowly(clock) if !is_result => Box::pin(async move {
                let status = self.0.update(key, fence, record, time).await;
                clock.leap(Duration::from_secs(40));
                status
            }),
            Fault::StandsStill(_) | Fault::FinishFails => self.0.update(key, fence, record, time),
            // A process that is killed does not end its lease either.
            _ if !is_result => Box::pin(std::future::pending()),
            _ => self.0.update(key, fence, record, time),
        }
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        match &self.1 {
            Fault::None => Box::pin(std::future::pending()),
            _ => self.0.list(),
        }
    }

    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus> {
        self.0.remove(key, fence)
    }
}

#[tokio::test]
async fn a_create_takes_one_step_of_the_store_before_it_and_one_after() {
    let (service, store) = start().await;
    // Any step but the first and the last never ends.
    let client = process(&service, Faulty(store, Fault::None), "one");
    client.conversation(&conversation_id()).get().await.unwrap();
    let made = tokio::time::timeout(Duration::from_secs(60), note(&client, KEY)).await;
    assert!(!made.expect("two steps are enough").unwrap().replayed());
    assert!(note(&client, KEY).await.unwrap().replayed(), "and one where there is a result");
}

#[tokio::test]
async fn a_call_waits_for_the_owner_and_gets_its_result() {
    let (service, store) = start().await;
    let one = process(&service, Arc::clone(&store), "one");
    let other = process(&service, Arc::clone(&store), "other");
    let (first, second) = tokio::join!(note(&one, KEY), note(&other, KEY));
    let replayed = [first.unwrap().replayed(), second.unwrap().replayed()];
    assert_eq!(replayed.iter().filter(|replayed| **replayed).count(), 1);
    assert_eq!(service.stored(), 1);
}

#[tokio::test]
async fn an_owner_that_does_not_end_within_the_deadline_is_named() {
    let (service, store) = start().await;
    let owner = process(&service, Arc::clone(&store), "worker 7");
    service.next_posts([Outcome::Hangs]);
    let task = tokio::spawn(async move { note(&owner, KEY).await.map(|_| ()) });
    service.until_posts(1).await;
    let other = process(&service, Arc::clone(&store), "other");
    let thread = other.conversation(&conversation_id());
    let error = thread.add_note(TEXT).once(KEY).deadline(Duration::from_secs(20)).await.unwrap_err();
    assert_eq!((error.kind(), error.certainty()), (ErrorKind::OnceInProgress, Certainty::NotSent));
    assert_eq!(error.once_record().unwrap().owner(), "worker 7");
    assert!(error.is_retryable() && error.to_string().contains("worker 7"), "{error}");
    let records = other.once_records().await.unwrap();
    assert!(records[0].is_held());
    let record = other.once_records().await.unwrap().remove(0);
    assert_eq!(record.not_created().await.unwrap_err().kind(), ErrorKind::OnceInProgress);
    task.abort();
}

#[tokio::test]
async fn what_cannot_be_told_stays_until_a_person_has_looked() {
    for is_there in [true, false] {
        let (service, store) = start().await;
        let client = process(&service, Arc::clone(&store), "one");
        let thread = client.conversation(&conversation_id());
        let reply = || thread.reply(TEXT).once(KEY);
        thread.get().await.unwrap();
        // The service shows other words than it was given.
        service.state().behavior.rewrite = str::to_uppercase;
        service.next_posts([Outcome::LostAfter]);
        let error = reply().await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::Unknown);
        service.clock.leap(Duration::from_secs(100));
        for _ in 0..2 {
            let error = reply().await.unwrap_err();
            assert_eq!((error.kind(), error.certainty()), (ErrorKind::OnceUnclear, Certainty::Unknown));
            assert!(error.unconfirmed().is_some() && error.once_record().is_some());
            assert!(!format!("{error} {error:?} {:?}", error.once_record()).contains("way"));
        }
        assert_eq!(service.sent(), 1);
        let mut records = client.once_records().await.unwrap();
        let record = records.remove(0);
        assert!(records.is_empty() && !record.is_held());
        assert_eq!((record.key(), record.conversation(), record.owner()), (KEY, &conversation_id(), "one"));
        if is_there {
            let error = client.once_records().await.unwrap().remove(0).created("not_1").await.unwrap_err();
            assert!(error.is_invalid_input(), "{error}");
            record.created("msg_1").await.unwrap();
            let reply = reply().await.unwrap();
            assert!(reply.replayed() && reply.message_id.as_str() == "msg_1");
        } else {
            record.not_created().await.unwrap();
            assert!(!reply().await.unwrap().replayed());
        }
        assert_eq!(service.sent(), if is_there { 1 } else { 2 });
        assert!(client.once_records().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_refused_create_leaves_no_record() {
    let (service, store) = start().await;
    let client = process(&service, Arc::clone(&store), "one");
    service.next_posts([Outcome::Before(403)]);
    assert!(note(&client, KEY).await.unwrap_err().is_forbidden());
    assert!(store.list().await.unwrap().is_empty());
    assert!(!note(&client, KEY).await.unwrap().replayed());
    assert_eq!(service.stored(), 1);
}

#[tokio::test]
async fn an_owner_whose_lease_has_ended_does_not_send() {
    let (service, store) = start().await;
    let wake = Arc::new(Notify::new());
    let slow = process(&service, Faulty(Arc::clone(&store), Fault::StandsStill(Arc::clone(&wake))), "slow");
    slow.conversation(&conversation_id()).get().await.unwrap();
    let task = tokio::spawn(async move { note(&slow, KEY).await.map(|note| note.replayed()) });
    while store.list().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    service.clock.leap(Duration::from_secs(66));
    let quick = process(&service, Arc::clone(&store), "quick");
    assert!(!note(&quick, KEY).await.unwrap().replayed());
    assert_eq!(service.sent(), 1);
    wake.notify_one();
    assert!(task.await.unwrap().unwrap(), "it found its lease over, and took the result of the other");
    assert_eq!((service.sent(), service.stored()), (1, 1));
}

#[tokio::test]
async fn an_owner_whose_lease_was_renewed_too_slowly_for_a_request_does_not_send() {
    let (service, store) = start().await;
    let gate = Arc::new(Notify::new());
    let slow = Faulty(Arc::clone(&store), Fault::RenewsSlowly(Arc::clone(&service.clock)));
    let client = service.builder().once_store(slow).rate_limiter(Gate(Arc::clone(&gate))).build().unwrap();
    gate.notify_one();
    client.conversation(&conversation_id()).get().await.unwrap();
    let task = tokio::spawn(async move { note(&client, KEY).await.map(|_| ()) });
    while store.list().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    service.clock.leap(Duration::from_secs(40));
    gate.notify_one();
    let error = task.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.certainty()), (ErrorKind::OnceStore, Certainty::NotSent));
    assert_eq!(service.sent(), 0);
}

/// A record under the key "second" whose process was killed before its request.
async fn second_is_killed<I: CreateInput>(
    service: &Service,
    store: &Arc<MemoryStore>,
    create: fn(&ConversationHandle) -> CreateRequest<I>,
) {
    let killed = Faulty(Arc::clone(store), Fault::None);
    let client = service.builder().once_store(killed).rate_limit(2).build().unwrap();
    let thread = client.conversation(&conversation_id());
    thread.get().await.unwrap();
    // The second request of the minute is used up, so the create waits for the rate limit.
    client.me().await.unwrap();
    let task = tokio::spawn(async move { create(&thread).once("second").await.map(|_| ()) });
    while store.list().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    task.abort();
}

#[tokio::test]
async fn the_item_of_one_key_is_not_taken_for_another_of_the_same_words() {
    let (service, store) = start().await;
    let client = process(&service, Arc::clone(&store), "one");
    let thread = client.conversation(&conversation_id());
    thread.get().await.unwrap();
    second_is_killed(&service, &store, |thread| thread.reply(TEXT)).await;
    let first = thread.reply(TEXT).once("first").await.unwrap();
    service.clock.leap(Duration::from_secs(300));
    let next = process(&service, Arc::clone(&store), "next");
    let second = next.conversation(&conversation_id()).reply(TEXT).once("second").await.unwrap();
    assert_ne!(first.message_id, second.message_id);
    assert_eq!((service.stored(), second.recovered()), (2, false));
}

#[tokio::test]
async fn a_note_with_the_words_of_another_key_is_not_taken_for_a_changed_one() {
    let (service, store) = start().await;
    let one = process(&service, Arc::clone(&store), "one");
    let thread = one.conversation(&conversation_id());
    thread.get().await.unwrap();
    second_is_killed(&service, &store, |thread| thread.add_note(TEXT)).await;
    thread.add_note("Looked it up.").once("first").await.unwrap();
    service.clock.leap(Duration::from_secs(300));
    let next = process(&service, Arc::clone(&store), "next");
    assert!(!note(&next, "second").await.unwrap().recovered());
    assert_eq!(service.stored(), 2);
}

#[tokio::test]
async fn a_note_that_may_be_another_keys_of_the_same_words_is_left_to_a_person() {
    let (service, store) = start().await;
    let one = process(&service, Arc::clone(&store), "one");
    one.conversation(&conversation_id()).get().await.unwrap();
    second_is_killed(&service, &store, |thread| thread.add_note(TEXT)).await;
    // The response to a note does not name it.
    note(&one, "first").await.unwrap();
    service.clock.leap(Duration::from_secs(300));
    for name in ["next", "the one after"] {
        let error = note(&process(&service, Arc::clone(&store), name), "second").await.unwrap_err();
        assert_eq!((error.kind(), service.stored()), (ErrorKind::OnceUnclear, 1), "{name}");
    }
    one.once_records().await.unwrap().remove(0).not_created().await.unwrap();
    assert!(!note(&one, "second").await.unwrap().recovered());
    assert_eq!(service.stored(), 2);
}

#[tokio::test]
async fn an_item_is_not_taken_while_another_key_of_the_same_words_is_under_way() {
    let (service, store) = start().await;
    let one = process(&service, Arc::clone(&store), "one");
    let thread = one.conversation(&conversation_id());
    thread.get().await.unwrap();
    second_is_killed(&service, &store, |thread| thread.reply(TEXT)).await;
    service.clock.leap(Duration::from_secs(66));
    service.next_posts([Outcome::Hangs]);
    let first = tokio::spawn(async move { thread.reply(TEXT).once("first").await });
    service.until_posts(1).await;
    let next = process(&service, Arc::clone(&store), "next");
    let reply = |key| next.conversation(&conversation_id()).reply(TEXT).once(key);
    assert_eq!(reply("second").await.unwrap_err().kind(), ErrorKind::OnceUnclear);
    assert_eq!(service.stored(), 1);
    // When neither has an owner, it does not matter whose it is.
    first.abort();
    _ = first.await;
    while store.list().await.unwrap().iter().any(|stored| stored.is_held) {
        tokio::task::yield_now().await;
    }
    assert!(reply("second").await.unwrap().recovered());
    assert!(!reply("first").await.unwrap().recovered());
    assert_eq!(service.stored(), 2);
}

/// A limiter that gives a permit whenever it is told to.
#[derive(Debug)]
struct Gate(Arc<Notify>);

impl RateLimiter for Gate {
    fn acquire(&self, _: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(async {
            self.0.notified().await;
            Ok(Permit::new(|_| {}))
        })
    }
}

#[tokio::test]
async fn an_owner_that_hears_from_its_store_that_another_has_its_key_does_not_send() {
    let service = Service::start().await;
    // The clock of the store is set forward, so that the lease ends early.
    let clock = LeapClock::new();
    let store = Arc::new(MemoryStore::new().clock(since(&clock)));
    let gate = Arc::new(Notify::new());
    let slow = service.builder().once_store(Arc::clone(&store)).rate_limiter(Gate(Arc::clone(&gate)));
    let slow = slow.build().unwrap();
    gate.notify_one();
    slow.conversation(&conversation_id()).get().await.unwrap();
    let task = tokio::spawn(async move { note(&slow, KEY).await.map(|note| note.replayed()) });
    while store.list().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    clock.leap(Duration::from_secs(66));
    assert!(!note(&process(&service, Arc::clone(&store), "quick"), KEY).await.unwrap().replayed());
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(22)).await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    tokio::time::resume();
    gate.notify_one();
    assert!(task.await.unwrap().unwrap(), "it took the result of the other");
    assert_eq!((service.sent(), service.stored()), (1, 1));
}

#[tokio::test]
async fn a_call_that_has_sent_and_then_lost_its_lease_does_not_say_that_nothing_was_sent() {
    let (service, store) = start().await;
    let client = service.builder().once_store(Faulty(Arc::clone(&store), Fault::LeaseIsLost));
    let client = client.visibility_timeout(Duration::from_secs(40)).deadline(Duration::from_secs(50));
    let client = client.build().unwrap();
    client.conversation(&conversation_id()).get().await.unwrap();
    service.next_posts([Outcome::LostBefore]);
    let error = note(&client, KEY).await.unwrap_err();
    assert_eq!((error.kind(), error.certainty()), (ErrorKind::OnceInProgress, Certainty::Unknown));
    assert!(error.is_retryable() && service.sent() == 1, "{error}");
}

#[tokio::test]
async fn nothing_is_sent_without_its_store_and_a_result_that_is_not_recorded_is_found_later() {
    let (service, store) = start().await;
    let error = note(&process(&service, Faulty(Arc::clone(&store), Fault::BeginFails), "one"), KEY)
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.certainty()), (ErrorKind::OnceStore, Certainty::NotSent));
    assert!(error.is_retryable() && error.to_string().contains("it is away"), "{error}");
    assert!(service.requests().is_empty());
    let client = process(&service, Faulty(Arc::clone(&store), Fault::FinishFails), "two");
    assert!(!note(&client, KEY).await.unwrap().replayed(), "it took effect, and the caller knows");
    service.clock.leap(Duration::from_secs(300));
    assert!(note(&process(&service, store, "three"), KEY).await.unwrap().recovered());
    assert_eq!(service.stored(), 1);
}

#[tokio::test]
async fn a_result_is_kept_for_the_time_that_is_set() {
    let (service, store) = start().await;
    let two_minutes = Duration::from_secs(120);
    let client =
        service.builder().once_store(Arc::clone(&store)).once_retention(two_minutes).build().unwrap();
    note(&client, KEY).await.unwrap();
    service.clock.leap(two_minutes - Duration::from_secs(1));
    assert!(note(&client, KEY).await.unwrap().replayed());
    service.clock.leap(Duration::from_secs(2));
    assert!(!note(&client, KEY).await.unwrap().replayed());
    client.purge_once_records().await.unwrap();
    assert_eq!(service.stored(), 2);
}

#[tokio::test]
async fn the_rules_of_a_store_hold_in_memory_and_in_files() {
    let clock = LeapClock::new();
    let pass = async |time: Duration| clock.leap(time);
    let lease = Duration::from_secs(60);
    suite::check(&MemoryStore::new().clock(since(&clock)), lease, &pass).await;
    let directory = tempfile::tempdir().unwrap();
    let store = FileStore::open(directory.path().join("a/b")).unwrap().clock(since(&clock));
    suite::check(&store, lease, &pass).await;
    suite::check(&(Arc::new(store) as Arc<dyn OnceStore>), lease, &pass).await;
}
