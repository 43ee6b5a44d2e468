//! A guarded event on Valkey and on PostgreSQL beside the bare statements that one would write for it without
//! fences, leases and suites, on the same client library: with 1, 8 and 64 callers, in one run.
//!
//!     cargo bench -p shared-inbox-stores --all-features --bench guards
//!
//! Both sides run in turns. What counts is the median of an event's time, and the events in a second.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use shared_inbox_stores::{Postgres, PostgresGuard, Redis};
use shared_inbox_tests::stores;
use shared_inbox_webhooks::replay::{Claim, Delivery, Mark, ReplayGuard, TransactionalInbox};
use sqlx::PgPool;

const CALLERS: [usize; 3] = [1, 8, 64];
const TURN: Duration = Duration::from_millis(250);
const TURNS: usize = 8;

/// One event, start to end, for the number that it is given.
type Event = Arc<dyn Fn(u64) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    println!(
        "{:>34} {:>8} {:>12} {:>12} {:>10} {:>10}",
        "", "callers", "bare", "guarded", "bare/s", "guarded/s"
    );
    {
        let store = stores::valkey();
        let guard = Redis::connect(store.url()).await.unwrap().guard();
        let client = redis::Client::open(store.url()).unwrap();
        let connection = client.get_multiplexed_async_connection().await.unwrap();
        compare(
            "Valkey: SET NX PX, SET PX",
            event(move |n| set_twice(connection.clone(), n)),
            event(move |n| claim_and_commit(guard.clone(), n)),
        )
        .await;
    }
    {
        let store = stores::postgres();
        let postgres = Postgres::connect(&store.url()).await.unwrap();
        postgres.create_tables().await.unwrap();
        let (pool, guard) = (postgres.pool().clone(), postgres.guard());
        let table = "create table bare (endpoint text, event text, state text, until timestamptz, primary key (endpoint, event))";
        sqlx::query(table).execute(&pool).await.unwrap();
        let (bare, guarded) = (pool.clone(), guard.clone());
        compare(
            "PostgreSQL: INSERT, UPDATE",
            event(move |n| insert_and_update(bare.clone(), n)),
            event(move |n| claim_and_commit(guarded.clone(), n)),
        )
        .await;
        compare(
            "PostgreSQL: BEGIN, INSERT, COMMIT",
            event(move |n| insert_in_transaction(pool.clone(), n)),
            event(move |n| mark_in_transaction(guard.clone(), n)),
        )
        .await;
    }
}

fn event<F: Future<Output = ()> + Send + 'static>(one: impl Fn(u64) -> F + Send + Sync + 'static) -> Event {
    Arc::new(move |n| Box::pin(one(n)))
}

async fn compare(name: &str, bare: Event, guarded: Event) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    for callers in CALLERS {
        let sides = [&bare, &guarded].map(|event| (event.clone(), Arc::new(Mutex::new(Vec::new()))));
        for _ in 0..TURNS {
            for (event, times) in &sides {
                let end = Instant::now() + TURN;
                let turn = (0..callers).map(|_| {
                    let (event, times) = (event.clone(), times.clone());
                    tokio::spawn(async move {
                        let mut own = Vec::new();
                        while Instant::now() < end {
                            let start = Instant::now();
                            event(NUMBER.fetch_add(1, Ordering::Relaxed)).await;
                            own.push(start.elapsed());
                        }
                        times.lock().unwrap().extend(own);
                    })
                });
                for caller in turn.collect::<Vec<_>>() {
                    caller.await.unwrap();
                }
            }
        }
        let [bare, guarded] = sides.map(|(_, times)| {
            let mut times = std::mem::take(&mut *times.lock().unwrap());
            times.sort_unstable();
            (times[times.len() / 2], times.len() as f64 / (TURN * TURNS as u32).as_secs_f64())
        });
        let ratio = guarded.0.as_secs_f64() / bare.0.as_secs_f64();
        let verdict = if ratio <= 1.2 { "ok: 1.2" } else { "MISSED: 1.2" };
        println!(
            "{name:>34} {callers:>8} {:>9} µs {:>9} µs {:>10.0} {:>10.0}  {ratio:.2} ({verdict})",
            bare.0.as_micros(),
            guarded.0.as_micros(),
            bare.1,
            guarded.1
        );
    }
}

async fn claim_and_commit(guard: impl ReplayGuard, n: u64) {
    let delivery = Delivery::new("bench", format!("evt_{n}"));
    let Ok(Claim::Granted(fence)) = guard.claim(&delivery).await else { panic!("it is new") };
    _ = guard.commit(&delivery, fence).await.unwrap();
}

async fn mark_in_transaction(guard: PostgresGuard, n: u64) {
    let delivery = Delivery::new("bench", format!("evt_{n}"));
    let mut transaction = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut transaction, &delivery).await.unwrap(), Mark::New);
    TransactionalInbox::commit(&guard, transaction).await.unwrap();
}

async fn set_twice(mut connection: MultiplexedConnection, n: u64) {
    let key = format!("bare:bench:evt_{n}");
    let claim = redis::cmd("SET").arg(&key).arg("claimed").arg("NX").arg("PX").arg(60_000).to_owned();
    assert_eq!(claim.query_async::<Option<String>>(&mut connection).await.unwrap().as_deref(), Some("OK"));
    let commit = redis::cmd("SET").arg(&key).arg("done").arg("PX").arg(28 * 60 * 60 * 1000).to_owned();
    commit.exec_async(&mut connection).await.unwrap();
}

const INSERT: &str =
    "insert into bare values ('bench', $1, $2, now() + interval '1 minute') on conflict do nothing";

async fn insert_and_update(pool: PgPool, n: u64) {
    let event = format!("evt_{n}");
    let inserted = sqlx::query(INSERT).bind(&event).bind("claimed").execute(&pool).await.unwrap();
    assert_eq!(inserted.rows_affected(), 1);
    let update = "update bare set state = 'done', until = now() + interval '28 hours' where endpoint = 'bench' and event = $1";
    sqlx::query(update).bind(&event).execute(&pool).await.unwrap();
}

async fn insert_in_transaction(pool: PgPool, n: u64) {
    let mut transaction = pool.begin().await.unwrap();
    let inserted =
        sqlx::query(INSERT).bind(format!("evt_{n}")).bind("done").execute(&mut *transaction).await.unwrap();
    assert_eq!(inserted.rows_affected(), 1);
    transaction.commit().await.unwrap();
}
