//! One note, draft or email and the question to a person about it, from the call that wants it to what became of it.
//!
//! Each is one entry of one table, found by one digest of what is to be made. An email that a person must agree to holds the
//! terms of that agreement. Every change of its state is a function of this file:
//!
//! | state | what holds | next |
//! |---|---|---|
//! | `Open` | nothing has left; a person is asked, or nobody has to be | `Shown`, `Answered`, `Closed`; `Sending` if nobody has to be asked |
//! | `Shown` | a browser shows the question | `Answered`, `Closed` |
//! | `Answered` | an answer came, and no other counts | `Sending` after a yes while its terms hold; `Unknown` after a yes when another bridge may have sent it; `Refused` after a no; `Closed` |
//! | `Sending` | a request may be at the service | `Sent`; `Answered` or `Open` if it was refused and nothing happened; `Unknown` |
//! | `Sent` | it was made; the same call gets this result for two minutes | |
//! | `Refused` | the person said no; the same is not asked for two minutes | |
//! | `Unknown` | it may have been made; stays until that is found out | `Sent` if it is found, `Open` if it is not there |
//! | `Closed` | nothing was made; the same call begins anew | |
//!
//! At most one entry with the same digest holds at a time. Whoever works on an entry owns it; the same call
//! waits meanwhile. An owner that is dropped midway leaves `Unknown` where a request may have left, and `Closed` elsewhere.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use rmcp::model::CallToolResult;
use shared_inbox::{Timestamp, clock::Clock, create::UnconfirmedCreate};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    ANSWER_TIMEOUT, AskMethod, ClosingPage, Consent, Decision, EmailPreview, page_access::PageAccess, secret,
};
use crate::{
    digest::Digest,
    outcome::{Doubt, Failure, Made},
};

/// How long the same call gets the first result, and a refusal holds.
pub(crate) const RESULT_TTL: Duration = Duration::from_secs(120);
/// How many refusals in one conversation stop all questions about it for as long, so that a model that rewrites its email does
/// not wear a person down.
const MAX_REFUSALS: usize = 3;
/// The most questions open at once: a person who sees more stops reading them.
const MAX_OPEN_QUESTIONS: usize = 3;
/// The most browser windows that are opened without an answer while a refusal holds.
const MAX_WINDOWS: usize = 3;

/// What a yes is for: exactly this email, in the conversation as it is.
#[derive(Clone, PartialEq)]
pub(crate) struct Terms {
    /// The email as it is sent, as JSON.
    pub(crate) email: String,
    pub(crate) preview: EmailPreview,
    /// The customer's message that it answers.
    pub(crate) answers: Option<String>,
}

#[derive(Clone)]
enum State {
    Open,
    Shown(Instant),
    Answered(Decision),
    Sending(UnconfirmedCreate),
    Sent(Made),
    Refused,
    Unknown(UnconfirmedCreate),
    Closed,
}

/// What the calls that wait for an answer are given.
#[derive(Clone)]
pub(crate) struct Ending {
    pub(crate) result: Result<CallToolResult, Failure>,
    pub(crate) consent: Option<Consent>,
}

#[derive(Clone)]
struct Progress {
    state: State,
    /// When it came into this state.
    since: Instant,
    is_owned: bool,
    terms: Option<Arc<Terms>>,
    ending: Option<Ending>,
    /// The last page, and when it was decided.
    closing: Option<(ClosingPage, Timestamp)>,
    decided: Option<Timestamp>,
}

/// An entry of the table.
pub(crate) struct Question {
    id: u64,
    digest: Digest,
    conversation: String,
    opened: Instant,
    /// What the answer brings back, where it comes with a call of its own.
    handle: Option<String>,
    pub(super) page: Option<PageAccess>,
    interest: Interest,
    progress: watch::Sender<Progress>,
}

/// The calls that want an answer.
#[derive(Clone, Default)]
struct Interest {
    /// How many calls wait, or would leave it open if they went.
    waiting: Arc<AtomicUsize>,
    /// How many calls wait now.
    present: Arc<AtomicUsize>,
    withdrawn: CancellationToken,
}

#[derive(Default)]
struct Table {
    all: Vec<Question>,
    last_id: u64,
    /// When each browser window without an answer was opened.
    windows: Vec<Instant>,
}

/// The table.
#[derive(Clone)]
pub(crate) struct Questions {
    pub(super) clock: Arc<dyn Clock>,
    table: Arc<Mutex<Table>>,
}

