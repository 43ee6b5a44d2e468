//! Batches to the store: one at a time for each key. What comes meanwhile goes together with the next.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use redis::RedisError;
use tokio::sync::oneshot;

use super::script::{Batch, Reply, Report, Status, millis};
use super::state::{Answer, KeyState, MAX_HOLD, Slot};
use crate::client::policy::limiter::Priority;

/// So many questions and reports go together.
const MAX_QUESTIONS: usize = 64;
const MAX_REPORTS: usize = 256;
/// A batch that takes longer to arrive is not wanted any more.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// The store's clock may run faster than ours by one part in so many.
const MAX_DRIFT: u32 = 500;

pub(super) struct Question {
    /// None: whether the store is there.
    pub(super) priority: Option<Priority>,
    pub(super) ends: Instant,
    pub(super) tell: oneshot::Sender<Answer>,
}

/// What is to be sent, and what was last heard.
pub(super) struct Batcher {
    pub(super) questions: VecDeque<Question>,
    pub(super) reports: Vec<Report>,
    is_sending: bool,
    /// Nothing was heard yet, and the process has just begun.
    is_new: bool,
    permits: u64,
    used_at: Instant,
    /// The longest time of a request so far.
    max_hold: Duration,
    start: Instant,
    heard_at: Option<Instant>,
    /// What the store's clock showed, at most, when ours stood at the start; and when that was found out.
    offset: Option<(i64, Instant)>,
    seen: i64,
    generation: i64,
    proof: (usize, i64),
    closed_until: Instant,
    last_slot: Instant,
}

impl Batcher {
    pub(super) fn new(is_new: bool) -> Self {
        let now = Instant::now();
        Self {
            questions: VecDeque::new(),
            reports: Vec::new(),
            is_sending: false,
            is_new,
            permits: 0,
            used_at: now,
            max_hold: Duration::ZERO,
            start: now,
            heard_at: None,
            offset: None,
            seen: 0,
            generation: 0,
            proof: (0, 0),
            closed_until: now,
            last_slot: now,
        }
    }

    pub(super) fn note_use(&mut self, max_hold: Duration) {
        self.used_at = Instant::now();
        self.max_hold = self.max_hold.max(max_hold.min(MAX_HOLD));
    }

    pub(super) fn is_idle_for(&self, unused: Duration) -> bool {
        !self.is_sending && self.questions.is_empty() && self.used_at.elapsed() > unused
    }

    pub(super) fn heard_at(&self) -> Instant {
        self.heard_at.unwrap_or(self.start)
    }

    pub(super) fn close_for(&mut self, pause: Duration) {
        self.closed_until = self.closed_until.max(Instant::now() + pause.min(MAX_HOLD));
    }

    /// Whether a slot of this generation can be used now.
    pub(super) fn is_valid(&self, generation: i64, now: Instant) -> bool {
        self.generation == generation && self.closed_until <= now
    }

    pub(super) fn next_permit(&mut self) -> u64 {
        self.permits += 1;
        self.permits
    }

    /// How long requests may arrive for which the store has given out slots, `more` ahead than it said last.
    pub(super) fn slots_given_out(&self, more: Duration) -> Duration {
        self.last_slot.saturating_duration_since(Instant::now()) + more + self.max_hold
    }

    pub(super) fn jitter(&self, most: u64) -> Duration {
        let random = getrandom::u32().unwrap_or(0);
        Duration::from_millis(most).mul_f64(f64::from(random) / f64::from(u32::MAX))
    }

    fn store_time(&self, at: Instant) -> i64 {
        let Some((offset, since)) = self.offset else { return 0 };
        let drift = millis(at.saturating_duration_since(since)) / i64::from(MAX_DRIFT);
        offset + drift + millis(at.saturating_duration_since(self.start))
    }
}

impl KeyState {
    /// Lets a task send what there is to be sent, unless one does.
    pub(super) fn wake(self: &Arc<Self>) {
        if !std::mem::replace(&mut self.batcher().is_sending, true) {
            self.runtime.spawn(send_batches(Arc::downgrade(self)));
        }
    }

    /// What goes next. None: there is nothing, and the store is there.
    fn next_batch(&self) -> Option<(Vec<Question>, Vec<Report>)> {
        let mut batcher = self.batcher();
        batcher.questions.retain(|question| !question.tell.is_closed());
        if batcher.questions.is_empty() && batcher.reports.is_empty() && !self.is_away() {
            batcher.is_sending = false;
            return None;
        }
        let (questions, reports) =
            (batcher.questions.len().min(MAX_QUESTIONS), batcher.reports.len().min(MAX_REPORTS));
        let batch =
            (batcher.questions.drain(..questions).collect(), batcher.reports.drain(..reports).collect());
        Some(batch)
    }

