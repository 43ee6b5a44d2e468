//! A store on PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgPool, PgPoolOptions};

use super::record::{OnceRecord, key_hash};
use super::store::{
    Begun, LeaseStatus, OnceStore, OnceStoreError, STEP_TIMEOUT, StoreFuture, StoredRecord, from_json,
    in_time, status, to_json,
};
use crate::model::shows;

/// A process purges after this many results.
const PURGE_INTERVAL: u32 = 256;

/// `$1` namespace and `$2` key, as in all that follow; `$3` fingerprint, `$4` lease in seconds, `$5` record. Gives the fence, or nothing
/// where there is a record.
const INSERT: &str = "
insert into shared_inbox_once (namespace, key, fingerprint, record, is_finished, fence, until)
values ($1, $2, $3, $5, false, (date_part('epoch', clock_timestamp()) * 1000000)::bigint,
    clock_timestamp() + $4 * interval '1 second')
on conflict do nothing
returning fence, record";

/// The same of a record whose lease has ended. A statement of its own, because it must see what was written while the first one ran.
const TAKE_OVER: &str = "
update shared_inbox_once
set fence = greatest(fence + 1, (date_part('epoch', clock_timestamp()) * 1000000)::bigint),
    until = clock_timestamp() + $4 * interval '1 second'
where namespace = $1 and key = $2 and fingerprint = $3 and not is_finished and until <= clock_timestamp()
returning fence, record";

/// Gives the record, whether its lease or its time is over, and whether it has a result.
const READ: &str = "
select record, until <= clock_timestamp(), is_finished from shared_inbox_once where namespace = $1 and key = $2";

/// `$3` fence, `$4` lease in seconds, `$5` record or null.
const RENEW: &str = "
update shared_inbox_once
set until = clock_timestamp() + $4 * interval '1 second', record = coalesce($5, record)
where namespace = $1 and key = $2 and fence = $3 and not is_finished";

/// `$3` fence, `$4` retention in seconds, `$5` record.
const FINISH: &str = "
update shared_inbox_once
set until = clock_timestamp() + $4 * interval '1 second', record = $5, is_finished = true
where namespace = $1 and key = $2 and fence = $3";

const REMOVE: &str = "delete from shared_inbox_once where namespace = $1 and key = $2 and fence = $3";

const LIST: &str = "
select record, fence, not is_finished and until > clock_timestamp() from shared_inbox_once
where namespace = $1 and (not is_finished or until > clock_timestamp())";

const PURGE: &str = "delete from shared_inbox_once where namespace = $1 and is_finished and until <= now()";

/// Keeps records in a table of PostgreSQL, for processes on several machines. Needs `synchronous_commit` as it is by default: a
/// record must be on the disk before anything is sent.
///
/// Until a create has a result, its row holds the text of the note or email.
///
/// ```no_run
/// use shared_inbox::{Client, once::PostgresStore};
///
/// # async fn run(url: &str, key: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let store = PostgresStore::connect("postgres://app@127.0.0.1/app").await?;
/// store.create_table().await?; // or give `PostgresStore::SCHEMA` to your migrations
/// let inbox = Client::builder(url, key).once_store(store).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore {
    pool: PgPool,
    namespace: Arc<str>,
    finished: Arc<AtomicU32>,
}

impl PostgresStore {
    /// The table as plain SQL, for a migration tool.
    pub const SCHEMA: &'static str = "
create table if not exists shared_inbox_once (
    namespace text not null,
    key text not null,
    fingerprint text not null,
    record text not null,
    is_finished boolean not null,
    fence bigint not null,
    until timestamptz not null,
    primary key (namespace, key)
)";

