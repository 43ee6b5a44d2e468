//! A replay guard on Redis or Valkey, for receivers on many machines.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::TryFutureExt;
use redis::{Cmd, FromRedisValue, Script};
use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, ClaimedLetter, CountedClaim, DeadLetter, DeadLetterGuard, Delivery, FencingToken,
    GuardError, GuardFuture, ReplayGuard,
};

use super::connection::Link;
use crate::guard_settings::{GuardSettings, granted, guard_settings, held_if, in_time, release_later};

/// Every step of a guard as one atomic script, with keys of one delivery that lie in one slot, so that a
/// cluster works.
///
/// A claim has expired when no more is left of the mark's time to live than it outlives its lease.
static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("guard.lua")));

/// How many dead letters are read at once.
const PAGE: usize = 100;

/// Remembers events in Redis (6.2 or newer), Valkey, or a cluster of them, which all receivers share:
/// [`Redis::guard`](super::Redis::guard).
///
/// The store may lose a claim: Redis forgets when it restarts without its data, or fails over to a replica
/// that lags behind. The event is then handled again; a dead letter is gone. Fencing tokens begin with the
/// store's time, so they still grow unless its clock goes back. Set `maxmemory-policy noeviction`, or the
/// store forgets under memory pressure. Where an effect must happen exactly once, use a
/// [transaction](shared_inbox_webhooks::replay::TransactionalInbox). `Handlers::on_store_error` sets what
/// happens while the store is unavailable.
#[derive(Clone)]
pub struct RedisGuard {
    link: Link,
    /// How long a step may take, with waiting for a connection.
    timeout: Duration,
    settings: GuardSettings,
}

impl RedisGuard {
    pub(super) fn new(link: Link, settings: GuardSettings) -> Self {
        // A response that is late is noticed, and the connection made anew, before the whole step has taken
        // too long.
        let (timeout, link) = (link.timeout, Link { timeout: link.timeout * 9 / 10, ..link });
        Self { link, timeout, settings }
    }

    guard_settings!();

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
        in_time(self.timeout, self.link.run(&call)).await
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
        in_time(self.timeout, self.link.query(command)).await
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

impl ReplayGuard for RedisGuard {
    fn lease_time(&self) -> Duration {
        self.settings.lease
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
        Box::pin(async move { Ok(self.claim_run(delivery).await?.claim) })
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.change("renew", delivery, fence.number(), None).map_ok(held_if))
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.change("commit", delivery, fence.number(), None).map_ok(held_if))
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(self.change("release", delivery, fence.number(), None).map_ok(held_if))
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        Box::pin(self.change("forget", delivery, 0, None))
    }

    fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
        release_later(self.clone(), delivery, fence);
    }
}

impl DeadLetterGuard for RedisGuard {
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
            // First the name: one without a letter is passed over, a letter without a name would not be
            // found.
            let mut index = redis::cmd("ZADD");
            // A retry that failed keeps its place.
            index.arg(self.index_key()).arg("NX").arg(now).arg(self.letter_key(delivery));
            let _: i64 = self.query(&index).await?;
            self.change("bury", delivery, fence.number(), Some(letter)).await.map(held_if)
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

impl fmt::Debug for RedisGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisGuard").field("settings", &self.settings).finish_non_exhaustive()
    }
}
