//! What a reservation costs when slots are kept in a store: beside a bare `PING` on a connection of the same
//! kind, and beside the smallest script that reads the clock and writes one element.
//!
//!     cargo bench -p shared-inbox-stores --features redis --bench fleet
//!
//! Rounds of all three in turn, with 1, 8 and 64 callers on one connection each. A store from PyPI is started
//! for it, unless `STORE_URL` names one. Told are the medians over all rounds; the ratio is the median of the
//! rounds' ratios, since all of a round meet the same machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use shared_inbox::{
    ApiKey,
    rate_limit::{AcquireRequest, Priority, RateLimiter},
};
use shared_inbox_stores::Redis;
use shared_inbox_tests::stores;

const ROUNDS: usize = 15;
const DECISIONS: usize = 1_920;
/// So many for each key, each of which begins unused: there is room for 110.
const FOR_A_KEY: usize = 96;
const SMALLEST: &str =
    "local time = redis.call('TIME') local now = time[1] * 1000 + math.floor(time[2] / 1000)
    redis.call('ZADD', KEYS[1], now, ARGV[1]) return {1, now}";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let named = std::env::var("STORE_URL").ok();
    let store = named.is_none().then(stores::valkey);
    let url = named.or_else(|| store.as_ref().map(stores::Store::url)).expect("one of them");
    println!(
        "{:>8}{:>12}{:>14}{:>12}{:>14}{:>16}{:>16}",
        "callers", "PING", "smallest", "reservation", "to PING", "to the script", "per second"
    );
    for callers in [1, 8, 64] {
        let mut medians: [Vec<f64>; 3] = Default::default();
        let mut rates = Vec::new();
        for round in 0..=ROUNDS {
            let (ping, _) = pings(&url, callers).await;
            let (script, _) = scripts(&url, callers, round).await;
            let (reservation, took) = reservations(&url, callers, round).await;
            if round == 0 {
                continue; // to warm up
            }
            for (all, one) in medians.iter_mut().zip([ping, script, reservation]) {
                all.push(one.as_secs_f64() * 1e6);
            }
            rates.push(DECISIONS as f64 / took.as_secs_f64());
        }
        let [ping, script, reservation] = &medians;
        let ratio = |less: &[f64]| median(reservation.iter().zip(less).map(|(a, b)| a / b).collect());
        println!(
            "{callers:>8}{:>9.1} µs{:>11.1} µs{:>9.1} µs{:>14.2}{:>16.2}{:>16.0}",
            median(ping.clone()),
            median(script.clone()),
            median(reservation.clone()),
            ratio(ping),
            ratio(script),
            median(rates),
        );
    }
    println!("a call that cannot make it is told so after {:.1?}", refusals(&url).await);
}

/// How long it takes to be told that a call cannot make it.
async fn refusals(url: &str) -> Duration {
    let redis = Redis::connect(url).await.unwrap();
    let limiter = redis.limiter().await.unwrap();
    let key = ApiKey::parse(format!("rk_test_{:048}", std::process::id())).unwrap().fingerprint();
    assert!(redis.limiter().declare_unused(key).await.unwrap());
    let request = AcquireRequest::new(Priority::Interactive).key(key);
    while limiter.acquire(request).await.is_ok() {}
    let limiter = Arc::new(limiter);
    let once = move |_| {
        let limiter = Arc::clone(&limiter);
        async move { assert!(limiter.acquire(request).await.is_err()) }
    };
    timed(1, once).await.0
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The median of one, and how long all took together.
async fn timed<F: Future<Output = ()> + Send>(
    callers: usize,
    once: impl Fn(usize) -> F + Clone + Send + 'static,
) -> (Duration, Duration) {
    let begun = Instant::now();
    let tasks = (0..callers).map(|caller| {
        let once = once.clone();
        tokio::spawn(async move {
            let mut times = Vec::new();
            for number in 0..DECISIONS / callers {
                let begun = Instant::now();
                once(caller * DECISIONS + number).await;
                times.push(begun.elapsed());
            }
            times
        })
    });
    let mut times = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        times.append(&mut task.await.unwrap());
    }
    let took = begun.elapsed();
    times.sort();
    (times[times.len() / 2], took)
}

async fn connection(url: &str) -> MultiplexedConnection {
    redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

async fn pings(url: &str, callers: usize) -> (Duration, Duration) {
    let connection = connection(url).await;
    let once = move |_| {
        let mut connection = connection.clone();
        async move {
            let _: String = redis::cmd("PING").query_async(&mut connection).await.unwrap();
        }
    };
    timed(callers, once).await
}

async fn scripts(url: &str, callers: usize, round: usize) -> (Duration, Duration) {
    let connection = connection(url).await;
    let script = Arc::new(redis::Script::new(SMALLEST));
    let key = format!("least:{}:{callers}:{round}", std::process::id());
    let once = move |number| {
        let (mut connection, script, key) = (connection.clone(), Arc::clone(&script), key.clone());
        async move {
            let _: Vec<u64> =
                script.key(key).arg(format!("{number:x}")).invoke_async(&mut connection).await.unwrap();
        }
    };
    timed(callers, once).await
}

/// Calls that come together go together, as they do with a key that many use.
async fn reservations(url: &str, callers: usize, round: usize) -> (Duration, Duration) {
    let redis = Redis::connect(url).await.unwrap();
    let limiter = Arc::new(redis.limiter().await.unwrap());
    let first = (std::process::id() as usize * 100 + callers) * 10_000 + round * 100;
    let mut keys = Vec::new();
    for number in 0..=DECISIONS.div_ceil(FOR_A_KEY) {
        let key = ApiKey::parse(format!("rk_test_{:048}", first + number)).unwrap().fingerprint();
        assert!(redis.limiter().declare_unused(key).await.unwrap());
        keys.push(key);
    }
    let (keys, next) = (Arc::new(keys), Arc::new(AtomicUsize::new(0)));
    let once = move |_| {
        let key = keys[next.fetch_add(1, Ordering::Relaxed) / FOR_A_KEY];
        let (limiter, request) = (Arc::clone(&limiter), AcquireRequest::new(Priority::Interactive).key(key));
        async move { limiter.acquire(request).await.unwrap().finished() }
    };
    timed(callers, once).await
}
