//! One key, as this process sees it: whether its store is there, who waits, and what the store has yet to be told.
//!
//! The promise holds when the store goes and when it comes back, by three rules:
//! - Whoever loses the store sends nothing until all that the store let through has stopped counting: the longest time of a
//!   request and a minute. Then it sends its share.
//! - What was sent without the store is told when it is back.
//! - A store that nobody was heard by for a minute, or that knows nothing, counts as full for a minute.

mod desk;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use redis::RedisError;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use self::desk::Desk;
use super::exchange::{Question, Report, Verdict, What, request};
use super::link::{self, Link};
use crate::client::policy::clock::TokioClock;
use crate::client::policy::limiter::window::Measure;
use crate::client::policy::limiter::{
    AcquireRequest, LimitError, MemoryLimiter, Permit, PermitOutcome, RateLimiter,
};

/// So many are told at once.
const MOST_REPORTS: usize = 256;
/// Not before the store is back.
const NEVER: Duration = Duration::from_secs(365 * 86_400);

/// What a limiter keeps to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) measure: Measure,
    pub(super) limit: u32,
    pub(super) share: u32,
    pub(super) new: bool,
}

pub(super) struct Slot {
    name: String,
    terms: Terms,
    link: Arc<Link>,
    /// Counts while the store is away.
    local: MemoryLimiter,
    /// Since when the store is away, if it is.
    away: watch::Sender<Option<Instant>>,
    lines: [Line; 3],
    desk: Mutex<Desk>,
    state: Mutex<State>,
    /// There is something to tell, or to find out.
    work: Arc<Notify>,
    /// Tells the requests of this process from those of others.
    nonce: String,
    requests: AtomicU64,
    runtime: Handle,
}

struct State {
    reports: Vec<Report>,
    /// When the store last answered.
    heard: Option<Instant>,
    /// The longest time of a request so far.
    longest: Duration,
    /// It was said that the store is away.
    said: bool,
}

/// Those of one lane who wait in this process. Only the first asks the store.
#[derive(Default)]
struct Line {
    waiting: AtomicUsize,
    turn: tokio::sync::Mutex<()>,
    /// When the store said to come again.
    hint: Mutex<Option<Instant>>,
}

impl Line {
    fn hint(&self) -> MutexGuard<'_, Option<Instant>> {
        self.hint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn until_hint(&self) -> Duration {
        self.hint().map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()))
    }
}

enum Asked {
    Granted(Permit),
    Wait(Duration),
    /// The store is away.
    Away,
}

impl Slot {
    /// Works until the last of its users is gone.
    pub(super) fn start(key: &str, terms: Terms, link: Arc<Link>) -> Arc<Self> {
        let mut nonce = String::new();
        _ = write!(nonce, "{:x}", random());
        let slot = Arc::new(Self {
            name: format!("shared-inbox:rate:{{{key}}}"),
            terms,
            link,
            local: MemoryLimiter::over(terms.measure, terms.share, Arc::new(TokioClock)),
            away: watch::Sender::new(None),
            lines: Default::default(),
            desk: Mutex::default(),
            state: Mutex::new(State {
                reports: Vec::new(),
                heard: None,
                longest: Duration::ZERO,
                said: false,
            }),
            work: Arc::default(),
            nonce,
            requests: AtomicU64::new(0),
            runtime: Handle::current(),
        });
        tokio::spawn(Self::work(Arc::downgrade(&slot), Arc::clone(&slot.work), terms.measure.slack()));
        slot
    }

