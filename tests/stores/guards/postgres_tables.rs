//! The tables in PostgreSQL.

use shared_inbox_stores::{Postgres, PostgresError};
use shared_inbox_tests::stores;
use shared_inbox_webhooks::replay::{ReplayGuard, TransactionalInbox};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::support::{PATIENCE, granted, one, pool};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_start_at_once_make_the_tables_whatever_their_transactions_isolation() {
    let store = stores::postgres();
    let own = pool(&store.url()).await;
    for isolation in ["read\\ committed", "repeatable\\ read", "serializable"] {
        let drop = "drop table if exists shared_inbox_webhooks, shared_inbox_once";
        sqlx::raw_sql(drop).execute(&own).await.unwrap();
        // The lock is taken until all of them wait for it, so that all begin before one is done.
        let mut first = own.begin().await.unwrap();
        let lock = "select pg_advisory_xact_lock(hashtextextended('shared_inbox_webhooks', 0))";
        sqlx::query(lock).execute(&mut *first).await.unwrap();
        let processes = [(); 8].map(|()| {
            let options: PgConnectOptions = store.url().parse().unwrap();
            let options = options.options([("default_transaction_isolation", isolation)]);
            let pool = PgPoolOptions::new().acquire_timeout(PATIENCE).connect_lazy_with(options);
            tokio::spawn(async move { Postgres::new(pool).timeout(PATIENCE).create_tables().await })
        });
        let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
        let all_wait =
            async { while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&own).await.unwrap() < 8 {} };
        tokio::time::timeout(PATIENCE, all_wait).await.expect("all of them wait for the lock");
        first.commit().await.unwrap();
        for process in processes {
            process.await.unwrap().unwrap_or_else(|error| panic!("{isolation}: {error}"));
        }
    }
}

#[tokio::test]
async fn without_its_table_the_error_of_a_guard_says_what_to_run_and_tables_of_a_later_release_are_refused() {
    let store = stores::postgres();
    let postgres = Postgres::new(pool(&store.url()).await).timeout(PATIENCE);
    let guard = postgres.guard();
    let advice = "create_tables";
    let missing = guard.claim(&one()).await.unwrap_err();
    assert!(missing.to_string().contains(advice), "{missing}");
    let mut transaction = guard.begin().await.unwrap();
    let missing = guard.mark(&mut transaction, &one()).await.unwrap_err();
    assert!(missing.to_string().contains(advice), "{missing}");
    drop(transaction);
    for _ in 0..2 {
        sqlx::raw_sql(Postgres::SCHEMA).execute(postgres.pool()).await.unwrap();
        postgres.create_tables().await.unwrap();
    }
    granted(&guard, &one()).await;
    let later = Postgres::SCHEMA_VERSION + 1;
    let comment = format!("comment on table shared_inbox_webhooks is 'schema version {later}'");
    sqlx::raw_sql(&comment).execute(postgres.pool()).await.unwrap();
    let newer = postgres.create_tables().await.unwrap_err();
    assert!(matches!(newer, PostgresError::NewerSchema { version, .. } if version == later), "{newer}");
}
