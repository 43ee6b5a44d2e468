//! Letters to the store: questions that go together, and all that is to be told beside them. A letter that is lost, or that
//! nobody waits for any more, loses no report and no place.

use std::sync::Arc;
use std::time::Instant;

use redis::RedisError;
use tokio::sync::oneshot;

use super::super::exchange::{Letter, Memory, Question, Report, Verdict, What, request};
use super::{MOST_REPORTS, Slot};

/// As many as this are told even where they could wait.
const FEW_REPORTS: usize = 32;
/// So many letters are on their way at a time, and so many questions go in one.
const AT_ONCE: usize = 4;
const MOST_QUESTIONS: usize = 64;

/// Questions to the store.
#[derive(Default)]
pub(super) struct Desk {
    /// How many letters are.
    under_way: usize,
    queue: Vec<(Question, oneshot::Sender<Verdict>)>,
}

impl Slot {
    /// Some questions are on their way at a time, each with a letter of its own; those that come meanwhile go together.
    pub(super) async fn put(self: &Arc<Self>, question: Question) -> Option<Verdict> {
        let queued = {
            let mut desk = self.desk();
            if desk.under_way < AT_ONCE {
                desk.under_way += 1;
                Err(question)
            } else {
                let (tell, told) = oneshot::channel();
                desk.queue.push((question, tell));
                Ok(told)
            }
        };
        match queued {
            Ok(told) => told.await.ok(),
            Err(question) => {
                let _turn = Turn(self);
                self.verdicts(&[question]).await.into_iter().next()
            }
        }
    }

    /// For those who queue, until nobody does.
    async fn serve(self: Arc<Self>) {
        loop {
            let (questions, callers): (Vec<_>, Vec<_>) = {
                let mut desk = self.desk();
                let some = desk.queue.len().min(MOST_QUESTIONS);
                if some == 0 {
                    desk.under_way -= 1;
                    return;
                }
                desk.queue.drain(..some).unzip()
            };
            let verdicts = self.verdicts(&questions).await;
            for ((question, caller), verdict) in questions.iter().zip(callers).zip(verdicts) {
                if caller.send(verdict).is_err() && matches!(verdict, Verdict::Go(_)) {
                    let request = request(question.ask.priority, &question.id);
                    self.tell(Report { request, what: What::GivenUp }, true);
                }
            }
        }
    }

    /// None at all when the store is away.
    async fn verdicts(&self, questions: &[Question]) -> Vec<Verdict> {
        let answer = self.exchange(questions).await;
        answer.inspect_err(|error| self.lost(error)).unwrap_or_default()
    }

    /// A letter with all that is to be told. What did not arrive is told again.
    pub(super) async fn exchange(&self, questions: &[Question]) -> Result<Vec<Verdict>, RedisError> {
        let mut parcel = Parcel { slot: self, reports: Vec::new() };
        let first = {
            let mut state = self.state();
            // That requests ended in time can wait until there are some, or until somebody looks in.
            let wait = !questions.is_empty()
                && state.reports.len() < FEW_REPORTS
                && state.reports.iter().all(|report| matches!(report.what, What::InTime { .. }));
            let some = if wait { 0 } else { state.reports.len().min(MOST_REPORTS) };
            parcel.reports.extend(state.reports.drain(..some));
            state.heard.is_none()
        };
        let away = *self.away.borrow();
        let letter = Letter {
            name: &self.name,
            measure: self.terms.measure,
            limit: self.terms.limit,
            away,
            // While it was away, others may have gone on without it.
            new: self.terms.new && first && away.is_none(),
            questions,
            reports: &parcel.reports,
        };
        let reply = letter.send(&self.link).await?;
        parcel.reports.clear();
        self.state().heard = Some(Instant::now());
        let seconds = self.terms.measure.span().as_secs_f32();
        match reply.memory {
            Memory::Whole => {}
            Memory::Empty => tracing::warn!(
                seconds,
                "the store of the rate limit is empty: it counts as full until what it forgot no longer counts"
            ),
            Memory::Lost => tracing::warn!(
                seconds,
                "the store of the rate limit has lost requests: it counts as full until they no longer count"
            ),
        }
        Ok(reply.verdicts)
    }
}

/// A letter under way. When it has arrived, or nobody waits for it any more, those who queue are served.
struct Turn<'a>(&'a Arc<Slot>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut desk = self.0.desk();
        if desk.queue.is_empty() {
            desk.under_way -= 1;
        } else {
            self.0.runtime.spawn(Arc::clone(self.0).serve());
        }
    }
}

/// Reports on their way; those that may not have arrived are kept.
struct Parcel<'a> {
    slot: &'a Slot,
    reports: Vec<Report>,
}

impl Drop for Parcel<'_> {
    fn drop(&mut self) {
        if !self.reports.is_empty() {
            let mut state = self.slot.state();
            state.reports.splice(0..0, self.reports.drain(..));
        }
    }
}
