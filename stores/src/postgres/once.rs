//! A store on PostgreSQL.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use shared_inbox::once::{
    Begun, LeaseStatus, OnceRecord, OnceStore, OnceStoreError, StoreFuture, StoredRecord,
};
use sqlx::Postgres;
use sqlx::postgres::{PgArguments, PgPool};
use sqlx::query::Query;

use crate::once_records::{from_json, key_hash, status, to_json};

/// How long one step may take by default.
pub(super) const STEP_TIMEOUT: Duration = Duration::from_secs(5);
/// A process purges after this many results.
const PURGE_INTERVAL: u32 = 256;

/// `$1` namespace and `$2` key, as in all that follow; `$3` fingerprint, `$4` lease in seconds, `$5` record.
/// Writes the record, or takes over one whose lease has ended. Gives the fence, and the record that was
/// there.
const BEGIN: &str = "
insert into shared_inbox_once as stored (namespace, key, fingerprint, record, is_finished, is_taken_over, fence, until)
values ($1, $2, $3, $5, false, false, (date_part('epoch', clock_timestamp()) * 1000000)::bigint,
    clock_timestamp() + $4 * interval '1 second')
on conflict (namespace, key) do update
set is_taken_over = true, fence = greatest(stored.fence + 1, excluded.fence),
    until = clock_timestamp() + $4 * interval '1 second'
where stored.fingerprint = $3 and not stored.is_finished and stored.until <= clock_timestamp()
returning fence, case when is_taken_over then record end";

const READ: &str = "
select record from shared_inbox_once
where namespace = $1 and key = $2 and (not is_finished or until > clock_timestamp())";

/// `$3` fence, `$4` time in seconds, `$5` record or null, `$6` whether that has a result.
const UPDATE: &str = "
update shared_inbox_once
set until = clock_timestamp() + $4 * interval '1 second', record = coalesce($5, record), is_finished = $6
where namespace = $1 and key = $2 and fence = $3 and (not is_finished or $6)";

const REMOVE: &str = "delete from shared_inbox_once where namespace = $1 and key = $2 and fence = $3";

const LIST: &str = "
select record, fence, not is_finished and until > clock_timestamp() from shared_inbox_once
where namespace = $1 and (not is_finished or until > clock_timestamp())";

const PURGE: &str = "delete from shared_inbox_once where namespace = $1 and is_finished and until <= now()";

/// Records of `once` keys in a table of PostgreSQL, for processes on several machines:
/// [`Postgres::once_keys`](crate::Postgres::once_keys).
///
/// Needs `synchronous_commit` as it is by default: a record must be on the disk before anything is sent.
/// Until a create has a result, its row holds the text of the note or email.
#[derive(Clone)]
pub struct PostgresOnceKeys {
    pool: PgPool,
    namespace: Arc<str>,
    timeout: Duration,
    finished: Arc<AtomicU32>,
}

impl PostgresOnceKeys {
    pub(super) fn new(pool: PgPool, namespace: Arc<str>, timeout: Duration) -> Self {
        Self { pool, namespace, timeout, finished: Arc::default() }
    }

    /// Returns a statement about the record with this key and fence.
    fn owned(&self, statement: &'static str, key: &str, fence: u64) -> Query<'static, Postgres, PgArguments> {
        let query = sqlx::query(statement).bind(self.namespace.to_string()).bind(key_hash(key));
        // A fence that does not fit was never granted.
        query.bind(i64::try_from(fence).unwrap_or(-1))
    }

    async fn step(
        &self,
        query: Query<'static, Postgres, PgArguments>,
    ) -> Result<LeaseStatus, OnceStoreError> {
        Ok(status(self.in_time(query.execute(&self.pool)).await?.rows_affected() == 1))
    }
    /// Runs a step of the store, and fails when it takes too long.
    async fn in_time<T>(&self, step: impl Future<Output = sqlx::Result<T>>) -> Result<T, OnceStoreError> {
        match tokio::time::timeout(self.timeout, step).await {
            Ok(result) => result.map_err(OnceStoreError::new),
            Err(_) => Err(OnceStoreError::new(format!("no response within {:?}", self.timeout))),
        }
    }
}

impl OnceStore for PostgresOnceKeys {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            let (key, json) = (key_hash(record.key()), to_json(record)?);
            loop {
                let begin = sqlx::query_as(BEGIN).bind(&*self.namespace).bind(&key);
                let begin =
                    begin.bind(record.fingerprint().to_string()).bind(lease.as_secs_f64()).bind(&json);
                let begun: Option<(i64, Option<String>)> =
                    self.in_time(begin.fetch_optional(&self.pool)).await?;
                if let Some((fence, previous)) = begun {
                    let previous = previous.as_deref().map(from_json).transpose()?;
                    return Ok(Begun::Granted { fence: fence.unsigned_abs(), previous });
                }
                let read = sqlx::query_scalar(READ).bind(&*self.namespace).bind(&key);
                let found: Option<String> = self.in_time(read.fetch_optional(&self.pool)).await?;
                match found {
                    Some(found) => return Ok(Begun::Exists(from_json(&found)?)),
                    // Its time is over, or it was removed at this moment.
                    None => self.purge().await?,
                }
            }
        })
    }

    fn update<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        record: Option<&'a OnceRecord>,
        time: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async move {
            let is_finished = record.is_some_and(OnceRecord::is_finished);
            let update = self.owned(UPDATE, key, fence).bind(time.as_secs_f64());
            let update = update.bind(record.map(to_json).transpose()?).bind(is_finished);
            let status = self.step(update).await?;
            if is_finished
                && self.finished.fetch_add(1, Ordering::Relaxed) % PURGE_INTERVAL == PURGE_INTERVAL - 1
            {
                self.purge().await?;
            }
            Ok(status)
        })
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        Box::pin(async {
            let query = sqlx::query_as(LIST).bind(&*self.namespace);
            let rows: Vec<(String, i64, bool)> = self.in_time(query.fetch_all(&self.pool)).await?;
            let stored = |(json, fence, is_held): (String, i64, bool)| {
                Ok(StoredRecord::new(from_json(&json)?, fence.unsigned_abs(), is_held))
            };
            rows.into_iter().map(stored).collect()
        })
    }

    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(self.step(self.owned(REMOVE, key, fence)))
    }

    fn purge(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            self.in_time(sqlx::query(PURGE).bind(&*self.namespace).execute(&self.pool)).await.map(|_| ())
        })
    }
}

impl fmt::Debug for PostgresOnceKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOnceKeys").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