/// What a call finds.
pub(crate) enum Entry {
    /// Nothing; the entry is the caller's.
    New(Owner),
    /// Another call is at it.
    Busy(Waiter),
    /// It was made a moment ago.
    Made(Made),
    /// The person refused it a moment ago.
    Refused,
    /// It may have been made; the caller is to find out.
    Unknown(Owner, Box<UnconfirmedCreate>),
}

/// Why a person is not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CannotAsk {
    Refused,
    TooManyQuestions,
    TooManyWindows,
}

/// Why an answer that came with a call of its own does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConsentError {
    #[error("the consent was used already, is too old, or was never asked for")]
    Unknown,
    #[error(
        "the conversation changed while the person was asked, or the consent was given for another email"
    )]
    OtherEmail,
}

/// Why a request may leave.
#[derive(Clone, Copy)]
pub(crate) enum Permission<'a> {
    /// It reaches no customer, or the person who started the bridge allowed it.
    NotNeeded,
    /// A person said yes, and the terms are these now.
    Yes(&'a Terms),
}

impl Questions {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, table: Arc::default() }
    }

    /// Returns what there is about the create with this digest. What is not being worked on becomes the caller's.
    pub(crate) fn enter(&self, digest: Digest, conversation: &str) -> Entry {
        let (mut table, now) = self.lock();
        for question in table.all.iter().filter(|question| question.digest == digest) {
            let progress = question.progress.borrow().clone();
            let age = now.saturating_duration_since(progress.since);
            match progress.state {
                // Its answer would come with a call of its own, or nobody wants it any more; this call takes its place.
                State::Open | State::Shown(_)
                    if !progress.is_owned || question.interest.withdrawn.is_cancelled() =>
                {
                    let close = |state: &State| {
                        matches!(state, State::Open | State::Shown(_)).then_some(State::Closed)
                    };
                    if !question.step(now, close) {
                        return Entry::Busy(question.waiter());
                    }
                }
                _ if progress.is_owned => return Entry::Busy(question.waiter()),
                State::Sent(made) if age < RESULT_TTL => {
                    return Entry::Made(Made { age: Some(age), ..made });
                }
                State::Refused if age < RESULT_TTL => return Entry::Refused,
                State::Unknown(unresolved) => {
                    question.progress.send_modify(|progress| progress.is_owned = true);
                    return Entry::Unknown(self.owner(question), Box::new(unresolved));
                }
                _ => {}
            }
        }
        table.last_id += 1;
        let progress = Progress {
            state: State::Open,
            since: now,
            is_owned: true,
            terms: None,
            ending: None,
            closing: None,
            decided: None,
        };
        let question = Question {
            id: table.last_id,
            digest,
            conversation: conversation.to_owned(),
            opened: now,
            handle: None,
            page: None,
            interest: Interest::default(),
            progress: watch::Sender::new(progress),
        };
        let owner = self.owner(&question);
        table.all.push(question);
        Entry::New(owner)
    }

    /// Takes the question whose answer a call brings back with this handle, and how long it was open. It works once, whatever
    /// the answer is, and for these terms alone.
    pub(crate) fn take(
        &self,
        handle: &str,
        digest: Digest,
        terms: &Terms,
    ) -> Result<(Owner, Duration), ConsentError> {
        let (mut table, now) = self.lock();
        let question = table.all.iter_mut().find(|question| question.handle.as_deref() == Some(handle));
        let question = question.filter(|question| question.is_travelling()).ok_or(ConsentError::Unknown)?;
        question.handle = None;
        if question.digest != digest || question.progress.borrow().terms.as_deref() != Some(terms) {
            question.step(now, |_| Some(State::Closed));
            return Err(ConsentError::OtherEmail);
        }
        question.progress.send_modify(|progress| progress.is_owned = true);
        Ok((self.owner(question), now.saturating_duration_since(question.opened)))
    }

    /// Returns the question that a client was given this handle for, and how long it is open by now, if it still is.
    pub(crate) fn collect(&self, handle: &str, digest: Digest) -> Option<(Waiter, Option<Duration>)> {
        let (table, now) = self.lock();
        let is_it =
            |question: &&Question| question.handle.as_deref() == Some(handle) && question.digest == digest;
        let question = table.all.iter().find(is_it)?;
        let age = question.is_open().then(|| now.saturating_duration_since(question.opened));
        Some((question.waiter(), age))
    }

    /// Returns whether a question about this waits for an answer that comes with a call of its own.
    pub(crate) fn is_asking(&self, digest: Digest) -> bool {
        self.lock().0.all.iter().any(|question| question.digest == digest && question.is_travelling())
    }

    /// Runs `act` on the question whose page fits, if there is one.
    pub(super) fn with_page<T>(
        &self,
        fits: impl Fn(&PageAccess) -> bool,
        act: impl FnOnce(&mut Question, Instant) -> T,
    ) -> Option<T> {
        let (mut table, now) = self.lock();
        let question = table.all.iter_mut().find(|question| question.page.as_ref().is_some_and(&fits))?;
        Some(act(question, now))
    }

    fn owner(&self, question: &Question) -> Owner {
        Owner {
            questions: self.clone(),
            id: question.id,
            progress: question.progress.clone(),
            interest: question.interest.clone(),
        }
    }

    /// Forgets what is over, and gives the rest.
    fn lock(&self) -> (MutexGuard<'_, Table>, Instant) {
        let now = self.clock.now();
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.all.retain(|question| question.is_kept(now));
        table.windows.retain(|at| now.saturating_duration_since(*at) < RESULT_TTL);
        (table, now)
    }
}

