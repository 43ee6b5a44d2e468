//! Waits for a customer's reply, or for a message to be sent.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::call::{Request, call_options, read};
use crate::client::engine::Core;
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::{BoxFuture, Options, Priority};
use crate::input::ListConversations;
use crate::{
    Conversation, ConversationId, ConversationSummary, Direction, Message, MessageId, MessageStatus, View,
    limits, operation::Operation,
};

const DEFAULT_INTERVAL: Duration = Duration::from_secs(15);
const SANDBOX_INTERVAL: Duration = Duration::from_secs(1);

/// Reads at intervals until something has happened, and returns it; made by
/// [`ConversationHandle::wait_for_reply`](crate::ConversationHandle::wait_for_reply),
/// [`ConversationHandle::wait_until_sent`](crate::ConversationHandle::wait_until_sent) and
/// [`Client::wait_for_reference`](crate::Client::wait_for_reference).
///
/// A [retryable](crate::Error::is_retryable) error does not end it. The reads are background work, see [`Priority::Bulk`].
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// use std::time::Duration;
///
/// let conversation = inbox.conversation(&id);
/// let sent = conversation.reply("Which order is it about?").and_send().await?;
/// conversation.wait_until_sent(&sent.message_id).await?;
/// let reply = conversation.wait_for_reply(&sent.message_id).within(Duration::from_secs(3600)).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "it waits when awaited"]
#[derive(Clone)]
pub struct Wait<G, O = Message> {
    core: Arc<Core>,
    goal: G,
    look: Look<G, O>,
    every: Duration,
    within: Option<Duration>,
    options: Options,
}

/// Looks for the goal once.
type Look<G, O> = for<'a> fn(&'a mut G, &'a Arc<Core>, Options) -> BoxFuture<'a, Result<Option<O>>>;

impl<G, O> Wait<G, O> {
    fn new(core: &Arc<Core>, goal: G, look: Look<G, O>) -> Self {
        Self {
            core: Arc::clone(core),
            goal,
            look,
            every: if core.test_key { SANDBOX_INTERVAL } else { DEFAULT_INTERVAL },
            within: None,
            options: Options { priority: Priority::Bulk, ..core.options.clone() },
        }
    }

    /// Gives up after this time, with an error for which `is_timeout` holds. The last read starts at its end, and may take as
    /// long as an attempt.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Sets the time between two reads: 15 seconds by default, 1 in the sandbox.
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    call_options!();

    async fn wait(mut self) -> Result<O> {
        let clock = Arc::clone(&self.core.clock);
        let started = clock.now();
        let left = |within: Duration| within.saturating_sub(clock.now().saturating_duration_since(started));
        loop {
            let mut options = self.options.clone();
            if let Some(within) = self.within {
                options.deadline = options.deadline.min(left(within).max(options.timeout));
            }
            match (self.look)(&mut self.goal, &self.core, options).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(error) if error.is_retryable() => {
                    tracing::debug!("error.type" = %error.error_type(), "could not look; will look again");
                }
                Err(error) => return Err(error),
            }
            let pause = match self.within.map(left) {
                Some(Duration::ZERO) => return Err(Error::new(Cause::GaveUpWaiting, Certainty::NotSent)),
                Some(left) => self.every.min(left),
                None => self.every,
            };
            clock.sleep(pause).await;
        }
    }
}

impl<G: Send + 'static, O: Send + 'static> IntoFuture for Wait<G, O> {
    type Output = Result<O>;
    type IntoFuture = BoxFuture<'static, Result<O>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.wait())
    }
}

impl<G: fmt::Debug, O> fmt::Debug for Wait<G, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("goal", &self.goal)
            .field("every", &self.every)
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}

/// The goal of a wait for the customer to write: the first inbound message after the given one. Automatic ones (out of
/// office) count, since the API does not tell them apart. When the given message is missing for
/// [`visibility_timeout`](crate::ClientBuilder::visibility_timeout), such as a draft that was discarded, that is an error for which
/// `is_undelivered` holds.
#[derive(Clone, Debug)]
pub struct ReplyWait(WatchedMessage);

impl ReplyWait {
    fn find(&mut self, conversation: &Conversation, now: Instant) -> Result<Option<Message>> {
        let mut from_it = self.0.find(conversation, now)?.skip(1);
        Ok(from_it.find(|message| message.direction == Direction::Inbound).cloned())
    }
}

