//! The state of one API key in this process.
//!
//! A slot is used by this process's own clock. Three rules keep the limit:
//! - While calls wait, the store is checked every few seconds. A store that has lost slots counts as full
//!   until they no longer count, and they are reserved again.
//! - A slot is used only within ten seconds after the store's last reply (`KeyState::trust`). So whoever
//!   loses the store knows when the slots of all processes have been used, however far ahead others have
//!   reserved since its own last reply.
//! - A process that loses the store reserves nothing until these slots have stopped counting. Then it sends
//!   its share, and reports that to the store later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::RedisError;
use shared_inbox::rate_limit::{AcquireRequest, MemoryLimiter, Permit, PermitOutcome, Priority, RateLimiter};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep_until;

use super::rules::Rules;
use super::script::{Reply, Report, StoredSlot, millis};
use crate::redis::connection::Link;

/// The longest request.
const MAX_HOLD: Duration = Duration::from_secs(86_400);

pub(super) struct KeyState {
    pub(super) name: String,
    pub(super) rules: Rules,
    pub(super) link: Link,
    /// Since when the store is away.
    pub(super) away: watch::Sender<Option<Instant>>,
    messages: mpsc::UnboundedSender<Message>,
    known: Mutex<Known>,
    /// Counts while the store is away.
    share: (u32, MemoryLimiter),
    bulk: tokio::sync::Mutex<()>,
}

/// The store's last reply, and the requests of this process.
struct Known {
    at: Instant,
    generation: i64,
    closed_until: Instant,
    /// Requests in flight, and when each has ended at the latest.
    running: HashMap<u64, (LocalSlot, Instant)>,
    permits: u64,
    used_at: Instant,
    /// The longest time of a request so far.
    max_hold: Duration,
}

/// A slot on this process's clock, at the earliest and at the latest.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalSlot {
    pub(super) stored: StoredSlot,
    pub(super) earliest: Instant,
    pub(super) due: Instant,
}

/// Why no slot was reserved.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refusal {
    /// The caller would have to wait this long, which is too long.
    TooLong { wait: Duration },
    /// A bulk call may not reserve so far ahead, and tries again after this time.
    ComeBack { after: Duration },
}

impl LocalSlot {
    /// Counts its request from `now` on.
    fn postpone(&mut self, now: Instant) -> Report {
        let (slot, to) = (self.stored, self.stored.at + millis(now.duration_since(self.earliest)));
        (self.stored.at, self.earliest) = (to, now);
        Report::Slot { slot, used_at: Some(to) }
    }
}

