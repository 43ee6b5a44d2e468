//! Computes when a request may be sent. Does no I/O and takes the time, in milliseconds, as an argument.
//! `reserve.lua` of the crate `shared-inbox-stores` is the same algorithm for many processes.
//!
//! A limit of 120 is 120 places. A place can be used again 61 seconds after it was last used, so there are
//! never more than 120 requests in any 61 seconds. A caller reserves a slot, which is a place and a time. A
//! place is represented by the time from which it is free, so a pool of places is a sorted list of times.
//!
//! The slots of callers that wait are evenly spaced: otherwise the fastest caller would get all places that
//! become free together.

use std::collections::VecDeque;
use std::time::Duration;

use super::Priority;

/// Each place that a 429 closes takes memory.
const MAX_LIMIT: u32 = 100_000;

/// The service's window and limit, and the figures derived from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    window: u64,
    pub(super) limit: usize,
}

impl Rules {
    pub(super) fn new(limit: u32, window: Duration) -> Self {
        let window = window.clamp(Duration::from_millis(60), Duration::from_secs(86_400));
        Self {
            window: u64::try_from(window.as_millis()).unwrap_or(60_000),
            limit: limit.clamp(1, MAX_LIMIT) as usize,
        }
    }

    /// Returns how long after its slot a request may end and still count from the slot. A slot is not used
    /// later than this either.
    pub(super) fn slack(self) -> u64 {
        (self.window / 60).max(1)
    }

    /// Returns how long a place is taken.
    pub(super) fn span(self) -> u64 {
        self.window + self.slack()
    }

    /// Returns how far ahead bulk calls may reserve what others can use too.
    pub(super) fn near(self) -> u64 {
        self.window / 12
    }

    /// Returns how far ahead interactive calls may reserve what belongs to bulk calls.
    fn lend(self) -> u64 {
        self.window / 2
    }

    /// Returns the time between slots of callers that wait: half of what would use up the limit evenly.
    fn gap(self) -> u64 {
        self.span() / (2 * (self.limit - self.read_backs()) as u64)
    }

    /// Returns the places for read-backs alone: 10 of 120.
    fn read_backs(self) -> usize {
        self.limit / 12
    }

    /// The places that are guaranteed to bulk calls: 10 of 120.
    fn bulk(self) -> usize {
        if self.limit < 3 { 0 } else { (self.limit / 12).max(1) }
    }

    /// Returns the places for all calls: 100 of 120.
    fn common(self) -> usize {
        self.limit - self.read_backs() - self.bulk()
    }

    /// Returns the common places that bulk calls leave free: 20 of 100.
    fn kept_free(self) -> usize {
        self.limit / 4 - self.limit / 12
    }
}

/// The pool that the place of a slot belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    Common,
    Bulk,
    ReadBack,
}

/// Permission to send a request at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) pool: Pool,
    pub(super) at: u64,
}

/// Why no slot was reserved.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refusal {
    /// The caller would have to wait this long, which is too long.
    TooLong { wait: Duration },
    /// A bulk call may not reserve so far ahead, and tries again after this time.
    ComeBack { after: Duration },
}

fn too_long(wait: u64) -> Refusal {
    Refusal::TooLong { wait: Duration::from_millis(wait) }
}

/// The places of a pool.
#[derive(Debug)]
struct Places {
    free: usize,
    /// When each of the others is free, in order.
    taken_until: VecDeque<u64>,
}

impl Places {
    fn new(free: usize) -> Self {
        Self { free, taken_until: VecDeque::new() }
    }

    fn len(&self) -> usize {
        self.free + self.taken_until.len()
    }

    /// Frees the places whose time has come.
    fn free_due(&mut self, now: u64) {
        while self.taken_until.front().is_some_and(|until| *until <= now) {
            self.taken_until.pop_front();
            self.free += 1;
        }
    }

    /// Returns when more than `others` places are free.
    fn free_from(&self, others: usize) -> Option<u64> {
        if others < self.free { Some(0) } else { self.taken_until.get(others - self.free).copied() }
    }

    /// Takes the place that is free first, and returns the time from which it is free.
    fn take(&mut self) -> u64 {
        if self.free > 0 {
            self.free -= 1;
            return 0;
        }
        self.taken_until.pop_front().unwrap_or_default()
    }

    fn put(&mut self, until: u64) {
        insert(&mut self.taken_until, until);
    }

    fn remove(&mut self, until: u64) -> bool {
        let found = self.taken_until.binary_search(&until);
        found.is_ok_and(|index| self.taken_until.remove(index).is_some())
    }
}

fn insert(times: &mut VecDeque<u64>, time: u64) {
    let index = times.partition_point(|other| *other <= time);
    times.insert(index, time);
}

#[derive(Debug)]
pub(super) struct Schedule {
    rules: Rules,
    pools: [Places; 3],
    /// Slots of common places that were given back and can be reserved again.
    given_back: VecDeque<u64>,
    /// The last slot of an interactive call.
    queue_ends: u64,
    /// Until when nothing is sent.
    closed_until: u64,
    /// The length of the last pause after a 429.
    pause: u64,
}

impl Schedule {
    pub(super) fn new(rules: Rules) -> Self {
        let pools = [rules.common(), rules.bulk(), rules.read_backs()].map(Places::new);
        Self { rules, pools, given_back: VecDeque::new(), queue_ends: 0, closed_until: 0, pause: 0 }
    }

    pub(super) fn closed_until(&self) -> u64 {
        self.closed_until
    }

