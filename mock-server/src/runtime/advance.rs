//! Advances a world's clock, and drives the jobs of a running one.
//!
//! Every job on the way runs at its own time. Other calls get their turn in between: a year of a large world
//! takes a while.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use serde::Serialize;
use shared_inbox::Timestamp;

use super::{MAX_JOBS_PER_LOCK, WorldRuntime, change::Cause, clock::ClockMode};
use crate::world::{FiredJob, Refusal, Result};

/// A suspended machine does not run its timers, so the clock is read again after this time.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// How long jobs are run one after the other while others wait.
const LOCK_SHARE_INTERVAL: Duration = Duration::from_millis(1);

/// The time after the clock was advanced, and the jobs that ran.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use shared_inbox_mock::MockServer;
///
/// let mock = MockServer::builder().manual_clock().start().await;
/// let id = mock.client().conversations().await?[0].id.clone();
/// mock.client().conversation(&id).reply("On its way.").and_send().await?;
/// let moved = mock.control().advance(Duration::from_secs(600)).await?;
/// assert!(moved.fired.iter().any(|fired| fired.job == "send"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClockAdvance {
    /// The time now.
    pub now: Timestamp,
    /// The jobs that ran, in order.
    pub fired: Vec<FiredJob>,
}

/// The time of a world's clock, and how it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClockReading {
    /// The time.
    pub now: Timestamp,
    /// How it runs.
    pub mode: ClockMode,
}

/// How far to advance a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdvanceTarget {
    /// By this duration.
    By(Duration),
    /// To this time, which must not have passed.
    Time(Timestamp),
    /// To this time, unless it has passed.
    AtLeast(Timestamp),
    /// To the time of the next job; nowhere when there is none.
    NextJob,
}

enum AdvanceStep {
    Ran,
    Wait,
    Arrived,
    Replaced,
}

impl WorldRuntime {
    pub(super) fn drive(self: &Arc<Self>) {
        let (runtime, wake) = (Arc::downgrade(self), Arc::clone(&self.wake));
        self.config.settings.runtime.spawn(async move {
            let mut began = Instant::now();
            loop {
                let Some(runtime) = runtime.upgrade() else { return };
                let wait = runtime.tick();
                if runtime.lock().is_behind() {
                    runtime.share_lock(&mut began).await;
                    continue;
                }
                drop(runtime);
                match wait {
                    Some(wait) => drop(tokio::time::timeout(wait.min(MAX_SLEEP), wake.notified()).await),
                    None => wake.notified().await,
                }
            }
        });
    }

    /// Runs the jobs that are due, a few under each lock.
    pub(crate) async fn catch_up(self: &Arc<Self>) {
        let mut began = Instant::now();
        while self.lock().is_behind() {
            self.tick();
            self.share_lock(&mut began).await;
        }
    }

    /// Gives others their turn after a while.
    async fn share_lock(&self, began: &mut Instant) {
        if began.elapsed() < LOCK_SHARE_INTERVAL {
            return;
        }
        tokio::task::yield_now().await;
        if self.waiting.load(Ordering::Relaxed) > 0 {
            // Without a pause this task would take the lock again before the others.
            tokio::time::sleep(LOCK_SHARE_INTERVAL).await;
        }
        *began = Instant::now();
    }

    /// Runs a few due jobs and returns how long to wait for the next.
    fn tick(self: &Arc<Self>) -> Option<Duration> {
        let mut state = self.lock();
        let now = state.clock.now();
        let attempts = self.run_due(&mut state, now, MAX_JOBS_PER_LOCK);
        let next = state.world.next_due();
        state.planned = next;
        let wait = next.and_then(|due| state.clock.time_until(due));
        self.leave(state, attempts);
        wait
    }

    pub(crate) fn clock(&self) -> ClockReading {
        let mut state = self.lock();
        ClockReading { now: state.clock.now(), mode: state.clock.mode }
    }

    /// Advances the clock. Every job on the way runs at its own time, and every webhook attempt that was due
    /// or under way has ended when this returns.
    ///
    /// Completes even if the caller stops waiting.
    pub(crate) async fn advance(self: &Arc<Self>, until: AdvanceTarget) -> Result<ClockAdvance> {
        let runtime = Arc::clone(self);
        self.run(async move { runtime.advance_exclusively(until).await }).await
    }

    async fn advance_exclusively(self: &Arc<Self>, until: AdvanceTarget) -> Result<ClockAdvance> {
        let _permit = self.moving.lock().await;
        let (target, epoch) = {
            let mut state = self.lock();
            let now = state.clock.now();
            let target = match until {
                AdvanceTarget::By(by) => now + by,
                AdvanceTarget::Time(time) if time < now => {
                    return Err(Refusal::field("to", format!("has passed: the clock shows {now}")));
                }
                AdvanceTarget::Time(time) => time,
                AdvanceTarget::AtLeast(time) => time.max(now),
                AdvanceTarget::NextJob => now,
            };
            state.fired = Some(Vec::new());
            (target, state.epoch)
        };
        self.advance_to(target, epoch).await?;
        if until == AdvanceTarget::NextJob {
            // Read only now: an attempt that was under way may have queued an earlier job.
            let next = self.next_due();
            self.advance_to(next.unwrap_or(target), epoch).await?;
        }
        let mut state = self.lock();
        let mut fired = state.fired.take().unwrap_or_default();
        // Attempts that waited for a slow receiver are logged after jobs that were due later.
        fired.sort_by_key(|job| job.at);
        self.notify_change(&mut state, Cause::Clock, "advance");
        // A running clock is now closer to the next job than the driver expects.
        self.wake.notify_one();
        Ok(ClockAdvance { now: state.clock.now(), fired })
    }

    async fn advance_to(self: &Arc<Self>, target: Timestamp, epoch: u64) -> Result<()> {
        let mut began = Instant::now();
        loop {
            let mut ended = std::pin::pin!(self.attempt_ended.notified());
            ended.as_mut().enable();
            match self.step(target, epoch) {
                AdvanceStep::Ran => self.share_lock(&mut began).await,
                AdvanceStep::Wait => ended.await,
                AdvanceStep::Arrived => return Ok(()),
                AdvanceStep::Replaced => {
                    return Err(Refusal::new(409, "The world was replaced while its clock was being moved."));
                }
            }
        }
    }

    /// Advances to the next job, unless an attempt under way could still cause an earlier one.
    fn step(self: &Arc<Self>, target: Timestamp, epoch: u64) -> AdvanceStep {
        let mut state = self.lock();
        if state.epoch != epoch {
            return AdvanceStep::Replaced;
        }
        let horizon = state.world.webhooks_horizon();
        match state.world.next_due() {
            Some(due) if due <= target && horizon.is_none_or(|horizon| due < horizon) => {
                state.clock.move_to(due);
                let now = state.clock.now();
                let attempts = self.run_due(&mut state, now, MAX_JOBS_PER_LOCK);
                self.leave(state, attempts);
                AdvanceStep::Ran
            }
            _ if horizon.is_some() => AdvanceStep::Wait,
            _ => {
                state.clock.move_to(target);
                AdvanceStep::Arrived
            }
        }
    }
}
