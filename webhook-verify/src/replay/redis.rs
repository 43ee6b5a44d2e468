//! A replay guard on Redis or Valkey, for receivers on many machines.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, UNIX_EPOCH};

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ConnectionAddr, ErrorKind, IntoConnectionInfo, Script, ServerErrorKind};

use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, GuardFuture, ReplayGuard};
use super::store::{STORE_TIMEOUT, StoreSettings, granted, in_time, release_later, store_settings};

/// One key for each delivery, so that any of them can lie in any slot of a cluster, and one script for every step, so that
/// each is one atomic step. What happens to most events costs the store less: the claim of one that nobody knows is a `SET`
/// with `NX`, and its mark one with `IFEQ`, where the store has that (Valkey 8.1, Redis 8.4).
///
/// The value is the state, the fence, and for how long the key outlives its lease. The store's own clock counts that down: a
/// claim has run out when no more than that is left of the key's life. So no script asks for the time, which some hosted
/// servers refuse, and no two machines need to agree on it.
static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis.lua")));

/// Remembers events in Redis (6.2 or newer) or Valkey, which all receivers share.
///
/// A claim is a lease in a store that may lose it: Redis that is restarted without its data, or fails over to a replica that
/// lags behind, forgets. Fences grow all the same, so that whoever held a claim before cannot commit it after. Give the
/// store `maxmemory-policy noeviction`, or it forgets under pressure. Where an effect must happen exactly once, use a
/// [transaction](super::TransactionalInbox).
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
/// What happens while the store is away is for you to say: see `Handlers::on_store_error`.
#[derive(Clone)]
pub struct RedisGuard<C = ConnectionManager> {
    connection: C,
    settings: StoreSettings,
    /// Whether the store compares values by itself, for all that is known.
    compares: Arc<AtomicBool>,
}

impl RedisGuard {
    /// Connects to one server. The address is `redis://user:password@host:port/database`, or `rediss://…` for TLS with the
    /// certificates that the system trusts.
    ///
    /// # Errors
    /// When the address is not one, or no store responds there.
    pub async fn connect(url: &str) -> Result<Self, GuardError> {
        let address = url.into_connection_info().map_err(GuardError::new)?;
        if matches!(address.addr(), ConnectionAddr::TcpTls { .. }) {
            provide_crypto();
        }
        let client = Client::open(address).map_err(GuardError::new)?;
        // The manager tries again for each request; waiting longer inside of one would only make the service wait.
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_max_delay(Duration::from_millis(250))
            .set_connection_timeout(Some(STORE_TIMEOUT / 2))
            .set_response_timeout(Some(STORE_TIMEOUT));
        let connecting = ConnectionManager::new_with_config(client, config);
        Ok(Self::new(in_time(STORE_TIMEOUT, connecting).await?))
    }
}

/// rustls ends the program when it has several providers to choose from and nobody has chosen.
fn provide_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error means that somebody else has chosen in the same moment.
        _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
}

impl<C> RedisGuard<C> {
    /// A guard on a connection of yours, such as a `redis::cluster_async::ClusterConnection`: every step touches a single
    /// key.
    pub fn new(connection: C) -> Self {
        Self {
            connection,
            settings: StoreSettings::new("shared-inbox:webhook"),
            compares: Arc::new(AtomicBool::new(true)),
        }
    }

    store_settings!();
}

impl<C: ConnectionLike + Clone + Send + Sync> RedisGuard<C> {
    fn key(&self, delivery: &Delivery) -> String {
        let (endpoint, event) = (delivery.endpoint(), delivery.event());
        // The length tells where the endpoint ends, whatever it is called.
        format!("{}:{}:{endpoint}:{event}", self.settings.namespace, endpoint.len())
    }

    /// Claims an event of which the store knows nothing.
    async fn first_claim(&self, delivery: &Delivery, fence: u64) -> Result<bool, GuardError> {
        let life = milliseconds(self.settings.lease) + milliseconds(self.settings.retention);
        let mut call = redis::cmd("SET");
        call.arg(self.key(delivery)).arg(self.value("claimed", fence)).arg("NX").arg("PX").arg(life);
        let mut connection = self.connection.clone();
        in_time(self.settings.timeout, call.query_async(&mut connection)).await
    }

    /// Marks an event that was claimed like this, if the store can compare.
    async fn first_commit(&self, delivery: &Delivery, fence: u64) -> Result<bool, GuardError> {
        if !self.compares.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let mut call = redis::cmd("SET");
        call.arg(self.key(delivery)).arg(self.value("done", fence));
        call.arg("IFEQ").arg(self.value("claimed", fence)).arg("PX").arg(milliseconds(self.settings.retention));
        let mut connection = self.connection.clone();
        let marking = async {
            let marked = call.query_async(&mut connection).await;
            if matches!(&marked, Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::ResponseError))
            {
                self.compares.store(false, Ordering::Relaxed);
                return Ok(false);
            }
            marked
        };
        in_time(self.settings.timeout, marking).await
    }

    /// As the script writes it.
    fn value(&self, state: &str, fence: u64) -> String {
        format!("{state} {fence} {}", milliseconds(self.settings.retention))
    }

    async fn step(&self, step: &str, delivery: &Delivery, fence: u64) -> Result<i64, GuardError> {
        let mut call = SCRIPT.key(self.key(delivery));
        call.arg(step).arg(fence).arg(milliseconds(self.settings.lease)).arg(milliseconds(self.settings.retention));
        let mut connection = self.connection.clone();
        in_time(self.settings.timeout, call.invoke_async(&mut connection)).await
    }

    async fn held(
        &self,
        step: &str,
        delivery: &Delivery,
        fence: FencingToken,
    ) -> Result<ClaimStatus, GuardError> {
        Ok(if self.step(step, delivery, fence.0).await? == 1 { ClaimStatus::Held } else { ClaimStatus::Lost })
    }
}

fn milliseconds(time: Duration) -> u64 {
    // What the scripts count with has 53 bits; this is a hundred years.
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, 100 * 365 * 24 * 60 * 60 * 1000)
}

/// Where fences begin: microseconds since 1970. A store that lost its data gives larger ones than before, although nobody
/// there remembers what came before.
fn first_fence() -> u64 {
    let since = UNIX_EPOCH.elapsed().unwrap_or_default().as_micros();
    u64::try_from(since).unwrap_or_default()
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> ReplayGuard for RedisGuard<C> {
    fn lease_time(&self) -> Duration {
        self.settings.lease
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
        Box::pin(async move {
            let fence = first_fence();
            if self.first_claim(delivery, fence).await? {
                return Ok(Claim::Granted(FencingToken(fence)));
            }
            Ok(match self.step("claim", delivery, fence).await? {
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
        Box::pin(async move {
            match self.first_commit(delivery, fence.0).await? {
                true => Ok(ClaimStatus::Held),
                false => self.held("commit", delivery, fence).await,
            }
        })
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
