//! The table in PostgreSQL: made by many at once, and brought up to date.

use std::process::{Command, Stdio};

use shared_inbox_tests::stores;
use shared_inbox_webhooks::replay::{Claim, PostgresGuard, ReplayGuard, TransactionalInbox};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::{PATIENCE, pool};
use crate::replay::{granted, one};

/// The table as it was before it had versions.
const VERSION_1: &str = "
create table shared_inbox_webhooks (
    endpoint text not null,
    event text not null,
    state text not null check (state in ('claimed', 'free', 'done')),
    fence bigint not null,
    until timestamptz not null,
    primary key (endpoint, event)
) with (fillfactor = 70);
create index shared_inbox_webhooks_fence on shared_inbox_webhooks (fence);
insert into shared_inbox_webhooks values ('orders', 'evt_1', 'done', 1, now() + interval '1 hour')";

/// What version 2 added to it.
const VERSION_2: &str = "
alter table shared_inbox_webhooks add column namespace text not null default '';
alter table shared_inbox_webhooks drop constraint shared_inbox_webhooks_pkey, add primary key (namespace, endpoint, event);
comment on table shared_inbox_webhooks is 'shared-inbox-webhooks, schema version 2'";

#[tokio::test]
#[ignore = "a process of the test below, which starts it"]
async fn a_process_that_makes_the_table() {
    let (Ok(url), Ok(isolation)) = (std::env::var("TABLE_URL"), std::env::var("TABLE_ISOLATION")) else {
        return;
    };
    let options: PgConnectOptions = url.parse().unwrap();
    let options = options.options([("default_transaction_isolation", isolation)]);
    let pool = PgPoolOptions::new().acquire_timeout(PATIENCE).connect_with(options).await.unwrap();
    PostgresGuard::new(pool).timeout(PATIENCE).create_table().await.unwrap();
}

#[tokio::test]
async fn processes_that_start_at_once_make_the_table_whatever_their_transactions_isolation() {
    let Some(store) = stores::postgres() else { return };
    let own = pool(&store).await;
    for isolation in ["read\\ committed", "repeatable\\ read", "serializable"] {
        for before in ["", VERSION_1] {
            sqlx::raw_sql("drop table if exists shared_inbox_webhooks").execute(&own).await.unwrap();
            sqlx::raw_sql(before).execute(&own).await.unwrap();
            // The lock is taken until all of them wait for it, so that all begin before one is done.
            let mut first = own.begin().await.unwrap();
            let lock = "select pg_advisory_xact_lock(hashtextextended('shared_inbox_webhooks', 0))";
            sqlx::query(lock).execute(&mut *first).await.unwrap();
            let process = |()| {
                let mut process = Command::new(std::env::current_exe().unwrap());
                process.args([
                    "--exact",
                    "stores::postgres_table::a_process_that_makes_the_table",
                    "--ignored",
                    "--nocapture",
                ]);
                process.env("TABLE_URL", store.url()).env("TABLE_ISOLATION", isolation);
                process.stdout(Stdio::null()).spawn().unwrap()
            };
            let processes = [(); 8].map(process);
            let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
            let all_wait =
                async { while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&own).await.unwrap() < 8 {} };
            tokio::time::timeout(PATIENCE, all_wait).await.expect("all of them wait for the lock");
            first.commit().await.unwrap();
            for mut process in processes {
                let ended = process.wait().unwrap();
                assert!(ended.success(), "{isolation}, from {before:?}: {ended}");
            }
        }
    }
}

#[tokio::test]
async fn a_table_of_an_older_version_is_brought_up_to_date_and_until_then_the_error_says_what_to_run() {
    let Some(store) = stores::postgres() else { return };
    let guard = PostgresGuard::new(pool(&store).await).timeout(PATIENCE);
    let advice = "create_table";
    let missing = guard.claim(&one()).await.unwrap_err();
    assert!(missing.to_string().contains(advice), "{missing}");
    sqlx::raw_sql(VERSION_1).execute(guard.pool()).await.unwrap();
    for to_version_2 in ["", VERSION_2] {
        sqlx::raw_sql(to_version_2).execute(guard.pool()).await.unwrap();
        let older = guard.claim(&one()).await.unwrap_err();
        assert!(older.to_string().contains(advice), "{older}");
    }
    let mut transaction = guard.begin().await.unwrap();
    let older = guard.mark(&mut transaction, &one()).await.unwrap_err();
    assert!(older.to_string().contains(advice), "{older}");
    drop(transaction);
    for _ in 0..2 {
        guard.create_table().await.unwrap();
        assert_eq!(guard.claim(&one()).await.unwrap(), Claim::Done, "nothing was lost");
        sqlx::raw_sql(PostgresGuard::SCHEMA).execute(guard.pool()).await.unwrap();
    }
    granted(&guard.clone().namespace("other"), &one()).await;
    let later = format!("schema version {}", PostgresGuard::SCHEMA_VERSION + 1);
    let comment = format!("comment on table shared_inbox_webhooks is '{later}'");
    sqlx::raw_sql(&comment).execute(guard.pool()).await.unwrap();
    let newer = guard.create_table().await.unwrap_err();
    assert!(newer.to_string().contains(&later), "{newer}");
}
