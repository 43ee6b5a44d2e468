//! The rate limit of a key that many processes and machines share: slots are reserved in Redis or Valkey by one script, which
//! uses the store's clock.

mod batcher;
mod connection;
mod script;
mod state;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::acquire::acquire;
use super::schedule::Rules;
use super::{AcquireRequest, KeyFingerprint, LimitError, MIN_LIMIT, Permit, RateLimiter};
use crate::client::policy::clock::BoxFuture;
use crate::limits;
use crate::model::{setters, shows};

use batcher::Batcher;
use connection::MAX_LIMIT;
pub use connection::StoreError;
pub(crate) use connection::{Connection, is_broken};
use script::Batch;
use state::KeyState;

/// The longest window and the longest timeout.
const MAX_SETTING: Duration = Duration::from_secs(86_400);

/// Keeps the limit in any 60 seconds for all processes and machines that use the same key and the same store: Redis 6.2 or
/// newer, or Valkey.
///
/// ```no_run
/// use shared_inbox::{Client, rate_limit::RedisLimiter};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// # let key = format!("rk_test_{}", "a1".repeat(24));
/// let limiter = RedisLimiter::connect("redis://store.internal").await?;
/// let inbox = Client::builder("https://inbox.example/api/v1", &key).rate_limiter(limiter).build()?;
/// # Ok(())
/// # }
/// ```
///
/// Slots are reserved as by [`MemoryLimiter`](crate::rate_limit::MemoryLimiter), first come, first served among all processes,
/// with one script call each; only bulk calls may need more. A process that dies loses its own slots only.
///
/// The store keeps one string for each API key, named by its [hash](KeyFingerprint), and for two minutes the number of the last
/// report of a process that gave a slot back. Clients with different keys can share a
/// limiter (pass an `Arc`), and so can runtimes: the connection has a thread of its own.
///
/// # When the store is away
///
/// Slots of the next ten seconds are used. Other calls wait until the store is back. If it stays away until all slots that were
/// used have stopped counting, this process continues without it, up to its [share](RedisLimiterBuilder::share) in any 60 seconds.
/// That takes 106 seconds at most, and longer only while a request of this process that may take longer
/// than half a minute is under way. A store that returns after that counts as full for a minute; so does
/// one that is empty, new, or has lost state. Both are logged through `tracing`, once.
///
/// `docs/scaling.md` lists the faults that the limit survives.
pub struct RedisLimiter {
    connection: Arc<Connection>,
    rules: Rules,
    share: u32,
    connected_at: Instant,
    keys: Mutex<Keys>,
}

struct Keys {
    states: HashMap<Option<KeyFingerprint>, Arc<KeyState>>,
    /// When unused keys were last removed.
    swept_at: Instant,
}

impl RedisLimiter {
    /// Connects to the store at this URL (`redis://[user:password@]host[:port][/db]`; `rediss://` for TLS with the feature
    /// `redis-rustls`), with the service's own limit.
    ///
    /// # Errors
    ///
    /// When the URL is not valid, or the store refuses what is needed. A store that cannot be reached now is no error: the
    /// limiter then [starts without it](Self#when-the-store-is-away), and logs that.
    pub async fn connect(url: impl Into<String>) -> Result<Self, StoreError> {
        Self::builder(url).connect().await
    }

    /// Returns a builder with settings.
    pub fn builder(url: impl Into<String>) -> RedisLimiterBuilder {
        RedisLimiterBuilder::new(vec![url.into()], false)
    }

    /// Returns a builder for a cluster; these are some of its nodes.
    #[cfg(feature = "redis-cluster")]
    pub fn cluster<U: Into<String>>(urls: impl IntoIterator<Item = U>) -> RedisLimiterBuilder {
        RedisLimiterBuilder::new(urls.into_iter().map(Into::into).collect(), true)
    }

    /// Returns whether the last request to the store failed, for any key.
    #[must_use]
    pub fn is_away(&self) -> bool {
        self.keys().states.values().any(|state| state.is_away())
    }

    fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self, key: Option<KeyFingerprint>) -> Arc<KeyState> {
        let mut keys = self.keys();
        let window = Duration::from_millis(self.rules.window);
        if keys.swept_at.elapsed() > window {
            keys.swept_at = Instant::now();
            keys.states.retain(|known, state| *known == key || !state.is_idle());
        }
        let is_new = self.connected_at.elapsed() < window;
        let start =
            || Batcher::start(name(key), self.rules, self.share, Arc::clone(&self.connection), is_new);
        Arc::clone(keys.states.entry(key).or_insert_with(start))
    }
}

