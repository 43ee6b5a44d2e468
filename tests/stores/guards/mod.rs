//! The guards on stores that many machines share, on real ones.
//!
//! Time is moved and not waited for: what a store counts down is put back by as much.

mod connection;
mod outage;
mod postgres_guard;
mod postgres_table;
mod redis_guard;
mod transaction;

use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use shared_inbox_tests::stores::{self, Store};
use shared_inbox_webhooks::replay::{ClaimStatus, Handled, PostgresGuard, RedisGuard, ReplayGuard};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::replay::{delivery, granted, one};
use crate::trace::Trace;

/// How long a store on a busy machine may take, where a test is not about that.
const PATIENCE: Duration = Duration::from_secs(60);

async fn redis(store: &Store) -> (RedisGuard, MultiplexedConnection) {
    redis_at(store.url()).await
}

async fn redis_at(url: String) -> (RedisGuard, MultiplexedConnection) {
    let client = redis::Client::open(url).unwrap();
    let patient = ConnectionManagerConfig::new().set_number_of_retries(1);
    let patient = patient.set_connection_timeout(Some(PATIENCE)).set_response_timeout(Some(PATIENCE));
    let connection = ConnectionManager::new_with_config(client.clone(), patient).await.unwrap();
    let patient = redis::AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
    let own = client.get_multiplexed_async_connection_with_config(&patient).await.unwrap();
    (RedisGuard::new(connection).timeout(PATIENCE), own)
}

/// Puts every key's end back by so much; what is over then is gone. What has no end stays.
async fn pass_in_redis(mut connection: MultiplexedConnection, time: Duration) {
    let keys: Vec<String> = connection.keys("*").await.unwrap();
    for key in keys {
        let left: i64 = connection.pttl(&key).await.unwrap();
        if left >= 0 {
            let _: bool = connection.pexpire(&key, left - time.as_millis() as i64).await.unwrap();
        }
    }
}

async fn pool(store: &Store) -> PgPool {
    PgPoolOptions::new().acquire_timeout(PATIENCE).connect(&store.url()).await.unwrap()
}

async fn postgres(store: &Store) -> PostgresGuard {
    let guard = PostgresGuard::new(pool(store).await).timeout(PATIENCE);
    guard.create_table().await.unwrap();
    guard
}

async fn pass_in_postgres(pool: &PgPool, time: Duration) {
    let back = "update shared_inbox_webhooks set until = until - $1 * interval '1 second'";
    sqlx::query(back).bind(time.as_secs_f64()).execute(pool).await.unwrap();
}

/// So a store that has forgotten an event gives a larger one than before.
#[tokio::test]
async fn a_first_fence_is_the_time_in_microseconds() {
    let now = || u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap();
    let second = 1_000_000;
    let (Some(valkey), Some(other)) = (stores::valkey(), stores::postgres()) else { return };
    for guard in [&redis(&valkey).await.0 as &dyn ReplayGuard, &postgres(&other).await] {
        let before = now();
        let fence = granted(guard, &one()).await.number();
        assert!((before - second..=now() + second).contains(&fence), "{fence} at {before}");
    }
}

#[tokio::test]
async fn the_handlers_of_the_readme_work_on_both_stores() {
    use crate::readme::stores::{on_postgres, on_redis, order};
    let (Some(valkey), Some(database)) = (stores::valkey(), stores::postgres()) else { return };
    let handlers = on_redis(&valkey.url()).await.unwrap();
    for is_last in [false, false, false, false, true] {
        let failed = handlers.once(one(), async |_| Err::<(), _>("down")).await;
        assert_eq!(matches!(failed, Ok(Handled::DeadLettered)), is_last, "{failed:?}");
    }
    let handlers = on_postgres(&database.url()).await.unwrap();
    let pool = handlers.guard().pool().clone();
    // Without the table every run fails; after the fifth the event is a dead letter.
    for is_last in [false, false, false, false, true] {
        let failed = order(&handlers, one()).await;
        assert_eq!(matches!(failed, Ok(Handled::DeadLettered)), is_last, "{failed:?}");
    }
    assert!(matches!(order(&handlers, one()).await, Ok(Handled::DeadLettered)));
    assert_eq!(handlers.dead_letters(10).await.unwrap()[0].attempts(), 5);
    sqlx::query("create table orders (id int)").execute(&pool).await.unwrap();
    for is_first in [true, false] {
        let handled = order(&handlers, delivery("evt_2")).await;
        assert_eq!(matches!(handled, Ok(Handled::Ran(()))), is_first, "{handled:?}");
    }
    let orders: i64 = sqlx::query_scalar("select count(*) from orders").fetch_one(&pool).await.unwrap();
    assert_eq!(orders, 1);
}

#[tokio::test]
async fn a_claim_that_is_taken_over_is_told_and_one_that_was_given_back_is_not() {
    async fn take_over(guard: &dyn ReplayGuard, pass: impl AsyncFn(Duration)) {
        let trace = Trace::start();
        let event = one().with_event_type("scout.held");
        let fence = granted(guard, &event).await;
        assert_eq!(guard.release(&event, fence).await.unwrap(), ClaimStatus::Held);
        granted(guard, &event).await;
        assert_eq!(trace.lines(), [""; 0]);
        pass(guard.lease_time()).await;
        let fence = granted(guard, &event).await;
        let lines = trace.lines();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        let warning = "WARN a webhook's claim ran out before its end was noted: the event is handled again";
        assert!(line.starts_with(warning) && line.contains("scout.held"), "{line}");
        assert_eq!(guard.commit(&event, fence).await.unwrap(), ClaimStatus::Held);
    }
    if let Some(store) = stores::valkey() {
        let (guard, connection) = redis(&store).await;
        take_over(&guard, async |time| pass_in_redis(connection.clone(), time).await).await;
    }
    if let Some(store) = stores::postgres() {
        let guard = postgres(&store).await;
        take_over(&guard, async |time| pass_in_postgres(guard.pool(), time).await).await;
    }
}
