//! The builder of a create: a note, a reply or a document request.

use std::collections::BTreeSet;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use super::input::CreateInput;
use crate::client::call::{Response, call_options, label, read, single_call_options};
use crate::client::create_state::{Baseline, UnconfirmedCreate, item_keys};
use crate::client::engine::{Core, count_create, traced};
use crate::client::error::Result;
use crate::client::policy::{BoxFuture, Options, Verification};
use crate::model::setters;
use crate::{Conversation, ConversationId};

/// A create that is made by awaiting it. `I` is its input.
///
/// It is never repeated blindly: after a lost response the conversation is read, and the request is sent once
/// more only when nothing new there could be its item. A request that is carried out later than that makes a
/// second one. An error never claims that nothing happened when something did. See [Lost
/// responses](crate#lost-responses).
///
/// Creates in one conversation through one client (and its clones) run one after the other, so a future that
/// is neither polled nor dropped blocks the next one, up to its deadline. Dropping the future is safe: the
/// request in flight may still take effect, and nothing else happens. If you may drop it, get
/// [`unconfirmed`](Self::unconfirmed) before awaiting it.
#[derive(Clone)]
#[must_use = "a call is made by awaiting it"]
pub struct CreateRequest<I> {
    pub(super) core: Arc<Core>,
    pub(super) conversation: ConversationId,
    pub(super) input: I,
    pub(super) seen: Option<Seen>,
    pub(super) once: Option<String>,
    pub(super) options: Options,
}

/// A read of the caller's.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) conversation: ConversationId,
    keys: BTreeSet<String>,
}

impl<I: CreateInput> CreateRequest<I> {
    pub(crate) fn new(core: &Arc<Core>, conversation: &ConversationId, input: I) -> Self {
        let (core, options) = (Arc::clone(core), core.options.clone());
        Self { core, conversation: conversation.clone(), input, seen: None, once: None, options }
    }

    setters! {
        /// Sets how to recover a lost response, instead of the client's setting.
        verification(verification: Verification) options.verification = verification;
        /// Makes this happen once under the key, whichever process calls, however often, and whatever was
        /// killed in between. Needs a [store](crate::ClientBuilder::once_store).
        ///
        /// What a call does depends on what the store knows of the key: see [Creates that survive the
        /// process](crate#creates-that-survive-the-process).
        ///
        /// After an error, call again with the same key. Where it is not clear whether the item is there,
        /// that is an error of [`Certainty::Unknown`](crate::Certainty::Unknown) and stays one until a person
        /// has looked and settled the record ([`Client::once_records`](crate::Client::once_records)).
        once(key: impl Into<String>) once = Some(key.into());
    }

    /// Declares that the items of `conversation`, as it was read before, are not new. Helps to recover a lost
    /// response where another client has read it; this client knows what it has read itself.
    ///
    /// A read of another conversation is an error when the create is awaited, before anything is sent.
    pub fn seen(mut self, conversation: &Conversation) -> Self {
        self.seen = Some(Seen { conversation: conversation.id.clone(), keys: keys(conversation) });
        self
    }

    /// Returns the items that this client, or its user, has read.
    pub(super) fn seen_keys(&self) -> BTreeSet<String> {
        let read = self.core.reads.newest_keys(&self.conversation);
        let seen = self.seen.iter().filter(|seen| seen.conversation == self.conversation);
        seen.flat_map(|seen| &seen.keys).chain(&*read).cloned().collect()
    }

    /// Returns what is needed to find out later whether this create took effect, for a caller that may drop
    /// the future before there is a result. Items that are older than this call by the service's clock do not
    /// count.
    ///
    /// The conversation is read first where this client could not tell which items are older: it has not
    /// heard the service's time yet, has read no item that shows whether items are dated by it, nor this
    /// conversation in the last minutes.
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
    /// use shared_inbox::create::Lookup;
    /// use std::time::Duration;
    ///
    /// let note = inbox.conversation(&id).add_note("Refund is approved");
    /// let unconfirmed = note.unconfirmed().await?;
    /// if tokio::time::timeout(Duration::from_secs(2), note).await.is_err()
    ///     && let Lookup::Found(_) = inbox.find_unconfirmed(&unconfirmed).await?
    /// {
    ///     println!("the note is there all the same");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the conversation must be read and cannot be.
    pub async fn unconfirmed(&self) -> Result<UnconfirmedCreate> {
        let baseline = match self.known_baseline() {
            Some(baseline) => baseline,
            None => {
                let conversation = read(&self.core, &self.conversation, &self.options).await?;
                let (clock, now) = (&self.core.service_clock, self.core.clock.now());
                Baseline::new(keys(&conversation), clock.reading().is_none(), now, clock)
            }
        };
        Ok(self.unconfirmed_since(baseline))
    }

    /// Returns the state of the conversation, if what this client knows tells old items from new ones.
    pub(super) fn known_baseline(&self) -> Option<Baseline> {
        let (clock, now) = (&self.core.service_clock, self.core.clock.now());
        let is_known = self.seen.is_some() || self.core.reads.are_enough(&self.conversation, clock, now);
        let is_complete = self.seen.is_some() && clock.reading().is_none();
        is_known.then(|| Baseline::new(self.seen_keys(), is_complete, now, clock))
    }

    /// Returns the create with this state before it. When it will be sent is not known yet.
    pub(super) fn unconfirmed_since(&self, baseline: Baseline) -> UnconfirmedCreate {
        let (conversation, expected) = (self.conversation.clone(), self.input.expected());
        UnconfirmedCreate { conversation, expected, baseline, sent_by: None }
    }

    call_options!();
    single_call_options!();
}

/// Returns the keys of all items in a conversation.
pub(super) fn keys(conversation: &Conversation) -> BTreeSet<String> {
    item_keys(conversation).map(|(key, _)| key).collect()
}

impl<I: CreateInput> IntoFuture for CreateRequest<I> {
    type Output = Result<Response<I::Output>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let label = label(I::OPERATION);
        Box::pin(async move {
            let result = traced(&label, Response::describe, self.create(label.clone())).await;
            count_create(&result, Response::describe);
            result
        })
    }
}

impl<I: CreateInput + fmt::Debug> fmt::Debug for CreateRequest<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateRequest")
            .field("operation", &I::OPERATION)
            .field("conversation", &self.conversation)
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}
