//! One note, draft or email and the question to a person about it, from the call that wants it to what became
//! of it.
//!
//! Each is one entry of one table, found by one digest of what is to be made. An email that a person must
//! agree to holds the terms of that agreement. Every change of its state is a line of [`State::after`]:
//!
//! | state | what holds | next |
//! |---|---|---|
//! | `Open` | nothing has left; a person is asked, or nobody has to be | `Shown`, `Answered`, `Closed`; `Sending` if nobody has to be asked; `Sent` if it is found |
//! | `Shown` | a browser shows the question | `Answered`, `Closed` |
//! | `Answered` | an answer came, and no other counts | after a yes `Sending` while its terms hold, or `Sent` or `Unknown` when another bridge has sent it or may have; after a no `Refused`; `Closed` |
//! | `Sending` | a request may be at the service | `Sent`; `Answered` or `Open` if it was refused and nothing happened; `Unknown` |
//! | `Sent` | it was made; the same call gets this result for two minutes | |
//! | `Refused` | the person said no; the same is not asked for two minutes | |
//! | `Unknown` | it may have been made; stays until that is found out | `Sent` if it is found, `Closed` if it is not there |
//! | `Closed` | nothing was made; the same call begins anew | |
//!
//! At most one entry with the same digest holds at a time. Whoever works on an entry owns it; the same call
//! waits meanwhile. An owner that is dropped midway leaves `Unknown` where a request may have left, and
//! `Closed` elsewhere.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
    outcome::{Doubt, Failure, Made, Outcome},
};

/// How long the same call gets the first result, and a refusal holds.
pub(crate) const RESULT_TTL: Duration = Duration::from_secs(120);
/// How many refusals in one conversation stop all questions about it for as long, so that a model that
/// rewrites its email does not wear a person down.
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

enum State {
    Open,
    Shown(Instant),
    Answered(Decision),
    /// With what to look for, if the response is lost.
    Sending(UnconfirmedCreate),
    Sent(Made),
    Refused,
    Unknown(UnconfirmedCreate),
    Closed,
}

/// What happens to a question.
pub(crate) enum Event<'a> {
    /// A browser shows it.
    Shown(Instant),
    Answered(Decision),
    /// Nobody wants the answer any more.
    TakenBack,
    /// The answer is a no, which holds for a while.
    Refused,
    /// The request leaves. The create is what to look for if the response is lost.
    Left(Permission<'a>, UnconfirmedCreate),
    /// The service refused the request, and nothing happened.
    Retracted,
    /// It was made, or found.
    Made(Made),
    /// It may have been made: by this bridge, or after a yes by another.
    Lost(UnconfirmedCreate),
    /// What may have been made is not there.
    NotThere,
    /// Whoever worked on it is gone.
    GivenUp,
}

/// Why a request may leave.
#[derive(Clone, Copy)]
pub(crate) enum Permission<'a> {
    /// It reaches no customer, or the person who started the bridge allowed it.
    NotNeeded,
    /// A person said yes, and the terms are these now.
    Yes(&'a Terms),
}

impl State {
    /// Returns the state after an event, if the event has a way from this one. `agreed` is what a person is
    /// asked, if one is.
    fn after(&self, event: Event<'_>, agreed: Option<&Terms>) -> Option<Self> {
        use State::{Answered, Closed, Open, Refused, Sending, Sent, Shown, Unknown};
        Some(match (self, event) {
            (Open, Event::Shown(at)) => Shown(at),
            (Open | Shown(_), Event::Answered(answer)) => Answered(answer),
            (Open | Shown(_), Event::TakenBack) => Closed,
            (Answered(Decision::No), Event::Refused) => Refused,
            (Open, Event::Left(Permission::NotNeeded, create)) if agreed.is_none() => Sending(create),
            (Answered(Decision::Yes), Event::Left(Permission::Yes(now), create)) if agreed == Some(now) => {
                Sending(create)
            }
            (Sending(_), Event::Retracted) if agreed.is_some() => Answered(Decision::Yes),
            (Sending(_), Event::Retracted) => Open,
            (Open | Answered(Decision::Yes) | Sending(_) | Unknown(_), Event::Made(made)) => Sent(made),
            (Sending(_) | Answered(Decision::Yes), Event::Lost(create)) => Unknown(create),
            (Unknown(_), Event::NotThere) => Closed,
            (Sending(create), Event::GivenUp) => Unknown(create.clone()),
            (Open | Shown(_) | Answered(_), Event::GivenUp) => Closed,
            _ => return None,
        })
    }
}