/// A message on which a wait depends.
#[derive(Clone, Debug)]
struct WatchedMessage {
    conversation: ConversationId,
    id: MessageId,
    /// Since when it is missing.
    missing: Option<Instant>,
    /// How long a read may lag behind.
    visibility_timeout: Duration,
}

impl WatchedMessage {
    fn new(core: &Core, conversation: &ConversationId, id: &MessageId) -> Self {
        let visibility_timeout = core.options.visibility_timeout;
        Self { conversation: conversation.clone(), id: id.clone(), missing: None, visibility_timeout }
    }

    /// Returns the message and those after it. One that stays away is an error; it may show late, and a read may be older than
    /// the one before.
    fn find<'a>(
        &mut self,
        conversation: &'a Conversation,
        now: Instant,
    ) -> Result<impl Iterator<Item = &'a Message> + use<'a>> {
        let id = self.id.clone();
        let messages = conversation.timeline.iter().filter_map(|item| item.as_message());
        let mut from_it = messages.skip_while(move |message| message.id != id).peekable();
        if from_it.peek().is_some() {
            self.missing = None;
        } else if now.saturating_duration_since(*self.missing.get_or_insert(now)) >= self.visibility_timeout {
            return Err(Error::new(Cause::Vanished, Certainty::Rejected));
        }
        Ok(from_it)
    }
}

impl Wait<ReplyWait> {
    pub(crate) fn for_reply(core: &Arc<Core>, conversation: &ConversationId, after: &MessageId) -> Self {
        let goal = ReplyWait(WatchedMessage::new(core, conversation, after));
        Self::new(core, goal, |goal, core, options| {
            Box::pin(async move {
                let conversation = read(core, &goal.0.conversation, &options).await?;
                goal.find(&conversation, core.clock.now())
            })
        })
    }
}

/// The goal of a wait for a reply to app mail: the conversation that carries the app's reference, in whatever status.
///
/// A reference says which address was written to, not who wrote: look at the contact before you act on it.
#[derive(Clone, Debug)]
pub struct ReferenceWait {
    input: ListConversations,
}

impl Wait<ReferenceWait, ConversationSummary> {
    pub(crate) fn for_reference(core: &Arc<Core>, reference: String) -> Self {
        let (view, reference) = (Some(View::All), Some(reference));
        let input = ListConversations { view, reference, limit: Some(1), ..ListConversations::default() };
        Self::new(core, ReferenceWait { input }, |goal, core, options| {
            let mut list = Request::new(core, Operation::ListConversations, None, goal.input.clone());
            list.options = options;
            Box::pin(async move { list.await.map(|mut found: Vec<_>| found.pop()) })
        })
    }
}

/// The goal of a wait for a message to go out: its status is `sent`. One that failed, or is missing for
/// [`visibility_timeout`](crate::ClientBuilder::visibility_timeout), is an error for which `is_undelivered` holds. A draft is
/// waited for too: a person may approve it.
#[derive(Clone, Debug)]
pub struct SentWait(WatchedMessage);

impl SentWait {
    fn find(&mut self, conversation: &Conversation, now: Instant) -> Result<Option<Message>> {
        let Some(message) = self.0.find(conversation, now)?.next() else { return Ok(None) };
        match &message.status {
            Some(MessageStatus::Sent) => Ok(Some(message.clone())),
            Some(status @ MessageStatus::Failed) => {
                Err(Error::new(Cause::Undelivered(status.clone()), Certainty::Rejected))
            }
            _ => Ok(None),
        }
    }
}

impl Wait<SentWait> {
    pub(crate) fn until_sent(core: &Arc<Core>, conversation: &ConversationId, message: &MessageId) -> Self {
        let goal = SentWait(WatchedMessage::new(core, conversation, message));
        let window = if core.test_key { limits::SANDBOX_UNDO_WINDOW } else { limits::UNDO_WINDOW };
        let wait = Self::new(core, goal, |goal, core, options| {
            Box::pin(async move {
                let conversation = read(core, &goal.0.conversation, &options).await?;
                goal.find(&conversation, core.clock.now())
            })
        });
        wait.within(window + window / 2 + Duration::from_secs(30))
    }
}
