//! One API key, as this process sees it.
//!
//! A slot is used by this process's own clock, even while the store is away. The limit holds, by these rules:
//! - While calls wait, the store is heard every few seconds. One that has lost slots says so, counts as full until they no
//!   longer count, and they are reserved anew.
//! - Whoever loses the store reserves nothing until all slots that it gave out have stopped counting. Then this process sends
//!   its share, and tells the store when that is back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::RedisError;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep_until;

use super::batcher::{Batcher, Question};
use super::connection::{self, Connection};
use super::script::Report;
use crate::client::policy::clock::{Clock, TokioClock};
use crate::client::policy::limiter::acquire::{BulkQueue, Reservation, Slots};
use crate::client::policy::limiter::places::Rules;
use crate::client::policy::limiter::{
    AcquireRequest, LimitError, MemoryLimiter, Permit, PermitOutcome, Priority, RateLimiter,
};

/// No request takes longer.
pub(super) const MAX_HOLD: Duration = Duration::from_secs(86_400);

pub(super) struct KeyState {
    pub(super) name: String,
    pub(super) rules: Rules,
    pub(super) connection: Arc<Connection>,
    /// Since when the store is away, if it is.
    pub(super) away: watch::Sender<Option<Instant>>,
    pub(super) runtime: Handle,
    batcher: Mutex<Batcher>,
    /// Requests that have not ended, and when they will have at the latest.
    running: Mutex<HashMap<u64, (Slot, Instant)>>,
    /// Counts while the store is away.
    share: (u32, MemoryLimiter),
    bulk: BulkQueue,
}

/// A slot as the store gave it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) place: usize,
    pub(super) generation: i64,
    /// By the store's clock.
    pub(super) at: i64,
    /// By our own, at the earliest and at the latest.
    pub(super) earliest: Instant,
    pub(super) due: Instant,
}

/// What the store said to a question.
pub(super) enum Answer {
    Slot(Slot),
    TooLong(Duration),
    ComeBack(Duration),
    /// It was only asked whether it is there.
    Heard,
}