impl Question {
    fn is_kept(&self, now: Instant) -> bool {
        let progress = self.progress.borrow();
        let age = now.saturating_duration_since(progress.since);
        match progress.state {
            State::Unknown(_) => true,
            _ if progress.is_owned => true,
            State::Open | State::Shown(_) => age < ANSWER_TIMEOUT,
            // The last page, and the result, can be had again for a while.
            _ if self.page.is_some() => age < 2 * ANSWER_TIMEOUT,
            _ => age < RESULT_TTL,
        }
    }

    /// Returns whether a person is asked and has not answered.
    pub(super) fn is_open(&self) -> bool {
        let progress = self.progress.borrow();
        progress.terms.is_some() && matches!(progress.state, State::Open | State::Shown(_))
    }

    fn is_travelling(&self) -> bool {
        self.is_open() && !self.progress.borrow().is_owned
    }

    /// Changes the state, if there is a way from it. Returns whether there was.
    fn step(&self, now: Instant, change: impl FnOnce(&State) -> Option<State>) -> bool {
        step(&self.progress, now, change)
    }

    /// Records that a browser shows the question. Returns how long it has been open.
    pub(super) fn show(&self, now: Instant) -> Duration {
        self.step(now, |state| matches!(state, State::Open).then_some(State::Shown(now)));
        now.saturating_duration_since(self.opened)
    }

    /// Records an answer on the page. Returns whether it counts: `None` if the question was never shown, false if it is over.
    pub(super) fn answer_on_page(&self, answer: Decision, now: Instant) -> Option<bool> {
        let mut was_shown = true;
        let counts = self.step(now, |state| match state {
            State::Shown(at) => Some(State::Answered(answer.after(now.saturating_duration_since(*at)))),
            State::Open => {
                was_shown = false;
                None
            }
            _ => None,
        });
        was_shown.then_some(counts)
    }

    /// Waits until the question is over, and returns its last page; `None` while it is being acted upon after so long.
    pub(super) fn closing(&self) -> impl Future<Output = Option<(ClosingPage, Timestamp)>> + use<> {
        let mut progress = self.progress.subscribe();
        async move {
            let over = progress.wait_for(|progress| progress.closing.is_some()).await.ok()?;
            over.closing.clone()
        }
    }

    /// Returns when the answer was given, if it was.
    pub(super) fn decided(&self) -> Option<Timestamp> {
        self.progress.borrow().decided
    }

    fn waiter(&self) -> Waiter {
        Waiter::new(&self.interest, &self.progress)
    }
}

fn step(
    progress: &watch::Sender<Progress>,
    now: Instant,
    change: impl FnOnce(&State) -> Option<State>,
) -> bool {
    progress.send_if_modified(|progress| {
        let Some(next) = change(&progress.state) else { return false };
        if matches!(next, State::Answered(_)) {
            progress.decided.get_or_insert_with(Timestamp::now);
        }
        progress.since = now;
        progress.state = next;
        true
    })
}

/// The one who works on an entry. Dropping it gives the entry up.
pub(crate) struct Owner {
    questions: Questions,
    id: u64,
    progress: watch::Sender<Progress>,
    interest: Interest,
}

