//! Single decisions of limiters that share a store: each of them stands for a process.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::time::{Duration, Instant};

use shared_inbox::{
    ApiKey,
    rate_limit::{AcquireRequest, KeyFingerprint, LimitError, Permit, Priority, RateLimiter},
};
use shared_inbox_stores::{LimiterBuilder, Redis, RedisLimiter, StoreError};
use shared_inbox_tests::{
    proxy::Proxy,
    stores::{self, Store},
    until,
};
use tokio::time::sleep;

use super::process;

/// What stands for a minute: requests that take more than 50 ms are late.
const MINUTE: Duration = Duration::from_millis(3_000);
const SPAN: Duration = Duration::from_millis(3_050);

/// A limiter that does not take a busy machine for a store that is away.
fn builder(store: &Store) -> LimiterBuilder {
    process(store.url(), Duration::from_secs(5)).window(MINUTE)
}

async fn limiter(store: &Store, limit: u32) -> RedisLimiter {
    builder(store).limit(limit).declare_unused(None).await.unwrap();
    builder(store).limit(limit).await.unwrap()
}

async fn take(limiter: &RedisLimiter, priority: Priority, times: usize) {
    let calls = (0..times).map(|_| limiter.acquire(AcquireRequest::new(priority)));
    for (number, permit) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        permit.unwrap_or_else(|error| panic!("{error} for number {number}")).finished();
    }
}

fn wait(result: Result<Permit, LimitError>) -> Duration {
    match result {
        Err(LimitError::Busy { wait, .. }) => wait,
        other => panic!("expected to be busy, got {other:?}"),
    }
}

/// As long as it takes.
fn patient(priority: Priority) -> AcquireRequest {
    AcquireRequest::new(priority).max_wait(Duration::from_secs(20)).max_hold(Duration::ZERO)
}

async fn until_back(limiter: &RedisLimiter) {
    until("the store is back", async || !limiter.is_away()).await;
}

/// A limiter that loses the store when the proxy is cut.
async fn limiter_behind(proxy: &Proxy, share: u32) -> RedisLimiter {
    process(proxy.url(), Duration::from_millis(250)).limit(4).share(share).window(MINUTE).await.unwrap()
}

