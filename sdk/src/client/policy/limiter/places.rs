//! When a request may be sent: the arithmetic of the limiter, with the time as an argument. `redis/reserve.lua` is the same for
//! many processes.
//!
//! A limit of 120 is 120 places. A place can be used again 61 seconds after it was last used, so there are never more than 120
//! requests in any 61 seconds. Whoever asks is given a slot, which is a place and a time, and does not ask again.
//! Those who wait go one after the other, evenly spaced: otherwise whoever is quickest to ask would have all places that
//! become free together. Times are milliseconds.

use std::ops::Range;

use super::Priority;
use crate::limits;

/// Every place takes memory and is looked at by each request. The service allows 120.
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
        self.span() / (2 * (self.limit - self.read_backs().len()) as u64)
    }

    /// The places that are kept for read-backs: 10 of 120.
    fn read_backs(self) -> Range<usize> {
        0..self.limit / 12
    }

    /// The places that bulk calls never use, though interactive ones do: 20 of 120.
    fn interactive(self) -> Range<usize> {
        self.limit / 12..self.limit / 4
    }

    /// The places for interactive and for bulk calls: 80 of 120.
    fn shared(self) -> Range<usize> {
        self.limit / 4..self.bulk().start
    }

    /// The places that bulk calls can always have: 10 of 120.
    fn bulk(self) -> Range<usize> {
        let own = if self.limit < 3 { 0 } else { (self.limit / 12).max(1) };
        self.limit - own..self.limit
    }
}

/// Leave to send a request at a time, in a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) place: usize,
    pub(super) at: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
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

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// When it can be reserved for next.
    free_at: u64,
    /// A slot that was given back and that somebody else can have; 0 if there is none.
    given_back: u64,
    /// When the request that used it last stops counting.
    busy_until: u64,
}

impl Place {
    /// When it can be reserved for next, or for the slot that was given back if that was the last one.
    fn next(&self, span: u64) -> u64 {
        let next = if self.free_at == self.given_back + span { self.given_back } else { self.free_at };
        next.max(self.busy_until)
    }
}

#[derive(Debug)]
pub(super) struct Places {
    rules: Rules,
    places: Vec<Place>,
    /// The last slot that was given back.
    given_back_until: u64,
    /// The last slot of an interactive call.
    queue_ends: u64,
    /// Nothing is sent before this.
    closed_until: u64,
    /// How long the last pause after a 429 was.
    pause: u64,
}

