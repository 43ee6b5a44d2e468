//! Who counts, who waits, and who goes next: the arithmetic of the limiter, with the time as an argument.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{AcquireRequest, PermitOutcome, Priority};
use crate::limits;

/// Far enough in the future, and not beyond what a clock can hold.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The span over which the service counts, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub(super) window: Duration,
}

impl Measure {
    /// The service's own.
    pub(super) const MINUTE: Self = Self { window: limits::RATE_WINDOW };

    /// Requests can arrive closer together than they left, so each is remembered a little longer than the service's
    /// minute. One that took longer than this to be answered is counted from its answer.
    pub(super) fn slack(self) -> Duration {
        self.window / 60
    }

    /// How long a request counts.
    pub(super) fn span(self) -> Duration {
        self.window + self.slack()
    }

    /// The first pause after a 429 that does not say how long; doubles with each further one.
    fn first_pause(self) -> Duration {
        self.window / 12
    }

    /// A bulk request that has waited for so long goes before interactive ones, as far as the share of its lane goes.
    fn aged(self) -> Duration {
        self.window / 2
    }
}

/// A request, or whoever waits to send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    pub(super) lane: Priority,
    number: u64,
}

#[derive(Debug)]
pub(super) struct Window {
    limit: u32,
    measure: Measure,
    /// Every request that counts, by when it counts from.
    log: BTreeMap<(Instant, u64), Priority>,
    /// How many of these are bulk.
    bulk: usize,
    /// Those of them that have not ended.
    under_way: HashMap<u64, UnderWay>,
    /// Who waits, lane by lane, in the order in which they may go.
    queues: [BTreeMap<u64, Waiter>; 3],
    /// Who may go and has not noticed yet, with when they were counted. Whoever wakes first moves the queue on, so that
    /// nobody depends on the future of another being polled.
    granted: HashMap<u64, Instant>,
    tickets: u64,
    /// What a 429 left of the limit.
    capacity: u32,
    /// Nothing is sent before this.
    closed_until: Option<Instant>,
    /// 429s without a quiet span between them.
    strikes: u32,
    /// When the capacity last changed.
    learned_at: Option<Instant>,
}

#[derive(Debug)]
struct UnderWay {
    since: Instant,
    /// Where it stands in the log.
    counted: Instant,
    /// It cannot be sent after this.
    latest: Instant,
}

#[derive(Debug)]
struct Waiter {
    since: Instant,
    turn: Arc<Notify>,
}

impl Window {
    pub(super) fn new(limit: u32, measure: Measure) -> Self {
        let limit = limit.max(1);
        Self {
            limit,
            measure,
            log: BTreeMap::new(),
            bulk: 0,
            under_way: HashMap::new(),
            queues: Default::default(),
            granted: HashMap::new(),
            tickets: 0,
            capacity: limit,
            closed_until: None,
            strikes: 0,
            learned_at: None,
        }
    }

    /// Forgets what is over, and lets through whoever can go.
    pub(super) fn refresh(&mut self, now: Instant) {
        self.forget(now);
        self.advance(now);
    }

    /// A number for a request that comes now, and how long it has to wait.
    pub(super) fn arrive(&mut self, lane: Priority, now: Instant) -> (Ticket, Duration) {
        let ticket = Ticket { lane, number: self.tickets };
        self.tickets += 1;
        (ticket, self.wait_of(ticket, now, now))
    }

    /// Sends nothing before then.
    #[cfg(feature = "redis")]
    pub(super) fn close_until(&mut self, until: Instant) {
        self.closed_until = Some(until);
    }

    /// Counts a request that is sent now.
    pub(super) fn send(&mut self, ticket: Ticket, ask: AcquireRequest, now: Instant) {
        self.count(ticket, now);
        let latest = now + ask.max_hold.min(LONGEST);
        self.under_way.insert(ticket.number, UnderWay { since: now, counted: now, latest });
    }

    pub(super) fn queue(&mut self, ticket: Ticket, since: Instant, turn: &Arc<Notify>) {
        self.queues[ticket.lane as usize].insert(ticket.number, Waiter { since, turn: Arc::clone(turn) });
    }

