//! The script that reserves slots in the store: its input and its output.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use redis::{RedisError, Script};
use shared_inbox::rate_limit::Priority;

use super::rules::Rules;
use crate::redis::connection::Link;

static RESERVE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("reserve.lua")));

/// Questions and reports of one process, sent to the store together. Times of the store are in milliseconds.
#[derive(Default)]
pub(super) struct Batch<'a> {
    /// How long nothing is sent if no process has called the store for a window; -1 declares the key unused.
    pub(super) hold: i64,
    /// Until when a reply is wanted, and the time if the store's clock has stepped; 0 for none.
    pub(super) wanted_until: i64,
    pub(super) stepped_to: i64,
    /// The latest version of the state that this process has seen, and the state's first one.
    pub(super) seen: i64,
    pub(super) generation: i64,
    pub(super) reports: &'a [Report],
    /// The number of the first report, and the name under which the store keeps that of the last one it has
    /// processed.
    pub(super) first_report: u64,
    pub(super) reports_name: &'a str,
    pub(super) questions: Vec<(Priority, Duration)>,
}

/// A slot as the store knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredSlot {
    pub(super) generation: i64,
    pub(super) pool: i64,
    pub(super) at: i64,
}

/// A change that the store has to record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Report {
    /// The request of this slot ended late, or is in flight; with `None`, it was not sent.
    Slot {
        slot: StoredSlot,
        used_at: Option<i64>,
    },
    /// A request was sent while the store was away.
    Sent {
        at: Instant,
    },
    Throttled {
        retry_after: Option<Duration>,
    },
}

pub(super) struct Reply {
    /// Whether the store did not know the key, or knew less than this process.
    pub(super) lost_slots: bool,
    pub(super) now: i64,
    pub(super) generation: i64,
    pub(super) version: i64,
    pub(super) closed_for: Duration,
    /// For each question: the pool (0: none), the wait, and after which time to come back (0: not at all).
    pub(super) answers: Vec<(i64, Duration, Duration)>,
}

impl Batch<'_> {
    /// Sends the batch. Returns `None` if it arrived later than `wanted_until` by the store's clock.
    pub(super) async fn send(
        &self,
        link: &Link,
        name: &str,
        rules: Rules,
    ) -> Result<Option<Reply>, RedisError> {
        let mut head = rules.figures().map(|figure| figure as f64).to_vec();
        head.extend([self.hold, self.wanted_until, self.stepped_to, self.seen].map(|figure| figure as f64));
        head.push(self.first_report as f64);
        let ask = |(priority, max_wait): &(Priority, Duration)| {
            [f64::from(*priority as u8), millis(*max_wait) as f64]
        };
        let questions: Vec<_> = self.questions.iter().flat_map(ask).collect();
        let reports: Vec<_> = self.reports.iter().flat_map(|report| self.words(report)).collect();
        let mut call = RESERVE.key(name);
        call.key(self.reports_name);
        call.arg(bytes(&head)).arg(bytes(&questions)).arg(bytes(&reports));
        let reply: Vec<u8> = link.run(&call).await?;
        let words: Vec<i64> =
            reply.as_chunks().0.iter().map(|word| f64::from_le_bytes(*word) as i64).collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let time = |millis: i64| Duration::from_millis(millis.max(0).unsigned_abs());
        let answers = words.get(5..).unwrap_or_default().chunks_exact(3);
        Ok((word(0) < 2).then(|| Reply {
            lost_slots: word(0) == 1,
            now: word(1),
            generation: word(2),
            version: word(3),
            closed_for: time(word(4)),
            answers: answers.map(|answer| (answer[0], time(answer[1]), time(answer[2]))).collect(),
        }))
    }

    /// Encodes a report for the script: zeros for a slot of a state that is gone.
    fn words(&self, report: &Report) -> [f64; 3] {
        let (what, slot, used) = match *report {
            Report::Slot { slot, .. } if slot.generation != self.generation => (0, 0, 0),
            Report::Slot { slot, used_at } => (slot.pool, slot.at, used_at.unwrap_or(0)),
            Report::Sent { at } => (4, millis(at.elapsed()), 0),
            Report::Throttled { retry_after } => (5, retry_after.map_or(-1, millis), 0),
        };
        [what, slot, used].map(|word| word as f64)
    }
}

/// Encodes numbers as the script reads them: doubles.
fn bytes(words: &[f64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Converts to milliseconds, a day at most.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).min(86_400_000)
}