/// Returns the name of a key in the store.
fn name(key: Option<KeyFingerprint>) -> String {
    format!("shared-inbox:rate:{{{}}}", key.map_or_else(|| "none".to_owned(), |key| key.to_string()))
}

impl RateLimiter for RedisLimiter {
    fn acquire(&self, request: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(async move {
            let state = self.state(request.key);
            tokio::select! {
                biased;
                permit = state.use_share(request) => Ok(permit),
                answer = acquire(&state, request) => answer,
            }
        })
    }
}

impl fmt::Debug for RedisLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLimiter")
            .field("limit", &self.rules.limit)
            .field("share", &self.share)
            .field("away", &self.is_away())
            .finish_non_exhaustive()
    }
}

/// Settings of a [`RedisLimiter`].
///
/// All processes that share a key must have the same window. While their limits differ, as during a deployment, they send no
/// more than the largest one allows.
#[must_use]
pub struct RedisLimiterBuilder {
    urls: Vec<String>,
    cluster: bool,
    root: Option<Vec<u8>>,
    timeout: Duration,
    window: Duration,
    limit: u32,
    share: Option<u32>,
}

impl RedisLimiterBuilder {
    fn new(urls: Vec<String>, cluster: bool) -> Self {
        let (window, limit) = (limits::RATE_WINDOW, limits::REQUESTS_PER_MINUTE);
        Self { urls, cluster, root: None, timeout: Duration::from_millis(500), window, limit, share: None }
    }

    setters! {
        /// Sets how many requests all processes together may send in any 60 seconds: 120 by default, at least 2 and at
        /// most 1,000.
        limit(requests: u32) limit = requests;
        /// Sets how many requests this process may send in any 60 seconds while the store is away: a tenth of the limit by
        /// default, which is right for ten processes. With 0 it sends none before the store is back.
        share(requests: u32) share = Some(requests);
        /// Sets the window over which the service counts: 60 seconds by default. For tests against a mock that counts over less.
        window(window: Duration) window = window.max(Duration::from_millis(60));
        /// Sets how long to wait for a response of the store before it counts as away, half a second by default; twice that for
        /// a connection.
        timeout(timeout: Duration) timeout = timeout;
        /// Trusts this root certificate (PEM) instead of those of the operating system.
        #[cfg(feature = "redis-rustls")]
        root_certificate(pem: impl Into<Vec<u8>>) root = Some(pem.into());
    }

    /// Checks whether the store can do what is needed, and creates the limiter.
    ///
    /// # Errors
    ///
    /// As [`RedisLimiter::connect`].
    pub async fn connect(self) -> Result<RedisLimiter, StoreError> {
        let (connection, rules) = self.open()?;
        if !connection.probe().await? {
            tracing::warn!("the store of the rate limit cannot be reached");
        }
        let share = self.share.unwrap_or((self.limit / 10).max(1)).min(self.limit);
        let (connection, connected_at) = (Arc::new(connection), Instant::now());
        let keys = Mutex::new(Keys { states: HashMap::new(), swept_at: connected_at });
        Ok(RedisLimiter { connection, rules, share, connected_at, keys })
    }

    /// Declares that the key was not used for a minute, so that a store which does not know it need not count as full for its
    /// first minute. Returns whether the store did not know it.
    ///
    /// For an operator who sets up a store. No program should call this when it starts: it would take a store that has lost
    /// its state for a new one.
    ///
    /// # Errors
    ///
    /// As [`RedisLimiter::connect`], and when the store cannot be reached.
    pub async fn declare_unused(self, key: impl Into<Option<KeyFingerprint>>) -> Result<bool, StoreError> {
        let (connection, rules) = self.open()?;
        if !connection.probe().await? {
            return Err(StoreError::Unreachable);
        }
        let name = name(key.into());
        let batch = Batch { hold: -1, reports_name: &name, ..Batch::default() };
        let reply = batch.send(&connection, &name, rules).await;
        Ok(reply.map_err(|_| StoreError::Unreachable)?.is_some_and(|reply| reply.lost_slots))
    }

    fn open(&self) -> Result<(Connection, Rules), StoreError> {
        if !(MIN_LIMIT..=MAX_LIMIT).contains(&self.limit) {
            return Err(StoreError::Limit { limit: self.limit });
        }
        let timeout = self.timeout.min(MAX_SETTING);
        let connection = Connection::new(&self.urls, self.cluster, self.root.clone(), timeout)?;
        let window = u64::try_from(self.window.min(MAX_SETTING).as_millis()).unwrap_or_default();
        Ok((connection, Rules { window, limit: self.limit as usize }))
    }
}

shows! { RedisLimiterBuilder: limit; }
