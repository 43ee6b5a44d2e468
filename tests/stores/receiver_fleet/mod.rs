//! Many receivers and one store: every event takes effect once, whichever of them it comes to, and whoever is
//! killed or stands still.
//!
//! The receivers are processes and the stores are real. A lease is so long that none ends by itself; where
//! one must end, the test puts the store's times back by as much.
//!
//! `FLEET_EVENTS=2000` delivers more events.

mod dead_letters;
mod process;
pub(crate) mod roles;
mod service;

use std::{collections::BTreeMap, time::Duration};

use process::{Process, traced};
use rand::rngs::StdRng;
use redis::AsyncCommands;
use roles::Role;
use service::{Fleet, Service, name, three_times_each};
use shared_inbox_tests::stores::{self, Store};

use crate::support::{pass_in_postgres, pass_in_redis, pool, postgres, redis_connection};

/// A lease that does not end while a test runs.
const LONG_LEASE: Duration = Duration::from_secs(3600);
/// A lease where receivers stand still for longer, for claims and for transactions that stand idle.
const SHORT_LEASE: Duration = Duration::from_secs(1);
fn events() -> usize {
    std::env::var("FLEET_EVENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

/// How often each event took effect.
async fn effects_in(url: &str) -> BTreeMap<String, u64> {
    if !is_redis(url) {
        let pool = pool(url).await;
        let effects = sqlx::query_as("select event, count from effects").fetch_all(&pool).await;
        let effects: Vec<(String, i32)> = effects.expect("rows");
        return effects.into_iter().map(|(event, count)| (event, count as u64)).collect();
    }
    let mut connection = redis_connection(url).await;
    let keys: Vec<String> = connection.keys("effect:*").await.expect("keys");
    let mut effects = BTreeMap::new();
    for key in keys {
        let count: u64 = connection.hget(&key, "count").await.expect("a count");
        effects.insert(key.trim_start_matches("effect:").to_owned(), count);
    }
    effects
}

fn is_redis(url: &str) -> bool {
    url.starts_with("redis")
}

/// The address of a store that has the tables that receivers need.
async fn prepare(store: &Store) -> String {
    if !is_redis(&store.url()) {
        let postgres = postgres(&store.url()).await;
        let tables = "create table effects (event text primary key, fence bigint, count int); create table orders (event text);";
        sqlx::raw_sql(tables).execute(postgres.pool()).await.expect("tables");
    }
    store.url()
}

/// Puts the times in a store back by a long lease, so that every claim in it has run out.
async fn end_leases(store: &str) {
    if is_redis(store) {
        pass_in_redis(redis_connection(store).await, LONG_LEASE).await;
    } else {
        pass_in_postgres(&pool(store).await, LONG_LEASE).await;
    }
}

fn every_effect_once(effects: &BTreeMap<String, u64>, events: usize) {
    let odd: Vec<_> = effects.iter().filter(|(_, count)| **count != 1).take(5).collect();
    assert!(odd.is_empty(), "not once: {odd:?}");
    assert_eq!(effects.len(), events);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_receivers_on_a_store_handle_each_event_once() {
    for store in [stores::valkey(), stores::postgres()] {
        let url = prepare(&store).await;
        let fleet = Fleet::start(Role::Claims, &url, LONG_LEASE);
        three_times_each(&Service::new(), &fleet, events(), |_, _| ()).await;
        every_effect_once(&effects_in(&url).await, events());
    }
}

/// Kills a receiver and starts another, or lets one stand still beyond its lease, by turns.
fn kills_and_stops(fleet: &Fleet, role: Role, store: &str) -> impl Fn(usize, &mut StdRng) + use<> {
    let (fleet, store) = (fleet.clone(), store.to_owned());
    move |number, random| match number % 2 {
        0 => fleet.replace_one(random, Process::start(role, &store, SHORT_LEASE)),
        _ => fleet.stop_one(random, 2 * SHORT_LEASE),
    }
}

/// Whether every event had an effect, and every effect beyond the first is one that a receiver has told of:
/// it took over a claim whose holder had been killed or had stood still.
fn every_second_effect_is_explained(store: &str, effects: &BTreeMap<String, u64>, events: usize) {
    assert_eq!(effects.len(), events);
    let mut second = 0;
    for (event, count) in effects.iter().filter(|(_, count)| **count > 1) {
        let lines = traced(store, event);
        let taken_over = lines.iter().filter(|line| line.contains("the event is handled again")).count();
        assert!(taken_over as u64 >= count - 1, "{event} took effect {count} times: {lines:#?}");
        second += count - 1;
    }
    println!("{events} events, {second} effects more, each explained");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_claims_an_event_takes_effect_again_only_where_a_receiver_was_killed_or_stood_still_and_that_is_told()
 {
    for store in [stores::valkey(), stores::postgres()] {
        let events = events();
        let url = prepare(&store).await;
        let fleet = Fleet::start(Role::CountsRuns, &url, SHORT_LEASE);
        three_times_each(&Service::new(), &fleet, events, kills_and_stops(&fleet, Role::CountsRuns, &url))
            .await;
        drop(fleet);
        every_second_effect_is_explained(&url, &effects_in(&url).await, events);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_effect_is_in_the_database_exactly_once_whoever_was_killed_or_stood_still() {
    let store = stores::postgres();
    let url = prepare(&store).await;
    let fleet = Fleet::start(Role::Transactions, &url, SHORT_LEASE);
    three_times_each(&Service::new(), &fleet, events(), kills_and_stops(&fleet, Role::Transactions, &url))
        .await;
    let counts =
        "select count(*), count(distinct event), (select count(*) from shared_inbox_webhooks) from orders";
    let counts: (i64, i64, i64) = sqlx::query_as(counts).fetch_one(&pool(&url).await).await.expect("counts");
    let events = events() as i64;
    assert_eq!(counts, (events, events, events), "effects, events, marks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_of_a_receiver_that_was_killed_go_to_others_when_their_lease_is_over() {
    const HELD: usize = 20;
    for store in [stores::valkey(), stores::redis()] {
        let victim = Process::start(Role::Waits, &store.url(), LONG_LEASE);
        let heir = Process::start(Role::Claims, &store.url(), LONG_LEASE);
        let (service, url, next) = (Service::new(), victim.url.clone(), heir.url.clone());
        let sent = (0..HELD).map(|n| {
            let (service, url) = (service.clone(), url.clone());
            tokio::spawn(async move { service.send(&name(n), &url).await })
        });
        let sent: Vec<_> = sent.collect();
        tokio::task::block_in_place(|| (0..HELD).for_each(|_| _ = victim.hears("begun ")));
        assert_eq!(service.send(&name(0), &next).await, Some(409), "it is being handled");
        drop(victim);
        for answer in sent {
            assert_eq!(answer.await.expect("it ends"), None, "nobody was left to answer");
        }
        assert_eq!(service.send(&name(0), &next).await, Some(409), "its lease is not over");
        end_leases(&store.url()).await;
        for n in 0..HELD {
            assert_eq!(service.send(&name(n), &next).await, Some(200));
        }
        every_effect_once(&effects_in(&store.url()).await, HELD);
    }
}

/// A receiver stands still beyond its lease while another takes its event; then it wakes up and ends its
/// handler.
async fn overtaken(store: &str) {
    let sleeper = Process::start(Role::Waits, store, LONG_LEASE);
    let heir = Process::start(Role::Claims, store, LONG_LEASE);
    let (service, url) = (Service::new(), sleeper.url.clone());
    let sending = tokio::spawn({
        let service = service.clone();
        async move { service.send("evt_1", &url).await }
    });
    tokio::task::block_in_place(|| {
        sleeper.hears("begun ");
        sleeper.stop();
    });
    sleeper.go_on(); // what it will find when it wakes up
    end_leases(store).await;
    assert_eq!(service.send("evt_1", &heir.url).await, Some(200), "the event has gone to the other");
    sleeper.signal("CONT");
    assert_eq!(sending.await.expect("it ends"), Some(409), "the event was not its own any more");
    assert_eq!(service.send("evt_1", &sleeper.url).await, Some(200), "it was handled, by the other");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_stood_still_beyond_its_lease_commits_nothing() {
    for store in [stores::valkey(), stores::postgres()] {
        let url = prepare(&store).await;
        overtaken(&url).await;
        every_effect_once(&effects_in(&url).await, 1);
    }
}
