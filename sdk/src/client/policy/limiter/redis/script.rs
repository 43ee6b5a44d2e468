//! The script that reserves slots in the store: what it is told and what it answers.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use redis::{RedisError, Script};

use super::connection::Connection;
use crate::client::policy::limiter::Priority;
use crate::client::policy::limiter::places::Rules;

static RESERVE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("reserve.lua")));
/// Nobody waits longer.
const MAX_WAIT: Duration = Duration::from_secs(86_400);

/// Questions and reports of one process that go to the store together. Times of the store are in milliseconds.
pub(super) struct Batch<'a> {
    pub(super) name: &'a str,
    pub(super) rules: Rules,
    pub(super) flags: String,
    /// Until when the answer is waited for, and what time it is now, as far as this process knows the store's clock.
    pub(super) wanted_until: i64,
    pub(super) estimate: i64,
    /// The latest time and the generation of the state that this process was told.
    pub(super) seen: i64,
    pub(super) generation: i64,
    /// A place that this process has reserved, and until when at least it must be taken.
    pub(super) proof: (usize, i64),
    pub(super) reports: &'a [Report],
    pub(super) questions: Vec<(Priority, Duration)>,
}

/// What the store has yet to be told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Report {
    /// Nothing was sent in this slot.
    GivenBack {
        place: usize,
        at: i64,
    },
    /// The request of this place ended late, or still runs.
    Postponed {
        place: usize,
        at: Instant,
    },
    /// Sent while the store was away.
    Sent {
        at: Instant,
    },
    Throttled {
        retry_after: Option<Duration>,
    },
}

pub(super) struct Reply {
    pub(super) status: Status,
    pub(super) now: i64,
    pub(super) generation: i64,
    pub(super) closed_for: Duration,
    /// How far ahead the last slot is that anybody was given.
    pub(super) last_slot: Duration,
    /// For each question: the place (0: none), the wait, and after which time to come back (0: not at all).
    pub(super) answers: Vec<(usize, Duration, Duration)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Whole,
    /// Nothing was known of the key.
    Empty,
    /// The store knew less than this process.
    Lost,
    /// The batch came later than an answer was waited for, by the store's clock.
    TooLate,
}

impl<'a> Batch<'a> {
    pub(super) fn empty(name: &'a str, rules: Rules) -> Self {
        Self {
            name,
            rules,
            flags: String::new(),
            wanted_until: 0,
            estimate: 0,
            seen: 0,
            generation: 0,
            proof: (0, 0),
            reports: &[],
            questions: Vec::new(),
        }
    }

    pub(super) async fn send(&self, connection: &Connection) -> Result<Reply, RedisError> {
        let mut call = RESERVE.key(self.name);
        call.arg(self.rules.window).arg(self.rules.limit).arg(&self.flags);
        call.arg(self.wanted_until).arg(self.estimate).arg(self.seen).arg(self.generation);
        call.arg(self.proof.0).arg(self.proof.1).arg(self.reports.len());
        for report in self.reports {
            match *report {
                Report::GivenBack { place, at } => call.arg("given").arg(place).arg(at),
                Report::Postponed { place, at } => call.arg("postponed").arg(place).arg(millis(at.elapsed())),
                Report::Sent { at } => call.arg("sent").arg(0).arg(millis(at.elapsed())),
                Report::Throttled { retry_after } => {
                    call.arg("throttled").arg(0).arg(retry_after.map_or(-1, millis))
                }
            };
        }
        for (priority, max_wait) in &self.questions {
            call.arg(*priority as u8).arg(millis(*max_wait));
        }
        let words: Vec<i64> = connection.run(&call).await?;
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let time = |millis: i64| Duration::from_millis(millis.max(0).unsigned_abs());
        let status = match word(0) {
            0 => Status::Whole,
            1 => Status::Empty,
            2 => Status::Lost,
            _ => Status::TooLate,
        };
        let answers = words.get(5..).unwrap_or_default().chunks_exact(3);
        let answers = answers
            .map(|it| (usize::try_from(it[0]).unwrap_or_default(), time(it[1]), time(it[2])))
            .collect();
        let (closed_for, last_slot) = (time(word(3)), time(word(4)));
        Ok(Reply { status, now: word(1), generation: word(2), closed_for, last_slot, answers })
    }
}

pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.min(MAX_WAIT).as_millis()).unwrap_or(i64::MAX)
}
