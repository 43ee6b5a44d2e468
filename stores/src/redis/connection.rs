//! A connection to Redis or Valkey, shared by all callers. After a failure or a timeout the next call reconnects.
//!
//! It runs on a thread of its own: calls come from any runtime, and the runtime of the first call may end, or stand still, before
//! the last.

use std::future::Future;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, FromRedisValue, RedisError, Script, ScriptInvocation};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;
use tracing::instrument::WithSubscriber;

use super::super::MIN_LIMIT;

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
    #[error("the store is a node of a cluster: use `RedisLimiter::cluster` (feature `redis-cluster`)")]
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

pub(crate) struct Connection {
    client: Client,
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
}

#[derive(Clone)]
enum Open {
    Node(MultiplexedConnection),
    #[cfg(feature = "redis-cluster")]
    Cluster(redis::cluster_async::ClusterConnection),
}

impl Connection {
    /// Creates a connection that is opened by the first call.
    pub(crate) fn new(
        urls: &[String],
        cluster: bool,
        root: Option<Vec<u8>>,
        timeout: Duration,
    ) -> Result<Self, StoreError> {
        if urls.iter().any(|url| url.starts_with("rediss:") || url.starts_with("valkeys:")) {
            prepare_tls()?;
        }
        let client = match cluster {
            false => Client::Node(Box::new(node(urls.first().ok_or(StoreError::Url)?, root)?)),
            #[cfg(feature = "redis-cluster")]
            true => Client::Cluster(Box::new(cluster_of(urls, root, timeout)?)),
            #[cfg(not(feature = "redis-cluster"))]
            true => return Err(StoreError::Cluster),
        };
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

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Opens the connection, unless it is open.
    pub(crate) async fn connect(&self) -> Result<(), RedisError> {
        self.get().await.map(drop)
    }

    /// Runs a script in the store. After a failure the next call reconnects.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, RedisError> {
        let answer = match self.get().await? {
            Open::Node(mut node) => script.invoke_async(&mut node).await,
            #[cfg(feature = "redis-cluster")]
            Open::Cluster(mut cluster) => script.invoke_async(&mut cluster).await,
        };
        if answer.as_ref().is_err_and(is_broken) {
            self.open.lock().await.take();
        }
        answer
    }

    /// Checks that the store can do what is needed. Returns `false` when it cannot be reached now.
    pub(super) async fn probe(&self) -> Result<bool, StoreError> {
        for (number, probe) in PROBES.into_iter().enumerate() {
            let answer: Result<i64, _> = self.run(&Script::new(probe).key(PROBE_KEY)).await;
            if let Err(error) = answer {
                return refused(&error, number > 0);
            }
        }
        Ok(true)
    }

    async fn get(&self) -> Result<Open, RedisError> {
        let mut open = self.open.lock().await;
        if let Some(open) = &*open {
            return Ok(open.clone());
        }
        let connected = self.spawn(self.client.clone().open(self.timeout)).await;
        let connected = connected.map_err(std::io::Error::other)??;
        Ok(open.insert(connected).clone())
    }
}

/// Returns whether a connection with this error must be made anew.
pub(crate) fn is_broken(error: &RedisError) -> bool {
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
                    .set_connection_timeout(Some(timeout * CONNECT_TIMEOUTS))
                    .set_response_timeout(Some(timeout));
                client.get_multiplexed_async_connection_with_config(&config).await.map(Open::Node)
            }
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(client) => client.get_async_connection().await.map(Open::Cluster),
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
