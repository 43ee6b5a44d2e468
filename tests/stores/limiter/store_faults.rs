//! What a store can do to those who trust it: lose its memory or a part of it, let its clock step, stand
//! still.

use std::{sync::Arc, time::Duration};

use shared_inbox::{
    ApiKey,
    rate_limit::{AcquireRequest, LimitError, Permit, Priority, RateLimiter},
};
use shared_inbox_stores::{LimiterBuilder, RedisLimiter};
use shared_inbox_tests::{
    proxy::Proxy,
    stores::{self, Store},
    until,
};
use tokio::time::{Instant, sleep};

use super::process;

/// What stands for a minute.
const MINUTE: Duration = Duration::from_secs(6);
const KEY: &str = "shared-inbox:rate:{none}";

fn builder(url: String) -> LimiterBuilder {
    process(url, Duration::from_secs(5)).window(MINUTE)
}

/// A limiter whose key nobody has used before.
async fn limiter_at(url: String) -> RedisLimiter {
    builder(url.clone()).declare_unused(None).await.unwrap();
    builder(url).await.unwrap()
}

async fn try_acquire(limiter: &RedisLimiter) -> Result<Permit, Duration> {
    match limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await {
        Ok(permit) => Ok(permit),
        Err(LimitError::Busy { wait, .. }) => Err(wait),
        Err(error) => panic!("{error}"),
    }
}

/// A way to the store on which its clock, for the limiter's script, is off by the milliseconds in the key
/// `clock`.
async fn with_clock(store: &Store) -> Proxy {
    let script = include_str!("../../../stores/src/redis/limiter/reserve.lua");
    let stepping = script.replace(
        "local micros = ",
        "time[1] = time[1] + (redis.call('GET', 'clock') or 0) / 1000 local micros = ",
    );
    assert_ne!(script, stepping);
    let name = |script: &str| redis::Script::new(script).get_hash().as_bytes().to_vec();
    let text = |script: &str| format!("${}\r\n{script}\r\n", script.len()).into_bytes();
    let words = [(text(script), text(&stepping)), (name(script), name(&stepping))];
    let rewrite = move |there: bool, bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        let begins = there && bytes.windows(6).any(|some| some == b"SCRIPT") && bytes.len() > 1_000;
        if begins && !bytes.ends_with(b" .. answers\n\r\n") {
            return None;
        }
        for (one, other) in &words {
            let (said, instead) = if there { (one, other) } else { (other, one) };
            if let Some(at) = bytes.windows(said.len()).position(|some| some == said) {
                bytes.splice(at..at + said.len(), instead.iter().copied());
            }
        }
        Some(bytes)
    };
    Proxy::rewriting(store.port(), rewrite).await
}

/// Sends as much as there is room for, and says how much that was.
async fn send_all(limiter: &RedisLimiter) -> usize {
    let calls = futures_util::future::join_all((0..130).map(|_| try_acquire(limiter))).await;
    calls.into_iter().filter_map(Result::ok).map(Permit::finished).count()
}

#[tokio::test]
async fn a_store_that_is_empty_or_new_counts_as_full_until_somebody_declares_the_key_unused() {
    let store = stores::valkey();
    let limiter = builder(store.url()).await.unwrap();
    assert!(try_acquire(&limiter).await.unwrap_err() > MINUTE / 2);
    assert!(!builder(store.url()).declare_unused(None).await.unwrap(), "the key is known by now");
    assert!(try_acquire(&limiter).await.is_err());
    store.command("FLUSHALL");
    assert!(builder(store.url()).declare_unused(None).await.unwrap());
    // The process knows better.
    assert!(try_acquire(&limiter).await.unwrap_err() > MINUTE / 2);
    store.command("FLUSHALL");
    assert_eq!(send_all(&limiter_at(store.url()).await).await, 120);
}

#[tokio::test]
async fn a_store_that_comes_back_with_an_old_snapshot_counts_as_full() {
    for store in [stores::valkey(), stores::redis()] {
        let limiter = limiter_at(store.url()).await;
        try_acquire(&limiter).await.unwrap().finished();
        assert!(store.command(&format!("COPY {KEY} snapshot")).starts_with(":1"));
        try_acquire(&limiter).await.unwrap().finished();
        assert!(store.command(&format!("COPY snapshot {KEY} REPLACE")).starts_with(":1"));
        assert!(try_acquire(&limiter).await.unwrap_err() > MINUTE / 2);
        // Another process is told the same.
        assert!(try_acquire(&builder(store.url()).await.unwrap()).await.is_err());
    }
}

#[tokio::test]
async fn slots_that_the_store_has_lost_are_not_used_and_reserved_anew() {
    let store = stores::valkey();
    let minute = Duration::from_millis(3_000);
    let builder = || builder(store.url()).window(minute);
    builder().declare_unused(None).await.unwrap();
    let limiter = Arc::new(builder().await.unwrap());
    send_all(&limiter).await;
    let waiting = Arc::clone(&limiter);
    let begun = Instant::now();
    let waiting = tokio::spawn(async move {
        let request = AcquireRequest::new(Priority::ReadBack).max_wait(minute * 10);
        waiting.acquire(request).await.unwrap().finished();
        begun.elapsed()
    });
    sleep(minute / 2).await;
    store.command("FLUSHALL");
    // Its slot would have come a minute after it asked; the store counts as full from when it was emptied.
    let waited = waiting.await.unwrap();
    assert!(waited >= minute * 3 / 2, "{waited:?}");
}

