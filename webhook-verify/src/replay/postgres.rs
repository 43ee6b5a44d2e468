//! A replay guard on PostgreSQL, and the one form that is exactly once: the mark inside the handler's own transaction.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgPool, PgPoolOptions, PgQueryResult};
use sqlx::{Connection, PgConnection, Postgres, Transaction};

use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, GuardFuture, ReplayGuard};
use super::store::{STORE_TIMEOUT, StoreSettings, granted, in_time, release_later, store_settings};
use super::transaction::{Mark, TransactionalInbox};

mod statements;

/// How often one process removes old marks.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Remembers events in a table of PostgreSQL, which all receivers share.
///
/// As a [`ReplayGuard`] it has claims with leases, for handlers whose effects are elsewhere. As a [`TransactionalInbox`] it
/// writes the mark inside the transaction of the handler: what the handler does through it happens exactly once.
///
/// ```no_run
/// use shared_inbox_webhooks::replay::{Delivery, Handlers, PostgresGuard};
///
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// let guard = PostgresGuard::connect("postgres://app@127.0.0.1/app").await?;
/// guard.create_table().await?; // or give `PostgresGuard::SCHEMA` to your migrations
/// let handlers = Handlers::new(guard);
///
/// let delivery = Delivery::new("orders", "evt_1");
/// let outcome = handlers.once_in_transaction(delivery, |transaction| Box::pin(async move {
///     sqlx::query("insert into orders (id) values ($1)").bind(1042).execute(&mut **transaction).await?;
///     Ok::<_, sqlx::Error>(())
/// }));
/// assert_eq!(outcome.await?.status(), 200);
/// # Ok(())
/// # }
/// ```
///
/// `Handlers::on_store_error` sets what happens while the store is unavailable. A transaction always needs the store.
#[derive(Clone)]
pub struct PostgresGuard {
    pool: PgPool,
    settings: StoreSettings,
    swept: Arc<Mutex<Option<Instant>>>,
}

impl PostgresGuard {
    /// The table as plain SQL for a migration tool: the file `schema/postgres.sql` of this crate. It updates a table of an older
    /// [version](Self::SCHEMA_VERSION).
    pub const SCHEMA: &'static str = include_str!("../../schema/postgres.sql");

    /// The version of the table that this guard works with, which is also in the table's comment. Version 2 added namespaces.
    pub const SCHEMA_VERSION: i32 = 2;

    /// Connects with a pool of its own, of up to ten connections. `?sslmode=verify-full` in the address turns on TLS.
    ///
    /// # Errors
    /// When the address is not valid, or no store responds there.
    pub async fn connect(url: &str) -> Result<Self, GuardError> {
        let options = PgPoolOptions::new().max_connections(10).acquire_timeout(STORE_TIMEOUT);
        // Only a connection that has been idle may be broken.
        let options = options.test_before_acquire(false).before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > Duration::from_secs(1) {
                    connection.ping().await?;
                }
                Ok(true)
            })
        });
        Ok(Self::new(in_time(STORE_TIMEOUT, options.connect(url)).await?))
    }

    /// Creates a guard on a pool of yours.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self { pool, settings: StoreSettings::new(""), swept: Arc::default() }
    }

    store_settings!();

    /// Returns the pool.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Creates the table, or updates one of an older version.
    ///
    /// # Errors
    /// When the store cannot be reached, or rejects, or the table is of a version that this release does not know.
    pub async fn create_table(&self) -> Result<(), GuardError> {
        let creating = async {
            // Of several processes that start at once, one creates it, and the others must see that when they get the lock: in
            // any stricter isolation they would go by a snapshot from before.
            let mut transaction = self.pool.begin_with("begin isolation level read committed").await?;
            sqlx::raw_sql(statements::ONE_AT_A_TIME).execute(&mut *transaction).await?;
            let version: i32 = sqlx::query_scalar(statements::VERSION).fetch_one(&mut *transaction).await?;
            if version > Self::SCHEMA_VERSION {
                return Ok(Err(SchemaMismatch::Newer(version)));
            }
            sqlx::raw_sql(Self::SCHEMA).execute(&mut *transaction).await?;
            transaction.commit().await.map(Ok)
        };
        in_time(self.settings.timeout, creating).await?.map_err(GuardError::new)
    }

    /// Runs a step, and explains the error of a table of another version.
    async fn ask<T>(&self, step: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, GuardError> {
        in_time(self.settings.timeout, step).await.map_err(|error| {
            let database = error.cause::<sqlx::Error>().and_then(|error| error.as_database_error());
            // Undefined table, undefined column, no such key.
            match database.and_then(|error| error.code()).as_deref() {
                Some("42P01" | "42703" | "42P10") => GuardError::new(SchemaMismatch::Older),
                _ => error,
            }
        })
    }

    async fn step(
        &self,
        statement: &'static str,
        delivery: &Delivery,
        fence: Option<FencingToken>,
        time: Duration,
    ) -> Result<bool, GuardError> {
        let query = sqlx::query(statement).bind(&*self.settings.namespace);
        let query = query.bind(delivery.endpoint()).bind(delivery.event());
        let query = fence.into_iter().fold(query, |query, fence| query.bind(number(fence)));
        let done: PgQueryResult = self.ask(query.bind(seconds(time)).execute(&self.pool)).await?;
        Ok(done.rows_affected() == 1)
    }

    async fn held(
        &self,
        statement: &'static str,
        delivery: &Delivery,
        fence: FencingToken,
        time: Duration,
    ) -> Result<ClaimStatus, GuardError> {
        let held = self.step(statement, delivery, Some(fence), time).await?;
        Ok(if held { ClaimStatus::Held } else { ClaimStatus::Lost })
    }

    async fn is_done(
        &self,
        store: impl sqlx::PgExecutor<'_>,
        delivery: &Delivery,
    ) -> Result<bool, GuardError> {
        let query = sqlx::query_scalar(statements::IS_DONE).bind(&*self.settings.namespace);
        self.ask(query.bind(delivery.endpoint()).bind(delivery.event()).fetch_one(store)).await
    }

    /// Removes old marks now and then, in the background.
    fn sweep(&self) {
        {
            let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
            if swept.is_some_and(|last| last.elapsed() < SWEEP_INTERVAL) {
                return;
            }
            *swept = Some(Instant::now());
        }
        let (pool, retention) = (self.pool.clone(), self.settings.retention);
        tokio::spawn(async move {
            // A few at a time, so that no statement waits for it. A failure is tried again in a minute.
            let sweep = async || -> Result<u64, sqlx::Error> {
                Ok(sqlx::query(statements::SWEEP)
                    .bind(seconds(retention))
                    .execute(&pool)
                    .await?
                    .rows_affected())
            };
            while sweep().await.is_ok_and(|removed| removed == statements::SWEPT_AT_ONCE) {}
        });
    }
}