    pub(super) fn close_until(&mut self, until: u64) {
        self.closed_until = self.closed_until.max(until);
    }

    /// Reserves a slot for a caller that waits for `max_wait` at most.
    pub(super) fn reserve(&mut self, priority: Priority, now: u64, max_wait: u64) -> Result<Slot, Refusal> {
        self.advance_to(now);
        let (span, near, lend) = (self.rules.span(), self.rules.near(), self.rules.lend());
        let open = now.max(self.closed_until);
        let behind = if self.queue_ends > now { open.max(self.queue_ends + self.rules.gap()) } else { open };
        let first = |pool: Pool, others: usize, from: u64| {
            self.pools[pool as usize].free_from(others).map(|free_at| Slot { pool, at: free_at.max(from) })
        };
        let given_back = self.given_back.front().filter(|at| **at >= open);
        let given_back = given_back.map(|at| Slot { pool: Pool::Common, at: *at });
        let within = |slot: Option<Slot>, ahead: u64| slot.filter(|slot| slot.at <= now + ahead);
        let slot = match priority {
            Priority::ReadBack => earliest([
                first(Pool::ReadBack, 0, open),
                given_back,
                first(Pool::Common, 0, open),
                first(Pool::Bulk, 0, open),
            ]),
            Priority::Interactive => earliest([
                given_back,
                first(Pool::Common, 0, behind),
                within(first(Pool::Bulk, 0, behind), lend),
            ]),
            Priority::Bulk => {
                let own = first(Pool::Bulk, 0, open);
                let common = first(Pool::Common, self.rules.kept_free(), behind);
                let reserved = earliest([within(own, lend + span), within(common, near)]);
                if reserved.is_none() {
                    let wait = earliest([own, common]).map_or(span, |slot| slot.at - now);
                    let own = own.map(|slot| slot.at.saturating_sub(now + lend + span));
                    let common = common.map(|slot| slot.at.saturating_sub(now + near));
                    let after = own.into_iter().chain(common).min().unwrap_or(wait).max(1);
                    let come_back = Refusal::ComeBack { after: Duration::from_millis(after) };
                    return Err(if after > max_wait { too_long(wait) } else { come_back });
                }
                reserved
            }
        };
        let slot = slot.ok_or(too_long(span))?;
        if slot.at > now.saturating_add(max_wait) {
            return Err(too_long(slot.at - now));
        }
        if given_back == Some(slot) {
            self.given_back.pop_front();
        } else {
            let places = &mut self.pools[slot.pool as usize];
            places.take();
            places.put(slot.at + span);
            if priority == Priority::Interactive {
                self.queue_ends = slot.at;
            }
        }
        Ok(slot)
    }

    fn advance_to(&mut self, now: u64) {
        self.pools.iter_mut().for_each(|places| places.free_due(now));
        while let Some(at) = self.given_back.front().copied().filter(|at| *at <= now) {
            self.given_back.pop_front();
            // Unless its place was reserved for later.
            let common = &mut self.pools[Pool::Common as usize];
            if common.remove(at + self.rules.span()) {
                common.free += 1;
            }
        }
    }

    /// Frees a slot that was not used.
    pub(super) fn give_back(&mut self, slot: Slot) {
        let places = &mut self.pools[slot.pool as usize];
        if slot.pool == Pool::Common {
            insert(&mut self.given_back, slot.at);
        } else if places.remove(slot.at + self.rules.span()) {
            places.put(slot.at);
        }
    }

    /// Changes the time until which the place of a slot is taken.
    pub(super) fn keep_until(&mut self, slot: Slot, until: u64) {
        let places = &mut self.pools[slot.pool as usize];
        if places.remove(slot.at + self.rules.span()) {
            places.put(until);
        } else if places.free > 0 {
            // The place was reserved for later: another one replaces it.
            places.free -= 1;
            places.put(until);
        }
    }

    /// Slows down after a 429, which shows that others use the key too: sends nothing for a while, then three
    /// quarters of what was sent before. A tenth of the limit is restored with each window.
    pub(super) fn throttle(&mut self, retry_after: Option<u64>, now: u64) {
        self.advance_to(now);
        let span = self.rules.span();
        if self.closed_until > now {
            // Requests that were sent together are refused together.
            self.closed_until = self.closed_until.max(now + retry_after.unwrap_or(0));
            return;
        }
        let again = self.pause > 0 && now - self.closed_until < span;
        self.pause = if again { (self.pause * 2).min(span) } else { self.rules.near() };
        self.closed_until = now + retry_after.unwrap_or(self.pause);
        let used = |places: &Places| places.taken_until.partition_point(|until| *until <= now + span);
        let at_least = (self.rules.limit / 10).max(1).saturating_sub(self.pools.iter().map(used).sum());
        // All that is free, and a quarter of what is used.
        let for_bulk = at_least.div_ceil(12);
        for (places, stay_free) in self.pools.iter_mut().zip([at_least - for_bulk, for_bulk, 0]) {
            let closed = places.taken_until.len() - used(places);
            let close = places.free.saturating_sub(stay_free) + used(places) / 4;
            for number in closed..closed + close {
                let windows = 1 + (number * 10 / places.len()) as u64;
                let free_at = places.take().max(now);
                places.put(free_at + span * windows);
            }
        }
    }
}

/// Returns the earliest slot; of equal ones, the first.
fn earliest<const N: usize>(slots: [Option<Slot>; N]) -> Option<Slot> {
    slots.into_iter().flatten().min_by_key(|slot| slot.at)
}