    pub(super) fn is_away(&self) -> bool {
        self.away.borrow().is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn acquire(self: Arc<Self>, ask: AcquireRequest) -> Result<Permit, LimitError> {
        {
            let mut state = self.state();
            state.longest = state.longest.max(ask.max_hold);
        }
        let begun = Instant::now();
        let mut away = self.away.subscribe();
        loop {
            let left = ask.max_wait.saturating_sub(begun.elapsed());
            let is_away = away.borrow_and_update().is_some();
            let got = if is_away {
                tokio::select! {
                    got = self.without_store(ask, left) => got.map(Some),
                    _ = away.changed() => Ok(None),
                }
            } else {
                tokio::select! {
                    got = self.through_store(ask, begun) => got,
                    _ = away.changed() => Ok(None),
                }
            };
            if let Some(permit) = got? {
                return Ok(permit);
            }
        }
    }

    /// While the store is away, by the share of this process. Whoever has no place waits on: the store may come back.
    async fn without_store(
        self: &Arc<Self>,
        ask: AcquireRequest,
        left: Duration,
    ) -> Result<Permit, LimitError> {
        let until = Instant::now() + left;
        let permit = match self.local.acquire(ask.max_wait(left)).await {
            Ok(permit) => permit,
            Err(busy) => {
                tokio::time::sleep_until(until.into()).await;
                return Err(busy);
            }
        };
        let (slot, id, since) = (Arc::clone(self), self.next_id(), Instant::now());
        let request = request(ask.priority, &id);
        let what = What::Sent { at: since, lasts: ask.max_hold };
        self.tell(Report { request: request.clone(), what }, false);
        Ok(Permit::new(move |ending| {
            match ending {
                PermitOutcome::GivenUp => permit.give_up(),
                PermitOutcome::Throttled { retry_after } => permit.throttled(retry_after),
                _ => permit.finished(),
            }
            slot.ended(request, since, 0, ending);
        }))
    }

    /// None when the store has gone.
    async fn through_store(
        self: &Arc<Self>,
        ask: AcquireRequest,
        begun: Instant,
    ) -> Result<Option<Permit>, LimitError> {
        let line = &self.lines[ask.priority as usize];
        let left = || ask.max_wait.saturating_sub(begun.elapsed());
        if line.waiting.load(Ordering::Relaxed) == 0 {
            match self.ask(ask, begun, false).await {
                Asked::Granted(permit) => return Ok(Some(permit)),
                Asked::Away => return Ok(None),
                Asked::Wait(wait) if wait > left() => return Err(LimitError::Busy { wait }),
                Asked::Wait(wait) => {
                    let at = Instant::now() + wait;
                    let mut hint = line.hint();
                    *hint =
                        Some(hint.filter(|known| *known > Instant::now()).map_or(at, |known| known.min(at)));
                }
            }
        }
        let ahead = line.waiting.load(Ordering::Relaxed);
        let laps = u32::try_from(ahead / self.terms.limit.max(1) as usize).unwrap_or(u32::MAX >> 8);
        let wait = line.until_hint() + self.terms.measure.span() * laps;
        if wait > left() || left().is_zero() {
            return Err(LimitError::Busy { wait: wait.max(Duration::from_millis(1)) });
        }
        let _waiting = Waiting::of(line);
        let Ok(_turn) = tokio::time::timeout(left(), line.turn.lock()).await else {
            return Err(LimitError::Busy { wait: line.until_hint().max(Duration::from_millis(1)) });
        };
        loop {
            // Looks in now and then: whoever was to come before may have gone.
            let wait = line.until_hint().min(self.terms.measure.window / 12);
            if wait > left() {
                tokio::time::sleep(left()).await;
                return Err(LimitError::Busy { wait: line.until_hint().max(Duration::from_millis(1)) });
            }
            if !wait.is_zero() {
                tokio::time::sleep(wait + self.jitter()).await;
            }
            let more = line.waiting.load(Ordering::Relaxed) > 1;
            match self.ask(ask, begun, more).await {
                Asked::Granted(permit) => {
                    *line.hint() = None;
                    return Ok(Some(permit));
                }
                Asked::Away => return Ok(None),
                Asked::Wait(wait) if wait > left() => return Err(LimitError::Busy { wait }),
                Asked::Wait(wait) => *line.hint() = Some(Instant::now() + wait),
            }
        }
    }

    /// One question to the store. If the answer is not waited for, or does not come, the place is given back.
    async fn ask(self: &Arc<Self>, ask: AcquireRequest, begun: Instant, more: bool) -> Asked {
        let id = self.next_id();
        let request = request(ask.priority, &id);
        let waited = begun.elapsed();
        let patience = ask.max_wait.saturating_sub(waited);
        // It is counted between now and the answer.
        let since = Instant::now();
        let mut unsure = GiveBack { slot: self, request: Some(request) };
        let question = Question { ask, id, patience, waited, more };
        match self.put(question).await {
            Some(Verdict::Wait(wait)) => {
                unsure.request = None;
                Asked::Wait(wait)
            }
            Some(Verdict::Go(granted)) => {
                let request = unsure.request.take().unwrap_or_default();
                let slot = Arc::clone(self);
                Asked::Granted(Permit::new(move |ending| slot.ended(request, since, granted, ending)))
            }
            None => Asked::Away,
        }
    }

    fn ended(&self, request: String, begun: Instant, granted: u64, ending: PermitOutcome) {
        let ended = Instant::now();
        let in_time = ended.duration_since(begun) <= self.terms.measure.slack();
        let what = match ending {
            PermitOutcome::GivenUp => What::GivenUp,
            _ if in_time => What::InTime { granted, ended },
            _ => What::Late { granted, ended },
        };
        if let PermitOutcome::Throttled { retry_after } = ending {
            self.tell(Report { request: request.clone(), what: What::Throttled { retry_after } }, false);
        }
        // That one ended in time matters only in a minute.
        self.tell(Report { request, what }, !matches!(what, What::InTime { .. }));
    }

    fn tell(&self, report: Report, soon: bool) {
        let mut state = self.state();
        state.reports.push(report);
        if state.reports.len() > MOST_REPORTS {
            // While the store is away: what has stopped counting need not be told.
            let counts = self.terms.measure.span() + state.longest;
            state.reports.retain(|report| report.what.since().is_none_or(|at| at.elapsed() < counts));
        }
        drop(state);
        if soon && !self.is_away() {
            self.work.notify_one();
        }
    }

    /// The store has failed: for all that is known, others still sent through it until now.
    fn lost(&self, error: &RedisError) {
        let now = Instant::now();
        let wait = match self.terms.share {
            0 => NEVER,
            _ => self.state().longest.min(NEVER) + self.terms.measure.span(),
        };
        let first = self.away.send_if_modified(|away| {
            let first = away.is_none();
            if first {
                // Before anybody can see that it is away, and take a place of the share.
                self.local.close_until(now + wait);
                *away = Some(now);
            }
            first
        });
        if first {
            tracing::debug!(reason = link::kind(error), "the store of the rate limit failed; trying again");
            self.work.notify_one();
        }
    }

    /// Tells the store what there is to tell, lets it know that somebody is here, and looks for it while it is away.
    async fn work(slot: Weak<Self>, work: Arc<Notify>, pause: Duration) {
        loop {
            _ = tokio::time::timeout(pause, work.notified()).await;
            let Some(slot) = slot.upgrade() else { return };
            slot.look_in().await;
        }
    }

    async fn look_in(&self) {
        let away = self.is_away();
        let due = {
            let state = self.state();
            let quiet = state.heard.is_none_or(|heard| heard.elapsed() >= self.terms.measure.window / 12);
            quiet || !state.reports.is_empty()
        };
        if !away && !due {
            return;
        }
        loop {
            match self.exchange(&[]).await {
                // It must know all that was sent without it before it is asked again.
                Ok(_) if away && !self.state().reports.is_empty() => {}
                Ok(_) if away => return self.found(),
                Ok(_) => return,
                Err(error) if away => return self.say(&error),
                Err(error) => return self.lost(&error),
            }
        }
    }

    fn found(&self) {
        self.away.send_replace(None);
        if std::mem::take(&mut self.state().said) {
            tracing::info!("the store of the rate limit is back");
        }
    }

    /// Once for each time that it is away, and not when it was back at once.
    fn say(&self, error: &RedisError) {
        if std::mem::replace(&mut self.state().said, true) {
            return;
        }
        tracing::warn!(
            reason = link::kind(error),
            share = self.terms.share,
            "the store of the rate limit is away: calls wait until what it let through no longer counts, then this process \
             sends no more than its share"
        );
    }

    fn next_id(&self) -> String {
        format!("{}.{:x}", self.nonce, self.requests.fetch_add(1, Ordering::Relaxed))
    }

    /// So that not all processes come at once.
    fn jitter(&self) -> Duration {
        let most = self.terms.measure.slack() / 20;
        most.mul_f64((random() >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// A place in the line.
struct Waiting<'a>(&'a Line);

impl<'a> Waiting<'a> {
    fn of(line: &'a Line) -> Self {
        line.waiting.fetch_add(1, Ordering::Relaxed);
        Self(line)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A place that the store may have given, for all that is known.
struct GiveBack<'a> {
    slot: &'a Slot,
    request: Option<String>,
}

impl Drop for GiveBack<'_> {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            self.slot.tell(Report { request, what: What::GivenUp }, true);
        }
    }
}

/// Told apart, not kept secret.
fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        use std::hash::{BuildHasher, Hasher};
        std::hash::RandomState::new().build_hasher().finish()
    })
}