    /// Connects with a pool of its own, of up to five connections. `?sslmode=verify-full` in the address turns on TLS.
    ///
    /// # Errors
    ///
    /// When the address is not valid, or no store responds there.
    pub fn connect(url: impl Into<String>) -> StoreFuture<'static, Self> {
        let url = url.into();
        Box::pin(async move {
            let options = PgPoolOptions::new().max_connections(5).acquire_timeout(STEP_TIMEOUT);
            Ok(Self::new(in_time(options.connect(&url)).await?))
        })
    }

    /// Creates a store on a pool of yours.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self { pool, namespace: "".into(), finished: Arc::default() }
    }

    /// Sets a name for this app's records. Two apps that share a database need two.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Creates the table where there is none.
    ///
    /// # Errors
    ///
    /// When the store cannot be reached, or refuses.
    pub fn create_table(&self) -> StoreFuture<'_, ()> {
        // One message is one transaction. Of several processes that start at once, one creates it.
        let lock = "select pg_advisory_xact_lock(hashtextextended('shared_inbox_once', 0))";
        let statements = format!("{lock};{}", Self::SCHEMA);
        let pool = self.pool.clone();
        Box::pin(async move { in_time(sqlx::raw_sql(&statements).execute(&pool)).await.map(|_| ()) })
    }

    async fn step(
        &self,
        statement: &'static str,
        key: &str,
        fence: u64,
        more: Option<(Duration, Option<String>)>,
    ) -> Result<LeaseStatus, OnceStoreError> {
        let query = sqlx::query(statement).bind(&*self.namespace).bind(key_hash(key));
        // A fence that does not fit was never granted.
        let query = query.bind(i64::try_from(fence).unwrap_or(-1));
        let query =
            more.into_iter().fold(query, |query, (time, json)| query.bind(time.as_secs_f64()).bind(json));
        Ok(status(in_time(query.execute(&self.pool)).await?.rows_affected() == 1))
    }
}

impl OnceStore for PostgresStore {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            let json = to_json(record)?;
            let key = key_hash(record.key());
            let begin = |statement| {
                let query = sqlx::query_as(statement).bind(&*self.namespace).bind(&key);
                query.bind(record.fingerprint().to_string()).bind(lease.as_secs_f64())
            };
            loop {
                let begun: Option<(i64, String)> =
                    in_time(begin(INSERT).bind(&json).fetch_optional(&self.pool)).await?;
                if let Some((fence, _)) = begun {
                    return Ok(Begun::Granted { fence: fence.unsigned_abs(), previous: None });
                }
                let query = sqlx::query_as(READ).bind(&*self.namespace).bind(&key);
                let found: Option<(String, bool, bool)> = in_time(query.fetch_optional(&self.pool)).await?;
                // Without a row, it was removed at this moment.
                let Some((found, is_over, is_finished)) = found else { continue };
                let found = from_json(&found)?;
                if !is_over || (!is_finished && found.fingerprint != record.fingerprint) {
                    return Ok(Begun::Exists(found));
                }
                if is_finished {
                    self.purge().await?;
                    continue;
                }
                let begun: Option<(i64, String)> =
                    in_time(begin(TAKE_OVER).fetch_optional(&self.pool)).await?;
                if let Some((fence, stored)) = begun {
                    let previous = Some(from_json(&stored)?);
                    return Ok(Begun::Granted { fence: fence.unsigned_abs(), previous });
                }
            }
        })
    }

    fn renew<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        lease: Duration,
        record: Option<&'a OnceRecord>,
    ) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async move {
            let json = record.map(to_json).transpose()?;
            self.step(RENEW, key, fence, Some((lease, json))).await
        })
    }

    fn finish<'a>(
        &'a self,
        record: &'a OnceRecord,
        fence: u64,
        retention: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async move {
            let json = to_json(record)?;
            let status = self.step(FINISH, record.key(), fence, Some((retention, Some(json)))).await?;
            if self.finished.fetch_add(1, Ordering::Relaxed) % PURGE_INTERVAL == PURGE_INTERVAL - 1 {
                self.purge().await?;
            }
            Ok(status)
        })
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        Box::pin(async {
            let query = sqlx::query_as(LIST).bind(&*self.namespace);
            let rows: Vec<(String, i64, bool)> = in_time(query.fetch_all(&self.pool)).await?;
            let stored = |(json, fence, is_held): (String, i64, bool)| {
                Ok(StoredRecord::new(from_json(&json)?, fence.unsigned_abs(), is_held))
            };
            rows.into_iter().map(stored).collect()
        })
    }

    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(self.step(REMOVE, key, fence, None))
    }

    fn purge(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            in_time(sqlx::query(PURGE).bind(&*self.namespace).execute(&self.pool)).await.map(|_| ())
        })
    }
}

shows! { PostgresStore: namespace; }