#[tokio::test]
async fn a_clock_that_steps_forward_is_not_believed() {
    let store = stores::valkey();
    let proxy = with_clock(&store).await;
    let (one, other) = (limiter_at(proxy.url()).await, limiter_at(proxy.url()).await);
    assert_eq!(send_all(&one).await, 120);
    assert!(try_acquire(&other).await.is_err());
    // The whole minute, three times.
    for step in 1..=3 {
        store.command(&format!("SET clock {}", 7_000 * step));
        for limiter in [&one, &other] {
            assert_eq!(send_all(limiter).await, 0, "after step {step}");
        }
    }
    // And time passes as it did before.
    let request = AcquireRequest::new(Priority::ReadBack).max_wait(MINUTE * 2);
    one.acquire(request).await.unwrap().finished();
}

#[tokio::test]
async fn after_a_clock_has_stepped_back_the_limit_holds_and_nobody_waits_longer_than_a_window() {
    let store = stores::redis();
    let proxy = with_clock(&store).await;
    let limiter = limiter_at(proxy.url()).await;
    assert_eq!(send_all(&limiter).await, 120);
    store.command("SET clock -200000");
    let begun = Instant::now();
    let wait = try_acquire(&limiter).await.unwrap_err();
    assert!(wait <= MINUTE + MINUTE / 60, "{wait:?}");
    let request = AcquireRequest::new(Priority::ReadBack).max_wait(MINUTE * 3);
    limiter.acquire(request).await.unwrap().finished();
    assert!(begun.elapsed() >= wait, "{:?} instead of {wait:?}", begun.elapsed());
}

#[tokio::test]
async fn a_store_that_stands_still_keeps_no_slots_for_calls_that_it_hears_too_late() {
    let store = stores::valkey();
    builder(store.url()).declare_unused(None).await.unwrap();
    let limiter = process(store.url(), Duration::from_secs(1)).window(MINUTE).await.unwrap();
    try_acquire(&limiter).await.unwrap().finished();
    store.stop();
    // They go to the store together, and nobody waits for them any more when it reads them.
    let request = AcquireRequest::new(Priority::ReadBack).max_wait(MINUTE);
    let calls = futures_util::future::join_all((0..20).map(|_| limiter.acquire(request)));
    assert!(tokio::time::timeout(Duration::from_millis(50), calls).await.is_err());
    until("the store is away", async || limiter.is_away()).await;
    sleep(Duration::from_millis(300)).await;
    store.go_on();
    until("the store is back", async || !limiter.is_away()).await;
    let room = send_all(&limiter).await;
    assert!(room >= 119, "{room}");
}

#[tokio::test]
async fn a_key_that_is_not_used_any_more_costs_the_store_nothing() {
    let store = stores::valkey();
    let minute = Duration::from_millis(300);
    let builder = || builder(store.url()).window(minute);
    let limiter = builder().await.unwrap();
    for number in 0..20 {
        let key = ApiKey::parse(format!("rk_test_{number:048}")).unwrap().fingerprint();
        builder().declare_unused(key).await.unwrap();
        let request = AcquireRequest::new(Priority::Interactive).key(key);
        limiter.acquire(request).await.unwrap().finished();
    }
    // A permit that a busy machine held for long is reported after its end.
    sleep(minute * 5).await;
    let before = script_calls(&store);
    sleep(minute * 2).await;
    assert_eq!(script_calls(&store), before);
}

/// How many scripts the store has run.
fn script_calls(store: &Store) -> u64 {
    let info = store.command("INFO commandstats");
    let line = info.lines().find(|line| line.starts_with("cmdstat_evalsha:")).expect("scripts");
    let calls = line.split("calls=").nth(1).and_then(|rest| rest.split(',').next());
    calls.and_then(|calls| calls.parse().ok()).expect("a number")
}

#[tokio::test]
async fn a_call_that_cannot_make_it_is_told_its_wait_after_one_script_call() {
    let store = stores::valkey();
    let limiter = limiter_at(store.url()).await;
    assert_eq!(send_all(&limiter).await, 120);
    let before = script_calls(&store);
    let request = AcquireRequest::new(Priority::Interactive).max_wait(MINUTE / 6);
    let Err(LimitError::Busy { wait, .. }) = limiter.acquire(request).await else { panic!("it waits") };
    assert!(wait > MINUTE / 6, "{wait:?}");
    assert_eq!(script_calls(&store), before + 1);
}

#[tokio::test]
async fn a_limit_that_no_store_can_keep_or_no_client_can_use_is_refused() {
    for limit in [0, 1, 1_001] {
        let error = builder("redis://127.0.0.1:1".to_owned()).limit(limit).await.unwrap_err();
        assert!(error.to_string().contains(&limit.to_string()), "{error}");
    }
}
