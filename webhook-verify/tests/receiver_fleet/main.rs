//! Many receivers and one store: every event takes effect once, whichever of them it comes to, and whoever is killed or stands
//! still.
//!
//! The receivers are processes and the stores are real, and so is their time. So a lease is two seconds here, and the service
//! comes back at once.
//!
//!     FLEET_EVENTS=50000 cargo test -p shared-inbox-webhooks --test receiver_fleet

#![cfg(unix)]

mod receiver;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use receiver::{Process, Role};
use redis::AsyncCommands;
use shared_inbox_tests::stores;
use shared_inbox_webhooks::{Secret, Signer};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const LEASE: Duration = Duration::from_secs(2);
/// How long a store may take: this machine has more to do than it would like.
const PATIENCE: Duration = Duration::from_secs(10);
const RECEIVERS: usize = 8;
/// How many requests are under way at once.
const SENDERS: usize = 24;

fn events() -> usize {
    std::env::var("FLEET_EVENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(5_000)
}

/// The service's side: signs an event, and says how it was answered.
#[derive(Clone)]
struct Service(reqwest::Client, Signer);

impl Service {
    fn new() -> Self {
        let client = reqwest::Client::builder().timeout(Duration::from_secs(30)).build().expect("a client");
        Self(client, Signer::new([Secret::parse(SECRET).expect("a secret")]))
    }

    /// The status; nothing when the receiver is gone.
    async fn send(&self, event: &str, url: &str) -> Option<u16> {
        let body = format!(r#"{{"id":"{event}","type":"webhook.test"}}"#);
        let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
        let signed = self.1.sign(event, now, body.as_bytes());
        let request =
            signed.pairs().into_iter().fold(self.0.post(url), |r, (name, value)| r.header(name, value));
        Some(request.body(body).send().await.ok()?.status().as_u16())
    }

    /// Tries again until it is taken, with any of these receivers.
    async fn deliver(&self, event: &str, fleet: &Fleet, random: &mut StdRng) {
        const TRIES: usize = 2_000;
        for _ in 0..TRIES {
            let url = fleet.any(random);
            match self.send(event, &url).await {
                Some(200) => return,
                Some(409) | None => tokio::time::sleep(Duration::from_millis(20)).await,
                Some(status) => panic!("{event} was answered with {status}"),
            }
        }
        panic!("{event} was not taken in {TRIES} tries");
    }
}

#[derive(Clone)]
struct Fleet(Arc<Mutex<Vec<Process>>>);

impl Fleet {
    fn start(role: Role, store: &str) -> Self {
        Self(Arc::new(Mutex::new((0..RECEIVERS).map(|_| Process::start(role, store)).collect())))
    }

    fn any(&self, random: &mut StdRng) -> String {
        let processes = self.0.lock().expect("nobody panicked");
        processes[random.random_range(0..processes.len())].url.clone()
    }
}

fn name(number: usize) -> String {
    format!("evt_{number}")
}

/// Delivers every event three times, in random order, to receivers at random. `disturb` is called now and then on the way.
async fn three_times_each(fleet: &Fleet, events: usize, mut disturb: impl FnMut(usize, &mut StdRng)) {
    let mut random = StdRng::seed_from_u64(7);
    let mut order: Vec<usize> = (0..3 * events).map(|n| n % events).collect();
    order.shuffle(&mut random);
    let order = Arc::new(order);
    let next = Arc::new(AtomicUsize::new(0));
    let senders = (0..SENDERS).map(|number| {
        let (order, next, fleet) = (order.clone(), next.clone(), fleet.clone());
        let service = Service::new();
        tokio::spawn(async move {
            let mut random = StdRng::seed_from_u64(number as u64);
            while let Some(event) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                service.deliver(&name(*event), &fleet, &mut random).await;
            }
        })
    });
    let senders: Vec<_> = senders.collect();
    let mut seen = 0;
    while next.load(Ordering::Relaxed) < order.len() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let tenth = next.load(Ordering::Relaxed) * 10 / order.len();
        if tenth > seen {
            seen = tenth;
            disturb(tenth, &mut random);
        }
    }
    for sender in senders {
        sender.await.expect("every delivery is taken in the end");
    }
}

async fn redis_at(url: &str) -> redis::aio::MultiplexedConnection {
    let patient = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let client = redis::Client::open(url).expect("an address");
    client.get_multiplexed_async_connection_with_config(&patient).await.expect("a connection")
}

/// How often each event took effect, in Redis.
async fn effects_in_redis(url: &str) -> BTreeMap<String, u64> {
    let mut connection = redis_at(url).await;
    let keys: Vec<String> = connection.keys("effect:*").await.expect("keys");
    let mut effects = BTreeMap::new();
    for key in keys {
        let count: u64 = connection.hget(&key, "count").await.expect("a count");
        effects.insert(key.trim_start_matches("effect:").to_owned(), count);
    }
    effects
}

async fn tables(url: &str) -> sqlx::PgPool {
    let guard = shared_inbox_webhooks::replay::PostgresGuard::connect(url).await.expect("a store");
    guard.create_table().await.expect("a table");
    let tables = "create table effects (event text primary key, fence bigint, count int); create table orders (event text);";
    sqlx::raw_sql(tables).execute(guard.pool()).await.expect("tables");
    guard.pool().clone()
}

