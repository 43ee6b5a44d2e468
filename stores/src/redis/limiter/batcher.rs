//! The task that calls the store for one key, one batch at a time. Questions and reports that arrive
//! meanwhile are sent with the next batch.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use redis::RedisError;
use tokio::sync::mpsc;

use super::rules::Rules;
use super::script::{Batch, Reply, Report, StoredSlot, millis};
use super::state::{KeyState, LocalSlot, Message, Question, Refusal, StoreReservation};
use crate::redis::connection::Link;

/// The most questions in one batch.
const MAX_QUESTIONS: usize = 64;
/// How late a batch may arrive at the store and still be processed.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// The store's clock may run faster than this process's by one part in this number.
const MAX_DRIFT: i64 = 500;

/// The next batch, and the last known state of the store.
pub(super) struct Batcher {
    state: Weak<KeyState>,
    messages: mpsc::UnboundedReceiver<Message>,
    questions: Vec<Question>,
    reports: Vec<Report>,
    /// The number of the first of them, and the name of the last number in the store.
    first_report: u64,
    reports_name: String,
    failures: u32,
    /// Whether the process has just started and the store has not replied yet.
    is_new: bool,
    seen: i64,
    generation: i64,
    /// The latest time that the store's clock can have shown, and when.
    clock: Option<(i64, Instant)>,
}

impl Batcher {
    /// Starts the task for one key. It ends when the state is dropped.
    pub(super) fn start(name: String, rules: Rules, share: u32, link: Link, is_new: bool) -> Arc<KeyState> {
        let (sender, messages) = mpsc::unbounded_channel();
        // The name of this process; one that cannot be drawn is shared, and costs a report at worst.
        let process = getrandom::u64().unwrap_or_default();
        let reports_name = format!("{name}:reports:{process:016x}");
        let state = Arc::new(KeyState::new(name, rules, share, link.clone(), sender));
        let batcher = Self {
            state: Arc::downgrade(&state),
            messages,
            questions: Vec::new(),
            reports: Vec::new(),
            first_report: 1,
            reports_name,
            failures: 0,
            is_new,
            seen: 0,
            generation: 0,
            clock: None,
        };
        link.connection.spawn(batcher.run());
        state
    }

    async fn run(mut self) {
        loop {
            while let Ok(message) = self.messages.try_recv() {
                self.gather(message);
            }
            self.questions.retain(|question| !question.tell.is_closed());
            if self.questions.is_empty() && self.reports.is_empty() && self.failures == 0 {
                let Some(message) = self.messages.recv().await else { return };
                self.gather(message);
                continue;
            }
            let Some(state) = self.state.upgrade() else { return };
            match self.exchange(&state).await {
                Ok(()) => {
                    if state.away.send_replace(None).is_some() && self.failures > 1 {
                        tracing::info!("the store of the rate limit is back");
                    }
                    self.failures = 0;
                }
                Err(error) => {
                    self.failures += 1;
                    state.lost(&error, self.failures);
                    let pause = Duration::from_millis(state.rules.slack());
                    drop(state);
                    if self.failures > 1 {
                        tokio::time::sleep(pause).await;
                    }
                }
            }
        }
    }

    fn gather(&mut self, message: Message) {
        match message {
            Message::Question(question) => self.questions.push(question),
            Message::Report(report) => self.reports.push(report),
        }
    }

    /// Calls the script, and a second time if the clocks contradict each other.
    async fn exchange(&mut self, state: &Arc<KeyState>) -> Result<(), RedisError> {
        if self.failures == 0 {
            self.reports.append(&mut state.running_late());
        }
        let span = Duration::from_millis(state.rules.span());
        let was_away = state.away.borrow().is_some_and(|since| since.elapsed() >= span);
        let mut stepped = false;
        loop {
            let sent_at = Instant::now();
            let estimate = self.store_time(sent_at).unwrap_or(0);
            let wait = millis(state.link.timeout.min(MAX_DELAY));
            let ask = |it: &Question| Some((it.priority?, it.ends.saturating_duration_since(sent_at)));
            let batch = Batch {
                hold: match was_away {
                    true => millis(span),
                    false if self.is_new => millis(Duration::from_millis(state.rules.window / 20)),
                    false => 0,
                },
                wanted_until: if estimate > 0 { estimate + wait } else { 0 },
                stepped_to: if stepped { estimate } else { 0 },
                seen: self.seen,
                generation: self.generation,
                reports: &self.reports,
                first_report: self.first_report,
                reports_name: &self.reports_name,
                questions: self.questions.iter().take(MAX_QUESTIONS).filter_map(ask).collect(),
            };
            match batch.send(&state.link, &state.name, state.rules).await? {
                Some(reply) => {
                    self.record(state, &reply, sent_at, stepped);
                    self.deliver(state, &reply, sent_at);
                    return Ok(());
                }
                None => stepped = true,
            }
        }
    }

    fn store_time(&self, at: Instant) -> Option<i64> {
        let (time, since) = self.clock?;
        let passed = millis(at.saturating_duration_since(since));
        Some(time + passed + passed / MAX_DRIFT)
    }

    /// Records the store's reply.
    fn record(&mut self, state: &KeyState, reply: &Reply, sent_at: Instant, stepped: bool) {
        let known = self.store_time(sent_at).filter(|_| !stepped && reply.generation == self.generation);
        self.clock = Some((known.map_or(reply.now, |known| known.min(reply.now)), sent_at));
        (self.seen, self.generation, self.is_new) = (reply.version, reply.generation, false);
        self.first_report += self.reports.len() as u64;
        self.reports.clear();
        state.record(reply, sent_at);
        if reply.lost_slots {
            let seconds = reply.closed_for.as_secs_f32();
            tracing::warn!(
                seconds,
                "the store of the rate limit is empty, or has lost slots: it counts as full"
            );
        }
    }

    fn deliver(&mut self, state: &Arc<KeyState>, reply: &Reply, sent_at: Instant) {
        let now = Instant::now();
        let mut answers = reply.answers.iter();
        let questions = self.questions.len().min(MAX_QUESTIONS);
        for Question { priority, tell, .. } in self.questions.drain(..questions) {
            let answer = match priority.and_then(|_| answers.next()) {
                // The question only checked that the store can be reached.
                None => Err(Refusal::TooLong { wait: Duration::ZERO }),
                Some(&(0, wait, Duration::ZERO)) => {
                    Err(Refusal::TooLong { wait: wait.max(Duration::from_millis(1)) })
                }
                Some(&(0, _, after)) => {
                    // With jitter, or the process nearest to the store would always be first.
                    let jitter = f64::from(getrandom::u32().unwrap_or(0)) / f64::from(u32::MAX) / 2.0;
                    let after = after + Duration::from_millis(state.rules.near()).mul_f64(jitter);
                    Err(Refusal::ComeBack { after })
                }
                Some(&(pool, wait, _)) => {
                    let at = reply.now + millis(wait);
                    let stored = StoredSlot { generation: reply.generation, pool, at };
                    let slot = LocalSlot { stored, earliest: sent_at + wait, due: now + wait };
                    Ok(StoreReservation(Arc::clone(state), Some(slot)))
                }
            };
            // A caller that no longer waits drops its slot, which gives it back.
            _ = tell.send(answer);
        }
    }
}
