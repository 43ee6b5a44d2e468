//! A replay guard on Redis or Valkey, for receivers on many machines.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ConnectionAddr, IntoConnectionInfo, Script};

use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, GuardFuture, ReplayGuard};
use super::store::{STORE_TIMEOUT, StoreSettings, granted, in_time, release_later, store_settings};

/// Every step of a guard as one atomic script, with one key for each delivery, so that a cluster works.
///
/// The value is the state, the fence, and how long the key outlives its lease: a claim has expired when no more than that is
/// left of the key's time to live.
static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis.lua")));

/// Remembers events in Redis (6.2 or newer) or Valkey, which all receivers share.
///
/// The store may lose a claim: Redis forgets when it restarts without its data, or fails over to a replica that lags behind.
/// The event is then handled again. Fencing tokens begin with the store's time, so they still grow unless its clock goes back.
/// Set `maxmemory-policy noeviction`, or the store forgets under memory pressure. Where an effect must happen exactly once, use a [transaction](super::TransactionalInbox).
///
/// ```no_run
/// use shared_inbox_webhooks::replay::{Handlers, RedisGuard};
///
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// // One connection, shared by all clones; made anew when it breaks. `rediss://` is TLS.
/// let guard = RedisGuard::connect("redis://127.0.0.1:6379").await?;
/// let handlers = Handlers::new(guard);
/// # let _ = handlers;
/// # Ok(())
/// # }
/// ```
///
/// `Handlers::on_store_error` sets what happens while the store is unavailable.
#[derive(Clone)]
pub struct RedisGuard<C = ConnectionManager> {
    connection: C,
    settings: StoreSettings,
}

impl RedisGuard {
    /// Connects to one server. The address is `redis://user:password@host:port/database`, or `rediss://…` for TLS with the
    /// certificates that the system trusts.
    ///
    /// # Errors
    /// When the address is not valid, or no store responds there.
    pub async fn connect(url: &str) -> Result<Self, GuardError> {
        let address = url.into_connection_info().map_err(GuardError::new)?;
        if matches!(address.addr(), ConnectionAddr::TcpTls { .. }) {
            provide_crypto();
        }
        let client = Client::open(address).map_err(GuardError::new)?;
        // The manager reconnects for each request, so there is no need to wait longer inside one.
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_max_delay(Duration::from_millis(250))
            .set_connection_timeout(Some(STORE_TIMEOUT / 2))
            .set_response_timeout(Some(STORE_TIMEOUT));
        let connecting = ConnectionManager::new_with_config(client, config);
        Ok(Self::new(in_time(STORE_TIMEOUT, connecting).await?))
    }
}

/// Installs a crypto provider: rustls panics when several are compiled in and none is installed.
fn provide_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error means that another one was just installed.
        _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
}

impl<C> RedisGuard<C> {
    /// Creates a guard on a connection of yours, such as a `redis::cluster_async::ClusterConnection`: every step uses a single
    /// key.
    pub fn new(connection: C) -> Self {
        Self { connection, settings: StoreSettings::new("shared-inbox:webhook") }
    }

    store_settings!();
}

impl<C: ConnectionLike + Clone + Send + Sync> RedisGuard<C> {
    fn key(&self, delivery: &Delivery) -> String {
        let (endpoint, event) = (delivery.endpoint(), delivery.event());
        // The length separates the endpoint from the event.
        format!("{}:{}:{endpoint}:{event}", self.settings.namespace, endpoint.len())
    }

    async fn step(&self, step: &str, delivery: &Delivery, fence: u64) -> Result<i64, GuardError> {
        let mut call = SCRIPT.key(self.key(delivery));
        call.arg(step)
            .arg(fence)
            .arg(milliseconds(self.settings.lease))
            .arg(milliseconds(self.settings.retention));
        let mut connection = self.connection.clone();
        in_time(self.settings.timeout, call.invoke_async(&mut connection)).await
    }

    async fn held(
        &self,
        step: &str,
        delivery: &Delivery,
        fence: FencingToken,
    ) -> Result<ClaimStatus, GuardError> {
        Ok(if self.step(step, delivery, fence.number()).await? == 1 {
            ClaimStatus::Held
        } else {
            ClaimStatus::Lost
        })
    }
}

fn milliseconds(time: Duration) -> u64 {
    // What the scripts count with has 53 bits; this is a hundred years.
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, 100 * 365 * 24 * 60 * 60 * 1000)
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> ReplayGuard for RedisGuard<C> {
    fn lease_time(&self) -> Duration {
        self.settings.lease
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
        Box::pin(async move {
            Ok(match self.step("claim", delivery, 0).await? {
                -1 => Claim::Done,
                0 => Claim::InProgress,
                fence => granted(delivery, fence, fence < 0),
            })
        })
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.held("renew", delivery, fence))
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.held("commit", delivery, fence))
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.held("release", delivery, fence))
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        Box::pin(async move { Ok(self.step("forget", delivery, 0).await? == 1) })
    }

    fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
        release_later(self.clone(), delivery, fence);
    }
}

impl<C> fmt::Debug for RedisGuard<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisGuard").field("settings", &self.settings).finish_non_exhaustive()
    }
}
