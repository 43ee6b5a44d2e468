//! Waits for a customer's reply, or for a message to be sent.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use super::can_pass;
use crate::client::call::{Request, call_options, read};
use crate::client::engine::Core;
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::{BoxFuture, Options, Priority};
use crate::input::ListConversations;
use crate::model::setters;
use crate::{
    ConversationId, ConversationSummary, Direction, Message, MessageId, MessageStatus, TimelineItem, View,
    limits,
};

const DEFAULT_INTERVAL: Duration = Duration::from_secs(15);
const SANDBOX_INTERVAL: Duration = Duration::from_secs(1);

/// Reads at intervals until something has happened, and returns it; made by
/// [`ConversationHandle::wait_for_reply`](crate::ConversationHandle::wait_for_reply),
/// [`ConversationHandle::wait_until_sent`](crate::ConversationHandle::wait_until_sent) and
/// [`Client::wait_for_reference`](crate::Client::wait_for_reference).
///
/// A [retryable](crate::Error::is_retryable) error does not end it, unless the service was [never
/// reached](crate::ClientBuilder::first_connection_timeout). The reads are background work, see
/// [`Priority::Bulk`].
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
pub struct Wait<O = Message> {
    core: Arc<Core>,
    look: Look<O>,
    every: Duration,
    within: Option<Duration>,
    options: Options,
}

/// Looks once.
type Look<O> = Arc<dyn Fn(Options) -> BoxFuture<'static, Result<Sight<O>>> + Send + Sync>;

/// What a look shows.
enum Sight<O> {
    /// What is waited for.
    Goal(O),
    /// It has not happened yet.
    NotYet,
    /// The message on which it depends is not there.
    Missing,
}

impl<O: Send + 'static> Wait<O> {
    fn new(
        core: &Arc<Core>,
        look: impl Fn(Options) -> BoxFuture<'static, Result<Sight<O>>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            look: Arc::new(look),
            every: if core.test_key { SANDBOX_INTERVAL } else { DEFAULT_INTERVAL },
            within: None,
            options: Options { priority: Priority::Bulk, ..core.options.clone() },
        }
    }

    setters! {
        /// Gives up after this time, with an error for which `is_timeout` holds. The last read starts at its
        /// end, and may take as long as an attempt.
        within(time: Duration) within = Some(time);
        /// Sets the time between two reads: 15 seconds by default, 1 in the sandbox.
        every(every: Duration) every = every;
    }

    call_options!();

    async fn wait(self) -> Result<O> {
        let clock = Arc::clone(&self.core.clock);
        let started = clock.now();
        let left = |within: Duration| within.saturating_sub(clock.now().saturating_duration_since(started));
        let mut missing_since = None;
        loop {
            let mut options = self.options.clone();
            if let Some(within) = self.within {
                options.deadline = options.deadline.min(left(within).max(options.timeout));
            }
            match (self.look)(options).await {
                Ok(Sight::Goal(found)) => return Ok(found),
                Ok(Sight::NotYet) => missing_since = None,
                // It may show late, and a read may be older than the one before.
                Ok(Sight::Missing) => {
                    let now = clock.now();
                    let missing = now.saturating_duration_since(*missing_since.get_or_insert(now));
                    if missing >= self.core.options.visibility_timeout {
                        return Err(Error::new(Cause::Vanished, Certainty::Rejected));
                    }
                }
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

impl<O: Send + 'static> IntoFuture for Wait<O> {
    type Output = Result<O>;
    type IntoFuture = BoxFuture<'static, Result<O>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.wait())
    }
}

impl<O> fmt::Debug for Wait<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("every", &self.every)
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}

impl Wait {
    /// Waits until `goal` returns a message: it is given this one and those after it.
    fn for_message(
        core: &Arc<Core>,
        conversation: &ConversationId,
        id: &MessageId,
        goal: fn(&Message, &[&Message]) -> Result<Option<Message>>,
    ) -> Self {
        let (read, id) = (read(core, conversation, &core.options), id.clone());
        Self::new(core, move |options| {
            let (read, id) = (read.clone().with_options(options), id.clone());
            Box::pin(async move {
                let conversation = read.await?;
                let messages = conversation.timeline.iter().filter_map(TimelineItem::as_message);
                let from_it: Vec<_> = messages.skip_while(|message| message.id != id).collect();
                let Some((message, later)) = from_it.split_first() else { return Ok(Sight::Missing) };
                Ok(goal(message, later)?.map_or(Sight::NotYet, Sight::Goal))
            })
        })
    }

    pub(crate) fn for_reply(core: &Arc<Core>, conversation: &ConversationId, after: &MessageId) -> Self {
        Self::for_message(core, conversation, after, |_, later| {
            Ok(later.iter().find(|message| message.direction == Direction::Inbound).copied().cloned())
        })
    }

    pub(crate) fn until_sent(core: &Arc<Core>, conversation: &ConversationId, message: &MessageId) -> Self {
        let window = if core.test_key { limits::SANDBOX_UNDO_WINDOW } else { limits::UNDO_WINDOW };
        let wait = Self::for_message(core, conversation, message, |message, _| match &message.status {
            Some(MessageStatus::Sent) => Ok(Some(message.clone())),
            Some(status @ MessageStatus::Failed) => {
                Err(Error::new(Cause::Undelivered(status.clone()), Certainty::Rejected))
            }
            _ => Ok(None),
        });
        wait.within(window + window / 2 + Duration::from_secs(30))
    }
}

impl Wait<ConversationSummary> {
    pub(crate) fn for_reference(core: &Arc<Core>, reference: String) -> Self {
        let (view, reference) = (Some(View::All), Some(reference));
        let input = ListConversations { view, reference, limit: Some(1), ..ListConversations::default() };
        let list = Request::conversations(core, input);
        Self::new(core, move |options| {
            let list = list.clone().with_options(options);
            Box::pin(async move { Ok(list.await?.into_iter().next().map_or(Sight::NotYet, Sight::Goal)) })
        })
    }
}