fn every_effect_once(effects: &BTreeMap<String, u64>, events: usize) {
    let odd: Vec<_> = effects.iter().filter(|(_, count)| **count != 1).take(5).collect();
    assert!(odd.is_empty(), "not once: {odd:?}");
    assert_eq!(effects.len(), events);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_receivers_on_valkey_handle_each_of_5000_events_once() {
    let Some(store) = stores::valkey() else { return };
    let fleet = Fleet::start(Role::Claims, &store.url());
    three_times_each(&fleet, events(), |_, _| ()).await;
    every_effect_once(&effects_in_redis(&store.url()).await, events());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_receivers_on_postgres_handle_each_event_once() {
    let Some(store) = stores::postgres() else { return };
    let pool = tables(&store.url()).await;
    let fleet = Fleet::start(Role::Claims, &store.url());
    let events = events() / 10;
    three_times_each(&fleet, events, |_, _| ()).await;
    let rows: Vec<(String, i32)> =
        sqlx::query_as("select event, count from effects").fetch_all(&pool).await.expect("rows");
    every_effect_once(&rows.into_iter().map(|(event, count)| (event, count as u64)).collect(), events);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exactly_5000_effects_are_in_the_database_whoever_was_killed() {
    let Some(store) = stores::postgres() else { return };
    let pool = tables(&store.url()).await;
    let fleet = Fleet::start(Role::Transactions, &store.url());
    let mut killed = 0;
    let kill = |_, random: &mut StdRng| {
        let next = Process::start(Role::Transactions, &store.url());
        // The old one is killed when the new one takes its place.
        fleet.0.lock().expect("nobody panicked")[random.random_range(0..RECEIVERS)] = next;
        killed += 1;
    };
    three_times_each(&fleet, events(), kill).await;
    let counts =
        "select count(*), count(distinct event), (select count(*) from shared_inbox_webhooks) from orders";
    let counts: (i64, i64, i64) = sqlx::query_as(counts).fetch_one(&pool).await.expect("counts");
    let events = events() as i64;
    assert_eq!(counts, (events, events, events), "effects, events, marks; {killed} receivers were killed");
    assert!(killed >= 5, "{killed} receivers were killed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_of_a_receiver_that_was_killed_go_to_others_when_their_lease_is_over() {
    const HELD: usize = 20;
    for store in [stores::valkey(), stores::redis()] {
        let Some(store) = store else { return };
        let (victim, heir) =
            (Process::start(Role::Waits, &store.url()), Process::start(Role::Claims, &store.url()));
        let (service, url) = (Service::new(), victim.url.clone());
        let sent = (0..HELD).map(|n| {
            let (service, url) = (service.clone(), url.clone());
            tokio::spawn(async move { service.send(&name(n), &url).await })
        });
        let sent: Vec<_> = sent.collect();
        let victim = tokio::task::spawn_blocking(move || {
            (0..HELD).for_each(|_| _ = victim.hears("begun "));
            victim
        });
        let victim = victim.await.expect("it began them all");
        assert_eq!(service.send(&name(0), &heir.url).await, Some(409), "it is being handled");
        drop(victim);
        for answer in sent {
            assert_eq!(answer.await.expect("it ends"), None, "nobody was left to answer");
        }
        let fleet = Fleet(Arc::new(Mutex::new(vec![heir])));
        let mut random = StdRng::seed_from_u64(1);
        for n in 0..HELD {
            service.deliver(&name(n), &fleet, &mut random).await;
        }
        every_effect_once(&effects_in_redis(&store.url()).await, HELD);
    }
}

/// A receiver stands still beyond its lease while another takes its event; then it wakes up and ends its handler.
async fn overtaken(store: &str) {
    let mut sleeper = Process::start(Role::Waits, store);
    let heir = Process::start(Role::Claims, store);
    let (service, url) = (Service::new(), sleeper.url.clone());
    let sending = tokio::spawn({
        let service = service.clone();
        async move { service.send("evt_1", &url).await }
    });
    let mut sleeper = tokio::task::spawn_blocking(move || {
        sleeper.hears("begun ");
        sleeper.signal("STOP");
        sleeper.go_on(); // what it will find when it wakes up
        sleeper
    })
    .await
    .expect("it began");
    let fleet = Fleet(Arc::new(Mutex::new(vec![heir])));
    service.deliver("evt_1", &fleet, &mut StdRng::seed_from_u64(1)).await;
    sleeper.signal("CONT");
    assert_eq!(sending.await.expect("it ends"), Some(409), "the event was not its own any more");
    assert_eq!(service.send("evt_1", &sleeper.url).await, Some(200), "it was handled, by the other");
    sleeper.go_on();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_stood_still_beyond_its_lease_commits_nothing() {
    if let Some(store) = stores::valkey() {
        overtaken(&store.url()).await;
        every_effect_once(&effects_in_redis(&store.url()).await, 1);
    }
    if let Some(store) = stores::postgres() {
        let pool = tables(&store.url()).await;
        overtaken(&store.url()).await;
        let rows: Vec<(String, i32)> =
            sqlx::query_as("select event, count from effects").fetch_all(&pool).await.expect("rows");
        assert_eq!(rows, [("evt_1".to_owned(), 1)]);
    }
}
