//! When a request may be sent: the arithmetic of the limiter, with the time as an argument. `redis/reserve.lua` is the same for
//! many processes.
//!
//! A limit of 120 is 120 places. A place can be used again 61 seconds after it was last used, so there are never more than 120
//! requests in any 61 seconds. Whoever asks is given a slot, which is a place and a time, and does not ask again. All that is
//! known of a place is the time from which it is free, so places of one pool are a sorted list of times.
//!
//! Those who wait go one after the other, evenly spaced: otherwise whoever is quickest to ask would have all places that
//! become free together. Times are milliseconds.

use std::collections::VecDeque;

use super::Priority;
use crate::limits;

/// A 429 closes most places, each of which then takes memory. The service allows 120.
const MAX_LIMIT: u32 = 100_000;

/// The window over which the service counts, how many requests it allows there, and what follows from both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) window: u64,
    pub(super) limit: usize,
}

impl Rules {
    /// The service's own window.
    pub(super) fn per_minute(limit: u32) -> Self {
        Self {
            window: u64::try_from(limits::RATE_WINDOW.as_millis()).unwrap_or(60_000),
            limit: limit.clamp(1, MAX_LIMIT) as usize,
        }
    }

    /// A request counts from its slot unless it ended later than this after it: it may have arrived as late as it ended. A
    /// slot is not used any later either.
    pub(super) fn slack(self) -> u64 {
        (self.window / 60).max(1)
    }

    /// How long a place is taken.
    pub(super) fn span(self) -> u64 {
        self.window + self.slack()
    }

    /// How far ahead bulk calls may reserve what others can use too.
    pub(super) fn near(self) -> u64 {
        self.window / 12
    }

    /// How far ahead interactive calls may reserve what belongs to bulk calls.
    fn lend(self) -> u64 {
        self.window / 2
    }

    /// Those who wait are so far apart: half of what would use up the limit evenly.
    fn gap(self) -> u64 {
        self.span() / (2 * (self.limit - self.read_backs()) as u64)
    }

    /// The places for read-backs alone: 10 of 120.
    fn read_backs(self) -> usize {
        self.limit / 12
    }

    /// The places that bulk calls can always have: 10 of 120.
    fn bulk(self) -> usize {
        if self.limit < 3 { 0 } else { (self.limit / 12).max(1) }
    }

    /// The places for all: 100 of 120.
    fn common(self) -> usize {
        self.limit - self.read_backs() - self.bulk()
    }

    /// Bulk calls leave so many of the common places free, for people: 20 of 100.
    fn kept_free(self) -> usize {
        self.limit / 4 - self.limit / 12
    }

    /// All of this for the script, with places as bytes.
    #[cfg(feature = "redis")]
    pub(super) fn figures(self) -> [u64; 8] {
        let bytes = |places: usize| 8 * places as u64;
        let places = [self.kept_free(), self.common(), self.bulk(), self.read_backs()].map(bytes);
        let [kept_free, common, bulk, read_backs] = places;
        [self.span(), self.near(), self.lend(), self.gap(), kept_free, common, bulk, read_backs]
    }
}

/// Which places a slot is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    Common,
    Bulk,
    ReadBack,
}

/// Leave to send a request at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) pool: Pool,
    pub(super) at: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Decision {
    Reserved(Slot),
    /// Not within the time that the caller has; so long it would have to wait.
    TooLong {
        wait: u64,
    },
    /// Bulk calls come back after this time, since they may not reserve so far ahead.
    ComeBack {
        after: u64,
    },
}

/// The places of a pool.
#[derive(Debug)]
struct Places {
    free: usize,
    /// When the others are free, in order.
    taken_until: VecDeque<u64>,
}

impl Places {
    fn new(free: usize) -> Self {
        Self { free, taken_until: VecDeque::new() }
    }

    fn len(&self) -> usize {
        self.free + self.taken_until.len()
    }

    /// Frees those whose time has come.
    fn settle(&mut self, now: u64) {
        while self.taken_until.front().is_some_and(|until| *until <= now) {
            self.taken_until.pop_front();
            self.free += 1;
        }
    }

    /// When more than `others` are free.
    fn free_from(&self, others: usize) -> Option<u64> {
        if others < self.free { Some(0) } else { self.taken_until.get(others - self.free).copied() }
    }

    /// Takes the place that is free first. Returns since or from when it is.
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
    /// Slots of the common places that were given back and that somebody else can have.
    given_back: VecDeque<u64>,
    /// The last slot of an interactive call.
    queue_ends: u64,
    /// Nothing is sent before this.
    closed_until: u64,
    /// How long the last pause after a 429 was.
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

    #[cfg(feature = "redis")]
    pub(super) fn close_until(&mut self, until: u64) {
        self.closed_until = self.closed_until.max(until);
    }

    /// Gives a slot to a caller who waits for `max_wait` at most.
    pub(super) fn reserve(&mut self, priority: Priority, now: u64, max_wait: u64) -> Decision {
        self.settle(now);
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
                    return if after > max_wait {
                        Decision::TooLong { wait }
                    } else {
                        Decision::ComeBack { after }
                    };
                }
                reserved
            }
        };
        let Some(slot) = slot else { return Decision::TooLong { wait: span } };
        if slot.at > now.saturating_add(max_wait) {
            return Decision::TooLong { wait: slot.at - now };
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
        Decision::Reserved(slot)
    }

    fn settle(&mut self, now: u64) {
        self.pools.iter_mut().for_each(|places| places.settle(now));
        while let Some(at) = self.given_back.front().copied().filter(|at| *at <= now) {
            self.given_back.pop_front();
            // Unless somebody has reserved its place for later.
            let common = &mut self.pools[Pool::Common as usize];
            if common.remove(at + self.rules.span()) {
                common.free += 1;
            }
        }
    }

    /// Frees a slot in which nothing was sent.
    pub(super) fn give_back(&mut self, slot: Slot) {
        let places = &mut self.pools[slot.pool as usize];
        if slot.pool == Pool::Common {
            insert(&mut self.given_back, slot.at);
        } else if places.remove(slot.at + self.rules.span()) {
            places.put(slot.at);
        }
    }

    /// Keeps the place of a slot until another time than it was going to be.
    pub(super) fn keep_until(&mut self, slot: Slot, until: u64) {
        let places = &mut self.pools[slot.pool as usize];
        if places.remove(slot.at + self.rules.span()) {
            places.put(until);
        } else if places.free > 0 {
            // Somebody has reserved it for later: another place stands for it.
            places.free -= 1;
            places.put(until);
        }
    }

    /// The service has refused a request: others use the key too. Nothing is sent for a while, then three quarters of what
    /// was sent before; a tenth of the limit comes back with each window.
    pub(super) fn throttle(&mut self, retry_after: Option<u64>, now: u64) {
        self.settle(now);
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

/// The earliest of some slots; of equal ones, the first.
fn earliest<const N: usize>(slots: [Option<Slot>; N]) -> Option<Slot> {
    slots.into_iter().flatten().min_by_key(|slot| slot.at)
}
