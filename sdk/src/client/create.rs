//! Verified creates: a note, a reply or a document request that is never made twice. A create is never repeated blindly;
//! after a lost answer the conversation is read until the item shows, or until it would have shown.

use std::collections::BTreeSet;
use std::fmt;
use std::future::IntoFuture;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tracing::Instrument;

use super::Client;
use super::call::{Payload, body, invalid, label, outgoing};
use super::clock::BoxFuture;
use super::decode::decode;
use super::error::{Certainty, Error, Result};
use super::ledger::Ledger;
use super::limiter::Lane;
use super::options::{Options, call_options};
use super::retry::{Budget, Next, RetryPolicy, next};
use super::transport::{Outgoing, error_type};
use super::verify::{Expected, Sighting, Unconfirmed, Verification, id, ids, judge};
use crate::input::{AddNote, Reply, RequestDocuments};
use crate::{
    Conversation, ConversationId, Done, MessageStatus, Operation, Problems, Repeat, ReplyResult, Scope,
    TimelineItem,
};

/// The first wait before a read-back; doubles up to [`SLOWEST_LOOK`].
const FIRST_LOOK: Duration = Duration::from_millis(500);
const SLOWEST_LOOK: Duration = Duration::from_secs(4);

/// A create that is made by awaiting it. `I` is its input, `O` what it gives.
///
/// However the network and the service behave, awaiting it never makes two items where one was meant, and an error never
/// claims that nothing happened when something did; see [Verified creates](crate#verified-creates).
///
/// Creates in one conversation through one client (and its clones) go one after the other, so a future that is begun and then
/// neither polled nor dropped holds up the next, up to its deadline. Dropping the future is safe: the request under way may
/// still take effect, and nothing else will happen. Whoever may drop it asks for
/// [`unconfirmed`](Self::unconfirmed) before awaiting it.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// let thread = inbox.conversation(&id);
/// let conversation = thread.get().await?;
/// if conversation.tags.iter().any(|tag| tag == "refund") {
///     // It was just read, so the create need not read it again.
///     thread.reply("Your refund is on its way.").seen(&conversation).await?;
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is made by awaiting it"]
pub struct Create<I, O> {
    client: Client,
    conversation: ConversationId,
    pub(super) input: I,
    kind: Kind<I, O>,
    seen: Option<BTreeSet<String>>,
    pub(super) options: Options,
}

/// What tells one create from another.
struct Kind<I, O> {
    operation: Operation,
    prepare: fn(&I) -> Result<Payload, Problems>,
    expect: fn(&I) -> Expected,
    sends: fn(&I) -> bool,
    /// The answer that an item in the timeline stands for.
    recover: fn(&TimelineItem) -> Option<O>,
    /// The id of the item, if the answer names it.
    id: fn(&O) -> Option<String>,
}

impl<I, O> Clone for Kind<I, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O> Copy for Kind<I, O> {}

/// The result of a create.
///
/// Use it as the answer itself; [`recovered`](Self::recovered) tells how it was come by.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// let draft = inbox.conversation(&id).reply("Your refund is on its way.").await?;
/// println!("{} waits for approval", draft.message_id);
/// if draft.recovered() {
///     println!("(its answer was lost)");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created<O> {
    answer: O,
    recovered: bool,
}

impl<O> Created<O> {
    /// Whether the service's answer was lost and this was read from the conversation instead. A recovered reply has the
    /// message's id and its present status; the other fields of the answer are lost.
    #[must_use]
    pub fn recovered(&self) -> bool {
        self.recovered
    }

    /// The answer.
    #[must_use]
    pub fn into_inner(self) -> O {
        self.answer
    }
}

impl<O> Deref for Created<O> {
    type Target = O;
    fn deref(&self) -> &O {
        &self.answer
    }
}

impl Create<AddNote, Done> {
    pub(super) fn note(client: &Client, conversation: &ConversationId, input: AddNote) -> Self {
        let kind = Kind {
            operation: Operation::AddNote,
            prepare: body::<AddNote>,
            expect: |input| input.into(),
            sends: |_| false,
            recover: |item| item.as_note().map(|_| Done { ok: true }),
            id: |_| None,
        };
        Self::make(client, conversation, input, kind)
    }

    /// Takes the whole input at once.
    pub fn input(mut self, input: AddNote) -> Self {
        self.input = input;
        self
    }
}

impl Create<Reply, ReplyResult> {
    pub(super) fn reply(client: &Client, conversation: &ConversationId, input: Reply) -> Self {
        let kind = Kind {
            operation: Operation::Reply,
            prepare: body::<Reply>,
            expect: |input| input.into(),
            sends: |input| input.send,
            recover: message,
            id: |result| Some(result.message_id.to_string()),
        };
        Self::make(client, conversation, input, kind)
    }
}

