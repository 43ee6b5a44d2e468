//! Open questions, each shared by every call that waits for its answer.
//!
//! A client gives up on a call after a minute, and a person may take five. So a question outlives its call: the answer is acted
//! upon, and the same call made again finds it. Only a call that the client cancels withdraws its question.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::model::{CallToolResponse, CallToolResult};
use shared_inbox::clock::Clock;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    audit::Consent,
    consent::{ANSWER_TIMEOUT, AskMethod},
    digest::Digest,
    server::{record::note, results::failed},
};

/// How long a call waits for a person before it returns that the question is still open.
const CALL_WAIT_TIMEOUT: Duration = Duration::from_secs(45);

/// How many results are kept for clients to collect.
const MAX_KEPT_RESULTS: usize = 8;

/// The questions that are open, and the results that a client of the newer protocol has yet to come for.
#[derive(Clone, Default)]
pub(super) struct SharedQuestions {
    open: Arc<Mutex<HashMap<Digest, PendingQuestion>>>,
    kept: Arc<Mutex<VecDeque<(String, Digest, PendingQuestion)>>>,
}

/// How a question ended: what the calls that wait are given, and who agreed.
#[derive(Clone)]
pub(super) struct QuestionResult {
    pub(super) result: CallToolResult,
    pub(super) consent: Option<Consent>,
}

#[derive(Clone)]
struct PendingQuestion {
    ended: watch::Receiver<Option<QuestionResult>>,
    withdrawn: CancellationToken,
    /// How many calls wait, or would leave it open if they went.
    waiting: Arc<AtomicUsize>,
    /// How many calls wait now.
    present: Arc<AtomicUsize>,
}

/// What a call has waited for.
pub(super) enum WaitOutcome {
    /// An answer came.
    Ended(QuestionResult),
    /// The question is still open, and stays so.
    Open,
    /// Nobody is asking: the call that was about to was cancelled before its question was out. For a call whose own question
    /// is out, this can only mean that the bridge failed.
    Nobody,
}

/// A question that is open already, or the owner of a new one.
pub(super) enum QuestionEntry {
    Open(Waiter),
    New(QuestionOwner),
}

impl SharedQuestions {
    /// Returns the question about what a person sees as this email.
    pub(super) fn enter(&self, seen: Digest) -> QuestionEntry {
        let mut open = self.lock();
        // One that is being taken back has no answer for anyone.
        if let Some(question) = open.get(&seen).filter(|question| !question.withdrawn.is_cancelled()) {
            return QuestionEntry::Open(Waiter::new(question));
        }
        let (end, ended) = watch::channel(None);
        let question = PendingQuestion {
            ended,
            withdrawn: CancellationToken::new(),
            waiting: Arc::default(),
            present: Arc::default(),
        };
        open.insert(seen, question.clone());
        QuestionEntry::New(QuestionOwner { questions: self.clone(), seen, question, end })
    }

    /// Returns the question that a client of the newer protocol was given this handle for.
    pub(super) fn collect(&self, seen: Digest, handle: &str) -> Option<Waiter> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (.., question) = kept.iter().find(|(one, of, _)| one == handle && *of == seen)?;
        Some(Waiter::new(question))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, PendingQuestion>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner of an open question. Dropping it closes the question.
pub(super) struct QuestionOwner {
    questions: SharedQuestions,
    seen: Digest,
    question: PendingQuestion,
    end: watch::Sender<Option<QuestionResult>>,
}

impl QuestionOwner {
    /// Ends it for all calls that wait. Returns whether any call waits.
    pub(super) fn end(self, result: CallToolResult, consent: Option<Consent>) -> bool {
        // Whoever comes after this makes a new question, so it is removed first.
        self.free();
        self.end.send_replace(Some(QuestionResult { result, consent }));
        self.question.present.load(Ordering::Relaxed) > 0
    }

    /// Keeps its result for a call with this handle.
    pub(super) fn keep(&self, handle: &str) {
        let mut kept = self.questions.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(MAX_KEPT_RESULTS - 1);
        kept.push_front((handle.to_owned(), self.seen, self.question.clone()));
    }

    /// Returns the token that is cancelled when no call wants the answer.
    pub(super) fn withdrawn(&self) -> CancellationToken {
        self.question.withdrawn.clone()
    }

