//! The pace of the suite: no more requests with a key than its budget, in any minute.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::clock::Clock;

/// The service counts the requests of a minute. A second more, because its clock and ours do not run alike.
const WINDOW: Duration = Duration::from_secs(61);

/// How long a service may ask for no request; a longer time is not believed.
const MAX_THROTTLED: Duration = Duration::from_secs(600);

/// Keeps the requests of one key below the rate limit.
#[derive(Debug)]
pub(crate) struct Pace {
    budget: usize,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When each request of the last minute was sent or, once it has ended, had its response.
    sent: Vec<(u64, Instant)>,
    number: u64,
    /// Until when the service wants no request.
    throttled_until: Option<Instant>,
}

/// Leave to send one request.
pub(crate) struct SendPermit<'p> {
    pace: &'p Pace,
    number: u64,
}

impl SendPermit<'_> {
    /// The request was answered, or failed on the way. The service may have counted it as late as now.
    pub(crate) fn finished(self) {
        let now = self.pace.clock.now();
        let mut state = self.pace.state();
        for (number, time) in &mut state.sent {
            if *number == self.number {
                *time = now;
            }
        }
    }

    /// The service answered 429.
    pub(crate) fn throttled(self, retry_after: Option<Duration>) {
        let until = self.pace.clock.now() + retry_after.unwrap_or(WINDOW).min(MAX_THROTTLED);
        self.pace.state().throttled_until = Some(until);
        self.finished();
    }
}

impl Pace {
    pub(crate) fn new(budget: u32, clock: Arc<dyn Clock>) -> Self {
        let budget = usize::try_from(budget).unwrap_or(usize::MAX).max(1);
        Self { budget, clock, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request may be sent.
    pub(crate) async fn acquire(&self) -> SendPermit<'_> {
        self.wait_for(1).await;
        let now = self.clock.now();
        let mut state = self.state();
        state.number += 1;
        let number = state.number;
        state.sent.push((number, now));
        SendPermit { pace: self, number }
    }

    /// Waits until this many requests can follow each other without a wait, for checks in which time matters.
    pub(crate) async fn reserve(&self, requests: usize) {
        self.wait_for(requests.min(self.budget)).await;
    }

    /// Waits until this many more requests fit into the budget. A session sends one request after the other.
    async fn wait_for(&self, requests: usize) {
        while let Some(wait) = self.next_wait(requests) {
            self.clock.sleep(wait).await;
        }
    }

    fn next_wait(&self, requests: usize) -> Option<Duration> {
        let now = self.clock.now();
        let mut state = self.state();
        state.sent.retain(|(_, time)| *time + WINDOW > now);
        let throttled = state.throttled_until.filter(|until| *until > now);
        // The one that has to leave the window so that there is room.
        let surplus = (state.sent.len() + requests).checked_sub(self.budget + 1);
        let mut times: Vec<Instant> = state.sent.iter().map(|(_, time)| *time).collect();
        times.sort_unstable();
        let room = surplus.and_then(|last| times.get(last)).map(|time| *time + WINDOW);
        throttled.max(room).map(|until| until.saturating_duration_since(now))
    }
}