impl Owner {
    /// Opens a question on these terms, if a person may be asked.
    pub(crate) fn ask(&self, terms: Arc<Terms>, method: AskMethod) -> Result<(), CannotAsk> {
        let (mut table, now) = self.questions.lock();
        let is_refused = |question: &&Question| {
            let progress = question.progress.borrow();
            question.conversation == terms.preview.conversation
                && matches!(progress.state, State::Refused)
                && now.saturating_duration_since(progress.since) < RESULT_TTL
        };
        if table.all.iter().filter(is_refused).count() >= MAX_REFUSALS {
            return Err(CannotAsk::Refused);
        }
        if table.all.iter().filter(|question| question.is_open()).count() >= MAX_OPEN_QUESTIONS {
            return Err(CannotAsk::TooManyQuestions);
        }
        if method == AskMethod::Browser {
            if table.windows.len() >= MAX_WINDOWS {
                return Err(CannotAsk::TooManyWindows);
            }
            table.windows.push(now);
        }
        self.progress.send_modify(|progress| progress.terms = Some(terms));
        Ok(())
    }

    /// Shows the question on the page by this access.
    pub(super) fn add_page(&self, access: PageAccess) {
        self.edit(|question| question.page = Some(access));
    }

    /// Returns a handle by which a later call can be told from others.
    pub(crate) fn handle(&self) -> Option<String> {
        let handle = secret().ok()?;
        self.edit(|question| question.handle = Some(handle.clone()));
        Some(handle)
    }

    /// Leaves the question open until its answer comes with a call of its own.
    pub(crate) fn travel(self) {
        self.progress.send_modify(|progress| progress.is_owned = false);
    }

    /// Records an answer. Returns the one that counts, which may have come before.
    pub(crate) fn answer(&self, answer: Decision) -> Decision {
        self.step(|state| matches!(state, State::Open | State::Shown(_)).then_some(State::Answered(answer)));
        let counts = self.decision().unwrap_or(Decision::Dismissed);
        if matches!(counts, Decision::Yes | Decision::No) {
            self.questions.lock().0.windows.clear();
        }
        counts
    }

    /// Takes the question back. Returns false if it has been answered before.
    pub(crate) fn take_back(&self) -> bool {
        self.step(|state| matches!(state, State::Open | State::Shown(_)).then_some(State::Closed))
    }

    /// Waits for an answer on the page.
    pub(crate) async fn answered(&self) -> Decision {
        let mut progress = self.progress.subscribe();
        let is_answered = |progress: &Progress| matches!(progress.state, State::Answered(_));
        _ = progress.wait_for(is_answered).await;
        self.decision().unwrap_or(Decision::Dismissed)
    }

    fn decision(&self) -> Option<Decision> {
        match self.progress.borrow().state {
            State::Answered(decision) => Some(decision),
            _ => None,
        }
    }

    /// Returns whether a browser has come to the page.
    pub(crate) fn is_entered(&self) -> bool {
        let is_entered = |question: &mut Question| question.page.as_ref().is_some_and(|page| page.is_entered);
        self.edit(is_entered).unwrap_or(false)
    }

    /// Records a no, which holds for a while.
    pub(crate) fn refuse(&self) {
        self.step(|state| matches!(state, State::Answered(Decision::No)).then_some(State::Refused));
    }

    /// Records that the request leaves. Returns false, and it must not leave, without a yes to exactly these terms where one is
    /// needed.
    #[must_use]
    pub(crate) fn send(&self, permission: Permission<'_>, unresolved: UnconfirmedCreate) -> bool {
        let agreed = self.progress.borrow().terms.clone();
        self.step(|state| {
            let may = match (state, permission, agreed.as_deref()) {
                (State::Open, Permission::NotNeeded, None) => true,
                (State::Answered(Decision::Yes), Permission::Yes(now), Some(agreed)) => now == agreed,
                _ => false,
            };
            may.then_some(State::Sending(unresolved))
        })
    }

    /// Records that the service refused the request, and nothing happened.
    pub(crate) fn retract(&self) {
        let agreed = self.progress.borrow().terms.is_some();
        let before = if agreed { State::Answered(Decision::Yes) } else { State::Open };
        self.step(|state| matches!(state, State::Sending(_)).then_some(before));
    }

    /// Records that it was made, or found.
    pub(crate) fn made(&self, made: Made) {
        // A window that says that it is not known learns better.
        let closing = ClosingPage::made(&Made { age: None, ..made.clone() });
        self.progress.send_modify(|progress| {
            progress.closing.iter_mut().for_each(|(page, _)| *page = closing.clone())
        });
        self.step(|state| {
            matches!(state, State::Sending(_) | State::Unknown(_)).then_some(State::Sent(made))
        });
    }