    fn free(&self) {
        let mut open = self.questions.lock();
        if open.get(&self.seen).is_some_and(|question| Arc::ptr_eq(&question.waiting, &self.question.waiting))
        {
            open.remove(&self.seen);
        }
    }

    pub(super) fn wait(&self) -> Waiter {
        Waiter::new(&self.question)
    }
}

impl Drop for QuestionOwner {
    fn drop(&mut self) {
        self.free();
    }
}

/// A call that waits for an answer. Dropped before it has one, it takes the question back, unless others wait too or a call
/// has left it open.
pub(super) struct Waiter {
    question: PendingQuestion,
    /// Whether the question stays open when this call ends.
    kept: bool,
}

impl Waiter {
    fn new(question: &PendingQuestion) -> Self {
        question.waiting.fetch_add(1, Ordering::Relaxed);
        question.present.fetch_add(1, Ordering::Relaxed);
        Self { question: question.clone(), kept: false }
    }

    pub(super) async fn result(mut self, clock: &dyn Clock) -> WaitOutcome {
        let mut ended = self.question.ended.clone();
        let waited = tokio::select! {
            biased;
            ended = ended.wait_for(Option::is_some) => {
                ended.ok().and_then(|ended| ended.clone()).map_or(WaitOutcome::Nobody, WaitOutcome::Ended)
            }
            () = clock.sleep(CALL_WAIT_TIMEOUT) => WaitOutcome::Open,
        };
        self.kept = true;
        waited
    }

    /// Leaves the question open without waiting.
    pub(super) fn leave(mut self) {
        self.kept = true;
    }

    pub(super) fn withdraw(&self) {
        self.question.withdrawn.cancel();
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.question.present.fetch_sub(1, Ordering::Relaxed);
        if !self.kept && self.question.waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.question.withdrawn.cancel();
        }
    }
}

/// Returns the response to a call that has waited for the answer to a question.
pub(super) fn into_response(waited: WaitOutcome, way: AskMethod) -> Result<CallToolResponse, CallToolResult> {
    match waited {
        WaitOutcome::Ended(ended) => {
            ended.consent.into_iter().for_each(note);
            Ok(ended.result.into())
        }
        WaitOutcome::Open => Err(still_open(way)),
        WaitOutcome::Nobody => Err(failed(
            "The bridge failed while the person was asked, and it is not known whether the email was sent. Read the conversation \
             before you try again.",
        )),
    }
}

fn still_open(way: AskMethod) -> CallToolResult {
    note(Consent::Open(way));
    failed(format!(
        "Not sent yet: the person was asked and has not answered. The question stays open for {} minutes in all, and a yes sends \
         the email. To learn the answer, make the same call again in a while; do not change the email.",
        ANSWER_TIMEOUT.as_secs() / 60
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(entry: QuestionEntry) -> QuestionOwner {
        match entry {
            QuestionEntry::New(owner) => owner,
            QuestionEntry::Open(_) => panic!("it is asked already"),
        }
    }

    #[tokio::test]
    async fn a_question_that_is_being_taken_back_is_asked_anew() {
        let (questions, seen) =
            (SharedQuestions::default(), Digest::from_parts(&"an email").expect("a text is JSON"));
        let first = new(questions.enter(seen));
        drop(first.wait());
        let second = new(questions.enter(seen));
        first.end(CallToolResult::success(Vec::new()), None);
        let QuestionEntry::Open(waiting) = questions.enter(seen) else {
            panic!("the end of the first is not its own")
        };
        second.end(CallToolResult::success(Vec::new()), None);
        assert!(matches!(waiting.result(&shared_inbox::clock::TokioClock).await, WaitOutcome::Ended(_)));
        new(questions.enter(seen));
    }

    #[tokio::test]
    async fn whoever_waits_for_a_question_that_was_never_put_is_told_so() {
        let (questions, seen) =
            (SharedQuestions::default(), Digest::from_parts(&"an email").expect("a text is JSON"));
        let first = new(questions.enter(seen));
        let QuestionEntry::Open(waiting) = questions.enter(seen) else { panic!("it is being asked") };
        drop(first);
        assert!(matches!(waiting.result(&shared_inbox::clock::TokioClock).await, WaitOutcome::Nobody));
        new(questions.enter(seen));
    }
}