/// What the calls that wait for an answer are given.
#[derive(Clone)]
pub(crate) struct Ending {
    pub(crate) result: Result<CallToolResult, Failure>,
    pub(crate) consent: Option<Consent>,
}

/// An entry of the table.
pub(crate) struct Question {
    digest: Digest,
    conversation: String,
    opened: Instant,
    /// Cancelled when no call wants the answer.
    withdrawn: CancellationToken,
    progress: watch::Sender<Progress>,
}

/// What changes about a question.
pub(super) struct Progress {
    state: State,
    /// When it came into this state.
    since: Instant,
    is_owned: bool,
    /// What a person is asked, if one is.
    terms: Option<Arc<Terms>>,
    /// What the answer brings back, where it comes with a call of its own.
    handle: Option<String>,
    pub(super) page: Option<PageAccess>,
    /// How many calls wait for the answer, and whether the question stays open when they go.
    waiting: usize,
    stays: bool,
    /// When the answer was given, or the question ended without one.
    decided: Option<Timestamp>,
    ending: Option<Ending>,
    closing: Option<ClosingPage>,
}

#[derive(Default)]
struct Table {
    all: Vec<Arc<Question>>,
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

impl Questions {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, table: Arc::default() }
    }

    /// Returns what there is about the create with this digest. What is not being worked on becomes the
    /// caller's.
    pub(crate) fn enter(&self, digest: Digest, conversation: &str) -> Entry {
        let (mut table, now) = self.lock();
        let mut same = table.all.iter().filter(|question| question.digest == digest);
        let found = same.find_map(|question| {
            question.edit(|progress| {
                let age = now.saturating_duration_since(progress.since);
                let is_unwanted = !progress.is_owned || question.withdrawn.is_cancelled();
                match &progress.state {
                    // Its answer would come with a call of its own, or nobody wants it any more; this call
                    // takes its place.
                    State::Open | State::Shown(_) if is_unwanted => {
                        progress.step(now, Event::TakenBack);
                        None
                    }
                    _ if progress.is_owned => Some(Entry::Busy(Waiter::count(question, progress))),
                    State::Sent(made) if age < RESULT_TTL => {
                        let age = age + made.age.unwrap_or_default();
                        Some(Entry::Made(Made { age: Some(age), ..made.clone() }))
                    }
                    State::Refused if age < RESULT_TTL => Some(Entry::Refused),
                    State::Unknown(lost) => {
                        let lost = Box::new(lost.clone());
                        Some(Entry::Unknown(self.owner(question, progress), lost))
                    }
                    _ => None,
                }
            })
        });
        found.unwrap_or_else(|| Entry::New(self.add(&mut table, now, digest, conversation)))
    }

    /// Adds an entry, which is the caller's.
    fn add(&self, table: &mut Table, now: Instant, digest: Digest, conversation: &str) -> Owner {
        let progress = Progress {
            state: State::Open,
            since: now,
            is_owned: true,
            terms: None,
            handle: None,
            page: None,
            waiting: 0,
            stays: false,
            decided: None,
            ending: None,
            closing: None,
        };
        let question = Arc::new(Question {
            digest,
            conversation: conversation.to_owned(),
            opened: now,
            withdrawn: CancellationToken::new(),
            progress: watch::Sender::new(progress),
        });
        table.all.push(question.clone());
        Owner { questions: self.clone(), question }
    }

    /// Takes the question whose answer a call brings back with this handle, and how long it was open. It
    /// works once, whatever the answer is, and for these terms alone.
    pub(crate) fn take(
        &self,
        handle: &str,
        digest: Digest,
        terms: &Terms,
    ) -> Result<(Owner, Duration), ConsentError> {
        let (table, now) = self.lock();
        let question = table.all.iter().find(|question| question.has_handle(handle));
        let question = question.ok_or(ConsentError::Unknown)?;
        question.edit(|progress| {
            if !progress.is_travelling() {
                return Err(ConsentError::Unknown);
            }
            progress.handle = None;
            if question.digest != digest || progress.terms.as_deref() != Some(terms) {
                progress.step(now, Event::TakenBack);
                return Err(ConsentError::OtherEmail);
            }
            Ok((self.owner(question, progress), question.age(now)))
        })
    }

    /// Returns the question that a client was given this handle for, and how long it is open by now, if it
    /// still is.
    pub(crate) fn collect(&self, handle: &str, digest: Digest) -> Option<(Waiter, Option<Duration>)> {
        let (table, now) = self.lock();
        let mut same = table.all.iter().filter(|question| question.digest == digest);
        let question = same.find(|question| question.has_handle(handle))?;
        let age = question.is_open().then(|| question.age(now));
        Some((Waiter::new(question), age))
    }

    /// Returns whether a question about this waits for an answer that comes with a call of its own.
    pub(crate) fn is_asking(&self, digest: Digest) -> bool {
        let is_asking = |question: &Arc<Question>| question.progress.borrow().is_travelling();
        self.lock().0.all.iter().any(|question| question.digest == digest && is_asking(question))
    }

    /// Returns the question whose page fits.
    pub(super) fn with_page(&self, fits: impl Fn(&PageAccess) -> bool) -> Option<Arc<Question>> {
        let has_page =
            |question: &&Arc<Question>| question.progress.borrow().page.as_ref().is_some_and(&fits);
        self.lock().0.all.iter().find(has_page).cloned()
    }

    fn owner(&self, question: &Arc<Question>, progress: &mut Progress) -> Owner {
        progress.is_owned = true;
        Owner { questions: self.clone(), question: question.clone() }
    }

    /// Forgets what is over, and gives the rest.
    fn lock(&self) -> (MutexGuard<'_, Table>, Instant) {
        let now = self.clock.now();
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.all.retain(|question| question.progress.borrow().is_kept(now));
        table.windows.retain(|at| now.saturating_duration_since(*at) < RESULT_TTL);
        (table, now)
    }
}