impl KeyState {
    pub(super) fn new(
        name: String,
        rules: Rules,
        share: u32,
        link: Link,
        messages: mpsc::UnboundedSender<Message>,
    ) -> Self {
        let own = MemoryLimiter::with_window(share.max(1), Duration::from_millis(rules.window));
        let now = Instant::now();
        let known = Known {
            at: now,
            generation: 0,
            closed_until: now,
            running: HashMap::new(),
            permits: 0,
            used_at: now,
            max_hold: Duration::ZERO,
        };
        Self {
            name,
            rules,
            link,
            away: watch::Sender::new(None),
            messages,
            known: Mutex::new(known),
            share: (share, own),
            bulk: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.away.borrow().is_some()
    }

    /// Returns whether the key was not used for two windows.
    pub(super) fn is_idle(self: &Arc<Self>) -> bool {
        let unused = Duration::from_millis(2 * self.rules.window);
        Arc::strong_count(self) == 1 && !self.is_away() && self.known().used_at.elapsed() > unused
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // No code panics while it holds the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the store's reply.
    pub(super) fn record(&self, reply: &Reply, sent_at: Instant) {
        let (mut known, now) = (self.known(), Instant::now());
        (known.at, known.generation) = (sent_at, reply.generation);
        known.closed_until = known.closed_until.max(now + reply.closed_for);
    }

    /// Counts slow requests in flight from now on: they may not have reached the service yet.
    pub(super) fn running_late(&self) -> Vec<Report> {
        let (mut known, now) = (self.known(), Instant::now());
        known.running.retain(|_, (_, latest)| now < *latest);
        let late = known.running.values_mut().filter(|(slot, _)| self.is_late(slot, now));
        late.map(|(slot, _)| slot.postpone(now)).collect()
    }

    fn is_late(&self, slot: &LocalSlot, now: Instant) -> bool {
        now > slot.earliest + Duration::from_millis(self.rules.slack())
    }

    /// Returns how long after the store's last reply a slot is used: one of the checks in between may fail.
    fn trust(&self) -> Duration {
        // A reply that comes in time can be used in any case.
        Duration::from_millis(2 * self.rules.near()).max(self.link.timeout)
    }

    /// Sends the request with the next batch, and waits until `ends` while it is away. Without a priority, it
    /// only checks that the store can be reached.
    async fn ask(&self, priority: Option<Priority>, ends: Instant) -> Result<StoreReservation, Refusal> {
        let (tell, told) = oneshot::channel();
        _ = self.messages.send(Message::Question(Question { priority, ends, tell }));
        let mut away = self.away.subscribe();
        let too_long = Refusal::TooLong { wait: Duration::from_millis(self.rules.span()) };
        tokio::select! {
            biased;
            answer = told => answer.unwrap_or(Err(too_long)),
            () = async {
                _ = away.wait_for(Option::is_some).await;
                sleep_until(ends.into()).await;
            } => Err(too_long),
        }
    }

    /// Acquires a permit from the share of this process, while the store is away.
    pub(super) async fn use_share(&self, request: AcquireRequest) -> Permit {
        let mut away = self.away.subscribe();
        loop {
            _ = away.wait_for(|away| away.is_some() && self.share.0 > 0).await;
            tokio::select! {
                biased;
                Ok(permit) = self.share.1.acquire(request) => {
                    self.tell(Report::Sent { at: Instant::now() });
                    return permit;
                }
                _ = away.changed() => {}
            }
        }
    }

    /// Records that the store has failed. Others may have had a reply until now, or a moment longer.
    pub(super) fn lost(&self, error: &RedisError, failures: u32) {
        let now = Instant::now();
        let used = Duration::from_millis(self.rules.near()) + self.trust();
        let under_way = {
            let known = self.known();
            // Requests of others take as long as ours, but no longer than half a window; ours are known.
            let others = known.max_hold.min(Duration::from_millis(self.rules.window / 2));
            let ours = known.running.values().map(|(_, latest)| latest.saturating_duration_since(now)).max();
            ours.unwrap_or_default().max(others)
        };
        self.away.send_if_modified(|away| {
            let first = away.is_none();
            if first {
                // Before a caller can see that it is away and use the share.
                let counted = Duration::from_millis(self.rules.span());
                self.share.1.pause_until(now + used + under_way + counted);
                *away = Some(now);
            }
            first
        });
        if failures == 2 {
            tracing::warn!(
                reason = error.category(),
                share = self.share.0,
                "the store of the rate limit is away: calls wait until the slots that it gave out no longer count, then this \
                 process sends no more than its share"
            );
        }
    }

    fn tell(&self, report: Report) {
        _ = self.messages.send(Message::Report(report));
    }

    fn end(&self, id: u64, outcome: PermitOutcome) {
        let (mut known, now) = (self.known(), Instant::now());
        let Some((mut slot, _)) = known.running.remove(&id) else { return };
        if outcome == PermitOutcome::GivenUp {
            self.tell(Report::Slot { slot: slot.stored, used_at: None });
        } else if self.is_late(&slot, now) {
            self.tell(slot.postpone(now));
        }
        if let PermitOutcome::Throttled { retry_after, .. } = outcome {
            known.closed_until = known.closed_until.max(now + retry_after.unwrap_or_default().min(MAX_HOLD));
            self.tell(Report::Throttled { retry_after });
        }
    }
}

/// A message of a [`KeyState`] to its batcher.
pub(super) enum Message {
    Question(Question),
    Report(Report),
}

/// Requests a slot from the store.
pub(super) struct Question {
    /// `None` only checks whether the store can be reached.
    pub(super) priority: Option<Priority>,
    pub(super) ends: Instant,
    pub(super) tell: oneshot::Sender<Result<StoreReservation, Refusal>>,
}

/// A slot. Dropping it gives it back unless it was used.
pub(super) struct StoreReservation(pub(super) Arc<KeyState>, pub(super) Option<LocalSlot>);

impl Drop for StoreReservation {
    fn drop(&mut self) {
        if let Some(slot) = self.1 {
            self.0.tell(Report::Slot { slot: slot.stored, used_at: None });
        }
    }
}

impl KeyState {
    /// Reserves a slot before `ends`.
    pub(super) async fn reserve(
        &self,
        request: &AcquireRequest,
        ends: Instant,
    ) -> Result<StoreReservation, Refusal> {
        {
            let mut known = self.known();
            known.used_at = Instant::now();
            known.max_hold = known.max_hold.max(request.max_hold.min(MAX_HOLD));
        }
        self.ask(Some(request.priority), ends).await
    }

    /// Waits for a slot. Returns `None` when it can no longer be used and another is needed.
    pub(super) async fn claim(
        self: &Arc<Self>,
        mut held: StoreReservation,
        request: &AcquireRequest,
    ) -> Option<Permit> {
        let slot = held.1?;
        loop {
            let check = self.known().at + Duration::from_millis(self.rules.near());
            if slot.due <= Instant::now() {
                // A timer would take a millisecond.
                break;
            }
            if self.is_away() || check >= slot.due {
                sleep_until(slot.due.into()).await;
                break;
            }
            sleep_until(check.into()).await;
            _ = self.ask(None, slot.due).await;
        }
        let (mut known, now) = (self.known(), Instant::now());
        let late =
            now > slot.due + Duration::from_millis(self.rules.slack()) || now > known.at + self.trust();
        if late || known.generation != slot.stored.generation || known.closed_until > now {
            return None;
        }
        let id = known.permits;
        known.permits += 1;
        known.running.insert(id, (slot, now + request.max_hold.min(MAX_HOLD)));
        held.1 = None;
        let state = Arc::clone(self);
        Some(Permit::new(move |outcome| state.end(id, outcome)))
    }

    pub(super) fn bulk_queue(&self) -> &tokio::sync::Mutex<()> {
        &self.bulk
    }
}
