//! Waiting for what people do: a customer's reply, a message that goes out.

use std::collections::HashSet;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::call::{call_options, read};
use crate::client::engine::{Core, Next, next};
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::{BoxFuture, Options, Priority};
use crate::{Conversation, ConversationId, Direction, Message, MessageId, MessageStatus, Repeat, limits};

const EVERY: Duration = Duration::from_secs(15);
const EVERY_IN_SANDBOX: Duration = Duration::from_secs(1);

/// Looks at a conversation at intervals until something has happened in it; made by
/// [`Thread::wait_for_reply`](crate::Thread::wait_for_reply) and
/// [`Thread::wait_until_sent`](crate::Thread::wait_until_sent). Gives the message that was waited for.
///
/// A bad minute of the service does not end it. The looks are background work, see [`Priority::Bulk`].
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// use std::time::{Duration, Instant};
///
/// let thread = inbox.conversation(&id);
/// let sent = thread.reply("Which order is it about?").and_send().await?;
/// thread.wait_until_sent(&sent.message_id).await?;
/// let answer = thread.wait_for_reply().after(&sent.message_id).within(Duration::from_secs(3600)).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "it waits when awaited"]
#[derive(Clone)]
pub struct Wait<G> {
    core: Arc<Core>,
    conversation: ConversationId,
    goal: G,
    /// What a look shows of the goal.
    check: fn(&mut G, &Conversation, Instant) -> Option<Result<Message>>,
    every: Duration,
    within: Option<Duration>,
    options: Options,
}

impl<G> Wait<G> {
    fn new(
        core: &Arc<Core>,
        conversation: &ConversationId,
        goal: G,
        check: fn(&mut G, &Conversation, Instant) -> Option<Result<Message>>,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            conversation: conversation.clone(),
            goal,
            check,
            every: if core.test_key { EVERY_IN_SANDBOX } else { EVERY },
            within: None,
            options: Options { priority: Priority::Bulk, ..core.options.clone() },
        }
    }

    /// Gives up after this time, with an error for which `is_timeout` holds. The last look is at its end, and may take as
    /// long as an attempt may.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// The time between two looks: 15 seconds, 1 in the sandbox, unless set.
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    call_options!();

    async fn wait(mut self) -> Result<Message> {
        let clock = Arc::clone(&self.core.clock);
        let started = clock.now();
        let left = |within: Duration| within.saturating_sub(clock.now().saturating_duration_since(started));
        loop {
            let mut read = read(&self.core, &self.conversation, &self.options);
            if let Some(within) = self.within {
                read.options.deadline = read.options.deadline.min(left(within).max(self.options.timeout));
            }
            match read.await {
                Ok(conversation) => {
                    if let Some(result) = (self.check)(&mut self.goal, &conversation, clock.now()) {
                        return result;
                    }
                }
                Err(error)
                    if next(&error, Repeat::Harmless) == Next::Again
                        || error.is_busy()
                        || error.is_timeout() =>
                {
                    tracing::debug!("error.type" = %error.kind(), "could not look; will look again");
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

impl<G: Send + 'static> IntoFuture for Wait<G> {
    type Output = Result<Message>;
    type IntoFuture = BoxFuture<'static, Result<Message>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.wait())
    }
}

impl<G: fmt::Debug> fmt::Debug for Wait<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("conversation", &self.conversation)
            .field("goal", &self.goal)
            .field("every", &self.every)
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}

/// The goal of a wait for the customer to write: the first message that comes in, automatic ones (out of office) included,
/// since the API does not tell them apart.
///
/// ```no_run
/// # async fn run(thread: shared_inbox::Thread) -> shared_inbox::Result<()> {
/// use shared_inbox::{ForReply, Wait};
///
/// let wait: Wait<ForReply> = thread.wait_for_reply();
/// println!("they wrote {} characters", wait.await?.text.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ForReply {
    after: Option<MessageId>,
    /// What had come in at the first look.
    seen: Option<HashSet<MessageId>>,
}

impl Wait<ForReply> {
    pub(crate) fn for_reply(core: &Arc<Core>, conversation: &ConversationId) -> Self {
        Self::new(core, conversation, ForReply { after: None, seen: None }, |goal, conversation, _| {
            let messages = || conversation.timeline.iter().filter_map(|item| item.as_message());
            let inbound = |message: &&Message| message.direction == Direction::Inbound;
            if let Some(after) = &goal.after {
                let mut later = messages().skip_while(|message| message.id != *after);
                return later.find(inbound).cloned().map(Ok);
            }
            let Some(seen) = &goal.seen else {
                goal.seen = Some(messages().filter(inbound).map(|message| message.id.clone()).collect());
                return None;
            };
            messages().filter(inbound).find(|message| !seen.contains(&message.id)).cloned().map(Ok)
        })
    }

    /// Counts what comes after this message in the timeline, even if it is there already. Without it, only what comes
    /// after the first look counts, and a quick reply may have come before.
    pub fn after(mut self, message: &MessageId) -> Self {
        self.goal.after = Some(message.clone());
        self
    }
}

/// The goal of a wait for a message to go out: its status is `sent`. One that failed, or was removed and stayed away for
/// [`settle`](crate::ClientBuilder::settle), is an error for which `is_undelivered` holds. A draft is waited for too: a person may approve it.
///
/// ```no_run
/// # async fn run(thread: shared_inbox::Thread, id: shared_inbox::MessageId) -> shared_inbox::Result<()> {
/// use shared_inbox::{UntilSent, Wait};
///
/// let wait: Wait<UntilSent> = thread.wait_until_sent(&id);
/// println!("went out at {}", wait.await?.at);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct UntilSent {
    message: MessageId,
    seen: bool,
    /// Since when it is missing.
    missing: Option<Instant>,
    /// How long a read may lag behind.
    settle: Duration,
}

impl Wait<UntilSent> {
    pub(crate) fn until_sent(core: &Arc<Core>, conversation: &ConversationId, message: &MessageId) -> Self {
        let settle = core.options.settle;
        let goal = UntilSent { message: message.clone(), seen: false, missing: None, settle };
        let window = if core.test_key { limits::SANDBOX_UNDO_WINDOW } else { limits::UNDO_WINDOW };
        let wait = Self::new(core, conversation, goal, |goal, conversation, now| {
            let mut messages = conversation.timeline.iter().filter_map(|item| item.as_message());
            let Some(message) = messages.find(|message| message.id == goal.message) else {
                // It may show late, and a read may be older than the one before; what stays away is gone.
                let since = *goal.missing.get_or_insert(now);
                let gone = goal.seen && now.saturating_duration_since(since) >= goal.settle;
                return gone.then(|| Err(Error::new(Cause::Vanished, Certainty::Rejected)));
            };
            (goal.seen, goal.missing) = (true, None);
            match &message.status {
                Some(MessageStatus::Sent) => Some(Ok(message.clone())),
                Some(status @ MessageStatus::Failed) => {
                    Some(Err(Error::new(Cause::Undelivered(status.clone()), Certainty::Rejected)))
                }
                _ => None,
            }
        });
        wait.within(window + window / 2 + Duration::from_secs(30))
    }
}