impl Progress {
    fn is_kept(&self, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.since);
        match self.state {
            State::Unknown(_) => true,
            _ if self.is_owned => true,
            State::Open | State::Shown(_) => age < ANSWER_TIMEOUT,
            // The last page, and the result, can be had again for a while.
            _ if self.page.is_some() => age < 2 * ANSWER_TIMEOUT,
            _ => age < RESULT_TTL,
        }
    }

    /// Returns whether a person is asked and has not answered.
    pub(super) fn is_open(&self) -> bool {
        self.terms.is_some() && matches!(self.state, State::Open | State::Shown(_))
    }

    fn is_travelling(&self) -> bool {
        self.is_open() && !self.is_owned
    }

    /// Changes the state, if the event has a way from it. Returns whether it has.
    fn step(&mut self, now: Instant, event: Event<'_>) -> bool {
        let Some(next) = self.state.after(event, self.terms.as_deref()) else { return false };
        if let State::Answered(_) = next {
            self.decided.get_or_insert_with(Timestamp::now);
        }
        (self.state, self.since) = (next, now);
        true
    }

    /// Records that a browser shows the question.
    pub(super) fn show(&mut self, now: Instant) {
        self.step(now, Event::Shown(now));
    }

    /// Records an answer on the page. Returns whether it counts: `None` if the question was never shown,
    /// false if it is over.
    pub(super) fn answer_on_page(&mut self, answer: Decision, now: Instant) -> Option<bool> {
        match self.state {
            State::Open => None,
            State::Shown(at) => {
                let answer = answer.after(now.saturating_duration_since(at));
                Some(self.step(now, Event::Answered(answer)))
            }
            _ => Some(false),
        }
    }
}