impl KeyState {
    pub(super) fn new(
        name: String,
        rules: Rules,
        share: u32,
        connection: Arc<Connection>,
        is_new: bool,
    ) -> Self {
        let limiter =
            MemoryLimiter::with_rules(Rules { limit: share.max(1) as usize, ..rules }, Arc::new(TokioClock));
        Self {
            name,
            rules,
            connection,
            away: watch::Sender::new(None),
            runtime: Handle::current(),
            batcher: Mutex::new(Batcher::new(is_new)),
            running: Mutex::default(),
            share: (share, limiter),
            bulk: BulkQueue::default(),
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.away.borrow().is_some()
    }

    /// Whether the key was not used for two windows, and nothing is left to be told.
    pub(super) fn is_idle(&self) -> bool {
        let unused = Duration::from_millis(2 * self.rules.window);
        !self.is_away() && self.running().is_empty() && self.batcher().is_idle_for(unused)
    }

    pub(super) fn batcher(&self) -> MutexGuard<'_, Batcher> {
        // No code panics while it holds the lock.
        self.batcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u64, (Slot, Instant)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that have been running for long have not arrived yet, for all that is known.
    pub(super) fn running_late(&self) -> Vec<Report> {
        let (now, slack) = (Instant::now(), Duration::from_millis(self.rules.slack()));
        let mut running = self.running();
        running.retain(|_, (_, latest)| now < *latest);
        let late = running.values().filter(|(slot, _)| now > slot.earliest + slack);
        late.map(|(slot, _)| Report::Postponed { place: slot.place, at: now }).collect()
    }

    /// Asks the store, with the next batch. While that is away, for as long as there is time.
    async fn ask(self: &Arc<Self>, priority: Option<Priority>, ends: Instant) -> Answer {
        let (tell, mut told) = oneshot::channel();
        self.batcher().questions.push_back(Question { priority, ends, tell });
        self.wake();
        let mut away = self.away.subscribe();
        loop {
            let is_away = away.borrow_and_update().is_some();
            tokio::select! {
                biased;
                answer = &mut told => return answer.unwrap_or(Answer::TooLong(self.span())),
                () = sleep_until(ends.into()), if is_away => return Answer::TooLong(self.span()),
                _ = away.changed() => {}
            }
        }
    }

    /// Sends by the share of this process, while the store is away.
    pub(super) async fn use_share(self: &Arc<Self>, request: AcquireRequest) -> Permit {
        let mut away = self.away.subscribe();
        loop {
            if away.borrow_and_update().is_some() && self.share.0 > 0 {
                tokio::select! {
                    biased;
                    Ok(permit) = self.share.1.acquire(request) => {
                        self.tell(Report::Sent { at: Instant::now() });
                        return permit;
                    }
                    _ = away.changed() => {}
                }
            } else if away.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The store has failed: for all that is known, others still reserved slots until now.
    pub(super) fn lost(&self, error: &RedisError) {
        let now = Instant::now();
        let wait = self.batcher().slots_given_out(Duration::from_millis(self.rules.near())) + self.span();
        self.away.send_if_modified(|away| {
            let first = away.is_none();
            if first {
                // Before anybody can see that it is away, and use the share.
                self.share.1.close_until(now + wait);
                *away = Some(now);
                tracing::debug!(
                    reason = connection::kind(error),
                    "the store of the rate limit failed; trying again"
                );
            }
            first
        });
    }

    /// Says once that the store stays away.
    pub(super) fn say_away(&self, error: &RedisError) {
        tracing::warn!(
            reason = connection::kind(error),
            share = self.share.0,
            "the store of the rate limit is away: calls wait until the slots that it gave out no longer count, then this \
             process sends no more than its share"
        );
    }

    fn tell(self: &Arc<Self>, report: Report) {
        self.batcher().reports.push(report);
        self.wake();
    }

    fn ended(self: &Arc<Self>, id: u64, outcome: PermitOutcome) {
        let now = Instant::now();
        let Some((slot, _)) = self.running().remove(&id) else { return };
        match outcome {
            PermitOutcome::GivenUp => self.tell(Report::GivenBack { place: slot.place, at: slot.at }),
            _ if now > slot.earliest + Duration::from_millis(self.rules.slack()) => {
                self.tell(Report::Postponed { place: slot.place, at: now });
            }
            _ => {}
        }
        if let PermitOutcome::Throttled { retry_after } = outcome {
            self.batcher().close_for(retry_after.unwrap_or_default());
            self.tell(Report::Throttled { retry_after });
        }
    }

    fn span(&self) -> Duration {
        Duration::from_millis(self.rules.span())
    }
}

/// A slot that is given back unless it is used.
pub(super) struct Held(Arc<KeyState>, Option<Slot>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(Slot { place, at, .. }) = self.1 {
            self.0.tell(Report::GivenBack { place, at });
        }
    }
}

impl Slots for Arc<KeyState> {
    type Slot = Held;

    async fn reserve(
        &self,
        request: &AcquireRequest,
        ends: Instant,
    ) -> Result<Reservation<Held>, LimitError> {
        self.batcher().note_use(request.max_hold);
        Ok(match self.ask(Some(request.priority), ends).await {
            Answer::Slot(slot) => Reservation::Reserved(Held(Self::clone(self), Some(slot))),
            // Not all processes at once, or the nearest would always be first.
            Answer::ComeBack(after) => {
                Reservation::ComeBack { after: after + self.batcher().jitter(self.rules.near() / 2) }
            }
            Answer::TooLong(wait) => Reservation::TooLong { wait },
            Answer::Heard => Reservation::TooLong { wait: self.span() },
        })
    }

    async fn claim(&self, mut held: Held, request: &AcquireRequest) -> Option<Permit> {
        let slot = held.1?;
        loop {
            let check = self.batcher().heard_at() + Duration::from_millis(self.rules.near());
            if self.is_away() || check >= slot.due {
                sleep_until(slot.due.into()).await;
                break;
            }
            sleep_until(check.into()).await;
            self.ask(None, slot.due).await;
        }
        let mut batcher = self.batcher();
        let now = Instant::now();
        let late = now > slot.due + Duration::from_millis(self.rules.slack());
        if late || !batcher.is_valid(slot.generation, now) {
            return None;
        }
        let id = batcher.next_permit();
        drop(batcher);
        self.running().insert(id, (slot, now + request.max_hold.min(MAX_HOLD)));
        held.1 = None;
        let state = Self::clone(self);
        Some(Permit::new(move |outcome| state.ended(id, outcome)))
    }

    fn clock(&self) -> &dyn Clock {
        &TokioClock
    }

    fn bulk_queue(&self) -> &BulkQueue {
        &self.bulk
    }
}
