//! The builder of a create: a note, a reply or a document request.

use std::collections::BTreeSet;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use tracing::Instrument;

use super::input::CreateInput;
use super::recent_creates::CreateLog;
use crate::client::call::{Response, call_options, label, single_call_options};
use crate::client::engine::{Core, item_keys};
use crate::client::error::{Before, Result, UnconfirmedCreate};
use crate::client::policy::{BoxFuture, Options, Verification};
use crate::{Conversation, ConversationId};

/// A create that is made by awaiting it. `I` is its input.
///
/// It is never repeated blindly: after a lost response the conversation is read, and the request is sent once more only when
/// nothing new there could be its item. A request that is carried out later than that makes a second one. An error never claims
/// that nothing happened when something did. See [Lost responses](crate#lost-responses).
///
/// Creates in one conversation through one client (and its clones) run one after the other, so a future that is neither polled
/// nor dropped blocks the next one, up to its deadline. Dropping the future is safe: the request in flight may still take
/// effect, and nothing else happens. If you may drop it, get [`unconfirmed`](Self::unconfirmed) before awaiting it.
#[derive(Clone)]
#[must_use = "a call is made by awaiting it"]
pub struct CreateRequest<I> {
    pub(super) core: Arc<Core>,
    pub(super) log: Arc<CreateLog>,
    pub(super) conversation: ConversationId,
    pub(super) input: I,
    pub(super) seen: Option<Seen>,
    pub(super) options: Options,
}

/// A read of the caller's.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) conversation: ConversationId,
    keys: BTreeSet<String>,
}

impl<I: CreateInput> CreateRequest<I> {
    pub(crate) fn new(
        core: &Arc<Core>,
        log: &Arc<CreateLog>,
        conversation: &ConversationId,
        input: I,
    ) -> Self {
        let (core, log) = (Arc::clone(core), Arc::clone(log));
        let options = core.options.clone();
        Self { core, log, conversation: conversation.clone(), input, seen: None, options }
    }

    /// Sets how to recover a lost response, instead of the client's setting.
    pub fn verification(mut self, verification: Verification) -> Self {
        self.options.verification = verification;
        self
    }

    /// Declares that the items of `conversation`, as it was read before, are not new. Helps to recover a lost response where
    /// another client has read it; this client knows what it has read itself.
    ///
    /// A read of another conversation is an error when the create is awaited, before anything is sent.
    pub fn seen(mut self, conversation: &Conversation) -> Self {
        let keys = item_keys(conversation).map(|(key, _)| key).collect();
        self.seen = Some(Seen { conversation: conversation.id.clone(), keys });
        self
    }

    /// Returns the items that this client, or its user, has read.
    pub(super) fn seen_keys(&self) -> BTreeSet<String> {
        let read = self.core.reads.newest_keys(&self.conversation);
        let seen = self.seen.iter().filter(|seen| seen.conversation == self.conversation);
        seen.flat_map(|seen| &seen.keys).chain(&*read).cloned().collect()
    }

    /// Returns what is needed to find out later whether this create took effect, for a caller that may drop the future before
    /// there is a result. Items that are older than this call by the service's clock do not count.
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
    /// use shared_inbox::create::Lookup;
    /// use std::time::Duration;
    ///
    /// let conversation = inbox.conversation(&id);
    /// let note = conversation.add_note("Refund is approved").seen(&conversation.get().await?);
    /// let unconfirmed = note.unconfirmed();
    /// if tokio::time::timeout(Duration::from_secs(2), note).await.is_err()
    ///     && let Lookup::Found(_) = inbox.find_unconfirmed(&unconfirmed).await?
    /// {
    ///     println!("the note is there all the same");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn unconfirmed(&self) -> UnconfirmedCreate {
        let clock = &self.core.service_clock;
        let whole = self.seen.is_some() && clock.reading().is_none();
        let before = Before::new(self.seen_keys(), whole, self.core.clock.now(), clock);
        let expected = self.input.expected();
        // When it will be sent is not known yet.
        UnconfirmedCreate { conversation: self.conversation.clone(), expected, before, sent_by: None }
    }

    call_options!();
    single_call_options!();
}

impl<I: CreateInput> IntoFuture for CreateRequest<I> {
    type Output = Result<Response<I::Output>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let label = label(I::OPERATION);
        let span = tracing::info_span!("shared_inbox.call", otel.name = %label, otel.kind = "internal");
        Box::pin(async move { self.create(label).await }.instrument(span))
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
