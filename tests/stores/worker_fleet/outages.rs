//! What becomes of the store while a fleet is at work.

use std::time::Duration;

use shared_inbox_tests::{proxy::Proxy, stores};
use tokio::time::sleep;

use super::{ATTEMPT, MINUTE, fleet, nothing_was_lost, service, within_the_limit, worker::requests_from};

/// How long a process that has lost the store sends nothing: an attempt and a minute, and a little.
const HELD_BACK: Duration = Duration::from_millis(6_000 + 100 + 1_000);

/// Waits until something is sent that was not before, and says how many were.
async fn more_than(mock: &shared_inbox_mock::MockServer) -> usize {
    let so_far = mock.control().requests().await.len();
    requests_from(mock, so_far + 1).await;
    so_far
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_killed_and_comes_back_empty_after_the_shares_were_used_breaks_no_promise() {
    let mut store = stores::valkey();
    let mock = service(MINUTE).await;
    let workers = fleet(&mock, &store.url(), MINUTE).await;
    requests_from(&mock, 100).await;
    store.kill();
    sleep(HELD_BACK).await;
    // Without the store, by the shares.
    more_than(&mock).await;
    sleep(MINUTE / 4).await;
    store.restart();
    // Full for a minute; then through the store again.
    sleep(MINUTE / 2).await;
    let before = more_than(&mock).await;
    requests_from(&mock, before + 100).await;
    nothing_was_lost(workers);
    within_the_limit(&mock, MINUTE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_stands_still_for_a_while_fails_no_call_that_has_time() {
    let store = stores::valkey();
    let mock = service(MINUTE).await;
    let workers = fleet(&mock, &store.url(), MINUTE).await;
    requests_from(&mock, 60).await;
    // As 1, 10 and 30 seconds of a minute.
    for part in [60, 6, 2] {
        store.stop();
        sleep(MINUTE / part).await;
        store.go_on();
        more_than(&mock).await;
        sleep(MINUTE / 4).await;
    }
    nothing_was_lost(workers);
    within_the_limit(&mock, MINUTE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_store_and_one_that_cannot_be_reached_break_no_promise() {
    let store = stores::valkey();
    let mock = service(MINUTE).await;
    let proxy = Proxy::to(store.port()).await;
    let workers = fleet(&mock, &proxy.url(), MINUTE).await;
    requests_from(&mock, 60).await;
    // Slow, but in time; then too slow; then away for a moment.
    proxy.slow_down(Duration::from_millis(60));
    sleep(MINUTE / 3).await;
    proxy.slow_down(Duration::from_millis(400));
    sleep(MINUTE / 3).await;
    proxy.slow_down(Duration::ZERO);
    proxy.cut();
    sleep(MINUTE / 6).await;
    proxy.mend();
    let before = more_than(&mock).await;
    // Away for so long that the shares are used, with its memory whole.
    requests_from(&mock, before + 60).await;
    proxy.cut();
    sleep(HELD_BACK + ATTEMPT).await;
    more_than(&mock).await;
    proxy.mend();
    sleep(MINUTE / 2).await;
    let before = more_than(&mock).await;
    requests_from(&mock, before + 100).await;
    nothing_was_lost(workers);
    within_the_limit(&mock, MINUTE).await;
}