impl Question {
    /// Runs `edit` on what changes about the question, and wakes who waits for that.
    pub(super) fn edit<T>(&self, edit: impl FnOnce(&mut Progress) -> T) -> T {
        let mut result = None;
        self.progress.send_modify(|progress| result = Some(edit(progress)));
        result.expect("it was run")
    }

    /// Returns whether a person is asked and has not answered.
    pub(super) fn is_open(&self) -> bool {
        self.progress.borrow().is_open()
    }

    fn has_handle(&self, handle: &str) -> bool {
        self.progress.borrow().handle.as_deref() == Some(handle)
    }

    /// Returns how long ago it was asked.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.opened)
    }

    /// Waits until the question is over.
    pub(super) async fn closed(&self) {
        _ = self.progress.subscribe().wait_for(|progress| progress.closing.is_some()).await;
    }

    /// Returns the last page, and when it was decided. While the answer is acted upon, it says that.
    pub(super) fn last_page(&self) -> (ClosingPage, Timestamp) {
        let progress = self.progress.borrow();
        let page = progress.closing.clone().unwrap_or_else(ClosingPage::under_way);
        (page, progress.decided.unwrap_or_else(Timestamp::now))
    }
}

/// The one who works on an entry. Dropping it gives the entry up.
pub(crate) struct Owner {
    questions: Questions,
    question: Arc<Question>,
}

