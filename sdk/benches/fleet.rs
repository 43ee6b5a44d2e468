//! What a decision costs when the limit is counted in a store: beside a bare `PING` on a connection of the same kind.
//!
//!     cargo bench -p shared-inbox --features redis --bench fleet
//!
//! Rounds of both in turn, with 1, 8 and 64 callers on one connection each. A store from PyPI is started for it, unless
//! `STORE_URL` names one. Told are the medians over all rounds; the ratio is the median of the rounds' ratios, since both
//! halves of a round meet the same machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_inbox::{ApiKey, Ask, Lane, RateLimiter, RedisLimiter};
use shared_inbox_tests::stores;

const ROUNDS: usize = 15;
const DECISIONS: usize = 1_920;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let named = std::env::var("STORE_URL").ok();
    let store = if named.is_some() { None } else { stores::valkey() };
    let Some(url) = named.or_else(|| store.as_ref().map(stores::Store::url)) else { return };
    println!(
        "{:>8}{:>14}{:>14}{:>9}{:>14}{:>14}",
        "callers", "PING", "decision", "ratio", "PING/s", "decisions/s"
    );
    for callers in [1, 8, 64] {
        let (mut pings, mut decisions, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let (mut ping_time, mut decision_time) = (Duration::ZERO, Duration::ZERO);
        for round in 0..=ROUNDS {
            let (mut ping, took) = self::pings(&url, callers).await;
            let (mut decision, decided) = self::decisions(&url, callers, round).await;
            if round == 0 {
                continue; // to warm up
            }
            ratios.push(median(&mut decision).as_secs_f64() / median(&mut ping).as_secs_f64());
            pings.append(&mut ping);
            decisions.append(&mut decision);
            ping_time += took;
            decision_time += decided;
        }
        ratios.sort_by(f64::total_cmp);
        println!(
            "{callers:>8}{:>14.1?}{:>14.1?}{:>9.2}{:>14.0}{:>14.0}",
            median(&mut pings),
            median(&mut decisions),
            ratios[ratios.len() / 2],
            pings.len() as f64 / ping_time.as_secs_f64(),
            decisions.len() as f64 / decision_time.as_secs_f64(),
        );
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// How long each took, and all of them together.
async fn pings(url: &str, callers: usize) -> (Vec<Duration>, Duration) {
    let connection = redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap();
    let begun = Instant::now();
    let tasks = (0..callers).map(|_| {
        let mut connection = connection.clone();
        tokio::spawn(async move {
            let mut times = Vec::new();
            for _ in 0..DECISIONS / callers {
                let begun = Instant::now();
                let _: String = redis::cmd("PING").query_async(&mut connection).await.unwrap();
                times.push(begun.elapsed());
            }
            times
        })
    });
    let mut times = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        times.append(&mut task.await.unwrap());
    }
    (times, begun.elapsed())
}

/// Each round with a key of its own, whose log begins empty.
async fn decisions(url: &str, callers: usize, round: usize) -> (Vec<Duration>, Duration) {
    let limiter = RedisLimiter::builder(url).limit(u32::MAX).new_store().connect().await.unwrap();
    let limiter = Arc::new(limiter);
    let key = ApiKey::parse(format!(
        "rk_test_{:048}",
        std::process::id() as usize * 100_000 + callers * 100 + round
    ));
    let ask = Ask::new(Lane::Interactive).key(key.unwrap().fingerprint());
    limiter.acquire(ask).await.unwrap().finished();
    let begun = Instant::now();
    let tasks = (0..callers).map(|_| {
        let limiter = Arc::clone(&limiter);
        tokio::spawn(async move {
            let mut times = Vec::new();
            for _ in 0..DECISIONS / callers {
                let begun = Instant::now();
                let permit = limiter.acquire(ask).await.unwrap();
                times.push(begun.elapsed());
                permit.finished();
            }
            times
        })
    });
    let mut times = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        times.append(&mut task.await.unwrap());
    }
    (times, begun.elapsed())
}
