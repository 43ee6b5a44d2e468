//! The rate limit: a sliding log of call times.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use shared_inbox::{__spec::limits, AgentId, Timestamp};

use crate::world::{Refusal, Result, World};

#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Calls a minute for each key; `None` disables all limits.
    per_minute: Option<u32>,
    /// The span that counts as a minute.
    window: Duration,
    calls: HashMap<AgentId, VecDeque<Timestamp>>,
    inbound: VecDeque<Timestamp>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_minute: Some(limits::REQUESTS_PER_MINUTE),
            window: limits::RATE_WINDOW,
            calls: HashMap::new(),
            inbound: VecDeque::new(),
        }
    }
}

/// Drops times before the window.
fn trim(log: &mut VecDeque<Timestamp>, window: Duration, now: Timestamp) {
    while log.front().is_some_and(|first| now.duration_since(*first) >= window) {
        log.pop_front();
    }
}

impl Limits {
    /// Counts a call, or refuses it. Refused calls do not count.
    pub(crate) fn count_call(&mut self, agent: &AgentId, now: Timestamp) -> Result<()> {
        let Some(most) = self.per_minute else { return Ok(()) };
        let log = match self.calls.get_mut(agent) {
            Some(log) => log,
            None => self.calls.entry(agent.clone()).or_default(),
        };
        trim(log, self.window, now);
        if log.len() >= most as usize {
            let message = format!("Too many requests with this key: slow down to {most} a minute.");
            return Err(Refusal::new(429, message));
        }
        log.push_back(now);
        Ok(())
    }

    /// Refuses a simulated email if there were too many in the last minute, with all test keys together.
    pub(crate) fn check_inbound(&mut self, now: Timestamp) -> Result<()> {
        trim(&mut self.inbound, self.window, now);
        let most = limits::SANDBOX_INBOUND_PER_MINUTE;
        if self.per_minute.is_some() && self.inbound.len() >= most as usize {
            let message =
                format!("Too many simulated emails: slow down to {most} a minute across all test keys.");
            return Err(Refusal::new(429, message));
        }
        Ok(())
    }

    /// Counts a simulated email.
    pub(crate) fn count_inbound(&mut self, now: Timestamp) {
        if self.per_minute.is_some() {
            self.inbound.push_back(now);
        }
    }
}

impl World {
    /// Sets how many requests a minute each key may make; `None` disables all limits, that of simulated email
    /// too.
    pub fn set_rate_limit(&mut self, per_minute: Option<u32>) {
        self.limits.per_minute = per_minute;
    }

    /// Sets the span over which requests are counted, a minute unless set.
    pub fn set_rate_window(&mut self, window: Duration) {
        self.limits.window = window;
    }
}
