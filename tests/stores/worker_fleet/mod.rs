//! Many processes with one key and one store: never more than the limit in any window, whatever becomes of
//! processes and store.
//!
//! The processes, the store and the mock are real, and so is their time: it is the one thing here that cannot
//! be moved. So the service's minute is six seconds, in the mock and in the limiter, and all that follows
//! from it shrinks with it.

mod outages;
mod worker;

use std::time::Duration;

use shared_inbox::{__spec::limits::REQUESTS_PER_MINUTE, ApiKey};
use shared_inbox_mock::{MockServer, journal::JournalEntry};
use shared_inbox_stores::Redis;
use shared_inbox_tests::{
    proxy::Proxy,
    stores::{self, Store},
};
use worker::Worker;

/// What stands for a minute.
pub(crate) const MINUTE: Duration = Duration::from_secs(6);
/// How long an attempt of a worker may take.
pub(crate) const ATTEMPT: Duration = Duration::from_millis(1000);
/// Of 120 requests, calls that do not settle anything leave 10 for those that do.
const FOR_CALLS: usize = 110;
const WORKERS: u32 = 8;

/// A mock that counts over the same minute as the limiters.
pub(crate) async fn service(minute: Duration) -> MockServer {
    MockServer::builder().empty().rate_window(minute).start().await
}

pub(crate) async fn fleet(mock: &MockServer, store: &str, minute: Duration) -> Vec<Worker> {
    declare_unused(mock, store, minute).await;
    start_together(mock, minute, |_| store.to_owned())
}

/// Workers 1 to 8, each with its way to the store. All are ready before the first call is made.
fn start_together(mock: &MockServer, minute: Duration, store: impl Fn(u32) -> String) -> Vec<Worker> {
    let share = REQUESTS_PER_MINUTE / WORKERS;
    let start = |number| Worker::start(mock, &store(number), minute, share, number);
    let mut workers: Vec<_> = (1..=WORKERS).map(start).collect();
    workers.iter_mut().for_each(Worker::wait_until_ready);
    workers.iter_mut().for_each(Worker::begin);
    workers
}

/// As the operator who has set up the store.
pub(crate) async fn declare_unused(mock: &MockServer, store: &str, minute: Duration) {
    let key = ApiKey::parse(mock.live_key()).expect("a key").fingerprint();
    let redis = Redis::builder(store).timeout(Duration::from_secs(5)).connect().await.expect("a store");
    let limiter = redis.limiter().window(minute);
    assert!(limiter.declare_unused(key).await.expect("a store"), "it knew the key");
}

/// The requests that reached the service, one after the other; none was refused, and there were never too
/// many.
pub(crate) async fn within_the_limit(mock: &MockServer, minute: Duration) -> Vec<JournalEntry> {
    let mut requests = mock.control().requests().await;
    requests.sort_by_key(|request| request.at);
    let refused = requests.iter().filter(|request| request.status == Some(429)).count();
    assert_eq!(refused, 0, "of {} requests", requests.len());
    let most = REQUESTS_PER_MINUTE as usize;
    for some in requests.windows(most + 1) {
        let within = some[most].at.duration_since(some[0].at);
        assert!(within >= minute, "{} requests within {within:?}", most + 1);
    }
    requests
}

/// Whoever was not killed has had an answer to every call that it made.
pub(crate) fn nothing_was_lost(workers: Vec<Worker>) {
    for worker in workers {
        let report = worker.stop();
        assert_eq!(report.errors, Vec::<String>::new(), "after {} good calls", report.succeeded);
    }
}

/// How much of what calls may use was used, from the first request to the end of the last whole minute.
fn percentage_used(requests: &[JournalEntry], minute: Duration) -> usize {
    let (first, last) = (requests.first().expect("requests"), requests.last().expect("requests"));
    let took = last.at.duration_since(first.at);
    let minutes = usize::try_from(took.as_millis() / minute.as_millis()).expect("a few");
    let whole = minute * u32::try_from(minutes).expect("a few");
    let used = requests.iter().filter(|request| request.at.duration_since(first.at) < whole).count();
    assert!(minutes >= 3, "{took:?}");
    used * 100 / (FOR_CALLS * minutes)
}

/// Eight processes at work for some windows; one is killed in the middle of them.
async fn a_fleet_uses_what_there_is(store: Store, minute: Duration) {
    let mock = service(minute).await;
    let mut workers = fleet(&mock, &store.url(), minute).await;
    worker::requests_from(&mock, 1).await;
    tokio::time::sleep(minute * 3 / 2).await;
    workers.pop().expect("a worker").kill();
    tokio::time::sleep(minute * 9 / 5).await;
    nothing_was_lost(workers);
    let requests = within_the_limit(&mock, minute).await;
    // On a busy machine a process sleeps past some of its slots: they are so short here.
    let used = percentage_used(&requests, minute);
    assert!(used >= 70, "{used}%");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_processes_share_the_limit_in_valkey_and_use_it_up() {
    a_fleet_uses_what_there_is(stores::valkey(), MINUTE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_processes_share_the_limit_in_the_oldest_redis_and_use_it_up() {
    a_fleet_uses_what_there_is(stores::redis(), MINUTE).await;
}

/// Half of the processes have a long way to the store. `FLEET_MINUTE` says what stands for a minute, in
/// milliseconds: the longer, the less a busy machine disturbs, and the stricter the test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_are_far_from_the_store_are_not_starved_by_near_ones() {
    let minute = std::env::var("FLEET_MINUTE").ok().and_then(|minute| minute.parse().ok());
    let minute = minute.map_or(MINUTE, Duration::from_millis);
    let is_true_minute = minute >= shared_inbox::__spec::limits::RATE_WINDOW;
    let (store, mock) = (stores::valkey(), service(minute).await);
    let far = Proxy::to(store.port()).await;
    declare_unused(&mock, &store.url(), minute).await;
    far.slow_down(if is_true_minute { Duration::from_millis(50) } else { Duration::from_millis(5) });
    let url = |number: u32| if number.is_multiple_of(2) { far.url() } else { store.url() };
    let workers = start_together(&mock, minute, url);
    worker::requests_from(&mock, 1).await;
    tokio::time::sleep(minute * 4 + minute / 20).await;
    nothing_was_lost(workers);
    let requests = within_the_limit(&mock, minute).await;
    // In the first window all places are free, and whoever is quickest has them.
    let counted = |request: &&JournalEntry| {
        let since = request.at.duration_since(requests[0].at);
        since >= minute && since < minute * 4
    };
    let of_worker = |number: u32| {
        let query = format!("limit={number}");
        requests.iter().filter(counted).filter(|request| request.query == query).count()
    };
    let sent: Vec<_> = (1..=WORKERS).map(of_worker).collect();
    let mean = sent.iter().sum::<usize>() / sent.len();
    let used = percentage_used(&requests, minute);
    let (least, least_used) = if is_true_minute { (mean * 80 / 100, 95) } else { (mean / 2, 70) };
    assert!(sent.iter().all(|sent| *sent >= least) && used >= least_used, "{used}%, {sent:?}");
}
