//! A store that is a cluster.

use shared_inbox::{
    ApiKey,
    rate_limit::{AcquireRequest, Priority, RateLimiter},
};
use shared_inbox_stores::{Redis, StoreError};
use shared_inbox_tests::{stores, until};

#[tokio::test]
async fn a_cluster_keeps_the_count_of_each_key_where_its_slot_is() {
    let (one, other) = (stores::valkey_node(), stores::valkey_node());
    let bus = |store: &stores::Store| {
        let said = store.command("CONFIG GET cluster-port");
        said.lines().find_map(|line| line.parse::<u16>().ok()).expect("a port")
    };
    assert!(one.command("CLUSTER ADDSLOTSRANGE 0 8191").starts_with("+OK"));
    assert!(other.command("CLUSTER ADDSLOTSRANGE 8192 16383").starts_with("+OK"));
    let meet = format!("CLUSTER MEET 127.0.0.1 {} {}", other.port(), bus(&other));
    assert!(one.command(&meet).starts_with("+OK"));
    let is_ready = |store: &stores::Store| store.command("CLUSTER INFO").contains("cluster_state:ok");
    until("both have heard of each other", async || is_ready(&one) && is_ready(&other)).await;
    let cluster = Redis::cluster([one.url()]).connect().await.unwrap();
    let limiter = cluster.limiter().limit(2).await.unwrap();
    for number in 0..8 {
        let key = ApiKey::parse(format!("rk_test_{number:048}")).unwrap().fingerprint();
        assert!(cluster.limiter().limit(2).declare_unused(key).await.unwrap());
        for _ in 0..2 {
            limiter.acquire(AcquireRequest::new(Priority::ReadBack).key(key)).await.unwrap().finished();
        }
        limiter.acquire(AcquireRequest::new(Priority::ReadBack).key(key)).await.unwrap_err();
    }
    // What is written when connecting lasts for a millisecond.
    let is_name = |line: &&str| line.contains("shared-inbox:") && !line.contains("{probe}");
    let keys = |store: &stores::Store| store.command("KEYS *").lines().filter(is_name).count();
    assert_eq!(keys(&one) + keys(&other), 8);
    assert!(keys(&one) > 0 && keys(&other) > 0, "both have some");
    // A single node is not enough, and one of the two notices at once.
    let alone = async |store: &stores::Store| Redis::connect(store.url()).await.unwrap().limiter().await;
    let alone = [alone(&one).await, alone(&other).await];
    assert!(alone.iter().any(|tried| matches!(tried, Err(StoreError::Cluster))), "{alone:?}");
}