impl Places {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            places: vec![Place::default(); rules.limit],
            given_back_until: 0,
            queue_ends: 0,
            closed_until: 0,
            pause: 0,
        }
    }

    #[cfg(feature = "redis")]
    pub(super) fn close_until(&mut self, until: u64) {
        self.closed_until = self.closed_until.max(until);
    }

    /// Gives a slot to a caller who waits for `max_wait` at most.
    pub(super) fn reserve(&mut self, priority: Priority, now: u64, max_wait: u64) -> Answer {
        let rules = self.rules;
        let open = now.max(self.closed_until);
        let queue_ends = if self.queue_ends > now { open.max(self.queue_ends + rules.gap()) } else { open };
        let all = |range: Range<usize>| self.earliest(range);
        let at = |(place, free_at): (usize, u64), from: u64| Slot { place, at: free_at.max(from) };
        let free = match priority {
            Priority::ReadBack => all(0..rules.limit).map(|place| at(place, open)),
            Priority::Interactive => {
                let own =
                    all(rules.interactive().start..rules.shared().end).map(|place| at(place, queue_ends));
                let lent = all(rules.bulk()).map(|place| at(place, queue_ends));
                let lent = lent.filter(|slot| slot.at <= now + rules.lend());
                earlier(own, lent)
            }
            Priority::Bulk => {
                let own = all(rules.bulk()).map(|place| at(place, open));
                let shared = all(rules.shared()).map(|place| at(place, queue_ends));
                let reach = |slot: Option<Slot>, ahead| slot.filter(|slot| slot.at <= now + ahead);
                let reserved = earlier(reach(own, rules.lend() + rules.span()), reach(shared, rules.near()));
                if reserved.is_none() && self.given_back(priority, open, now).is_none() {
                    let wait = earlier(own, shared).map_or(rules.span(), |slot| slot.at - now);
                    let own = own.map(|slot| slot.at.saturating_sub(now + rules.lend() + rules.span()));
                    let shared = shared.map(|slot| slot.at.saturating_sub(now + rules.near()));
                    let after = own.into_iter().chain(shared).min().unwrap_or(wait).max(1);
                    return if after > max_wait {
                        Answer::TooLong { wait }
                    } else {
                        Answer::ComeBack { after }
                    };
                }
                reserved
            }
        };
        let given_back = self.given_back(priority, open, now);
        let Some(slot) = earlier(given_back, free) else { return Answer::TooLong { wait: rules.span() } };
        if slot.at > now.saturating_add(max_wait) {
            return Answer::TooLong { wait: slot.at - now };
        }
        let place = &mut self.places[slot.place];
        if given_back.is_some_and(|given_back| given_back.place == slot.place && given_back.at == slot.at) {
            place.given_back = 0;
        } else {
            if place.free_at == place.given_back + rules.span() {
                place.given_back = 0;
            }
            place.free_at = slot.at + rules.span();
            if priority == Priority::Interactive {
                self.queue_ends = slot.at;
            }
        }
        Answer::Reserved(slot)
    }

    /// Whether the slot can be used now. Otherwise a new one is to be reserved, unless a request that took long has only
    /// delayed it.
    pub(super) fn claim(&mut self, slot: &mut Slot, now: u64) -> Claim {
        let (slack, span, near) = (self.rules.slack(), self.rules.span(), self.rules.near());
        let place = &mut self.places[slot.place];
        if self.closed_until > now || now > slot.at + slack || place.busy_until > now + near {
            self.give_back(*slot, now);
            return Claim::Lost;
        }
        if place.busy_until > now {
            slot.at = place.busy_until;
            place.free_at = place.free_at.max(slot.at + span);
            return Claim::Delayed;
        }
        place.busy_until = slot.at + span;
        Claim::Ready
    }

    /// Frees a slot in which nothing was sent.
    pub(super) fn give_back(&mut self, slot: Slot, now: u64) {
        let span = self.rules.span();
        let place = &mut self.places[slot.place];
        if slot.at > now {
            place.given_back = slot.at;
            self.given_back_until = self.given_back_until.max(slot.at);
            if slot.at == self.queue_ends {
                self.queue_ends -= self.rules.gap();
            }
        } else {
            if place.free_at == slot.at + span {
                place.free_at = slot.at;
            }
        }
    }

    /// Frees a slot that was claimed and in which nothing was sent.
    pub(super) fn release(&mut self, slot: Slot, now: u64) {
        self.places[slot.place].busy_until = slot.at;
        self.give_back(slot, now);
    }

    /// Counts the request of a slot from now on.
    pub(super) fn postpone(&mut self, slot: &mut Slot, now: u64) {
        slot.at = now;
        let place = &mut self.places[slot.place];
        place.busy_until = now + self.rules.span();
        place.free_at = place.free_at.max(place.busy_until);
    }

    /// The service has refused a request: others use the key too. Nothing is sent for a while, then three quarters of what
    /// was sent before; a tenth of the limit comes back with each window.
    pub(super) fn throttle(&mut self, retry_after: Option<u64>, now: u64) {
        let Rules { window, limit } = self.rules;
        let span = self.rules.span();
        if self.closed_until > now {
            // Requests that were sent together are refused together.
            self.closed_until = self.closed_until.max(now + retry_after.unwrap_or(0));
            return;
        }
        let again = self.pause > 0 && now - self.closed_until < span;
        self.pause = if again { (self.pause * 2).min(window) } else { self.rules.near() };
        self.closed_until = now + retry_after.unwrap_or(self.pause);
        let is_used = |place: &Place| (now + 1..=now + span).contains(&place.free_at);
        let used = self.places.iter().filter(|place| is_used(place)).count();
        let tenth = (limit / 10).max(1);
        let barred = limit.saturating_sub((used * 3 / 4).max(tenth));
        let mut closed = self.places.iter().filter(|place| place.free_at > now + span).count();
        for of_used in [false, true] {
            // Twelve strides, so that each kind of place is closed in proportion.
            for place in (0..12).flat_map(|first| (first..limit).step_by(12)) {
                let place = &mut self.places[place];
                if closed < barred && is_used(place) == of_used && place.free_at <= now + span {
                    let windows = 1 + (closed / tenth) as u64;
                    place.free_at = place.free_at.max(now) + span * windows;
                    closed += 1;
                }
            }
        }
    }

    /// The place that is free first, and since or from when.
    fn earliest(&self, range: Range<usize>) -> Option<(usize, u64)> {
        let places = range.map(|place| (place, self.places[place].next(self.rules.span())));
        places.min_by_key(|(_, free_at)| *free_at)
    }

    /// The first slot that was given back and that a call of this priority may have.
    fn given_back(&self, priority: Priority, open: u64, now: u64) -> Option<Slot> {
        if self.given_back_until <= open {
            return None;
        }
        let (range, until) = match priority {
            Priority::ReadBack => (0..self.rules.limit, u64::MAX),
            Priority::Interactive => (self.rules.interactive().start..self.rules.shared().end, u64::MAX),
            Priority::Bulk => (self.rules.shared().start..self.rules.limit, now + self.rules.near()),
        };
        let slots = range.map(|place| Slot { place, at: self.places[place].given_back });
        slots.filter(|slot| slot.at > open && slot.at <= until).min_by_key(|slot| slot.at)
    }
}

pub(super) enum Claim {
    Ready,
    /// The slot is later now.
    Delayed,
    Lost,
}

fn earlier(one: Option<Slot>, other: Option<Slot>) -> Option<Slot> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.at < one.at { other } else { one }),
        (one, other) => one.or(other),
    }
}
