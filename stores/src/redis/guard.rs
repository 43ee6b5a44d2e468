//! A replay guard on Redis or Valkey, for receivers on many machines.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use derive_where::derive_where;
use futures_util::TryFutureExt;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, ConnectionAddr, FromRedisValue, IntoConnectionInfo, Script};
use rustls::crypto::CryptoProvider;

use super::dead_letter::{ClaimedLetter, CountedClaim, DeadLetter, DeadLetterGuard};
use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, GuardFuture, ReplayGuard};
use super::store::{STORE_TIMEOUT, StoreSettings, granted, in_time, release_later, setters, store_settings};

/// Every step of a guard as one atomic script, with keys of one delivery that lie in one slot, so that a cluster works.
///
/// A claim has expired when no more is left of the mark's time to live than it outlives its lease.
static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis.lua")));

/// How many dead letters are read at once.
const PAGE: usize = 100;

/// Remembers events in Redis (6.2 or newer) or Valkey, which all receivers share.
///
/// The store may lose a claim: Redis forgets when it restarts without its data, or fails over to a replica that lags behind.
/// The event is then handled again; a dead letter is gone. Fencing tokens begin with the store's time, so they still grow unless
/// its clock goes back. Set `maxmemory-policy noeviction`, or the store forgets under memory pressure. Where an effect must happen
/// exactly once, use a [transaction](super::TransactionalInbox). `Handlers::on_store_error` sets what happens while the store is
/// unavailable.
#[derive(Clone)]
#[derive_where(Debug)]
pub struct RedisGuard<C = ConnectionManager> {
    #[derive_where(skip)]
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
        // rustls panics when several providers are compiled in and none is installed.
        if matches!(address.addr(), ConnectionAddr::TcpTls { .. }) && CryptoProvider::get_default().is_none()
        {
            // An error means that another one was just installed.
            _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
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

impl<C> RedisGuard<C> {
    /// Creates a guard on a connection of yours, such as a `redis::cluster_async::ClusterConnection`: the keys of a step
    /// lie in one slot.
    pub fn new(connection: C) -> Self {
        Self { connection, settings: StoreSettings::new("shared-inbox:webhook") }
    }

    store_settings!();
}

impl<C: ConnectionLike + Clone + Send + Sync> RedisGuard<C> {
    fn key(&self, delivery: &Delivery) -> String {
        let (endpoint, event) = (delivery.endpoint(), delivery.event());
        // The length separates the endpoint from the event.
        let key = format!("{}:{}:{endpoint}:{event}", self.settings.namespace, endpoint.len());
        // Braces would decide on the slot in a cluster, which is that of the whole key.
        key.replace('%', "%25").replace('{', "%7B").replace('}', "%7D")
    }

    /// Returns the key of the dead letter, in the same slot.
    fn letter_key(&self, delivery: &Delivery) -> String {
        format!("{{{}}}:dead", self.key(delivery))
    }

    /// Returns the key of the sorted set with the keys of all dead letters.
    fn index_key(&self) -> String {
        format!("{}:dead", self.settings.namespace)
    }

    async fn step(
        &self,
        step: &str,
        delivery: &Delivery,
        fence: u64,
        letter: Option<&DeadLetter>,
    ) -> Result<[i64; 4], GuardError> {
        let mut call = SCRIPT.key(self.key(delivery));
        call.key(self.letter_key(delivery))
            .arg(step)
            .arg(fence)
            .arg(milliseconds(self.settings.lease))
            .arg(milliseconds(self.settings.retention));
        if let Some(letter) = letter {
            call.arg("endpoint").arg(delivery.endpoint()).arg("event").arg(delivery.event());
            call.arg("type").arg(delivery.event_type().unwrap_or_default()).arg("body").arg(letter.body());
            call.arg("attempts").arg(letter.attempts()).arg("error").arg(letter.error());
        }
        let mut connection = self.connection.clone();
        in_time(self.settings.timeout, call.invoke_async(&mut connection)).await
    }

    /// Takes a step that holds a claim or removes a dead letter, and returns whether it changed anything.
    async fn change(
        &self,
        step: &str,
        delivery: &Delivery,
        fence: u64,
        letter: Option<&DeadLetter>,
    ) -> Result<bool, GuardError> {
        let [code, removed_letters, ..] = self.step(step, delivery, fence, letter).await?;
        if removed_letters > 0 {
            // A name that is left behind, because the process died, names nothing and is passed over.
            let mut removal = redis::cmd("ZREM");
            let _: i64 = self.query(removal.arg(self.index_key()).arg(self.letter_key(delivery))).await?;
        }
        Ok(code == 1)
    }

    async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, GuardError> {
        let mut connection = self.connection.clone();
        in_time(self.settings.timeout, command.query_async(&mut connection)).await
    }

    /// Reads a dead letter; `None` when there is none.
    async fn letter(&self, key: &str) -> Result<Option<DeadLetter>, GuardError> {
        let mut fields: HashMap<String, Vec<u8>> = self.query(redis::cmd("HGETALL").arg(key)).await?;
        if fields.is_empty() {
            return Ok(None);
        }
        let mut text = |name| String::from_utf8_lossy(&fields.remove(name).unwrap_or_default()).into_owned();
        let mut delivery = Delivery::new(text("endpoint"), text("event"));
        let (event_type, attempts, error) = (text("type"), text("attempts"), text("error"));
        if !event_type.is_empty() {
            delivery = delivery.with_event_type(event_type);
        }
        let delivery = delivery.with_body(fields.remove("body").unwrap_or_default());
        Ok(Some(DeadLetter::new(delivery, attempts.parse().unwrap_or_default(), &error)))
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
        Box::pin(async move { Ok(self.claim_run(delivery).await?.claim) })
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.change("renew", delivery, fence.number(), None).map_ok(ClaimStatus::held_if))
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.change("commit", delivery, fence.number(), None).map_ok(ClaimStatus::held_if))
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.change("release", delivery, fence.number(), None).map_ok(ClaimStatus::held_if))
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        Box::pin(self.change("forget", delivery, 0, None))
    }

    fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
        release_later(self.clone(), delivery, fence);
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> DeadLetterGuard for RedisGuard<C> {
    fn claim_run<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, CountedClaim> {
        Box::pin(async move {
            Ok(match self.step("claim", delivery, 0, None).await? {
                [1, fence, run, lapsed] => granted(delivery, fence, run, lapsed == 1),
                [2, ..] => Claim::Done.into(),
                [3, ..] => Claim::DeadLettered.into(),
                _ => Claim::InProgress.into(),
            })
        })
    }

    fn bury<'a>(&'a self, letter: &'a DeadLetter, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(async move {
            let delivery = letter.delivery();
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            // First the name: one without a letter is passed over, a letter without a name would not be found.
            let mut index = redis::cmd("ZADD");
            // A retry that failed keeps its place.
            index.arg(self.index_key()).arg("NX").arg(now).arg(self.letter_key(delivery));
            let _: i64 = self.query(&index).await?;
            self.change("bury", delivery, fence.number(), Some(letter)).await.map(ClaimStatus::held_if)
        })
    }

    fn claim_dead_letter<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, ClaimedLetter> {
        Box::pin(async move {
            let [1, fence, ..] = self.step("retry", delivery, 0, None).await? else { return Ok(None) };
            // The claim is held, so nobody else changes the letter.
            let letter = self.letter(&self.letter_key(delivery)).await?;
            Ok(letter.map(|letter| (FencingToken::new(fence.unsigned_abs()), letter)))
        })
    }

    fn dead_letters(&self, limit: usize) -> GuardFuture<'_, Vec<DeadLetter>> {
        Box::pin(async move {
            let (mut letters, mut next) = (Vec::new(), 0);
            loop {
                let mut page = redis::cmd("ZRANGE");
                page.arg(self.index_key()).arg(next).arg(next + PAGE - 1);
                let page: Vec<String> = self.query(&page).await?;
                next += page.len();
                for key in &page {
                    if letters.len() == limit {
                        return Ok(letters);
                    }
                    letters.extend(self.letter(key).await?);
                }
                if page.is_empty() {
                    return Ok(letters);
                }
            }
        })
    }

    fn discard<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        Box::pin(self.change("discard", delivery, 0, None))
    }
}