    /// One script call; a second one if the clocks contradict each other.
    async fn exchange(
        &self,
        questions: &[Question],
        reports: &[Report],
    ) -> Result<(Reply, Instant), RedisError> {
        let mut clock_stepped = false;
        loop {
            let sent_at = Instant::now();
            let batch = self.batch(questions, reports, sent_at, clock_stepped);
            let reply = batch.send(&self.connection, &self.name, self.rules).await?;
            if reply.status != Status::TooLate || clock_stepped {
                self.note(&reply, sent_at, clock_stepped);
                return Ok((reply, sent_at));
            }
            clock_stepped = true;
        }
    }

    fn batch(&self, questions: &[Question], reports: &[Report], now: Instant, clock_stepped: bool) -> Batch {
        let span = Duration::from_millis(self.rules.span());
        let was_away = self.away.borrow().is_some_and(|since| since.elapsed() >= span);
        let reports = [reports, &self.running_late()].concat();
        let mut batcher = self.batcher();
        let proof = batcher.proof.0;
        if reports.iter().any(|report| matches!(report, Report::GivenBack { place, .. } if *place == proof)) {
            batcher.proof = (0, 0);
        }
        let flags = [(was_away, 'a'), (clock_stepped, 'c'), (batcher.is_new, 'f')];
        let estimate = batcher.store_time(now);
        let wait = millis(self.connection.timeout().min(MAX_DELAY));
        let ask = |it: &Question| Some((it.priority?, it.ends.saturating_duration_since(now)));
        Batch {
            flags: flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect(),
            wanted_until: if estimate > 0 { estimate + wait } else { 0 },
            estimate,
            seen: batcher.seen,
            generation: batcher.generation,
            proof: batcher.proof,
            reports,
            questions: questions.iter().filter_map(ask).collect(),
        }
    }

    /// Remembers what the store said.
    fn note(&self, reply: &Reply, sent_at: Instant, clock_stepped: bool) {
        let mut batcher = self.batcher();
        let now = Instant::now();
        let known = if clock_stepped || reply.generation != batcher.generation {
            0
        } else {
            batcher.store_time(sent_at)
        };
        let store_time = if known > 0 { known.min(reply.now) } else { reply.now };
        batcher.offset = Some((store_time - millis(sent_at.duration_since(batcher.start)), sent_at));
        if reply.generation != batcher.generation {
            batcher.proof = (0, 0);
        }
        (batcher.seen, batcher.generation, batcher.is_new) = (reply.now, reply.generation, false);
        batcher.heard_at = Some(sent_at);
        batcher.closed_until = now + reply.closed_for;
        batcher.last_slot = now + reply.last_slot;
        if let Some((place, wait, _)) = reply.answers.iter().rfind(|(place, ..)| *place > 0) {
            batcher.proof = (*place, reply.now + millis(*wait + Duration::from_millis(self.rules.span())));
        }
        let seconds = reply.closed_for.as_secs_f32();
        match reply.status {
            Status::Empty => {
                tracing::warn!(seconds, "the store of the rate limit is empty: it counts as full")
            }
            Status::Lost => {
                tracing::warn!(seconds, "the store of the rate limit has lost slots: it counts as full")
            }
            Status::Whole | Status::TooLate => {}
        }
    }

    fn deliver(self: &Arc<Self>, questions: Vec<Question>, reply: &Reply, sent_at: Instant) {
        let now = Instant::now();
        let mut answers = reply.answers.iter();
        for Question { priority, tell, .. } in questions {
            let answer = match priority.and_then(|_| answers.next()) {
                None => Answer::Heard,
                Some(&(0, wait, after)) if after.is_zero() => {
                    Answer::TooLong(wait.max(Duration::from_millis(1)))
                }
                Some(&(0, _, after)) => Answer::ComeBack(after),
                Some(&(place, wait, _)) => Answer::Slot(Slot {
                    place,
                    generation: reply.generation,
                    at: reply.now + millis(wait),
                    earliest: sent_at + wait,
                    due: now + wait,
                }),
            };
            if let Err(Answer::Slot(Slot { place, at, .. })) = tell.send(answer) {
                self.batcher().reports.push(Report::GivenBack { place, at });
            }
        }
    }
}

/// Until there is nothing to send, and the store is there.
async fn send_batches(state: Weak<KeyState>) {
    let mut failures = 0_u32;
    loop {
        let Some(state) = state.upgrade() else { return };
        let Some((questions, reports)) = state.next_batch() else { return };
        match state.exchange(&questions, &reports).await {
            Ok((reply, sent_at)) => {
                if state.away.send_replace(None).is_some() && failures > 1 {
                    tracing::info!("the store of the rate limit is back");
                }
                failures = 0;
                state.deliver(questions, &reply, sent_at);
            }
            Err(error) => {
                {
                    let mut batcher = state.batcher();
                    questions.into_iter().rev().for_each(|question| batcher.questions.push_front(question));
                    batcher.reports.splice(0..0, reports);
                }
                failures += 1;
                state.lost(&error);
                if failures == 2 {
                    state.say_away(&error);
                }
                let pause = Duration::from_millis(state.rules.slack());
                drop(state);
                if failures > 1 {
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}