    /// Records that it may have been made: by this bridge, or after a yes by another.
    pub(crate) fn lost(&self, create: UnconfirmedCreate) {
        self.step(|state| {
            let may_be = matches!(state, State::Sending(_) | State::Answered(Decision::Yes));
            may_be.then_some(State::Unknown(create))
        });
    }

    /// Records that what may have been made is not there.
    pub(crate) fn not_there(&self) {
        self.progress.send_modify(|progress| progress.terms = None);
        self.step(|state| matches!(state, State::Unknown(_)).then_some(State::Open));
    }

    /// Returns how long it is in its state.
    pub(crate) fn age(&self) -> Duration {
        self.questions.clock.now().saturating_duration_since(self.progress.borrow().since)
    }

    pub(crate) fn wait(&self) -> Waiter {
        Waiter::new(&self.interest, &self.progress)
    }

    /// Returns the token that is cancelled when no call wants the answer.
    pub(crate) fn withdrawn(&self) -> CancellationToken {
        self.interest.withdrawn.clone()
    }

    /// Gives the entry up with what the calls that wait are given. Returns whether any call waits.
    pub(crate) fn end(self, ending: Ending, closing: ClosingPage) -> bool {
        let present = self.interest.present.load(Ordering::Relaxed) > 0;
        self.give_up(Some(ending), Some(closing));
        present
    }

    fn give_up(&self, ending: Option<Ending>, closing: Option<ClosingPage>) {
        self.edit(|question| question.page.as_mut().map(PageAccess::clear));
        let now = self.questions.clock.now();
        self.progress.send_if_modified(|progress| {
            if !progress.is_owned {
                return false;
            }
            let next = match &progress.state {
                State::Open | State::Shown(_) | State::Answered(_) => Some(State::Closed),
                State::Sending(unresolved) => Some(State::Unknown(unresolved.clone())),
                _ => None,
            };
            if let Some(next) = next {
                (progress.state, progress.since) = (next, now);
            }
            let closing = closing.or_else(|| match (&progress.state, progress.terms.as_deref()) {
                (State::Unknown(_), Some(terms)) => Some(ClosingPage::unknown(Doubt::Lost, &terms.preview)),
                (State::Sent(made), Some(_)) => Some(ClosingPage::made(made)),
                (_, Some(_)) => Some(ClosingPage::ended_early()),
                (_, None) => None,
            });
            if let Some(page) = closing.filter(|_| progress.closing.is_none()) {
                progress.closing = Some((page, progress.decided.unwrap_or_else(Timestamp::now)));
            }
            progress.ending = ending;
            progress.is_owned = false;
            true
        });
    }

    fn step(&self, change: impl FnOnce(&State) -> Option<State>) -> bool {
        step(&self.progress, self.questions.clock.now(), change)
    }

    fn edit<T>(&self, edit: impl FnOnce(&mut Question) -> T) -> Option<T> {
        let (mut table, _) = self.questions.lock();
        table.all.iter_mut().find(|question| question.id == self.id).map(edit)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.give_up(None, None);
    }
}

/// A call that waits. Dropped before there is an answer, it takes the question back, unless others wait too or a call has left
/// it open.
pub(crate) struct Waiter {
    interest: Interest,
    progress: watch::Receiver<Progress>,
    /// Whether the question stays open when this call ends.
    keeps: bool,
}

impl Waiter {
    fn new(interest: &Interest, progress: &watch::Sender<Progress>) -> Self {
        interest.waiting.fetch_add(1, Ordering::Relaxed);
        interest.present.fetch_add(1, Ordering::Relaxed);
        Self { interest: interest.clone(), progress: progress.subscribe(), keeps: false }
    }

    /// Returns whether a person is asked.
    pub(crate) fn is_for_answer(&self) -> bool {
        self.progress.borrow().terms.is_some()
    }

    /// Waits until nobody works on it. `None`: it was given up without a word.
    pub(crate) async fn ended(&mut self) -> Option<Ending> {
        let ended = self.progress.wait_for(|progress| !progress.is_owned).await;
        let ending = ended.ok().and_then(|progress| progress.ending.clone());
        self.keeps = true;
        ending
    }

    /// Leaves the question open without waiting.
    pub(crate) fn leave(mut self) {
        self.keeps = true;
    }

    pub(crate) fn withdraw(&self) {
        self.interest.withdrawn.cancel();
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.interest.present.fetch_sub(1, Ordering::Relaxed);
        if !self.keeps && self.interest.waiting.fetch_sub(1, Ordering::Relaxed) == 1 && self.is_for_answer() {
            self.interest.withdrawn.cancel();
        }
    }
}
