//! A store on Redis or Valkey.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redis::{FromRedisValue, Script, ScriptInvocation};
use shared_inbox::once::{
    Begun, LeaseStatus, OnceRecord, OnceStore, OnceStoreError, StoreFuture, StoredRecord,
};

use super::connection::{Link, is_broken};
use crate::once_records::{from_json, key_hash, status, to_json};

/// How long one step may take by default, with a connection made anew in it.
pub(super) const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// Records of `once` keys in Redis (6.2 or newer) or Valkey, for processes on several machines:
/// [`Redis::once_keys`](super::Redis::once_keys).
///
/// A record that the store loses is a create that may happen twice, so the store must not lose any: set
/// `appendonly yes`, `appendfsync always` and `maxmemory-policy noeviction`. A failover to a replica that
/// lags behind loses what it has not got; where that must not happen, use PostgreSQL. A cluster is not
/// supported.
///
/// Until a create has a result, its record holds the text of the note or email.
#[derive(Clone)]
pub struct RedisOnceKeys {
    link: Link,
    namespace: Arc<str>,
}

/// Every step as one atomic script, on a key for each record.
static STEP: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("once.lua")));

impl RedisOnceKeys {
    pub(super) fn new(link: Link, namespace: String) -> Self {
        Self { link, namespace: namespace.into() }
    }

    /// Runs the script. Where the connection has broken, perhaps since the last step, it is made anew and the
    /// step repeated.
    async fn run<T: FromRedisValue>(&self, step: &ScriptInvocation<'_>) -> Result<T, OnceStoreError> {
        let half = Link { timeout: self.link.timeout / 2, ..self.link.clone() };
        let twice = async {
            match half.run(step).await {
                Err(error) if is_broken(&error) => half.run(step).await,
                result => result,
            }
        };
        // It may wait behind all others that want a connection.
        match tokio::time::timeout(self.link.timeout, twice).await {
            Ok(result) => result.map_err(OnceStoreError::new),
            Err(_) => Err(OnceStoreError::new(format!("no response within {:?}", self.link.timeout))),
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

    /// Returns the next cursor of the list, and some records: each with its name, its fence, and whether it
    /// is held.
    async fn page(&self, cursor: u64) -> Result<(u64, Vec<(String, String, u64, bool)>), OnceStoreError> {
        // A pattern's own characters in the name stand for themselves.
        let name: String = self.namespace.chars().flat_map(|c| ['\\', c]).collect();
        let pattern = format!("{name}:{}", "?".repeat(32));
        self.run(&STEP.arg(("list", cursor, pattern))).await
    }
}

impl OnceStore for RedisOnceKeys {
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

impl fmt::Debug for RedisOnceKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisOnceKeys").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
