//! The guards on stores that many machines share, on real ones.
//!
//! Time is moved and not waited for: what a store counts down is put back by as much.

use std::convert::Infallible;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use shared_inbox_tests::{
    proxy::Proxy,
    stores::{self, Store},
};
use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, FencingToken, HandleError, Handled, Handlers, Mark, OnStoreError, PostgresGuard,
    RETRY_WINDOW, RedisGuard, ReplayGuard, TransactionalInbox, suite,
};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::net::{TcpListener, TcpStream};

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

/// Puts every key's end back by so much; what is over then is gone.
async fn pass_in_redis(mut connection: MultiplexedConnection, time: Duration) {
    let keys: Vec<String> = connection.keys("*").await.unwrap();
    for key in keys {
        let left: i64 = connection.pttl(&key).await.unwrap();
        let left = left - time.as_millis() as i64;
        let _: bool = connection.pexpire(&key, left).await.unwrap();
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

/// A guard that gives up after two seconds, for a store that will be away: a pool tries again for as long as it may.
async fn impatient(store: &Store) -> PostgresGuard {
    loop {
        if let Ok(guard) = PostgresGuard::connect(&store.url()).await {
            return guard;
        }
    }
}

async fn pass_in_postgres(pool: &PgPool, time: Duration) {
    let back = "update shared_inbox_webhooks set until = until - $1 * interval '1 second'";
    sqlx::query(back).bind(time.as_secs_f64()).execute(pool).await.unwrap();
}

#[tokio::test]
async fn a_guard_on_redis_keeps_every_rule_of_a_guard_on_the_oldest_and_the_newest_server() {
    for store in [stores::redis(), stores::valkey()] {
        let Some(store) = store else { return };
        let (guard, connection) = redis(&store).await;
        let pass = async |time| pass_in_redis(connection.clone(), time).await;
        suite::check(&guard, &pass).await;
        suite::check_retention(&guard, RETRY_WINDOW, &pass).await;
    }
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
async fn a_guard_on_postgres_keeps_every_rule_of_a_guard() {
    let Some(store) = stores::postgres() else { return };
    let guard = postgres(&store).await;
    let pass = async |time| pass_in_postgres(guard.pool(), time).await;
    suite::check(&guard, &pass).await;
    suite::check_retention(&guard, RETRY_WINDOW, &pass).await;
}

#[tokio::test]
async fn what_is_kept_in_redis_goes_by_itself_and_apps_are_told_apart_by_their_namespace() {
    let Some(store) = stores::valkey() else { return };
    let (guard, mut connection) = redis(&store).await;
    let other = guard.clone().namespace("other");
    let fence = granted(&guard, &one()).await;
    granted(&other, &one()).await;
    assert_eq!(guard.commit(&one(), fence).await.unwrap(), ClaimStatus::Held);
    let window = RETRY_WINDOW.as_millis() as i64;
    for (key, longest) in [("shared-inbox:webhook", window), ("other", window + 60_000)] {
        let left: i64 = connection.pttl(format!("{key}:6:orders:evt_1")).await.unwrap();
        assert!((window - 60_000..=longest).contains(&left), "{key}: {left}");
    }
}

#[tokio::test]
async fn receivers_with_different_settings_agree_on_when_a_claim_runs_out() {
    let Some(store) = stores::valkey() else { return };
    let (long, connection) = redis(&store).await;
    let short = long.clone().retention(Duration::from_secs(3600));
    for (first, second) in [(&long, &short), (&short, &long)] {
        let event = delivery(if std::ptr::eq(first, &short) { "evt_short" } else { "evt_long" });
        granted(first, &event).await;
        assert_eq!(second.claim(&event).await.unwrap(), Claim::InProgress);
        pass_in_redis(connection.clone(), Duration::from_secs(61)).await;
        granted(second, &event).await;
    }
}

#[tokio::test]
async fn a_redis_that_lost_everything_gives_larger_fences_than_before() {
    let Some(mut store) = stores::valkey() else { return };
    let (guard, _) = redis(&store).await;
    let before = granted(&guard, &one()).await;
    store.kill();
    assert!(guard.claim(&one()).await.is_err());
    store.restart();
    // The first words on a broken connection find out that it is broken.
    let after = loop {
        if let Ok(claim) = guard.claim(&one()).await {
            let Claim::Granted(after) = claim else { panic!("{claim:?}") };
            break after;
        }
    };
    assert!(after > before, "{after:?} after {before:?}");
    assert_eq!(guard.commit(&one(), before).await.unwrap(), ClaimStatus::Lost, "it belongs to the next one");
    assert_eq!(guard.commit(&one(), after).await.unwrap(), ClaimStatus::Held);
}

/// Receivers' clocks differ: one that is behind would grant a smaller one after the store has lost its data.
#[tokio::test]
async fn a_fence_comes_from_the_clock_of_redis_and_not_from_the_receivers() {
    for store in [stores::redis(), stores::valkey()] {
        let Some(store) = store else { return };
        let requests = Arc::<Mutex<String>>::default();
        let log = Arc::clone(&requests);
        let proxy = Proxy::rewriting(store.port(), move |is_request, bytes| {
            if is_request {
                *log.lock().unwrap() += &String::from_utf8_lossy(bytes);
            }
            Some(bytes.to_vec())
        })
        .await;
        let (guard, _) = redis_at(proxy.url()).await;
        let now = u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap();
        granted(&guard, &one()).await;
        let requests = requests.lock().unwrap();
        let numbers = requests.split(|c: char| !c.is_ascii_digit()).filter_map(|text| text.parse().ok());
        let is_near = |number: u64| number.abs_diff(now) < 3_600_000_000;
        assert!(requests.contains("evt_1") && !numbers.into_iter().any(is_near), "{requests}");
    }
}

#[tokio::test]
async fn a_guard_on_postgres_goes_on_when_the_store_is_back_and_remembers() {
    let Some(mut store) = stores::postgres() else { return };
    let guard = postgres(&store).await;
    let fence = granted(&guard, &one()).await;
    assert_eq!(ReplayGuard::commit(&guard, &one(), fence).await.unwrap(), ClaimStatus::Held);
    let guard = impatient(&store).await;
    store.kill();
    assert!(guard.claim(&one()).await.is_err());
    store.restart();
    let after = loop {
        if let Ok(claim) = guard.claim(&one()).await {
            break claim;
        }
    };
    assert_eq!(after, Claim::Done);
}

/// What an event comes to while its store is away.
async fn while_away<G: ReplayGuard + 'static>(guard: G) {
    let guard = Arc::new(guard);
    let rejecting = Handlers::new(guard.clone());
    let rejected = rejecting.once(one(), async |_| Ok::<_, Infallible>(())).await;
    assert!(matches!(&rejected, Err(HandleError::Guard(_))), "{rejected:?}");
    assert_eq!(rejected.unwrap_err().status(), 503);
    let open = Handlers::new(guard).on_store_error(OnStoreError::LetThrough);
    let through = open.once(one(), async |claim| Ok::<_, Infallible>(claim.fencing_token())).await;
    assert!(matches!(&through, Ok(Handled::RanUnrecorded(token, _)) if token.number() == 0), "{through:?}");
    assert_eq!(through.unwrap().status(), 200);
    let failed = open.once(one(), async |_| Err::<(), _>("no")).await;
    assert!(matches!(&failed, Err(HandleError::Handler("no"))), "{failed:?}");
}

#[tokio::test]
async fn while_the_store_is_away_an_event_is_rejected_or_let_through_as_the_caller_chose() {
    if let Some(mut store) = stores::valkey() {
        let (guard, _) = redis(&store).await;
        store.kill();
        while_away(guard).await;
    }
    if let Some(mut store) = stores::postgres() {
        let guard = impatient(&store).await;
        store.kill();
        while_away(guard).await;
    }
}

/// A store that takes connections and answers nothing.
async fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held: Vec<TcpStream> = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    address.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_given_up_after_two_seconds() {
    let start = tokio::time::Instant::now();
    let error = RedisGuard::connect(&format!("redis://{}", silent().await)).await.unwrap_err();
    assert!(start.elapsed() <= Duration::from_secs(2), "{:?}: {error}", start.elapsed());
    let start = tokio::time::Instant::now();
    let error = PostgresGuard::connect(&format!("postgres://a@{}/a", silent().await)).await.unwrap_err();
    assert!(start.elapsed() <= Duration::from_secs(3), "{:?}: {error}", start.elapsed());
}

#[tokio::test]
async fn an_address_that_is_none_is_an_error_and_shows_no_password() {
    for url in
        ["redis://:hunter2@", "nonsense", "redis://:hunter2@127.0.0.1:1", "rediss://:hunter2@127.0.0.1:1"]
    {
        let error = RedisGuard::connect(url).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    for url in ["nonsense", "postgres://a:hunter2@127.0.0.1:1/a"] {
        let error = PostgresGuard::connect(url).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn a_connection_that_asks_for_tls_is_made_with_tls_or_not_at_all() {
    if let Some(store) = stores::valkey() {
        let plain = store.url().replace("redis://", "rediss://");
        assert!(RedisGuard::connect(&plain).await.is_err(), "the server speaks no TLS");
    }
    if let Some(store) = stores::postgres() {
        let url = format!("{}?sslmode=require", store.url());
        assert!(PostgresGuard::connect(&url).await.is_err(), "the server speaks no TLS");
    }
}

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
                    "stores::a_process_that_makes_the_table",
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
async fn old_marks_are_removed_from_postgres_by_themselves_and_young_ones_stay() {
    let Some(store) = stores::postgres() else { return };
    let first = postgres(&store).await;
    let (old, lapsed, young) = (delivery("evt_old"), delivery("evt_lapsed"), delivery("evt_young"));
    let fence = granted(&first, &old).await;
    assert_eq!(ReplayGuard::commit(&first, &old, fence).await.unwrap(), ClaimStatus::Held);
    let held = granted(&first, &lapsed).await;
    let passed = RETRY_WINDOW + Duration::from_secs(1);
    pass_in_postgres(first.pool(), passed).await;
    // Fences tell when an event was claimed.
    let micros = passed.as_micros() as u64;
    let older = "update shared_inbox_webhooks set fence = fence - $1";
    sqlx::query(older).bind(micros as i64).execute(first.pool()).await.unwrap();
    let held = FencingToken::new(held.number() - micros);
    let fence = granted(&first, &young).await;
    assert_eq!(ReplayGuard::commit(&first, &young, fence).await.unwrap(), ClaimStatus::Held);
    // Another process, which has not looked yet.
    let second = PostgresGuard::new(first.pool().clone());
    granted(&second, &delivery("evt_next")).await;
    let names = "select event from shared_inbox_webhooks order by event";
    let left = loop {
        let left: Vec<String> = sqlx::query_scalar(names).fetch_all(first.pool()).await.unwrap();
        if !left.contains(&"evt_old".to_owned()) {
            break left;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(left, ["evt_lapsed", "evt_next", "evt_young"], "a claim's holder may still come");
    assert_eq!(ReplayGuard::commit(&first, &lapsed, held).await.unwrap(), ClaimStatus::Held);
}

#[tokio::test]
async fn apps_that_share_a_database_are_told_apart_by_their_namespace() {
    let Some(store) = stores::postgres() else { return };
    let first = postgres(&store).await;
    let second = first.clone().namespace("other");
    let fence = granted(&first, &one()).await;
    let other = granted(&second, &one()).await;
    assert_eq!(ReplayGuard::commit(&first, &one(), fence).await.unwrap(), ClaimStatus::Held);
    assert_eq!(second.claim(&one()).await.unwrap(), Claim::InProgress);
    assert_eq!(second.release(&one(), other).await.unwrap(), ClaimStatus::Held);
    let mut transaction = second.begin().await.unwrap();
    assert_eq!(second.mark(&mut transaction, &one()).await.unwrap(), Mark::New);
    assert!(first.forget(&one()).await.unwrap());
    let mut beside = first.begin().await.unwrap();
    assert_eq!(first.mark(&mut beside, &one()).await.unwrap(), Mark::New, "their locks are apart too");
    TransactionalInbox::commit(&second, transaction).await.unwrap();
    TransactionalInbox::commit(&first, beside).await.unwrap();
    let pass = async |time| pass_in_postgres(first.pool(), time).await;
    suite::check(&second, &pass).await;
}

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

#[tokio::test]
async fn a_table_of_an_older_version_is_brought_up_to_date_and_until_then_the_error_says_what_to_run() {
    let Some(store) = stores::postgres() else { return };
    let guard = PostgresGuard::new(pool(&store).await).timeout(PATIENCE);
    let advice = "create_table";
    let missing = guard.claim(&one()).await.unwrap_err();
    assert!(missing.to_string().contains(advice), "{missing}");
    sqlx::raw_sql(VERSION_1).execute(guard.pool()).await.unwrap();
    let older = guard.claim(&one()).await.unwrap_err();
    assert!(older.to_string().contains(advice), "{older}");
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
    let later = format!("comment on table shared_inbox_webhooks is '{later}'");
    sqlx::raw_sql(&later).execute(guard.pool()).await.unwrap();
    let newer = guard.create_table().await.unwrap_err();
    assert!(newer.to_string().contains("schema version 3"), "{newer}");
}

#[tokio::test]
async fn a_sweep_reads_what_is_old_from_its_index_and_not_the_whole_table() {
    let Some(store) = stores::postgres() else { return };
    let guard = postgres(&store).await;
    // None of them is old but one.
    let many = "insert into shared_inbox_webhooks (endpoint, event, state, fence, until)
        select 'orders', 'evt_' || n, 'done', (date_part('epoch', now()) * 1000000)::bigint - n, now() + interval '1 day'
        from generate_series(1, 300000) n";
    let old = "insert into shared_inbox_webhooks (endpoint, event, state, fence, until)
        values ('orders', 'evt_old', 'done', 1, now() - interval '1 day')";
    for statement in [many, old, "analyze shared_inbox_webhooks"] {
        sqlx::query(statement).execute(guard.pool()).await.unwrap();
    }
    let scans = async || -> (i64, i64) {
        let scans =
            "select (select seq_scan from pg_stat_user_tables where relname = 'shared_inbox_webhooks'),
            (select idx_scan from pg_stat_user_indexes where indexrelname = 'shared_inbox_webhooks_fence')";
        sqlx::query_as(scans).fetch_one(&pool(&store).await).await.unwrap()
    };
    let (before, _) = scans().await;
    granted(&guard, &delivery("evt_new")).await;
    let count = "select count(*) from shared_inbox_webhooks where event = 'evt_old' and endpoint = 'orders' and namespace = ''";
    while sqlx::query_scalar::<_, i64>(count).fetch_one(guard.pool()).await.unwrap() > 0 {
        tokio::task::yield_now().await;
    }
    // A connection that ends reports what it did; both figures come at once.
    guard.pool().close().await;
    let (tables, indexes) = loop {
        let (tables, indexes) = scans().await;
        if tables > before || indexes > 0 {
            break (tables, indexes);
        }
    };
    assert!(
        tables == before && indexes > 0,
        "{} scans of the table, {indexes} of the index",
        tables - before
    );
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

async fn orders(guard: &PostgresGuard) -> i64 {
    sqlx::query_scalar("select count(*) from orders").fetch_one(guard.pool()).await.unwrap()
}

/// Handles an event inside its transaction; the handler fails when told to.
async fn order(
    handlers: &Handlers<PostgresGuard>,
    fails: bool,
) -> Result<Handled<()>, HandleError<sqlx::Error>> {
    let handling = handlers.once_in_transaction(one(), move |transaction| {
        Box::pin(async move {
            sqlx::query("insert into orders values (1042)").execute(&mut **transaction).await?;
            if fails { Err(sqlx::Error::RowNotFound) } else { Ok(()) }
        })
    });
    handling.await
}

#[tokio::test]
async fn effect_and_mark_commit_together_in_postgres() {
    let Some(store) = stores::postgres() else { return };
    let guard = postgres(&store).await;
    sqlx::query("create table orders (id int)").execute(guard.pool()).await.unwrap();
    let handlers = Handlers::new(guard.clone());
    assert_eq!(order(&handlers, true).await.unwrap_err().status(), 500);
    assert_eq!(orders(&guard).await, 0, "a handler that failed left nothing");
    assert!(matches!(order(&handlers, false).await, Ok(Handled::Ran(()))));
    for _ in 0..3 {
        assert!(matches!(order(&handlers, false).await, Ok(Handled::AlreadyDone)));
    }
    assert_eq!(orders(&guard).await, 1);
    assert_eq!(guard.claim(&one()).await.unwrap(), Claim::Done, "both forms share their marks");
    assert!(guard.forget(&one()).await.unwrap());
    assert!(matches!(order(&handlers, false).await, Ok(Handled::Ran(()))));
    pass_in_postgres(guard.pool(), RETRY_WINDOW).await;
    assert!(matches!(order(&handlers, false).await, Ok(Handled::Ran(()))), "a mark does not last for ever");
}

#[tokio::test]
async fn a_transaction_under_way_keeps_others_from_waiting_and_ends_with_its_connection() {
    let Some(store) = stores::postgres() else { return };
    let guard = postgres(&store).await;
    let mut first = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut first, &one()).await.unwrap(), Mark::New);
    let mut second = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut second, &one()).await.unwrap(), Mark::InProgress);
    assert_eq!(
        guard.mark(&mut second, &delivery("evt_2")).await.unwrap(),
        Mark::New,
        "others are not held up"
    );
    drop(second);
    let timeout = "select current_setting('idle_in_transaction_session_timeout')";
    let timeout: String = sqlx::query_scalar(timeout).fetch_one(&mut *first).await.unwrap();
    assert_eq!(timeout, "1min", "a machine that vanished does not hold it for ever");
    // As when its process is killed.
    let process: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *first).await.unwrap();
    sqlx::query("select pg_terminate_backend($1, 60000)").bind(process).execute(guard.pool()).await.unwrap();
    assert!(TransactionalInbox::commit(&guard, first).await.is_err());
    let mut third = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut third, &one()).await.unwrap(), Mark::New);
    TransactionalInbox::commit(&guard, third).await.unwrap();
    let mut fourth = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut fourth, &one()).await.unwrap(), Mark::Done);
}

#[tokio::test]
async fn a_live_claim_keeps_a_transaction_out() {
    let Some(store) = stores::postgres() else { return };
    let guard = postgres(&store).await;
    let fence = granted(&guard, &one()).await;
    let mut transaction = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut transaction, &one()).await.unwrap(), Mark::InProgress);
    drop(transaction);
    assert_eq!(guard.release(&one(), fence).await.unwrap(), ClaimStatus::Held);
    let mut transaction = guard.begin().await.unwrap();
    assert_eq!(guard.mark(&mut transaction, &one()).await.unwrap(), Mark::New);
    TransactionalInbox::commit(&guard, transaction).await.unwrap();
    assert_eq!(ReplayGuard::commit(&guard, &one(), fence).await.unwrap(), ClaimStatus::Lost);
}

#[tokio::test]
async fn a_handler_dropped_half_way_gives_its_claim_back() {
    let Some(store) = stores::valkey() else { return };
    let (guard, _) = redis(&store).await;
    let fence = granted(&guard, &one()).await;
    guard.abandon(&one(), fence);
    // It is given back in the background.
    while guard.claim(&one()).await.unwrap() == Claim::InProgress {}
}
