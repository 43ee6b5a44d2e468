//! A connection to Redis or Valkey, shared by all callers. After a failure or a timeout the next call
//! reconnects.
//!
//! It runs on a thread of its own: calls come from any runtime, and the runtime of the first call may end, or
//! stand still, before the last.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisFuture, Script,
    ScriptInvocation, Value,
};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;
use tracing::instrument::WithSubscriber;

/// The smallest limit of a client: a request that was lost is sent again only together with the read right
/// before it.
pub(super) const MIN_LIMIT: u32 = 2;

/// Scripts that check what the limiter needs: scripts, `TIME` inside them, and a write after that.
const PROBES: [&str; 2] = [
    "redis.call('SET', KEYS[1], struct.pack('d', 1), 'PX', 1) redis.call('SETRANGE', KEYS[1], 0, redis.call('GET', KEYS[1])) return 1",
    "redis.call('TIME') redis.call('SET', KEYS[1], '', 'PX', 1) return 1",
];
const PROBE_KEY: &str = "shared-inbox:rate:{probe}";
/// The script reads all of the state at once.
pub(super) const MAX_LIMIT: u32 = 1_000;
/// How many timeouts long a connection attempt may take: it needs several round trips.
const CONNECT_TIMEOUTS: u32 = 2;

/// An error returned when a store cannot be used. Shows no address, password or key.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The URL is not one of a store.
    #[error(
        "the store's URL is not valid: write redis://[user:password@]host[:port][/db], or rediss:// for TLS"
    )]
    Url,
    /// The URL requires TLS.
    #[error("the store's URL asks for TLS: turn on the feature `redis-rustls`")]
    NoTls,
    /// The certificate that was given cannot be used.
    #[error("the store's root certificate is not a PEM file with a certificate")]
    Certificate,
    /// The store is a node of a cluster.
    #[error("the store is a node of a cluster: use `Redis::cluster` (feature `redis-cluster`)")]
    Cluster,
    /// The store does not let us in.
    #[error("the store refuses the user or password in its URL")]
    Password,
    /// The store refuses the time inside scripts, as some hosted ones do.
    #[error(
        "the store refuses `TIME` inside scripts ({code}), and without a clock that all share the limit cannot be kept: \
         use a store that allows it (Redis 6.2, Valkey), or `rate_limit` with a share for each process"
    )]
    #[non_exhaustive]
    NoTime {
        /// The error code of its response.
        code: String,
    },
    /// The limit is not one that a store can keep.
    #[error(
        "the limit is {limit} requests: it must be from {MIN_LIMIT} to {MAX_LIMIT} (a request that was lost is sent again only \
         together with a read)"
    )]
    #[non_exhaustive]
    Limit {
        /// The limit that was set.
        limit: u32,
    },
    /// The store cannot be reached now.
    #[error("the store cannot be reached")]
    Unreachable,
    /// The thread for the connection could not be started.
    #[error("the thread for the store's connection could not be started")]
    Thread,
    /// The store refuses something else.
    #[error(
        "the store refuses what a limiter needs ({code}): it must allow scripts, `GET`, `SET` and `SETRANGE`"
    )]
    #[non_exhaustive]
    Refused {
        /// The error code of its response.
        code: String,
    },
}

/// Where the store is.
pub(super) struct Address {
    pub(super) urls: Vec<String>,
    pub(super) is_cluster: bool,
    /// A root certificate, in PEM.
    pub(super) root: Option<Vec<u8>>,
}

/// A connection, and how long one of its users waits for a response.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) connection: Arc<Connection>,
    pub(super) timeout: Duration,
}

impl Link {
    /// Runs a script in the store. After a failure or a timeout the next call reconnects.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, RedisError> {
        let mut open = self.connection.get().await?;
        self.connection.watch(self.timeout, script.invoke_async(&mut open)).await
    }

    /// Runs a command in the store, in the same way.
    pub(super) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisError> {
        let mut open = self.connection.get().await?;
        self.connection.watch(self.timeout, command.query_async(&mut open)).await
    }

    /// Checks that the store can do what a limiter needs. Returns `false` when it cannot be reached now.
    pub(super) async fn probe(&self) -> Result<bool, StoreError> {
        for (number, probe) in PROBES.into_iter().enumerate() {
            let answer: Result<i64, _> = self.run(&Script::new(probe).key(PROBE_KEY)).await;
            if let Err(error) = answer {
                return refused(&error, number > 0);
            }
        }
        Ok(true)
    }
}

