//! Waits for a customer's reply, or for a message to be sent.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::can_pass;
use crate::client::call::{Request, call_options, read};
use crate::client::engine::Core;
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::{BoxFuture, Options, Priority};
use crate::input::ListConversations;
use crate::model::setters;
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
/// A [retryable](crate::Error::is_retryable) error does not end it, unless the service was
/// [never reached](crate::ClientBuilder::first_connection_timeout). The reads are background work, see [`Priority::Bulk`].
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
pub struct Wait<O: Awaited = Message> {
    core: Arc<Core>,
    goal: O::Goal,
    look: Look<O>,
    every: Duration,
    within: Option<Duration>,
    options: Options,
}

/// What a wait returns. Sealed.
pub trait Awaited: Sized + Send + 'static {
    /// What is needed to recognise it.
    #[doc(hidden)]
    type Goal: Clone + fmt::Debug + Send + 'static;
}

impl Awaited for Message {
    type Goal = WatchedMessage;
}

impl Awaited for ConversationSummary {
    type Goal = ListConversations;
}

/// Looks for the goal once.
type Look<O> =
    for<'a> fn(&'a mut <O as Awaited>::Goal, &'a Arc<Core>, Options) -> BoxFuture<'a, Result<Option<O>>>;

impl<O: Awaited> Wait<O> {
    fn new(core: &Arc<Core>, goal: O::Goal, look: Look<O>) -> Self {
        Self {
            core: Arc::clone(core),
            goal,
            look,
            every: if core.test_key { SANDBOX_INTERVAL } else { DEFAULT_INTERVAL },
            within: None,
            options: Options { priority: Priority::Bulk, ..core.options.clone() },
        }
    }

    setters! {
        /// Gives up after this time, with an error for which `is_timeout` holds. The last read starts at its end, and may take as
        /// long as an attempt.
        within(time: Duration) within = Some(time);
        /// Sets the time between two reads: 15 seconds by default, 1 in the sandbox.
        every(every: Duration) every = every;
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
                Err(error) if can_pass(&error, &self.core) => {
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

impl<O: Awaited> IntoFuture for Wait<O> {
    type Output = Result<O>;
    type IntoFuture = BoxFuture<'static, Result<O>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.wait())
    }
}

impl<O: Awaited> fmt::Debug for Wait<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("goal", &self.goal)
            .field("every", &self.every)
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}

/// A message on which a wait depends.
#[derive(Clone, Debug)]
pub struct WatchedMessage {
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

impl Wait {
    pub(crate) fn for_reply(core: &Arc<Core>, conversation: &ConversationId, after: &MessageId) -> Self {
        Self::new(core, WatchedMessage::new(core, conversation, after), |watched, core, options| {
            Box::pin(async move {
                let conversation = read(core, &watched.conversation, &options).await?;
                let mut later = watched.find(&conversation, core.clock.now())?.skip(1);
                Ok(later.find(|message| message.direction == Direction::Inbound).cloned())
            })
        })
    }

    pub(crate) fn until_sent(core: &Arc<Core>, conversation: &ConversationId, message: &MessageId) -> Self {
        let window = if core.test_key { limits::SANDBOX_UNDO_WINDOW } else { limits::UNDO_WINDOW };
        let goal = WatchedMessage::new(core, conversation, message);
        let wait = Self::new(core, goal, |watched, core, options| {
            Box::pin(async move {
                let conversation = read(core, &watched.conversation, &options).await?;
                let message = watched.find(&conversation, core.clock.now())?.next();
                match message.and_then(|message| message.status.as_ref()) {
                    Some(MessageStatus::Sent) => Ok(message.cloned()),
                    Some(status @ MessageStatus::Failed) => {
                        Err(Error::new(Cause::Undelivered(status.clone()), Certainty::Rejected))
                    }
                    _ => Ok(None),
                }
            })
        });
        wait.within(window + window / 2 + Duration::from_secs(30))
    }
}

impl Wait<ConversationSummary> {
    pub(crate) fn for_reference(core: &Arc<Core>, reference: String) -> Self {
        let (view, reference) = (Some(View::All), Some(reference));
        let input = ListConversations { view, reference, limit: Some(1), ..ListConversations::default() };
        Self::new(core, input, |input, core, options| {
            let list = Request::new(core, Operation::ListConversations, None, input.clone());
            let list = list.with_options(options);
            Box::pin(async move { list.await.map(|mut found: Vec<_>| found.pop()) })
        })
    }
}
