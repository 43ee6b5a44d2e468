//! A store on Redis or Valkey.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, FromRedisValue, Pipeline, RedisError};

use super::record::{OnceRecord, key_hash};
use super::store::{
    Begun, LeaseStatus, OnceStore, OnceStoreError, StoreFuture, StoredRecord, from_json, in_time, status,
    to_json,
};
use crate::client::policy::prepare_redis_tls;
use crate::model::shows;

/// Every step as one atomic script, on a key for each record.
const SCRIPT: &str = include_str!("redis.lua");

/// Keeps records in Redis (6.2 or newer) or Valkey, for processes on several machines.
///
/// A record that the store loses is a create that may happen twice, so the store must not lose any: set `appendonly yes`,
/// `appendfsync always` and `maxmemory-policy noeviction`. A failover to a replica that lags behind loses what it has not got;
/// where that must not happen, use a `PostgresStore`. A cluster is not supported.
///
/// Until a create has a result, its record holds the text of the note or email.
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
    client: Client,
    open: Arc<tokio::sync::Mutex<Option<MultiplexedConnection>>>,
    namespace: Arc<str>,
}

impl RedisStore {
    /// Connects to one server: `redis://user:password@host:port/database`, or `rediss://…` for TLS (feature `redis-rustls`).
    ///
    /// # Errors
    ///
    /// When the address is not valid, or no store responds there.
    pub fn connect(url: impl Into<String>) -> StoreFuture<'static, Self> {
        let url = url.into();
        Box::pin(async move {
            if url.starts_with("rediss:") || url.starts_with("valkeys:") {
                prepare_redis_tls().map_err(OnceStoreError::new)?;
            }
            let client = Client::open(url).map_err(OnceStoreError::new)?;
            let store = Self { client, open: Arc::default(), namespace: "shared-inbox:once".into() };
            in_time(store.connection()).await?;
            Ok(store)
        })
    }

    /// Sets a name for this app's records. Two apps that share a store need two.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = namespace.into();
        self
    }

    async fn connection(&self) -> Result<MultiplexedConnection, RedisError> {
        let mut open = self.open.lock().await;
        match &*open {
            Some(connection) => Ok(connection.clone()),
            None => Ok(open.insert(self.client.get_multiplexed_async_connection().await?).clone()),
        }
    }

    /// Runs commands in one round trip. A connection that breaks, perhaps because its runtime has ended, is made anew, and the
    /// commands repeated.
    async fn query<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, OnceStoreError> {
        let mut is_again = false;
        loop {
            let result = in_time(async {
                let mut connection = self.connection().await?;
                commands.query_async(&mut connection).await
            });
            let error = match result.await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let is_refused = error
                .cause::<RedisError>()
                .is_some_and(|error| !error.is_io_error() && !error.is_unrecoverable_error());
            if is_refused || is_again {
                return Err(error);
            }
            self.open.lock().await.take();
            is_again = true;
        }
    }

    async fn script(
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
        let mut call = redis::pipe();
        call.cmd("EVAL")
            .arg(SCRIPT)
            .arg(1)
            .arg(key)
            .arg(step)
            .arg(fence)
            .arg(time)
            .arg(json)
            .arg(fingerprint);
        self.query(&call).await.map(|(reply,)| reply)
    }

    fn key(&self, key: &str) -> String {
        format!("{}:{}", self.namespace, key_hash(key))
    }
}

/// Returns whether the script has done the step.
fn is_done(reply: &[String]) -> LeaseStatus {
    status(reply.first().is_some_and(|done| done == "1"))
}

impl OnceStore for RedisStore {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            let reply = self.script(&self.key(record.key()), "begin", 0, lease, Some(record)).await?;
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

    fn renew<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        lease: Duration,
        record: Option<&'a OnceRecord>,
    ) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(
            async move { Ok(is_done(&self.script(&self.key(key), "renew", fence, lease, record).await?)) },
        )
    }

    fn finish<'a>(
        &'a self,
        record: &'a OnceRecord,
        fence: u64,
        retention: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async move {
            let key = self.key(record.key());
            Ok(is_done(&self.script(&key, "finish", fence, retention, Some(record)).await?))
        })
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        Box::pin(async {
            // A pattern's own characters in the name stand for themselves.
            let name: String = self.namespace.chars().flat_map(|c| ['\\', c]).collect();
            let pattern = format!("{name}:{}", "?".repeat(32));
            let number = |text: &Option<String>| -> u64 {
                text.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default()
            };
            let (mut cursor, mut list) = (0_u64, BTreeMap::new());
            loop {
                let mut scan = redis::pipe();
                scan.cmd("SCAN").arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1_000);
                let ((next, keys),): ((u64, Vec<String>),) = self.query(&scan).await?;
                let mut read = redis::pipe();
                read.cmd("TIME");
                for key in &keys {
                    read.cmd("HMGET").arg(key).arg(&["record", "fence", "until", "finished"]);
                }
                let mut replies = self.query::<Vec<Vec<Option<String>>>>(&read).await?.into_iter();
                let time = replies.next().unwrap_or_default();
                let now = time.first().map_or(0, number) * 1_000 + time.get(1).map_or(0, number) / 1_000;
                for (key, fields) in keys.into_iter().zip(replies) {
                    let [Some(record), fence, until, finished] = &fields[..] else { continue };
                    let is_held = finished.is_none() && number(until) > now;
                    list.insert(key, StoredRecord::new(from_json(record)?, number(fence), is_held));
                }
                if next == 0 {
                    return Ok(list.into_values().collect());
                }
                cursor = next;
            }
        })
    }

    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async move {
            Ok(is_done(&self.script(&self.key(key), "remove", fence, Duration::ZERO, None).await?))
        })
    }
}

shows! { RedisStore: namespace; }