pub(super) struct Connection {
    client: Client,
    /// How long connecting may take.
    timeout: Duration,
    open: tokio::sync::Mutex<Option<Open>>,
    thread: Handle,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

#[derive(Clone)]
enum Client {
    Node(Box<redis::Client>),
    #[cfg(feature = "redis-cluster")]
    Cluster(Box<redis::cluster::ClusterClient>),
    /// A connection of the caller's, which reconnects by itself.
    Own(Box<dyn OwnConnection>),
}

#[derive(Clone)]
enum Open {
    Node(MultiplexedConnection),
    #[cfg(feature = "redis-cluster")]
    Cluster(redis::cluster_async::ClusterConnection),
    Own(Box<dyn OwnConnection>),
}

/// Any connection that can be cloned.
trait OwnConnection: ConnectionLike + Send + Sync {
    fn boxed(&self) -> Box<dyn OwnConnection>;
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> OwnConnection for C {
    fn boxed(&self) -> Box<dyn OwnConnection> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn OwnConnection> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl Open {
    fn connection(&self) -> &dyn ConnectionLike {
        match self {
            Self::Node(node) => node,
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(cluster) => cluster,
            Self::Own(own) => &**own,
        }
    }

    fn connection_mut(&mut self) -> &mut dyn ConnectionLike {
        match self {
            Self::Node(node) => node,
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(cluster) => cluster,
            Self::Own(own) => &mut **own,
        }
    }
}

impl ConnectionLike for Open {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        self.connection_mut().req_packed_command(cmd)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.connection_mut().req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.connection().get_db()
    }
}

impl Connection {
    /// Creates a connection that is opened by the first call. `timeout` is that of one round trip.
    pub(super) fn new(address: &Address, timeout: Duration) -> Result<Self, StoreError> {
        let Address { urls, is_cluster, root } = address;
        if urls.iter().any(|url| url.starts_with("rediss:") || url.starts_with("valkeys:")) {
            prepare_tls()?;
        }
        let client = match is_cluster {
            false => Client::Node(Box::new(node(urls.first().ok_or(StoreError::Url)?, root.clone())?)),
            #[cfg(feature = "redis-cluster")]
            true => Client::Cluster(Box::new(cluster_of(urls, root.clone(), timeout)?)),
            #[cfg(not(feature = "redis-cluster"))]
            true => return Err(StoreError::Cluster),
        };
        Self::with_client(client, timeout * CONNECT_TIMEOUTS)
    }

    /// Wraps a connection of the caller's.
    pub(super) fn own(
        connection: impl ConnectionLike + Clone + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        Self::with_client(Client::Own(Box::new(connection)), Duration::ZERO)
    }

    fn with_client(client: Client, timeout: Duration) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("shared-inbox-redis")
            .enable_all()
            .build()
            .map_err(|_| StoreError::Thread)?;
        let (thread, open) = (runtime.handle().clone(), tokio::sync::Mutex::default());
        Ok(Self { client, timeout, open, thread, runtime: Some(runtime) })
    }

    /// Runs a task on the connection's own thread.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.thread.spawn(task.with_current_subscriber())
    }

    /// Opens the connection, unless it is open.
    pub(super) async fn connect(&self) -> Result<(), StoreError> {
        match self.get().await {
            Ok(_) => Ok(()),
            Err(error) => refused(&error, false).and(Err(StoreError::Unreachable)),
        }
    }

