//! What is said to the store and what it answers, in the words of its script.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use redis::{RedisError, Script};

use super::link::Link;
use crate::client::policy::limiter::window::Measure;
use crate::client::policy::limiter::{AcquireRequest, Priority};

static DECIDE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("decide.lua")));
/// Nobody waits longer.
const LONGEST: Duration = Duration::from_secs(86_400);

/// What a process asks for, and has to tell.
pub(super) struct Letter<'a> {
    /// The key in the store.
    pub(super) name: &'a str,
    pub(super) measure: Measure,
    pub(super) limit: u32,
    /// Since when the store was away, as this process saw it.
    pub(super) away: Option<Instant>,
    /// Whether a store that knows nothing of the key is new.
    pub(super) new: bool,
    pub(super) questions: &'a [Question],
    pub(super) reports: &'a [Report],
}

/// Whether a request may be sent.
pub(super) struct Question {
    pub(super) ask: AcquireRequest,
    pub(super) id: String,
    /// How long it can still wait.
    pub(super) patience: Duration,
    /// How long it has waited.
    pub(super) waited: Duration,
    /// Whether others of its lane wait behind it in this process.
    pub(super) more: bool,
}

/// What came of a request; `request` is its lane and id.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) request: String,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// Ended soon after it was let through. `granted`: then, by the store's clock; 0 when this process let it through
    /// itself.
    InTime { granted: u64, ended: Instant },
    /// Ended later.
    Late { granted: u64, ended: Instant },
    /// Was not sent.
    GivenUp,
    /// Was sent without the store.
    Sent { at: Instant, lasts: Duration },
    /// The service refused it.
    Throttled { retry_after: Option<Duration> },
}

impl What {
    /// When it became true, as far as it matters how long ago that was.
    pub(super) fn since(&self) -> Option<Instant> {
        match *self {
            Self::Sent { at, .. } => Some(at),
            Self::InTime { ended, .. } | Self::Late { ended, .. } => Some(ended),
            _ => None,
        }
    }
}

/// What the store says.
pub(super) struct Reply {
    /// One for each question.
    pub(super) verdicts: Vec<Verdict>,
    pub(super) memory: Memory,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    /// It counts from now, by the store's clock.
    Go(u64),
    Wait(Duration),
}

/// What the store knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Whole,
    /// Nothing of this key.
    Empty,
    /// Less than it was told.
    Lost,
}

impl Letter<'_> {
    pub(super) async fn send(&self, link: &Link) -> Result<Reply, RedisError> {
        let now = Instant::now();
        let ago = |at: Instant| millis(now.saturating_duration_since(at));
        let mut call = DECIDE.key(self.name);
        call.arg(millis(self.measure.window)).arg(self.limit);
        call.arg(self.away.map_or(-1, ago)).arg(i32::from(self.new));
        call.arg(self.questions.len());
        for Question { ask, id, patience, waited, more } in self.questions {
            call.arg(ask.priority as u8).arg(id).arg(millis(ask.max_hold));
            call.arg(millis(*patience)).arg(millis(*waited)).arg(i32::from(*more));
        }
        for Report { request, what } in self.reports {
            let (word, a, b) = match *what {
                What::InTime { granted, .. } => ("e", granted.cast_signed(), 0),
                What::Late { granted, ended } => ("f", granted.cast_signed(), ago(ended)),
                What::GivenUp => ("g", 0, 0),
                What::Sent { at, lasts } => ("b", ago(at), millis(lasts)),
                What::Throttled { retry_after } => ("t", retry_after.map_or(-1, millis), 0),
            };
            call.arg(word).arg(request).arg(a).arg(b);
        }
        let answer: Vec<u64> = link.run(&call).await?;
        let memory = match answer.first() {
            Some(1) => Memory::Empty,
            Some(2) => Memory::Lost,
            _ => Memory::Whole,
        };
        let verdict = |pair: &[u64]| match *pair {
            [1, when] => Verdict::Go(when),
            [_, wait] => Verdict::Wait(Duration::from_millis(wait)),
            _ => Verdict::Wait(self.measure.slack()),
        };
        let verdicts = answer.get(1..).unwrap_or_default().chunks(2).map(verdict).collect();
        Ok(Reply { verdicts, memory })
    }
}

/// The name of a request in the store.
pub(super) fn request(lane: Priority, id: &str) -> String {
    format!("{}{id}", lane as u8)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.min(LONGEST).as_millis()).unwrap_or(i64::MAX)
}
