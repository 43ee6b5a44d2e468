//! The replay guard of receivers on a Redis cluster.

use std::time::Duration;

use redis::AsyncCommands;
use shared_inbox_tests::stores;
use shared_inbox_webhooks::replay::{RedisGuard, suite};

#[tokio::test]
async fn a_guard_on_a_redis_cluster_keeps_every_rule_of_a_guard() {
    let Some(store) = stores::valkey_node() else { return };
    // A store on a busy machine may take its time.
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    let client = redis::Client::open(store.url()).unwrap();
    let mut node = client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
    // A cluster of one, which has every slot.
    let slots = redis::cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(16_383).to_owned();
    slots.exec_async(&mut node).await.unwrap();
    while node.exists::<_, bool>("a").await.is_err() {}
    let client = redis::cluster::ClusterClient::new([store.url()]).unwrap();
    let guard = RedisGuard::new(client.get_async_connection().await.unwrap());
    // Time is moved and not waited for: every key's end is put back by as much.
    let pass = async |time: Duration| {
        let mut node = node.clone();
        let keys: Vec<String> = node.keys("*").await.unwrap();
        for key in keys {
            let left: i64 = node.pttl(&key).await.unwrap();
            // A dead letter has no end.
            if left >= 0 {
                let _: bool = node.pexpire(&key, left - time.as_millis() as i64).await.unwrap();
            }
        }
    };
    suite::check(&guard, &pass).await;
    suite::check_dead_letters(&guard, &pass).await;
}
