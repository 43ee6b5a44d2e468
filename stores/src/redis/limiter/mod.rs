//! The rate limit of a key that many processes and machines share: slots are reserved in Redis or Valkey by
//! one script, which uses the store's clock.

mod acquire;
mod batcher;
mod rules;
mod script;
mod state;

use std::collections::HashMap;
use std::fmt;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shared_inbox::__spec::limits;
use shared_inbox::clock::BoxFuture;
use shared_inbox::rate_limit::{AcquireRequest, KeyFingerprint, LimitError, Permit, RateLimiter};

use super::connection::{Link, MAX_LIMIT, MIN_LIMIT, StoreError};
use acquire::acquire;
use batcher::Batcher;
use rules::Rules;
use script::Batch;
use state::KeyState;

/// How long to wait for a response before the store counts as away.
pub(super) const STEP_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest window.
const MAX_WINDOW: Duration = Duration::from_secs(86_400);

/// Keeps the limit in any 60 seconds for all processes and machines that use the same key and the same store:
/// Redis 6.2 or newer, or Valkey.
///
/// Made by [`Redis::limiter`](super::Redis::limiter).
///
/// Slots are reserved as by [`MemoryLimiter`](shared_inbox::rate_limit::MemoryLimiter), first come, first
/// served among all processes, with one script call each; only bulk calls may need more. A process that dies
/// loses its own slots only.
///
/// The store keeps one string for each API key, named by its [hash](KeyFingerprint), and for two minutes the
/// number of the last report of a process that gave a slot back. Clients with different keys can share a
/// limiter (pass an `Arc`), and so can runtimes.
///
/// # When the store is away
///
/// Slots of the next ten seconds are used. Other calls wait until the store is back. If it stays away until
/// all slots that were used have stopped counting, this process continues without it, up to its
/// [share](LimiterBuilder::share) in any 60 seconds. That takes 106 seconds at most, and longer only while a
/// request of this process that may take longer than half a minute is under way. A store that returns after
/// that counts as full for a minute; so does one that is empty, new, or has lost state. Both are logged
/// through `tracing`, once.
///
/// `docs/scaling.md` lists the faults that the limit survives.
pub struct RedisLimiter {
    link: Link,
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
        let start = || Batcher::start(name(key), self.rules, self.share, self.link.clone(), is_new);
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

/// Settings of a [`RedisLimiter`]. Awaiting it checks whether the store can do what is needed, and returns
/// the limiter.
///
/// All processes that share a key must have the same window. While their limits differ, as during a
/// deployment, they send no more than the largest one allows.
///
/// # Errors
///
/// When the limit cannot be kept, or the store refuses what is needed. A store that cannot be reached now is
/// no error: the limiter then [starts without it](RedisLimiter#when-the-store-is-away), and logs that.
#[must_use = "it is a limiter once it is awaited"]
pub struct LimiterBuilder {
    link: Link,
    window: Duration,
    limit: u32,
    share: Option<u32>,
}

impl LimiterBuilder {
    pub(super) fn new(link: Link) -> Self {
        Self { link, window: limits::RATE_WINDOW, limit: limits::REQUESTS_PER_MINUTE, share: None }
    }

    /// Sets how many requests all processes together may send in any 60 seconds: 120 by default, at least 2
    /// and at most 1,000.
    pub fn limit(mut self, requests: u32) -> Self {
        self.limit = requests;
        self
    }

    /// Sets how many requests this process may send in any 60 seconds while the store is away: a tenth of the
    /// limit by default, which is right for ten processes. With 0 it sends none before the store is back.
    pub fn share(mut self, requests: u32) -> Self {
        self.share = Some(requests);
        self
    }

    /// Sets the window over which the service counts: 60 seconds by default. For tests against a mock that
    /// counts over less.
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window.clamp(Duration::from_millis(60), MAX_WINDOW);
        self
    }

    async fn build(self) -> Result<RedisLimiter, StoreError> {
        let rules = self.rules()?;
        if !self.link.probe().await? {
            tracing::warn!("the store of the rate limit cannot be reached");
        }
        let share = self.share.unwrap_or((self.limit / 10).max(1)).min(self.limit);
        let connected_at = Instant::now();
        let keys = Mutex::new(Keys { states: HashMap::new(), swept_at: connected_at });
        Ok(RedisLimiter { link: self.link, rules, share, connected_at, keys })
    }

    /// Declares that the key was not used for a minute, so that a store which does not know it need not count
    /// as full for its first minute. Returns whether the store did not know it.
    ///
    /// For an operator who sets up a store. No program should call this when it starts: it would take a store
    /// that has lost its state for a new one.
    ///
    /// # Errors
    ///
    /// As awaiting the builder, and when the store cannot be reached.
    pub async fn declare_unused(self, key: impl Into<Option<KeyFingerprint>>) -> Result<bool, StoreError> {
        let rules = self.rules()?;
        if !self.link.probe().await? {
            return Err(StoreError::Unreachable);
        }
        let name = name(key.into());
        let batch = Batch { hold: -1, reports_name: &name, ..Batch::default() };
        let reply = batch.send(&self.link, &name, rules).await;
        Ok(reply.map_err(|_| StoreError::Unreachable)?.is_some_and(|reply| reply.lost_slots))
    }

    fn rules(&self) -> Result<Rules, StoreError> {
        if !(MIN_LIMIT..=MAX_LIMIT).contains(&self.limit) {
            return Err(StoreError::Limit { limit: self.limit });
        }
        Ok(Rules { window: u64::try_from(self.window.as_millis()).unwrap_or_default(), limit: self.limit })
    }
}

impl IntoFuture for LimiterBuilder {
    type Output = Result<RedisLimiter, StoreError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.build())
    }
}

impl fmt::Debug for LimiterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimiterBuilder").field("limit", &self.limit).finish_non_exhaustive()
    }
}