    /// Takes it through if its turn has come; else says how long it is likely to wait.
    pub(super) fn claim(
        &mut self,
        ticket: Ticket,
        ask: AcquireRequest,
        since: Instant,
        turn: &Arc<Notify>,
        now: Instant,
    ) -> Result<(), Duration> {
        if let Some(at) = self.granted.remove(&ticket.number) {
            // Sent now, which may be later than it was counted. Out of the log, or after a 429, it has to wait again.
            if self.uncount(ticket, at) && self.closed_until.is_none() {
                self.send(ticket, ask, now);
                return Ok(());
            }
            self.queue(ticket, since, turn);
            self.advance(now);
        }
        Err(self.wait_of(ticket, since, now))
    }

    /// Whoever stops waiting keeps no place.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.queues[ticket.lane as usize].remove(&ticket.number);
        if let Some(at) = self.granted.remove(&ticket.number) {
            self.uncount(ticket, at);
        }
    }

    pub(super) fn end(&mut self, ticket: Ticket, ending: PermitOutcome, now: Instant) {
        let request = self.under_way.remove(&ticket.number);
        let in_time =
            request.as_ref().is_some_and(|request| now.duration_since(request.since) <= self.measure.slack());
        if ending == PermitOutcome::GivenUp || !in_time {
            if let Some(request) = request {
                self.uncount(ticket, request.counted);
            }
            if ending != PermitOutcome::GivenUp {
                self.count(ticket, now);
            }
        }
        if let PermitOutcome::Throttled { retry_after } = ending {
            self.learn(retry_after, now);
        }
    }

    /// The key is used by others too: pause, then take less.
    fn learn(&mut self, retry_after: Option<Duration>, now: Instant) {
        let retry_after = retry_after.map(|pause| pause.min(LONGEST));
        if let Some(until) = self.closed_until {
            // Requests that were under way together are refused together: one lesson.
            self.closed_until = Some(until.max(now + retry_after.unwrap_or_default()));
            return;
        }
        let pause = retry_after.unwrap_or_else(|| {
            (self.measure.first_pause() * 2_u32.pow(self.strikes.min(6))).min(self.measure.window)
        });
        let used = u32::try_from(self.log.len()).unwrap_or(u32::MAX);
        self.strikes += 1;
        self.closed_until = Some(now + pause);
        self.capacity = (self.capacity.min(used) * 3 / 4).max((self.limit / 10).max(1));
        self.learned_at = Some(now);
    }

    fn count(&mut self, ticket: Ticket, at: Instant) {
        self.log.insert((at, ticket.number), ticket.lane);
        self.bulk += usize::from(ticket.lane == Priority::Bulk);
    }

    fn uncount(&mut self, ticket: Ticket, at: Instant) -> bool {
        let there = self.log.remove(&(at, ticket.number)).is_some();
        self.bulk -= usize::from(there && ticket.lane == Priority::Bulk);
        there
    }

    fn forget(&mut self, now: Instant) {
        let span = self.measure.span();
        while let Some((&(at, number), &lane)) = self.log.first_key_value() {
            if now.saturating_duration_since(at) < span {
                break;
            }
            let ticket = Ticket { lane, number };
            self.uncount(ticket, at);
            match self.under_way.get_mut(&number) {
                // It has not ended, so it may be sent yet.
                Some(request) if request.counted < request.latest => {
                    let latest = request.latest;
                    request.counted = latest;
                    self.count(ticket, latest);
                }
                _ => {
                    self.under_way.remove(&number);
                }
            }
        }
        if self.closed_until.is_some_and(|until| until <= now) {
            self.closed_until = None;
        }
        while let Some(learned) = self.learned_at {
            if now.saturating_duration_since(learned) < span {
                break;
            }
            self.strikes = 0;
            self.capacity = self.capacity.saturating_add((self.limit / 10).max(1)).min(self.limit);
            self.learned_at = if self.capacity < self.limit { Some(learned + span) } else { None };
        }
    }

    /// Lets through whoever can go, in order.
    fn advance(&mut self, now: Instant) {
        while let Some((ticket, ceiling_of)) = self.next(now) {
            if !self.wait(now, ceiling_of, 0).is_zero() {
                return;
            }
            self.count(ticket, now);
            self.granted.insert(ticket.number, now);
            if let Some(waiter) = self.queues[ticket.lane as usize].remove(&ticket.number) {
                waiter.turn.notify_one();
            }
        }
    }

    /// Who goes next, and the lane whose ceiling it keeps to.
    fn next(&self, now: Instant) -> Option<(Ticket, Priority)> {
        let first = |lane: Priority| {
            let number = *self.queues[lane as usize].first_key_value()?.0;
            Some(Ticket { lane, number })
        };
        if let Some(read_back) = first(Priority::ReadBack) {
            return Some((read_back, Priority::ReadBack));
        }
        let bulk = first(Priority::Bulk);
        if let Some(bulk) = bulk.filter(|_| self.bulk_comes_first(now)) {
            return Some((bulk, Priority::Interactive));
        }
        first(Priority::Interactive).or(bulk).map(|ticket| (ticket, ticket.lane))
    }

    /// Whether bulk requests have waited for long and had less than their share.
    fn bulk_comes_first(&self, now: Instant) -> bool {
        let oldest = self.queues[Priority::Bulk as usize].first_key_value();
        self.bulk < self.bulk_share()
            && oldest
                .is_some_and(|(_, waiter)| now.saturating_duration_since(waiter.since) >= self.measure.aged())
    }

    /// How many a lane may have in any span.
    fn ceiling(&self, lane: Priority) -> usize {
        let left_for_others = match lane {
            Priority::ReadBack => 0,
            Priority::Interactive => self.capacity / 12,
            Priority::Bulk => self.capacity / 4,
        };
        (self.capacity - left_for_others).max(1) as usize
    }

    /// How many bulk requests there may be in any span, whoever else waits.
    fn bulk_share(&self) -> usize {
        (self.capacity / 12).max(1) as usize
    }

    /// How long until this one can go, if nobody more urgent comes.
    fn wait_of(&self, ticket: Ticket, since: Instant, now: Instant) -> Duration {
        let own = &self.queues[ticket.lane as usize];
        let place = if own.last_key_value().is_none_or(|(last, _)| *last < ticket.number) {
            own.len()
        } else {
            own.range(..ticket.number).count()
        };
        let urgent: usize = self.queues[..ticket.lane as usize].iter().map(BTreeMap::len).sum();
        match ticket.lane {
            Priority::ReadBack => self.wait(now, ticket.lane, place),
            Priority::Interactive => {
                self.wait(now, ticket.lane, urgent + place + usize::from(self.bulk_comes_first(now)))
            }
            Priority::Bulk => {
                let read_backs = self.queues[Priority::ReadBack as usize].len();
                let aged = (since + self.measure.aged()).saturating_duration_since(now);
                let by_share = self
                    .wait(now, Priority::Interactive, read_backs + place)
                    .max(self.wait_for_share(now, place))
                    .max(aged);
                self.wait(now, ticket.lane, urgent + place).min(by_share)
            }
        }
    }

    /// How long until a request of this lane can go, with so many others going before it.
    fn wait(&self, now: Instant, lane: Priority, ahead: usize) -> Duration {
        let closed = self.closed_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        let times = self.log.keys().map(|(at, _)| *at);
        closed.max(self.wait_for(now, times, self.log.len(), self.ceiling(lane), ahead))
    }

    /// How long until the share of the bulk lane has room, with so many others of it going before.
    fn wait_for_share(&self, now: Instant, ahead: usize) -> Duration {
        let times = self.log.iter().filter(|(_, lane)| **lane == Priority::Bulk).map(|((at, _), _)| *at);
        self.wait_for(now, times, self.bulk, self.bulk_share(), ahead)
    }

    /// How long until `used` sends at these times and `ahead` more leave room for one below the ceiling.
    fn wait_for(
        &self,
        now: Instant,
        times: impl DoubleEndedIterator<Item = Instant> + Clone,
        used: usize,
        ceiling: usize,
        ahead: usize,
    ) -> Duration {
        if used + ahead < ceiling {
            return Duration::ZERO;
        }
        // The send that must be forgotten first. Beyond the log, every further lap through the limit is one more span.
        let index = used + ahead - ceiling;
        let (laps, index) = if index < used { (0, index) } else { (index / ceiling, index % ceiling) };
        let at = times.clone().nth(index).or_else(|| times.clone().next_back()).unwrap_or(now);
        (at + self.measure.span()).saturating_duration_since(now)
            + self.measure.span() * u32::try_from(laps).unwrap_or(u32::MAX / 128)
    }
}