impl Create<RequestDocuments, ReplyResult> {
    pub(super) fn document_request(
        client: &Client,
        conversation: &ConversationId,
        input: RequestDocuments,
    ) -> Self {
        let kind = Kind {
            operation: Operation::RequestDocuments,
            prepare: body::<RequestDocuments>,
            expect: |input| input.into(),
            sends: |input| input.send,
            recover: message,
            id: |result| Some(result.message_id.to_string()),
        };
        Self::make(client, conversation, input, kind)
    }
}

fn message(item: &TimelineItem) -> Option<ReplyResult> {
    item.as_message().map(|message| ReplyResult {
        message_id: message.id.clone(),
        status: message.status.clone().unwrap_or(MessageStatus::Draft),
        sends_at: None,
        request_id: None,
        note: None,
    })
}

impl<I, O> Create<I, O> {
    fn make(client: &Client, conversation: &ConversationId, input: I, kind: Kind<I, O>) -> Self {
        Self {
            client: client.clone(),
            conversation: conversation.clone(),
            input,
            kind,
            seen: None,
            options: client.inner.options.clone(),
        }
    }

    /// What to do when the answer is lost, instead of what the client does.
    pub fn verification(mut self, verification: Verification) -> Self {
        self.options.verification = verification;
        self
    }

    /// Saves the read before the create: `conversation` was read a moment ago, and what is in it is not new.
    pub fn seen(mut self, conversation: &Conversation) -> Self {
        self.seen = Some(ids(conversation));
        self
    }

    /// All that is needed to find out later whether this create took effect, for a caller that may drop the future before
    /// there is a result. Give [`seen`](Self::seen) first: without it an older item cannot be told from this one.
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
    /// use shared_inbox::Sighting;
    /// use std::time::Duration;
    ///
    /// let thread = inbox.conversation(&id);
    /// let note = thread.add_note("Refund is approved").seen(&thread.get().await?);
    /// let unconfirmed = note.unconfirmed();
    /// if tokio::time::timeout(Duration::from_secs(2), note).await.is_err()
    ///     && let Sighting::Found(_) = inbox.look_for(&unconfirmed).await?
    /// {
    ///     println!("the note is there all the same");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn unconfirmed(&self) -> Unconfirmed {
        Unconfirmed::new(&self.conversation, &(self.kind.expect)(&self.input), self.seen.as_ref())
    }

    call_options!();
}

impl<I, O> IntoFuture for Create<I, O>
where
    I: Send + Sync + 'static,
    O: DeserializeOwned + Send + 'static,
{
    type Output = Result<Created<O>>;
    type IntoFuture = BoxFuture<'static, Result<Created<O>>>;

    fn into_future(self) -> Self::IntoFuture {
        let label = label(self.kind.operation);
        let span = tracing::info_span!("shared_inbox.call", otel.name = %label, otel.kind = "internal");
        Box::pin(async move { self.create(label).await }.instrument(span))
    }
}

impl<I, O: DeserializeOwned> Create<I, O> {
    async fn create(mut self, label: String) -> Result<Created<O>> {
        let payload = (self.kind.prepare)(&self.input).map_err(|problems| invalid(problems, &label))?;
        self.options = self.options.started(self.client.inner.clock.now());
        let mut budget = self.client.budget(&self.options);
        let scope = self.scope();
        let before_sending = |error: Error| error.before_sending().for_call(&label, 0);
        let checked = self.client.check_scope(self.kind.operation, scope, &self.options).await;
        checked.map_err(before_sending)?;
        let out = outgoing(&self.client, self.kind.operation, Some(&self.conversation), payload, scope)?;

        let clock = &self.client.inner.clock;
        let ledger = self.client.ledger(&self.conversation, budget.left()).await;
        let mut ledger = ledger.map_err(before_sending)?;
        let expected = (self.kind.expect)(&self.input);
        let before = self.before(&mut ledger).await.map_err(before_sending)?;

        let mut certainty = Certainty::NotSent;
        loop {
            let error = match self.send(&out, &mut budget).await {
                Ok(answer) => {
                    let id = (self.kind.id)(&answer);
                    ledger.record(expected, before, id, clock.now());
                    return Ok(Created { answer, recovered: false });
                }
                Err(error) => error,
            };
            certainty = certainty.max(error.certainty());
            let give_up = |error: Error| {
                let error = error.at_least(certainty);
                if certainty == Certainty::Unknown {
                    error.with_unconfirmed(Unconfirmed::new(&self.conversation, &expected, before.as_deref()))
                } else {
                    error
                }
            };
            match (next(&error, out.repeat), &before) {
                (Next::Again, _) => match budget.pause_after(&error) {
                    Some(pause) => self.client.pause(&error, pause).await,
                    None => return Err(give_up(error).for_call(&label, budget.attempts())),
                },
                (Next::Look, Some(before)) => {
                    let sighting = self.look(&expected, before, &mut ledger, &budget).await;
                    if let Some(Sighting::Found(item)) = &sighting
                        && let Some(answer) = (self.kind.recover)(item)
                    {
                        let id = id(item).map(str::to_owned);
                        ledger.record(expected, Some(Arc::clone(before)), id, clock.now());
                        return Ok(Created { answer, recovered: true });
                    }
                    // An answer in the 200s means that it was done, even if it is not there to be seen.
                    let done = error.status().is_some_and(|status| status.is_success());
                    if sighting != Some(Sighting::NotFound) || done || !budget.may_send_again() {
                        return Err(give_up(error).for_call(&label, budget.attempts()));
                    }
                    tracing::debug!("error.type" = %error_type(&error), "not in the conversation; sending again");
                }
                (Next::Look | Next::Stop, _) => {
                    return Err(give_up(error).for_call(&label, budget.attempts()));
                }
            }
        }
    }