/// An error returned when the table has another version than this guard works with.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum SchemaMismatch {
    #[error(
        "the table `shared_inbox_webhooks` is missing or of an older version: call `PostgresGuard::create_table`, or run \
         `PostgresGuard::SCHEMA` (the file `schema/postgres.sql`), which brings it up to date"
    )]
    Older,
    #[error(
        "the table `shared_inbox_webhooks` is of schema version {0}, and this release knows no later one than {known}: use the \
         release that made it",
        known = PostgresGuard::SCHEMA_VERSION
    )]
    Newer(i32),
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

/// Converts a fence; one that does not fit was never granted.
fn number(fence: FencingToken) -> i64 {
    i64::try_from(fence.number()).unwrap_or(-1)
}

impl ReplayGuard for PostgresGuard {
    fn lease_time(&self) -> Duration {
        self.settings.lease
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
        Box::pin(async move {
            self.sweep();
            let query = sqlx::query_as(statements::CLAIM).bind(&*self.settings.namespace);
            let query =
                query.bind(delivery.endpoint()).bind(delivery.event()).bind(seconds(self.settings.lease));
            Ok(match self.ask(query.fetch_optional(&self.pool)).await? {
                Some((fence, taken_over)) => granted(delivery, fence, taken_over),
                None if self.is_done(&self.pool, delivery).await? => Claim::Done,
                None => Claim::InProgress,
            })
        })
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.held(statements::RENEW, delivery, fence, self.settings.lease))
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.held(statements::COMMIT, delivery, fence, self.settings.retention))
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.held(statements::RELEASE, delivery, fence, self.settings.retention))
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        Box::pin(self.step(statements::FORGET, delivery, None, self.settings.retention))
    }

    fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
        release_later(self.clone(), delivery, fence);
    }
}

impl TransactionalInbox for PostgresGuard {
    type Transaction = Transaction<'static, Postgres>;

    fn begin(&self) -> GuardFuture<'_, Self::Transaction> {
        Box::pin(in_time(self.settings.timeout, self.pool.begin()))
    }

    fn mark<'a>(
        &'a self,
        transaction: &'a mut Self::Transaction,
        delivery: &'a Delivery,
    ) -> GuardFuture<'a, Mark> {
        let connection: &mut PgConnection = transaction;
        Box::pin(async move {
            self.sweep();
            let query = sqlx::query(statements::MARK).bind(&*self.settings.namespace);
            let query = query.bind(delivery.endpoint()).bind(delivery.event());
            let query = query
                .bind(seconds(self.settings.retention))
                .bind(self.settings.lease.as_millis().max(1).to_string());
            let marked = self.ask(query.execute(&mut *connection)).await?;
            Ok(match marked.rows_affected() {
                1 => Mark::New,
                _ if self.is_done(connection, delivery).await? => Mark::Done,
                _ => Mark::InProgress,
            })
        })
    }

    fn commit(&self, transaction: Self::Transaction) -> GuardFuture<'_, ()> {
        Box::pin(in_time(self.settings.timeout, transaction.commit()))
    }
}

impl fmt::Debug for PostgresGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresGuard").field("settings", &self.settings).finish_non_exhaustive()
    }
}