#[tokio::test]
async fn what_one_process_sends_counts_for_the_other() {
    for store in [stores::valkey(), stores::redis()] {
        let (one, other) = (limiter(&store, 120).await, limiter(&store, 120).await);
        take(&one, Priority::ReadBack, 70).await;
        take(&other, Priority::ReadBack, 50).await;
        let busy = wait(one.acquire(AcquireRequest::new(Priority::ReadBack)).await);
        assert!(busy <= SPAN, "{busy:?}");
        wait(other.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    }
}

#[tokio::test]
async fn processes_with_different_limits_never_send_more_than_the_larger_one_allows() {
    let store = stores::valkey();
    let (small, large) = (limiter(&store, 24).await, builder(&store).await.unwrap());
    take(&small, Priority::ReadBack, 24).await;
    wait(large.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    wait(small.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    // What was added can be used a minute later.
    large.acquire(patient(Priority::ReadBack)).await.unwrap().finished();
}

#[test]
fn a_limiter_outlives_the_runtimes_that_it_is_called_from() {
    let store = stores::valkey();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let limiter = first.block_on(limiter(&store, 120));
    first.block_on(take(&limiter, Priority::ReadBack, 1));
    drop(first);
    let second = runtime();
    second.block_on(take(&limiter, Priority::ReadBack, 1));
    // The second one is there, and does nothing.
    runtime().block_on(take(&limiter, Priority::ReadBack, 1));
    second.block_on(take(&limiter, Priority::ReadBack, 1));
}

fn key(letter: char) -> ApiKey {
    ApiKey::parse(format!("rk_test_{}", letter.to_string().repeat(48))).unwrap()
}

#[tokio::test]
async fn the_store_knows_a_key_by_its_fingerprint_alone() {
    let store = stores::redis();
    for letter in ['a', 'b'] {
        builder(&store).declare_unused(key(letter).fingerprint()).await.unwrap();
    }
    let limiter = builder(&store).limit(2).await.unwrap();
    let of = |key: KeyFingerprint| AcquireRequest::new(Priority::ReadBack).key(key);
    for _ in 0..2 {
        limiter.acquire(of(key('a').fingerprint())).await.unwrap().finished();
    }
    wait(limiter.acquire(of(key('a').fingerprint())).await);
    // Another key has a limit of its own.
    limiter.acquire(of(key('b').fingerprint())).await.unwrap().finished();
    // What is written when connecting lasts for a millisecond.
    let is_name = |line: &&str| line.contains(':') && !line.contains("{probe}");
    let mut names: Vec<_> = store.command("KEYS *").lines().filter(is_name).map(str::to_owned).collect();
    names.sort();
    let mut expected =
        ['a', 'b'].map(|letter| format!("shared-inbox:rate:{{{}}}", key(letter).fingerprint())).to_vec();
    expected.sort();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn without_a_store_the_share_is_kept_to_after_a_minute_and_the_time_of_a_request() {
    let mut store = stores::valkey();
    limiter(&store, 120).await;
    let limiter = builder(&store).share(3).await.unwrap();
    let lasts = Duration::from_millis(400);
    limiter.acquire(AcquireRequest::new(Priority::ReadBack).max_hold(lasts)).await.unwrap().finished();
    store.kill();
    let begun = Instant::now();
    limiter.acquire(patient(Priority::ReadBack)).await.unwrap().finished();
    assert!(begun.elapsed() >= SPAN + lasts, "{:?}", begun.elapsed());
    assert!(limiter.is_away());
    take(&limiter, Priority::ReadBack, 2).await;
    wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
}

/// Returns how long after the store has gone the limiter sends again, after requests that may be held for so
/// long.
async fn goes_on_after(max_hold: Duration, still_held: bool) -> Duration {
    let mut store = stores::valkey();
    limiter(&store, 120).await;
    let limiter = process(store.url(), MINUTE / 6).window(MINUTE).await.unwrap();
    let permit = limiter.acquire(AcquireRequest::new(Priority::ReadBack).max_hold(max_hold)).await.unwrap();
    let mut held = Some(permit);
    if !still_held {
        held.take().unwrap().finished();
    }
    store.kill();
    let begun = Instant::now();
    limiter.acquire(patient(Priority::ReadBack)).await.unwrap().finished();
    drop(held);
    begun.elapsed()
}

#[tokio::test]
async fn only_a_permit_that_is_still_held_keeps_a_process_waiting_for_longer_without_a_store() {
    let long = MINUTE * 5 / 2;
    let (ended, held) = tokio::join!(goes_on_after(long, false), goes_on_after(long, true));
    // Others may hear the store for a moment longer, and use slots for ten seconds after that.
    assert!(ended >= SPAN + MINUTE / 4, "{ended:?}");
    // 106 seconds of a minute, and a moment for the machine.
    assert!(ended < MINUTE * 130 / 60, "{ended:?}");
    assert!(held >= SPAN + long - MINUTE / 10, "{held:?}");
}

#[tokio::test]
async fn slots_that_are_reported_twice_because_a_reply_was_lost_are_given_back_once() {
    let store = stores::valkey();
    limiter(&store, 120).await;
    let lose_reply = Arc::new(AtomicBool::new(false));
    let lose = Arc::clone(&lose_reply);
    let rewrite = move |there: bool, bytes: &[u8]| {
        let is_lost = !there && lose.swap(false, Ordering::Relaxed);
        Some(if is_lost { Vec::new() } else { bytes.to_vec() })
    };
    let proxy = Proxy::rewriting(store.port(), rewrite).await;
    let limiter = process(proxy.url(), Duration::from_millis(400)).window(MINUTE);
    let limiter = Arc::new(limiter.await.unwrap());
    take(&limiter, Priority::ReadBack, 120).await;
    let call = || {
        let limiter = Arc::clone(&limiter);
        tokio::spawn(async move {
            limiter.acquire(patient(Priority::ReadBack)).await.unwrap().finished();
            Instant::now()
        })
    };
    // 60 have a slot in the next minute, and stop waiting.
    let waiting: Vec<_> = (0..60).map(|_| call()).collect();
    sleep(MINUTE / 10).await;
    lose_reply.store(true, Ordering::Relaxed);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    while lose_reply.load(Ordering::Relaxed) || limiter.is_away() {
        sleep(Duration::from_millis(5)).await;
    }
    let sent = futures_util::future::join_all((0..180).map(|_| call())).await;
    let sent: Vec<Instant> = sent.into_iter().map(Result::unwrap).collect();
    let within = |from: &Instant| sent.iter().filter(|at| *at >= from && **at < *from + MINUTE).count();
    let worst = sent.iter().map(within).max().unwrap();
    assert!(worst <= 120, "{worst} in a window");
}

#[tokio::test]
async fn no_setting_of_a_limiter_panics() {
    let longest = Duration::MAX;
    let limiter = process("redis://127.0.0.1:1", longest).window(longest).share(u32::MAX).await.unwrap();
    wait(limiter.acquire(AcquireRequest::new(Priority::Bulk).max_hold(longest)).await);
}

#[tokio::test]
async fn a_limiter_starts_without_a_store_that_cannot_be_reached() {
    let mut store = stores::valkey();
    store.kill();
    let limiter = builder(&store).await.unwrap();
    limiter.acquire(patient(Priority::Interactive)).await.unwrap().finished();
    assert!(limiter.is_away());
    store.restart();
    tokio::time::timeout(MINUTE, until_back(&limiter)).await.expect("it comes back");
}

#[tokio::test]
async fn what_was_sent_without_the_store_is_told_when_it_is_back() {
    let store = stores::valkey();
    limiter(&store, 4).await;
    let proxy = Proxy::to(store.port()).await;
    let cut_off = limiter_behind(&proxy, 4).await;
    // The other one uses the store all the time, so that nobody takes it for away.
    let other = Arc::new(limiter(&store, 4).await);
    let using = Arc::clone(&other);
    let using = tokio::spawn(async move {
        loop {
            using.acquire(AcquireRequest::new(Priority::ReadBack)).await.map(Permit::give_up).ok();
            sleep(MINUTE / 20).await;
        }
    });
    cut_off.acquire(patient(Priority::ReadBack)).await.unwrap().finished();
    proxy.cut();
    for _ in 0..3 {
        cut_off.acquire(patient(Priority::ReadBack)).await.unwrap().finished();
    }
    assert!(cut_off.is_away());
    proxy.mend();
    until_back(&cut_off).await;
    using.abort();
    _ = using.await;
    // Some of the three have stopped counting by now, the last has not.
    let calls = (0..4).map(|_| other.acquire(AcquireRequest::new(Priority::ReadBack)));
    let permits = futures_util::future::join_all(calls).await;
    assert!(permits.iter().any(Result::is_err), "{permits:?}");
    wait(other.acquire(AcquireRequest::new(Priority::ReadBack)).await);
}

#[tokio::test]
async fn the_first_who_is_back_waits_for_what_others_have_not_told_yet() {
    let store = stores::redis();
    limiter(&store, 4).await;
    let mut cut_off = Vec::new();
    for _ in 0..2 {
        let proxy = Proxy::to(store.port()).await;
        let limiter = limiter_behind(&proxy, 2).await;
        limiter.acquire(patient(Priority::ReadBack)).await.unwrap().finished();
        cut_off.push((proxy, limiter));
    }
    cut_off.iter().for_each(|(proxy, _)| proxy.cut());
    for (_, limiter) in &cut_off {
        limiter.acquire(patient(Priority::ReadBack)).await.unwrap().finished();
        limiter.acquire(patient(Priority::ReadBack)).await.unwrap().finished();
    }
    let (proxy, first) = &cut_off[0];
    proxy.mend();
    until_back(first).await;
    // A moment later, too.
    sleep(MINUTE / 10).await;
    let busy = wait(first.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    assert!(busy > MINUTE / 2, "{busy:?}");
}

#[tokio::test]
async fn after_a_silence_a_new_process_gives_the_others_a_moment_to_come_back() {
    let store = stores::valkey();
    take(&limiter(&store, 120).await, Priority::ReadBack, 1).await;
    sleep(SPAN + MINUTE / 10).await;
    let new = builder(&store).await.unwrap();
    let busy = wait(new.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    assert!(busy <= MINUTE / 20, "{busy:?}");
    sleep(busy).await;
    take(&new, Priority::ReadBack, 1).await;
}

#[tokio::test]
async fn a_store_that_refuses_its_time_is_named_when_connecting() {
    let store = stores::valkey();
    assert!(store.command("ACL SETUSER clockless on >open-sesame ~* +@all -time").starts_with("+OK"));
    let url = store.url().replace("//", "//clockless:open-sesame@");
    let error = Redis::connect(url).await.unwrap().limiter().await.unwrap_err();
    assert!(matches!(error, StoreError::NoTime { .. }), "{error:?}");
    assert!(error.to_string().contains("`TIME`"), "{error}");
}

#[tokio::test]
async fn no_password_shows_in_an_error_or_a_debug() {
    let store = stores::redis();
    assert!(store.command("CONFIG SET requirepass open-sesame").starts_with("+OK"));
    let wrong = store.url().replace("//", "//:hunter2-hunter2@");
    let error = Redis::connect(&*wrong).await.unwrap_err();
    assert!(matches!(error, StoreError::Password), "{error:?}");
    let none = Redis::connect(store.url()).await.unwrap().limiter().await.unwrap_err();
    assert!(matches!(none, StoreError::Password), "{none:?}");
    let right = store.url().replace("//", "//:open-sesame@");
    let builder = Redis::builder(&*right);
    let shown = format!("{error} {error:?} {builder:?}");
    let redis = builder.connect().await.unwrap();
    let (guard, once_keys, limiter) = (redis.guard(), redis.once_keys(), redis.limiter());
    let shown =
        format!("{shown} {redis:?} {guard:?} {once_keys:?} {limiter:?} {:?}", redis.limiter().await.unwrap());
    assert!(!shown.contains("hunter2") && !shown.contains("sesame"), "{shown}");
    let bad = Redis::connect("redis://:open-sesame@host:port/").await.unwrap_err();
    assert!(matches!(bad, StoreError::Url) && !format!("{bad} {bad:?}").contains("sesame"), "{bad:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_calls_that_lose_the_store_together_none_goes_on_before_the_minute_is_over() {
    for _ in 0..100 {
        let nobody = process("redis://127.0.0.1:1", MINUTE / 6).window(MINUTE).share(100);
        let limiter = Arc::new(nobody.await.unwrap());
        let calls = (0..16).map(|_| {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(async move { limiter.acquire(AcquireRequest::new(Priority::Interactive)).await })
        });
        for call in calls.collect::<Vec<_>>() {
            wait(call.await.unwrap());
        }
    }
}
