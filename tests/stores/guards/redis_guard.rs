//! The guard on Redis.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::AsyncCommands;
use shared_inbox_stores::Redis;
use shared_inbox_tests::proxy::Proxy;
use shared_inbox_tests::stores;
use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, DeadLetter, DeadLetterGuard, RETRY_WINDOW, ReplayGuard,
};

use super::suite;
use crate::support::{delivery, granted, one, pass_in_redis, redis, redis_connection};

#[tokio::test]
async fn a_guard_on_redis_keeps_every_rule_of_a_guard_on_the_oldest_and_the_newest_server() {
    for store in [stores::redis(), stores::valkey()] {
        let (guard, connection) = (redis(store.url()).await.guard(), redis_connection(store.url()).await);
        let pass = async |time| pass_in_redis(connection.clone(), time).await;
        suite::check(&guard, &pass).await;
        suite::check_retention(&guard, RETRY_WINDOW, &pass).await;
        suite::check_dead_letters(&guard, &pass).await;
    }
}

/// With a connection of the caller's.
#[tokio::test]
async fn a_guard_on_a_redis_cluster_keeps_every_rule_of_a_guard() {
    let store = stores::valkey_node();
    let mut node = redis_connection(store.url()).await;
    // A cluster of one, which has every slot.
    let slots = redis::cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(16_383).to_owned();
    slots.exec_async(&mut node).await.unwrap();
    while node.exists::<_, bool>("a").await.is_err() {}
    let client = redis::cluster::ClusterClient::new([store.url()]).unwrap();
    let connection = client.get_async_connection().await.unwrap();
    let guard = Redis::from_connection(connection).unwrap().guard();
    let pass = async |time| pass_in_redis(node.clone(), time).await;
    suite::check(&guard, &pass).await;
    suite::check_dead_letters(&guard, &pass).await;
}

#[tokio::test]
async fn what_is_kept_in_redis_goes_by_itself_and_apps_are_told_apart_by_their_namespace() {
    let store = stores::valkey();
    let (redis, mut connection) = (redis(store.url()).await, redis_connection(store.url()).await);
    let (guard, other) = (redis.guard(), redis.namespace("other").guard());
    let fence = granted(&guard, &one()).await;
    granted(&other, &one()).await;
    assert_eq!(guard.commit(&one(), fence).await.unwrap(), ClaimStatus::Held);
    let window = RETRY_WINDOW.as_millis() as i64;
    for (key, longest) in [("shared-inbox:webhook", window), ("other:webhook", window + 60_000)] {
        let left: i64 = connection.pttl(format!("{key}:6:orders:evt_1")).await.unwrap();
        assert!((window - 60_000..=longest).contains(&left), "{key}: {left}");
    }
}

#[tokio::test]
async fn receivers_with_different_settings_agree_on_when_a_claim_runs_out() {
    let store = stores::valkey();
    let (long, connection) = (redis(store.url()).await.guard(), redis_connection(store.url()).await);
    let short = long.clone().retention(Duration::from_secs(3600));
    for (first, second) in [(&long, &short), (&short, &long)] {
        let event = delivery(if std::ptr::eq(first, &short) { "evt_short" } else { "evt_long" });
        granted(first, &event).await;
        assert_eq!(second.claim(&event).await.unwrap(), Claim::InProgress);
        pass_in_redis(connection.clone(), Duration::from_secs(61)).await;
        granted(second, &event).await;
    }
}

/// Receivers' clocks differ: one that is behind would grant a smaller one after the store has lost its data.
#[tokio::test]
async fn a_fence_comes_from_the_clock_of_redis_and_not_from_the_receivers() {
    for store in [stores::redis(), stores::valkey()] {
        let requests = Arc::<Mutex<String>>::default();
        let log = Arc::clone(&requests);
        let proxy = Proxy::rewriting(store.port(), move |is_request, bytes| {
            if is_request {
                *log.lock().unwrap() += &String::from_utf8_lossy(bytes);
            }
            Some(bytes.to_vec())
        })
        .await;
        let guard = redis(proxy.url()).await.guard();
        let now = u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap();
        granted(&guard, &one()).await;
        let requests = requests.lock().unwrap();
        let numbers = requests.split(|c: char| !c.is_ascii_digit()).filter_map(|text| text.parse().ok());
        let is_near = |number: u64| number.abs_diff(now) < 3_600_000_000;
        assert!(requests.contains("evt_1") && !numbers.into_iter().any(is_near), "{requests}");
    }
}

/// A process that dies before it has removed a name leaves it behind.
#[tokio::test]
async fn a_name_that_was_left_behind_hides_no_dead_letter() {
    let store = stores::valkey();
    let (guard, mut connection) = (redis(store.url()).await.guard(), redis_connection(store.url()).await);
    for number in 0..250 {
        let name = format!("{{shared-inbox:webhook:6:orders:left_{number}}}:dead");
        let _: i64 = connection.zadd("shared-inbox:webhook:dead", name, number).await.unwrap();
    }
    let mut letters = Vec::new();
    for event in ["evt_1", "evt_2", "evt_3"].map(delivery) {
        let fence = granted(&guard, &event).await;
        letters.push(DeadLetter::new(event, 1, "database down"));
        assert_eq!(guard.bury(letters.last().unwrap(), fence).await.unwrap(), ClaimStatus::Held);
    }
    for limit in 0..=3 {
        assert_eq!(guard.dead_letters(limit).await.unwrap(), letters[..limit]);
    }
    assert_eq!(guard.dead_letters(100).await.unwrap(), letters);
}
