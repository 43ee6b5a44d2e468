//! Waiting for what people do: a customer's reply, a message that goes out.

use std::collections::HashSet;
use std::future::IntoFuture;
use std::time::Duration;

use super::Client;
use super::clock::BoxFuture;
use super::error::{Cause, Certainty, Error, Result};
use super::limiter::Lane;
use super::options::{Options, call_options};
use super::retry::{Next, next};
use super::transport::error_type;
use crate::{Conversation, ConversationId, Direction, Message, MessageId, MessageStatus, Repeat, limits};

const EVERY: Duration = Duration::from_secs(15);
const EVERY_IN_SANDBOX: Duration = Duration::from_secs(1);

/// How a wait looks at the conversation.
#[derive(Clone, Debug)]
struct Watch {
    client: Client,
    conversation: ConversationId,
    every: Duration,
    within: Option<Duration>,
}

impl Watch {
    fn new(client: &Client, conversation: &ConversationId, within: Option<Duration>) -> Self {
        let every = if client.is_test() { EVERY_IN_SANDBOX } else { EVERY };
        Self { client: client.clone(), conversation: conversation.clone(), every, within }
    }

    fn options(client: &Client) -> Options {
        Options { lane: Lane::Bulk, ..client.inner.options.clone() }
    }

    /// Reads the conversation at intervals until `check` has a result.
    async fn until<T>(
        &self,
        options: &Options,
        mut check: impl FnMut(Conversation) -> Option<Result<T>>,
    ) -> Result<T> {
        let clock = &self.client.inner.clock;
        let started = clock.now();
        loop {
            let mut read = self.client.read(&self.conversation);
            read.options = options.clone();
            match read.await {
                Ok(conversation) => {
                    if let Some(result) = check(conversation) {
                        return result;
                    }
                }
                // A bad minute of the service does not end a wait of hours.
                Err(error) if next(&error, Repeat::Harmless) == Next::Again || error.is_busy() => {
                    tracing::debug!("error.type" = %error_type(&error), "could not look; will look again");
                }
                Err(error) => return Err(error),
            }
            let waited = clock.now().saturating_duration_since(started);
            let pause = match self.within {
                Some(within) if waited >= within => {
                    return Err(Error::new(Cause::GaveUpWaiting, Certainty::NotSent));
                }
                // The last look is at the end of the time given, not before.
                Some(within) => self.every.min(within - waited),
                None => self.every,
            };
            clock.sleep(pause).await;
        }
    }
}

/// Waits for the customer to write; made by [`Thread::wait_for_reply`](crate::Thread::wait_for_reply).
///
/// Gives the first message that comes in, automatic ones (out of office) included: the API does not tell them apart.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// use std::time::Duration;
///
/// let thread = inbox.conversation(&id);
/// let sent = thread.reply("Which order is it about?").and_send().await?;
/// let answer = thread.wait_for_reply().after(&sent.message_id).within(Duration::from_secs(3600)).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "it waits when awaited"]
#[derive(Clone, Debug)]
pub struct WaitForReply {
    watch: Watch,
    after: Option<MessageId>,
    options: Options,
}

impl WaitForReply {
    pub(super) fn new(client: &Client, conversation: &ConversationId) -> Self {
        let watch = Watch::new(client, conversation, None);
        Self { watch, after: None, options: Watch::options(client) }
    }

    /// Counts what comes after this message in the timeline, even if it is there already. Without it, only what comes
    /// after the first look counts, and a quick reply may have come before.
    pub fn after(mut self, message: &MessageId) -> Self {
        self.after = Some(message.clone());
        self
    }

    /// Gives up after this time, with an error for which `is_timeout` holds. Unless set, it waits as long as it is
    /// awaited.
    pub fn within(mut self, time: Duration) -> Self {
        self.watch.within = Some(time);
        self
    }

    /// The time between two looks: 15 seconds, 1 in the sandbox, unless set.
    pub fn every(mut self, every: Duration) -> Self {
        self.watch.every = every;
        self
    }

    call_options!();
}

impl IntoFuture for WaitForReply {
    type Output = Result<Message>;
    type IntoFuture = BoxFuture<'static, Result<Message>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut seen: Option<HashSet<MessageId>> = None;
            self.watch
                .until(&self.options, |conversation| {
                    let messages = || conversation.timeline.iter().filter_map(|item| item.as_message());
                    let inbound = |message: &&Message| message.direction == Direction::Inbound;
                    if let Some(after) = &self.after {
                        let mut later = messages().skip_while(|message| message.id != *after);
                        return later.find(inbound).cloned().map(Ok);
                    }
                    let Some(seen) = &seen else {
                        seen = Some(messages().filter(inbound).map(|message| message.id.clone()).collect());
                        return None;
                    };
                    messages().filter(inbound).find(|message| !seen.contains(&message.id)).cloned().map(Ok)
                })
                .await
        })
    }
}

/// Waits for a message to go out; made by [`Thread::wait_until_sent`](crate::Thread::wait_until_sent).
///
/// Gives the message once its status is `sent`. One that failed or was removed is an error for which `is_undelivered`
/// holds. A draft is waited for too: a person may approve it.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// let thread = inbox.conversation(&id);
/// let reply = thread.reply("Your refund is on its way.").and_send().await?;
/// thread.wait_until_sent(&reply.message_id).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "it waits when awaited"]
#[derive(Clone, Debug)]
pub struct WaitUntilSent {
    watch: Watch,
    message: MessageId,
    options: Options,
}

impl WaitUntilSent {
    pub(super) fn new(client: &Client, conversation: &ConversationId, message: &MessageId) -> Self {
        let window = if client.is_test() { limits::SANDBOX_UNDO_WINDOW } else { limits::UNDO_WINDOW };
        let within = window + window / 2 + Duration::from_secs(30);
        let watch = Watch::new(client, conversation, Some(within));
        Self { watch, message: message.clone(), options: Watch::options(client) }
    }

    /// Gives up after this time, with an error for which `is_timeout` holds. Unless set, that is one and a half times the
    /// undo window and half a minute.
    pub fn within(mut self, time: Duration) -> Self {
        self.watch.within = Some(time);
        self
    }

    /// The time between two looks: 15 seconds, 1 in the sandbox, unless set.
    pub fn every(mut self, every: Duration) -> Self {
        self.watch.every = every;
        self
    }

    call_options!();
}

impl IntoFuture for WaitUntilSent {
    type Output = Result<Message>;
    type IntoFuture = BoxFuture<'static, Result<Message>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut seen = false;
            self.watch
                .until(&self.options, |conversation| {
                    let mut messages = conversation.timeline.iter().filter_map(|item| item.as_message());
                    let Some(message) = messages.find(|message| message.id == self.message) else {
                        // It may show late, but what was there and is gone stays gone.
                        return seen.then(|| Err(Error::new(Cause::Vanished, Certainty::Rejected)));
                    };
                    seen = true;
                    match &message.status {
                        Some(MessageStatus::Sent) => Some(Ok(message.clone())),
                        Some(status @ MessageStatus::Failed) => {
                            Some(Err(Error::new(Cause::Undelivered(status.clone()), Certainty::Rejected)))
                        }
                        _ => None,
                    }
                })
                .await
        })
    }
}
