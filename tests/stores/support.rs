//! What the tests of stores share: patient connections, times that are moved and not waited for, and what is
//! said through `tracing`.

#[path = "../../webhook-verify/tests/it/trace.rs"]
pub(crate) mod trace;

use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use shared_inbox_stores::{Postgres, Redis};
use shared_inbox_webhooks::replay::{Claim, Delivery, FencingToken, ReplayGuard};
use sqlx::postgres::{PgPool, PgPoolOptions};

/// How long a store on a busy machine may take, where a test is not about that.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn delivery(event: &str) -> Delivery {
    Delivery::new("orders", event)
}

pub(crate) fn one() -> Delivery {
    delivery("evt_1")
}

pub(crate) async fn granted(guard: &dyn ReplayGuard, delivery: &Delivery) -> FencingToken {
    match guard.claim(delivery).await.unwrap() {
        Claim::Granted(fence) => fence,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn redis(url: impl Into<String>) -> Redis {
    Redis::builder(url).timeout(PATIENCE).connect().await.expect("a store")
}

/// A connection to look into the store with.
pub(crate) async fn redis_connection(url: impl AsRef<str>) -> MultiplexedConnection {
    let patient = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let client = redis::Client::open(url.as_ref()).expect("an address");
    client.get_multiplexed_async_connection_with_config(&patient).await.expect("a connection")
}

/// Puts every key's end back by so much; what is over then is gone. What has no end, such as a dead letter,
/// stays.
pub(crate) async fn pass_in_redis(mut connection: MultiplexedConnection, time: Duration) {
    let keys: Vec<String> = connection.keys("shared-inbox:webhook:*").await.expect("keys");
    let braced: Vec<String> = connection.keys("{shared-inbox:webhook:*").await.expect("keys");
    for key in keys.into_iter().chain(braced) {
        let left: i64 = connection.pttl(&key).await.expect("what is left");
        if left >= 0 {
            let left = left - time.as_millis() as i64;
            let _: bool = connection.pexpire(&key, left).await.expect("time put back");
        }
    }
}

pub(crate) async fn pool(url: &str) -> PgPool {
    PgPoolOptions::new().acquire_timeout(PATIENCE).connect(url).await.expect("a connection")
}

/// A store that has its tables.
pub(crate) async fn postgres(url: &str) -> Postgres {
    let postgres = Postgres::new(pool(url).await).timeout(PATIENCE);
    postgres.create_tables().await.expect("tables");
    postgres
}

pub(crate) async fn pass_in_postgres(pool: &PgPool, time: Duration) {
    let back = "update shared_inbox_webhooks set until = until - $1 * interval '1 second'";
    sqlx::query(back).bind(time.as_secs_f64()).execute(pool).await.expect("times put back");
}
