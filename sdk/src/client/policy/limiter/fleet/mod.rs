//! The rate limit of a key that many processes and machines share: counted in Redis or Valkey, by one script a decision, on the
//! clock of the store.

mod exchange;
mod link;
mod slot;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::window::Measure;
use super::{AcquireRequest, KeyFingerprint, LimitError, Permit, RateLimiter};
use crate::client::policy::clock::BoxFuture;
use crate::limits;

use link::Link;
pub use link::StoreError;
use slot::{Slot, Terms};

/// An answer that takes longer is not waited for.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Never more than the limit in any 60 seconds, for all processes and machines that use the same key and the same store:
/// Redis 6.2 or newer, or Valkey.
///
/// ```no_run
/// use shared_inbox::{Client, RedisLimiter};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// # let key = format!("rk_test_{}", "a1".repeat(24));
/// let limiter = RedisLimiter::connect("redis://store.internal").await?;
/// let inbox = Client::builder("https://inbox.example/api/v1", &key).rate_limiter(limiter).build()?;
/// # Ok(())
/// # }
/// ```
///
/// What [`MemoryLimiter`](crate::MemoryLimiter) does within a process holds between processes too: urgent lanes first, room for
/// read-backs, a share for bulk calls, requests that count from when they may arrive, less after a 429. Of those who wait, one a
/// lane and process asks the store, at the time that it was told; so the order among processes is fair, not strict. The
/// place of a process that died counts until its request can no longer arrive.
///
/// The store keeps one key for each API key, named by a [hash](KeyFingerprint) of it. A limiter can be shared by clients with
/// different keys (pass an `Arc`).
///
/// # When the store is away
///
/// Calls wait, as they do when the limit is used up, and go on as soon as it is back. If it stays away until all that
/// it let through has stopped counting (a minute and the time of an attempt), this process goes on without it, up to
/// its [share](RedisLimiterBuilder::share) in any 60 seconds. A store that comes back after that, or empty, counts as full for
/// a minute. Both are said through `tracing`, once.
///
/// So the limit holds as long as the shares together do not exceed it, and the store is there for all or for none. A
/// process that alone cannot reach a store which others use sends its share on top of theirs; a lower
/// [limit](RedisLimiterBuilder::limit) leaves room for that. A replica that is promoted may not know the last moments;
/// when a process notices that a request of its own is missing, the store counts as full for a minute.
pub struct RedisLimiter {
    link: Arc<Link>,
    terms: Terms,
    slots: Mutex<HashMap<Option<KeyFingerprint>, Arc<Slot>>>,
}

impl RedisLimiter {
    /// A limiter with the store at this URL (`redis://[user:password@]host[:port][/db]`; `rediss://` for TLS with the feature
    /// `redis-rustls`) and the service's own limit.
    ///
    /// # Errors
    ///
    /// When the URL is not valid, or the store refuses what is needed. A store that cannot be reached now is no error: the
    /// limiter then [starts without it](Self#when-the-store-is-away), and says so through `tracing`.
    pub async fn connect(url: impl Into<String>) -> Result<Self, StoreError> {
        Self::builder(url).connect().await
    }

    /// The same with settings.
    pub fn builder(url: impl Into<String>) -> RedisLimiterBuilder {
        RedisLimiterBuilder::new(vec![url.into()], false)
    }

    /// A limiter with a cluster as its store; these are some of its nodes.
    #[cfg(feature = "redis-cluster")]
    pub fn cluster<U: Into<String>>(urls: impl IntoIterator<Item = U>) -> RedisLimiterBuilder {
        RedisLimiterBuilder::new(urls.into_iter().map(Into::into).collect(), true)
    }

    /// Whether the store was away when it was last asked, for any key.
    #[must_use]
    pub fn is_away(&self) -> bool {
        self.slots().values().any(|slot| slot.is_away())
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<Option<KeyFingerprint>, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, key: Option<KeyFingerprint>) -> Arc<Slot> {
        let start = || {
            let name = key.map_or_else(|| "none".to_owned(), |key| key.to_string());
            Slot::start(&name, self.terms, Arc::clone(&self.link))
        };
        Arc::clone(self.slots().entry(key).or_insert_with(start))
    }
}

impl RateLimiter for RedisLimiter {
    fn acquire(&self, ask: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(async move { self.slot(ask.key).acquire(ask).await })
    }
}

impl fmt::Debug for RedisLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLimiter")
            .field("limit", &self.terms.limit)
            .field("share", &self.terms.share)
            .field("away", &self.is_away())
            .finish_non_exhaustive()
    }
}

/// Settings of a [`RedisLimiter`].
///
/// All processes that share a key must have the same limit and window.
///
/// ```no_run
/// use shared_inbox::RedisLimiter;
///
/// # async fn run() -> Result<(), shared_inbox::StoreError> {
/// // Forty workers: three each while the store is away.
/// let limiter = RedisLimiter::builder("redis://store.internal").share(3).connect().await?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct RedisLimiterBuilder {
    urls: Vec<String>,
    cluster: bool,
    root: Option<Vec<u8>>,
    timeout: Duration,
    window: Duration,
    limit: u32,
    share: Option<u32>,
    new: bool,
}

impl RedisLimiterBuilder {
    fn new(urls: Vec<String>, cluster: bool) -> Self {
        Self {
            urls,
            cluster,
            root: None,
            timeout: TIMEOUT,
            window: limits::RATE_WINDOW,
            limit: limits::REQUESTS_PER_MINUTE,
            share: None,
            new: false,
        }
    }

    /// How many requests may be sent in any 60 seconds, by all together: 120 unless set.
    pub fn limit(mut self, requests: u32) -> Self {
        self.limit = requests.max(1);
        self
    }

    /// How many requests this process may send in any 60 seconds while the store is away: a tenth of the limit unless set,
    /// which is right for ten processes. With 0 it sends none before the store is back.
    pub fn share(mut self, requests: u32) -> Self {
        self.share = Some(requests);
        self
    }

    /// The span over which the service counts: 60 seconds unless set. For tests against a mock that counts over less.
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window.max(Duration::from_millis(60));
        self
    }

    /// How long to wait for an answer of the store before it counts as away, half a second unless set; twice that for
    /// a connection.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Says that a store which knows nothing of the key is a new one, when this limiter first asks it and has not found it
    /// away before: for those who start the fleet right after the store. Otherwise it counts as full for a minute, since it
    /// may have come back without its memory.
    pub fn new_store(mut self) -> Self {
        self.new = true;
        self
    }

    /// Trusts this root certificate (PEM) instead of those of the operating system.
    #[cfg(feature = "redis-rustls")]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root = Some(pem.into());
        self
    }

    /// Finds out whether the store can do what is needed, and makes the limiter.
    ///
    /// # Errors
    ///
    /// As [`RedisLimiter::connect`].
    pub async fn connect(self) -> Result<RedisLimiter, StoreError> {
        let link = Link::new(&self.urls, self.cluster, self.root, self.timeout)?;
        let there = link.probe().await?;
        if !there {
            tracing::warn!("the store of the rate limit cannot be reached");
        }
        let share = self.share.unwrap_or((self.limit / 10).max(1));
        let measure = Measure { window: self.window };
        let terms = Terms { measure, limit: self.limit, share, new: self.new && there };
        Ok(RedisLimiter { link: Arc::new(link), terms, slots: Mutex::default() })
    }
}

impl fmt::Debug for RedisLimiterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLimiterBuilder").field("limit", &self.limit).finish_non_exhaustive()
    }
}