impl Owner {
    /// Opens a question on these terms, if a person may be asked.
    pub(crate) fn ask(&self, terms: Arc<Terms>, method: AskMethod) -> Result<(), CannotAsk> {
        let (mut table, now) = self.questions.lock();
        let is_refused = |question: &&Arc<Question>| {
            let progress = question.progress.borrow();
            question.conversation == self.question.conversation
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
        self.question.edit(|progress| progress.terms = Some(terms));
        Ok(())
    }

    /// Shows the question on the page by this access.
    pub(super) fn add_page(&self, access: PageAccess) {
        self.question.edit(|progress| progress.page = Some(access));
    }

    /// Returns a handle by which a later call can be told from others.
    pub(crate) fn handle(&self) -> Option<String> {
        let handle = secret().ok()?;
        self.question.edit(|progress| progress.handle = Some(handle.clone()));
        Some(handle)
    }

    /// Leaves the question open until its answer comes with a call of its own.
    pub(crate) fn travel(self) {
        self.question.edit(|progress| progress.is_owned = false);
    }

    /// Records an answer. Returns the one that counts, which may have come before.
    pub(crate) fn answer(&self, answer: Decision) -> Decision {
        self.step(Event::Answered(answer));
        let counts = self.decision();
        if matches!(counts, Decision::Yes | Decision::No) {
            self.questions.lock().0.windows.clear();
        }
        counts
    }

    /// Waits for an answer on the page.
    pub(crate) async fn answered(&self) -> Decision {
        let is_answered = |progress: &Progress| matches!(progress.state, State::Answered(_));
        _ = self.question.progress.subscribe().wait_for(is_answered).await;
        self.decision()
    }

    fn decision(&self) -> Decision {
        match self.question.progress.borrow().state {
            State::Answered(decision) => decision,
            _ => Decision::Dismissed,
        }
    }

    /// Returns whether a browser has come to the page.
    pub(crate) fn is_entered(&self) -> bool {
        self.question.progress.borrow().page.as_ref().is_some_and(|page| page.is_entered)
    }

    /// Records that the request leaves. Returns false, and it must not leave, without a yes to exactly these
    /// terms where one is needed.
    #[must_use]
    pub(crate) fn send(&self, permission: Permission<'_>, to_look_for: UnconfirmedCreate) -> bool {
        self.step(Event::Left(permission, to_look_for))
    }

    /// Records that it was made, or found, which is its outcome.
    pub(crate) fn made(&self, made: Made) -> Outcome {
        self.question.edit(|progress| {
            // A window that says that it is not known learns better.
            progress.closing.iter_mut().for_each(|closing| *closing = ClosingPage::found(&made));
            progress.step(self.now(), Event::Made(made.clone()));
        });
        Outcome::Made(made)
    }

    /// Records that what may have been made is not there. If it may have been, the caller begins anew in an
    /// entry of its own, which has nothing of this one: neither its time, nor its answer, nor its last page.
    pub(crate) fn not_there(self) -> Self {
        if !self.step(Event::NotThere) {
            return self;
        }
        self.question.edit(|progress| {
            // A window that says that it is not known learns better.
            progress.closing.iter_mut().for_each(|closing| *closing = ClosingPage::ended_early());
        });
        let (mut table, now) = self.questions.lock();
        self.questions.add(&mut table, now, self.question.digest, &self.question.conversation)
    }

    /// Returns how long it is in its state.
    pub(crate) fn age(&self) -> Duration {
        self.now().saturating_duration_since(self.question.progress.borrow().since)
    }

    pub(crate) fn wait(&self) -> Waiter {
        Waiter::new(&self.question)
    }

    /// Waits until no call wants the answer any more.
    pub(crate) async fn withdrawn(&self) {
        self.question.withdrawn.cancelled().await;
    }

    /// Gives the entry up with what the calls that wait are given. Returns whether any call waits.
    pub(crate) fn end(self, ending: Ending, closing: ClosingPage) -> bool {
        let is_awaited = self.question.progress.borrow().waiting > 0;
        self.give_up(Some(ending), Some(closing));
        is_awaited
    }

    fn give_up(&self, ending: Option<Ending>, closing: Option<ClosingPage>) {
        self.question.edit(|progress| {
            if !progress.is_owned {
                return;
            }
            progress.page.iter_mut().for_each(PageAccess::clear);
            progress.step(self.now(), Event::GivenUp);
            let closing = closing.or_else(|| match (&progress.state, progress.terms.as_deref()) {
                (State::Unknown(_), Some(terms)) => Some(ClosingPage::unknown(Doubt::Lost, &terms.preview)),
                (State::Sent(made), Some(_)) => Some(ClosingPage::made(made)),
                (_, Some(_)) => Some(ClosingPage::ended_early()),
                (_, None) => None,
            });
            if progress.closing.is_none() && closing.is_some() {
                progress.closing = closing;
                progress.decided.get_or_insert_with(Timestamp::now);
            }
            progress.ending = ending;
            progress.is_owned = false;
        });
    }

    /// Records an event. Returns whether it changed anything.
    pub(crate) fn step(&self, event: Event<'_>) -> bool {
        self.question.edit(|progress| progress.step(self.now(), event))
    }

    fn now(&self) -> Instant {
        self.questions.clock.now()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.give_up(None, None);
    }
}

/// A call that waits. Dropped before there is an answer, it takes the question back, unless others wait too
/// or a call has left it open.
pub(crate) struct Waiter {
    question: Arc<Question>,
}

impl Waiter {
    fn new(question: &Arc<Question>) -> Self {
        question.edit(|progress| Self::count(question, progress))
    }

    fn count(question: &Arc<Question>, progress: &mut Progress) -> Self {
        progress.waiting += 1;
        Self { question: question.clone() }
    }

    /// Returns whether a person is asked.
    pub(crate) fn is_for_answer(&self) -> bool {
        self.question.progress.borrow().terms.is_some()
    }

    /// Returns whether the person has not answered.
    pub(crate) fn is_open(&self) -> bool {
        self.question.is_open()
    }

    /// Waits until nobody works on it. `None`: it was given up without a word.
    pub(crate) async fn ended(&self) -> Option<Ending> {
        let mut progress = self.question.progress.subscribe();
        let ending = progress.wait_for(|progress| !progress.is_owned).await.ok()?.ending.clone();
        self.leave();
        ending
    }

    /// Leaves the question open when this call ends.
    pub(crate) fn leave(&self) {
        self.question.edit(|progress| progress.stays = true);
    }

    pub(crate) fn withdraw(&self) {
        self.question.withdrawn.cancel();
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let is_unwanted = self.question.edit(|progress| {
            progress.waiting -= 1;
            progress.waiting == 0 && !progress.stays && progress.terms.is_some()
        });
        if is_unwanted {
            self.question.withdrawn.cancel();
        }
    }
}
