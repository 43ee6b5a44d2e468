//! What limiters do without each other when their store is gone: slots that were given out have stopped
//! counting before anybody sends without it, however old the last reply is that each of them has had.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use shared_inbox::rate_limit::{Priority, RateLimiter};
use shared_inbox_stores::RedisLimiter;
use shared_inbox_tests::proxy::Proxy;
use shared_inbox_tests::stores::{self, Store};
use tokio::time::sleep;

use super::decisions::{MINUTE, SPAN, limiter, patient};
use super::process;

/// A limiter, how many callers it has, and how long each of them pauses before a call.
type Process = (Arc<RedisLimiter>, usize, Duration);

/// Sends as much as there is, one call after the other, and returns when each was sent.
async fn send_until(ends: Instant, limiter: Arc<RedisLimiter>, pause: Duration) -> Vec<Instant> {
    let mut sent = Vec::new();
    loop {
        sleep(pause).await;
        let left = ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return sent;
        }
        match limiter.acquire(patient(Priority::Interactive).max_wait(left)).await {
            Ok(permit) => {
                sent.push(Instant::now());
                permit.finished();
            }
            Err(_) => sleep(MINUTE / 20).await,
        }
    }
}

/// Kills the store after a while. Asserts that there is a silence of a minute and a second afterwards, that
/// the shares are used then, and that the limit holds all the time.
async fn assert_a_silence(mut store: Store, processes: &[Process], kill_after: Duration) {
    let ends = Instant::now() + kill_after + MINUTE * 4;
    let callers = processes.iter().flat_map(|process| vec![process; process.1]);
    let spawn = |(limiter, _, pause): &Process| tokio::spawn(send_until(ends, Arc::clone(limiter), *pause));
    let calls: Vec<_> = callers.map(spawn).collect();
    sleep(kill_after).await;
    store.kill();
    let killed = Instant::now();
    let sent = futures_util::future::join_all(calls).await;
    let mut sent: Vec<Instant> = sent.into_iter().flat_map(Result::unwrap).collect();
    sent.sort();
    let mut after = vec![killed];
    after.extend(sent.iter().copied().filter(|at| *at > killed));
    let (silence, again) = after.windows(2).map(|two| (two[1] - two[0], two[1] - killed)).max().unwrap();
    assert!(
        silence >= SPAN,
        "{silence:?} before {again:?}, the last after {:?}",
        after[after.len() - 1] - killed
    );
    let within = |from: &Instant| sent.iter().filter(|at| *at >= from && **at < *from + MINUTE).count();
    let worst = sent.iter().map(within).max().unwrap_or_default();
    assert!(worst <= 120, "{worst} in a window");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_that_come_seconds_late_let_nobody_begin_too_early() {
    let runs = (1..=3).map(|seed| async move {
        let store = stores::valkey();
        limiter(&store, 120).await;
        let mut random = StdRng::seed_from_u64(seed);
        let (mut proxies, mut processes) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let proxy = Proxy::to(store.port()).await;
            let limiter = process(proxy.url(), MINUTE / 4).window(MINUTE).share(20);
            // Some have a queue, some a call now and then.
            let (calls, pause) = [(1, MINUTE / 2), (150, Duration::ZERO)][random.random_range(0..2)];
            processes.push((Arc::new(limiter.await.unwrap()), calls, pause));
            proxies.push(proxy);
        }
        let kill_after = Duration::from_millis(random.random_range(1_000..3_000));
        let late = tokio::spawn(async move {
            loop {
                // Of a minute, up to eight seconds there and back.
                let delay = [0, 0, 50, 200][random.random_range(0..4)];
                proxies[random.random_range(0..4)].slow_down(Duration::from_millis(delay));
                sleep(Duration::from_millis(60)).await;
            }
        });
        assert_a_silence(store, &processes, kill_after).await;
        late.abort();
    });
    futures_util::future::join_all(runs).await;
}
