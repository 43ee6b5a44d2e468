//! The script that reserves slots in the store: what it is told and what it answers.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use redis::{RedisError, Script};

use super::connection::Connection;
use crate::client::policy::limiter::Priority;
use crate::client::policy::limiter::places::Rules;

static RESERVE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("reserve.lua")));

/// Questions and reports of one process that go to the store together. Times of the store are in milliseconds.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) flags: String,
    /// Until when the answer is waited for, and what time it is now, as far as this process knows the store's clock.
    pub(super) wanted_until: i64,
    pub(super) estimate: i64,
    /// The latest time and the generation of the state that this process was told.
    pub(super) seen: i64,
    pub(super) generation: i64,
    /// A place that this process has reserved, and until when at least it must be taken.
    pub(super) proof: (usize, i64),
    pub(super) reports: Vec<Report>,
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

impl Batch {
    pub(super) async fn send(
        &self,
        connection: &Connection,
        name: &str,
        rules: Rules,
    ) -> Result<Reply, RedisError> {
        let mut call = RESERVE.key(name);
        call.arg(rules.window).arg(rules.limit).arg(&self.flags).arg(self.wanted_until).arg(self.estimate);
        call.arg(self.seen).arg(self.generation).arg(self.proof.0).arg(self.proof.1).arg(self.reports.len());
        for report in &self.reports {
            let (what, place, figure) = match *report {
                Report::GivenBack { place, at } => ("given", place, at),
                Report::Postponed { place, at } => ("postponed", place, millis(at.elapsed())),
                Report::Sent { at } => ("sent", 0, millis(at.elapsed())),
                Report::Throttled { retry_after } => ("throttled", 0, retry_after.map_or(-1, millis)),
            };
            call.arg(what).arg(place).arg(figure);
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
        let answer = |it: &[i64]| (usize::try_from(it[0]).unwrap_or_default(), time(it[1]), time(it[2]));
        let (closed_for, last_slot) = (time(word(3)), time(word(4)));
        let answers = answers.map(answer).collect();
        Ok(Reply { status, now: word(1), generation: word(2), closed_for, last_slot, answers })
    }
}

/// Nobody waits for longer than a day.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).min(86_400_000)
}
