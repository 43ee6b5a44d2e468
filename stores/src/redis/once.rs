//! A store on Redis or Valkey.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redis::{FromRedisValue, RedisError, Script, ScriptInvocation};

use super::record::{OnceRecord, key_hash};
use super::store::{
    Begun, LeaseStatus, OnceStore, OnceStoreError, STEP_TIMEOUT, StoreFuture, StoredRecord, from_json,
    status, to_json,
};
use crate::client::policy::{RedisConnection, is_broken};
use crate::model::shows;

/// Keeps records in Redis (6.2 or newer) or Valkey, for processes on several machines.
///
/// A record that the store loses is a create that may happen twice, so the store must not lose any: set `appendonly yes`,
/// `appendfsync always` and `maxmemory-policy noeviction`. A failover to a replica that lags behind loses what it has not got;
/// where that must not happen, use a `PostgresStore`. A cluster is not supported.
///
/// Until a create has a result, its record holds the text of the note or email. The connection has a thread of its own, so that
/// runtimes can share a store.
///
/// ```no_run
/// use shared_inbox::{Client, once::RedisStore};
///
/// # async fn run(url: &str, key: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let inbox = Client::builder(url, key).once_store(RedisStore::connect("redis://127.0.0.1:6379").await?).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisStore {
    connection: Arc<RedisConnection>,
    namespace: Arc<str>,
}

/// Every step as one atomic script, on a key for each record.
static STEP: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis.lua")));

impl RedisStore {
    /// Connects to one server: `redis://user:password@host:port/database`, or `rediss://…` for TLS (feature `redis-rustls`).
    ///
    /// # Errors
    ///
    /// When the address is not valid, or no store responds there.
    pub fn connect(url: impl Into<String>) -> StoreFuture<'static, Self> {
        let url = url.into();
        Box::pin(async move {
            let connection = RedisConnection::new(&[url], false, None, STEP_TIMEOUT);
            let connection = Arc::new(connection.map_err(OnceStoreError::new)?);
            let store = Self { connection, namespace: "shared-inbox:once".into() };
            store.in_time(store.connection.connect()).await?;
            Ok(store)
        })
    }

    /// Sets a name for this app's records. Two apps that share a store need two.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Runs the script. Where the connection has broken, perhaps since the last step, it is made anew and the step repeated.
    async fn run<T: FromRedisValue>(&self, step: &ScriptInvocation<'_>) -> Result<T, OnceStoreError> {
        let twice = async {
            match self.connection.run(step).await {
                Err(error) if is_broken(&error) => self.connection.run(step).await,
                result => result,
            }
        };
        self.in_time(twice).await
    }

    /// Fails when it takes too long: it may wait behind all others that want a connection.
    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, OnceStoreError> {
        let limit = STEP_TIMEOUT * 2;
        match tokio::time::timeout(limit, work).await {
            Ok(result) => result.map_err(OnceStoreError::new),
            Err(_) => Err(OnceStoreError::new(format!("no response within {limit:?}"))),
        }
    }

    async fn step(
        &self,
        key: &str,
        step: &str,
        fence: u64,
        time: Duration,
        record: Option<&OnceRecord>,
    ) -> Result<Vec<String>, OnceStoreError> {
        let json = record.map(to_json).transpose()?.unwrap_or_default();
        let fingerprint = record.map(|record| record.fingerprint().to_string()).unwrap_or_default();
        // What the script counts with has 53 bits; this is a hundred years.
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min(100 * 365 * 86_400_000);
        let mut call = STEP.key(format!("{}:{}", self.namespace, key_hash(key)));
        call.arg((step, fence, time, json, fingerprint));
        self.run(&call).await
    }

    /// Runs a step of an owner.
    async fn owned(
        &self,
        key: &str,
        step: &str,
        fence: u64,
        time: Duration,
        record: Option<&OnceRecord>,
    ) -> Result<LeaseStatus, OnceStoreError> {
        let reply = self.step(key, step, fence, time, record).await?;
        Ok(status(reply.first().is_some_and(|done| done == "1")))
    }

    /// Returns the next cursor of the list, and some records: each with its name, its fence, and whether it is held.
    async fn page(&self, cursor: u64) -> Result<(u64, Vec<(String, String, u64, bool)>), OnceStoreError> {
        // A pattern's own characters in the name stand for themselves.
        let name: String = self.namespace.chars().flat_map(|c| ['\\', c]).collect();
        let pattern = format!("{name}:{}", "?".repeat(32));
        self.run(&STEP.arg(("list", cursor, pattern))).await
    }
}

impl OnceStore for RedisStore {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            let reply = self.step(record.key(), "begin", 0, lease, Some(record)).await?;
            match &reply[..] {
                [fence, found] if fence == "0" => Ok(Begun::Exists(from_json(found)?)),
                [fence, previous] => {
                    let previous = (!previous.is_empty()).then(|| from_json(previous)).transpose()?;
                    Ok(Begun::Granted { fence: fence.parse().map_err(OnceStoreError::new)?, previous })
                }
                _ => Err(OnceStoreError::new("the reply of the script is not one")),
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
        let step = if record.is_some_and(OnceRecord::is_finished) { "finish" } else { "renew" };
        Box::pin(self.owned(key, step, fence, time, record))
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        Box::pin(async {
            // A record may be on several pages.
            let (mut cursor, mut list) = (0, BTreeMap::new());
            loop {
                let (next, page) = self.page(cursor).await?;
                for (name, record, fence, is_held) in page {
                    list.insert(name, StoredRecord::new(from_json(&record)?, fence, is_held));
                }
                if next == 0 {
                    return Ok(list.into_values().collect());
                }
                cursor = next;
            }
        })
    }

    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(self.owned(key, "remove", fence, Duration::ZERO, None))
    }
}

shows! { RedisStore: namespace; }