    fn scope(&self) -> &'static Scope {
        let operation = self.kind.operation;
        let sending = operation.scope_when_sending().filter(|_| (self.kind.sends)(&self.input));
        sending.unwrap_or(operation.scope())
    }

    async fn send(&self, out: &Outgoing, budget: &mut Budget) -> Result<O> {
        let answer = self.client.send(out, &self.options, budget).await?;
        decode(&answer)
    }

    /// What is in the conversation before the create; none when nobody will look.
    async fn before(&self, ledger: &mut Ledger) -> Result<Option<Arc<BTreeSet<String>>>> {
        if self.options.verification == Verification::Never {
            return Ok(None);
        }
        if let Some(seen) = &self.seen {
            return Ok(Some(Arc::new(seen.clone())));
        }
        let conversation = self.client.read_for(&self.conversation, &self.options, ledger).await?;
        Ok(Some(Arc::new(ids(&conversation))))
    }

    /// Reads the conversation until the item is there, or the time is over in which it would show. None when no read
    /// could tell before the call's time was up.
    async fn look(
        &self,
        expected: &Expected,
        before: &BTreeSet<String>,
        ledger: &mut Ledger,
        budget: &Budget,
    ) -> Option<Sighting> {
        let clock = &self.client.inner.clock;
        let started = clock.now();
        let mut delay = FIRST_LOOK;
        loop {
            let settling = self.options.settle.saturating_sub(clock.now().saturating_duration_since(started));
            let pause = if settling.is_zero() { delay } else { delay.min(settling) };
            if pause >= budget.left() {
                return None;
            }
            clock.sleep(pause).await;
            delay = (delay * 2).min(SLOWEST_LOOK);
            match self.sight(expected, before, ledger).await {
                Ok(found @ Sighting::Found(_)) => return Some(found),
                Ok(sighting) => {
                    if clock.now().saturating_duration_since(started) >= self.options.settle {
                        return Some(sighting);
                    }
                }
                Err(error) if next(&error, Repeat::Harmless) == Next::Again => {
                    tracing::debug!("error.type" = %error_type(&error), "the read-back failed");
                }
                // The conversation, or the key, is gone: no later read will tell more.
                Err(_) => return None,
            }
        }
    }

    /// One read-back, with the capacity that is kept for them.
    async fn sight(
        &self,
        expected: &Expected,
        before: &BTreeSet<String>,
        ledger: &mut Ledger,
    ) -> Result<Sighting> {
        let options =
            Options { lane: Lane::ReadBack, retry: RetryPolicy::never(), wait: true, ..self.options.clone() };
        let conversation = self.client.read_for(&self.conversation, &options, ledger).await?;
        let author = self.client.author(expected, &options).await?;
        Ok(judge(&conversation, before, expected, author, ledger))
    }
}

impl<I: Clone, O> Clone for Create<I, O> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            conversation: self.conversation.clone(),
            input: self.input.clone(),
            kind: self.kind,
            seen: self.seen.clone(),
            options: self.options.clone(),
        }
    }
}

impl<I: fmt::Debug, O> fmt::Debug for Create<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Create")
            .field("operation", &self.kind.operation)
            .field("conversation", &self.conversation)
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}