    /// Waits for a response. Forgets the connection when it is broken or the response takes too long.
    async fn watch<T>(
        &self,
        timeout: Duration,
        step: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, RedisError> {
        let answer = match tokio::time::timeout(timeout, step).await {
            Ok(answer) => answer,
            Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
        };
        if answer.as_ref().is_err_and(is_broken) {
            self.open.lock().await.take();
        }
        answer
    }

    async fn get(&self) -> Result<Open, RedisError> {
        let mut open = self.open.lock().await;
        if let Some(open) = &*open {
            return Ok(open.clone());
        }
        // Each caller has a timeout of its own for responses.
        let connected = self.spawn(self.client.clone().open(self.timeout)).await;
        let connected = connected.map_err(std::io::Error::other)??;
        Ok(open.insert(connected).clone())
    }
}

/// Returns whether a connection with this error must be made anew.
pub(super) fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.is_unrecoverable_error()
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Does not wait for it: this may be one of its own tasks, or one of the caller's runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Client {
    async fn open(self, timeout: Duration) -> Result<Open, RedisError> {
        match self {
            Self::Node(client) => {
                let config = AsyncConnectionConfig::new()
                    .set_connection_timeout(Some(timeout))
                    .set_response_timeout(None);
                client.get_multiplexed_async_connection_with_config(&config).await.map(Open::Node)
            }
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(client) => client.get_async_connection().await.map(Open::Cluster),
            Self::Own(connection) => Ok(Open::Own(connection)),
        }
    }
}

fn node(url: &str, root: Option<Vec<u8>>) -> Result<redis::Client, StoreError> {
    let client = match root {
        None => redis::Client::open(url),
        #[cfg(feature = "redis-rustls")]
        Some(pem) => redis::Client::build_with_tls(url, certificates(pem)?),
        #[cfg(not(feature = "redis-rustls"))]
        Some(_) => return Err(StoreError::NoTls),
    };
    client.map_err(|_| StoreError::Url)
}

#[cfg(feature = "redis-cluster")]
fn cluster_of(
    urls: &[String],
    root: Option<Vec<u8>>,
    timeout: Duration,
) -> Result<redis::cluster::ClusterClient, StoreError> {
    let builder = redis::cluster::ClusterClientBuilder::new(urls.iter().map(String::as_str))
        .connection_timeout(timeout * CONNECT_TIMEOUTS)
        .response_timeout(timeout)
        .overall_response_timeout(Some(timeout * CONNECT_TIMEOUTS))
        .retries(1);
    let builder = match root {
        None => builder,
        #[cfg(feature = "redis-rustls")]
        Some(pem) => builder.certs(certificates(pem)?),
        #[cfg(not(feature = "redis-rustls"))]
        Some(_) => return Err(StoreError::NoTls),
    };
    builder.build().map_err(|_| StoreError::Url)
}

#[cfg(feature = "redis-rustls")]
fn certificates(root: Vec<u8>) -> Result<redis::TlsCertificates, StoreError> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    // Without this check, an empty file would silently trust no certificate.
    CertificateDer::from_pem_slice(&root).map_err(|_| StoreError::Certificate)?;
    Ok(redis::TlsCertificates { client_tls: None, root_cert: Some(root) })
}

#[cfg(feature = "redis-rustls")]
fn prepare_tls() -> Result<(), StoreError> {
    // Without a provider for the process, rustls panics when two are compiled in.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
    Ok(())
}

#[cfg(not(feature = "redis-rustls"))]
fn prepare_tls() -> Result<(), StoreError> {
    Err(StoreError::NoTls)
}

/// Classifies the failure of a probe. Returns `Ok(false)` when the store may work in a moment.
fn refused(error: &RedisError, scripts_run: bool) -> Result<bool, StoreError> {
    let code = error.code().unwrap_or("ERR").to_owned();
    match (error.kind(), &*code) {
        (ErrorKind::InvalidClientConfig, _) => Err(StoreError::Url),
        (ErrorKind::AuthenticationFailed, _) | (_, "NOAUTH") => Err(StoreError::Password),
        (_, "MOVED" | "ASK" | "CROSSSLOT") => Err(StoreError::Cluster),
        (_, "LOADING" | "CLUSTERDOWN" | "MASTERDOWN" | "READONLY" | "TRYAGAIN") => Ok(false),
        (ErrorKind::Server(_) | ErrorKind::Extension, _) if scripts_run => Err(StoreError::NoTime { code }),
        (ErrorKind::Server(_) | ErrorKind::Extension, _) => Err(StoreError::Refused { code }),
        _ => Ok(false),
    }
}
