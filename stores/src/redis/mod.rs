//! What is shared on Redis or Valkey, and the one value that it all comes from.

mod connection;
mod guard;
mod limiter;
mod once;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::ConnectionLike;

pub use connection::StoreError;
use connection::{Address, Connection, Link};
pub use guard::RedisGuard;
pub use limiter::{LimiterBuilder, RedisLimiter};
pub use once::RedisOnceKeys;

/// The longest timeout.
const MAX_TIMEOUT: Duration = Duration::from_secs(86_400);

/// What several processes or machines share on Redis (6.2 or newer), Valkey, or a cluster of them.
///
/// ```no_run
/// use shared_inbox::Client;
/// use shared_inbox_stores::Redis;
/// use shared_inbox_webhooks::replay::Handlers;
///
/// # async fn run(url: &str, key: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let shared = Redis::connect("redis://store.internal").await?;
/// let inbox = Client::builder(url, key)
///     .rate_limiter(shared.limiter().await?)
///     .once_store(shared.once_keys())
///     .build()?;
/// let handlers = Handlers::new(shared.guard());
/// # Ok(())
/// # }
/// ```
///
/// Clones are cheap and share the connection, which has a thread of its own: runtimes can share it too. After
/// a failure or a timeout the next call reconnects.
#[derive(Clone)]
pub struct Redis {
    connection: Arc<Connection>,
    namespace: Arc<str>,
    timeout: Option<Duration>,
}

impl Redis {
    /// Connects to one server: `redis://[user:password@]host[:port][/database]`, or `rediss://…` for TLS
    /// (feature `redis-rustls`) with the certificates that the system trusts.
    ///
    /// # Errors
    ///
    /// When the URL is not valid, or no store responds there.
    pub async fn connect(url: impl Into<String>) -> Result<Self, StoreError> {
        Self::builder(url).connect().await
    }

    /// Returns a builder for one server.
    pub fn builder(url: impl Into<String>) -> RedisBuilder {
        RedisBuilder::new(vec![url.into()], false)
    }

    /// Returns a builder for a cluster; these are some of its nodes. A cluster has no [once
    /// keys](Self::once_keys).
    #[cfg(feature = "redis-cluster")]
    pub fn cluster<U: Into<String>>(urls: impl IntoIterator<Item = U>) -> RedisBuilder {
        RedisBuilder::new(urls.into_iter().map(Into::into).collect(), true)
    }

    /// Uses a connection of yours, such as a `ConnectionManager` or a `ClusterConnection`, which reconnects
    /// by itself.
    ///
    /// # Errors
    ///
    /// When the thread for the background work cannot be started.
    pub fn from_connection(
        connection: impl ConnectionLike + Clone + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        Ok(Self::new(Connection::own(connection)?, None))
    }

    fn new(connection: Connection, timeout: Option<Duration>) -> Self {
        Self { connection: Arc::new(connection), namespace: "shared-inbox".into(), timeout }
    }

    /// Sets what the names of this app's once keys and handled events begin with: `shared-inbox` by default.
    /// Two apps that share a store need two. The rate limit of a key is one for all apps.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets how long a step may take before the store counts as unavailable, for all that is made from this
    /// value from now on. By default 500 milliseconds for the limiter, 2 seconds for a guard and 10 for once
    /// keys.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout.min(MAX_TIMEOUT));
        self
    }

    /// Returns a store of `once` keys, for
    /// [`ClientBuilder::once_store`](shared_inbox::ClientBuilder::once_store).
    #[must_use]
    pub fn once_keys(&self) -> RedisOnceKeys {
        RedisOnceKeys::new(self.link(once::STEP_TIMEOUT), format!("{}:once", self.namespace))
    }

    /// Returns a record of handled events, for `Handlers`.
    #[must_use]
    pub fn guard(&self) -> RedisGuard {
        let settings = crate::guard_settings::GuardSettings::new(format!("{}:webhook", self.namespace));
        RedisGuard::new(self.link(crate::guard_settings::STEP_TIMEOUT), settings)
    }

    /// Starts building the rate limit that all processes with the same API key share. Await the builder to
    /// get the limiter.
    pub fn limiter(&self) -> LimiterBuilder {
        LimiterBuilder::new(self.link(limiter::STEP_TIMEOUT))
    }

    fn link(&self, default_timeout: Duration) -> Link {
        Link { connection: Arc::clone(&self.connection), timeout: self.timeout.unwrap_or(default_timeout) }
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// Settings of the connection of a [`Redis`].
#[must_use]
pub struct RedisBuilder {
    address: Address,
    timeout: Option<Duration>,
}

impl RedisBuilder {
    fn new(urls: Vec<String>, is_cluster: bool) -> Self {
        Self { address: Address { urls, is_cluster, root: None }, timeout: None }
    }

    /// Sets how long a step may take, as [`Redis::timeout`] does, and twice that for connecting, which takes
    /// a second at most by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout.min(MAX_TIMEOUT));
        self
    }

    /// Trusts this root certificate (PEM) instead of those of the operating system.
    #[cfg(feature = "redis-rustls")]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.address.root = Some(pem.into());
        self
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// As [`Redis::connect`].
    pub async fn connect(self) -> Result<Redis, StoreError> {
        let redis = self.open()?;
        redis.connection.connect().await?;
        Ok(redis)
    }

    /// Returns without connecting: the first step does. For a program that starts although the store cannot
    /// be reached, as a [limiter](RedisLimiter#when-the-store-is-away) can.
    ///
    /// # Errors
    ///
    /// When the URL is not valid.
    pub fn open(self) -> Result<Redis, StoreError> {
        let timeout = self.timeout.unwrap_or(limiter::STEP_TIMEOUT);
        Ok(Redis::new(Connection::new(&self.address, timeout)?, self.timeout))
    }
}

impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBuilder").field("is_cluster", &self.address.is_cluster).finish_non_exhaustive()
    }
}
