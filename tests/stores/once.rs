//! The stores of `once` keys on servers: the rules of a store, and processes that are killed.

#[path = "../it/once_kills/kills.rs"]
mod kills;
#[path = "../../stores/tests/suite/once_keys.rs"]
mod suite;

use std::{sync::Arc, time::Duration};

use shared_inbox::{
    clock::BoxFuture,
    once::{Begun, LeaseStatus, OnceRecord, OnceStore},
};
use shared_inbox_tests::stores::{self, Store};
use sqlx::PgPool;

use crate::support::{postgres, redis};

/// Long enough for a busy machine.
const LEASE: Duration = Duration::from_secs(3);

fn open(url: String) -> BoxFuture<'static, Arc<dyn OnceStore>> {
    Box::pin(async move {
        if url.starts_with("redis") {
            return Arc::new(redis(url).await.once_keys()) as Arc<dyn OnceStore>;
        }
        Arc::new(postgres(&url).await.once_keys())
    })
}

async fn keeps_the_rules(store: Store) {
    let pass = async |time| tokio::time::sleep(time).await;
    suite::check(&open(store.url()).await, LEASE, &pass).await;
}

#[tokio::test]
async fn the_rules_of_a_store_hold_in_valkey() {
    keeps_the_rules(stores::valkey()).await;
}

#[tokio::test]
async fn the_rules_of_a_store_hold_in_the_oldest_redis() {
    keeps_the_rules(stores::redis()).await;
}

#[tokio::test]
async fn the_rules_of_a_store_hold_in_postgres() {
    keeps_the_rules(stores::postgres()).await;
}

async fn survives_kills(store: Store) {
    kills::one_item_each(open, &store.url(), env!("CARGO_BIN_EXE_once-worker").as_ref(), kills::count())
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_is_made_once_with_valkey_although_its_process_is_killed_at_any_point() {
    survives_kills(stores::valkey()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_is_made_once_with_postgres_although_its_process_is_killed_at_any_point() {
    survives_kills(stores::postgres()).await;
}

#[test]
fn a_store_in_redis_outlives_its_connections_and_the_runtimes_that_it_is_called_from() {
    let store = stores::valkey();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let once = runtime().block_on(open(store.url()));
    for _ in 0..3 {
        assert!(runtime().block_on(once.list()).expect("a step").is_empty());
        let killed = store.command("CLIENT KILL TYPE normal");
        assert!(killed.starts_with(':') && !killed.starts_with(":0"), "{killed}");
    }
}

#[tokio::test]
async fn a_store_in_redis_uses_no_key_outside_of_its_namespace() {
    let store = stores::valkey();
    let user = "ACL SETUSER app on >open-sesame ~shared-inbox:once:* +@all";
    assert!(store.command(user).starts_with("+OK"));
    let url = store.url().replace("//", "//app:open-sesame@");
    let once = redis(url).await.once_keys();
    let begun = once.begin(&record("one"), LEASE).await.expect("a step");
    assert!(matches!(begun, Begun::Granted { previous: None, .. }));
    assert_eq!(once.list().await.expect("a step").len(), 1);
}

#[tokio::test]
async fn a_table_is_created_once_and_namespaces_are_told_apart() {
    let store = stores::postgres();
    tokio::join!(open(store.url()), open(store.url()), open(store.url()));
    let pass = async |time| tokio::time::sleep(time).await;
    let postgres = postgres(&store.url()).await;
    let namespaced = |name: &'static str| postgres.clone().namespace(name).once_keys();
    let (one, other) = (namespaced("one"), namespaced("other"));
    // The keys of the suite are the same in both.
    tokio::join!(suite::check(&one, LEASE, &pass), suite::check(&other, LEASE, &pass));
}

/// A record as its JSON, by this owner.
fn record(owner: &str) -> OnceRecord {
    let json = format!(
        r#"{{"key":"key","fingerprint":"0f","conversation":"cnv_1","since":"2026-03-01T09:30:00.000Z","owner":"{owner}"}}"#
    );
    serde_json::from_str(&json).expect("a record")
}

/// Holds the statement of one owner back after it has begun, until another has come, has perhaps sent, and is
/// gone.
#[tokio::test]
async fn an_owner_whose_statement_was_slow_hears_of_the_record_that_came_before() {
    let store = stores::postgres();
    let pool = PgPool::connect(&store.url()).await.expect("a store");
    let postgres = postgres(&store.url()).await;
    let once = postgres.once_keys();
    let wait = "
        create function wait() returns trigger language plpgsql as $$ begin
            if new.record like '%\"slow\"%' then perform pg_advisory_xact_lock(7); end if;
            return new;
        end $$;
        create trigger wait before insert on shared_inbox_once for each row execute function wait()";
    sqlx::raw_sql(wait).execute(&pool).await.expect("a trigger");
    let mut gate = pool.begin().await.expect("a transaction");
    sqlx::query("select pg_advisory_xact_lock(7)").execute(&mut *gate).await.expect("a lock");
    let slow = tokio::spawn({
        let once = once.clone();
        async move { once.begin(&record("slow"), LEASE).await }
    });
    let waits = "select exists (select from pg_locks where locktype = 'advisory' and not granted)";
    while !sqlx::query_scalar::<_, bool>(waits).fetch_one(&pool).await.expect("locks") {
        tokio::task::yield_now().await;
    }
    let Ok(Begun::Granted { fence, previous: None }) = once.begin(&record("quick"), LEASE).await else {
        panic!("it is new")
    };
    let released = once.update("key", fence, None, Duration::ZERO).await.expect("a step");
    assert_eq!(released, LeaseStatus::Held);
    gate.rollback().await.expect("it was held");
    let Ok(Begun::Granted { fence: next, previous: Some(previous) }) = slow.await.expect("it ends") else {
        panic!("the record of another was taken over as if it were new")
    };
    assert_eq!((previous.owner(), next > fence), ("quick", true));
}
