//! A request that has not been sent yet: a small builder that is sent by awaiting it.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::identity::check_scope;
use super::options::call_options;
use super::payload::{Payload, body, invalid, label, outgoing, query};
use crate::client::engine::{Core, decode};
use crate::client::error::Result;
use crate::client::policy::{BoxFuture, Options};
use crate::{Conversation, ConversationId, Input, Method, Operation, Problems};

/// A call that is made by awaiting it. `I` is its input, `O` what it gives.
///
/// Nothing happens before it is awaited. It can be cloned and kept, and its future can be sent to other threads.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client) -> shared_inbox::Result<()> {
/// use std::time::Duration;
///
/// let tags = inbox.tags().bulk().deadline(Duration::from_secs(300)).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is made by awaiting it"]
pub struct Call<I, O> {
    core: Arc<Core>,
    operation: Operation,
    conversation: Option<ConversationId>,
    pub(super) input: I,
    prepare: fn(&I) -> Result<Payload, Problems>,
    pub(crate) options: Options,
    gives: PhantomData<fn() -> O>,
}

impl<O> Call<(), O> {
    pub(crate) fn bare(
        core: &Arc<Core>,
        operation: Operation,
        conversation: Option<&ConversationId>,
    ) -> Self {
        Self::make(core, operation, conversation, (), |()| Ok(Payload::default()))
    }
}

impl<I: Input, O> Call<I, O> {
    pub(crate) fn new(
        core: &Arc<Core>,
        operation: Operation,
        conversation: Option<&ConversationId>,
        input: I,
    ) -> Self {
        let prepare = match operation.method() {
            Method::Get => query::<I>,
            Method::Post => body::<I>,
        };
        Self::make(core, operation, conversation, input, prepare)
    }

    /// Takes the whole input at once, instead of what was set so far.
    pub fn input(mut self, input: I) -> Self {
        self.input = input;
        self
    }
}

impl<I, O> Call<I, O> {
    fn make(
        core: &Arc<Core>,
        operation: Operation,
        conversation: Option<&ConversationId>,
        input: I,
        prepare: fn(&I) -> Result<Payload, Problems>,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            operation,
            conversation: conversation.cloned(),
            input,
            prepare,
            options: core.options.clone(),
            gives: PhantomData,
        }
    }

    call_options!();
}

impl<I, O> IntoFuture for Call<I, O>
where
    I: Send + Sync + 'static,
    O: DeserializeOwned + Send + 'static,
{
    type Output = Result<O>;
    type IntoFuture = BoxFuture<'static, Result<O>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let label = label(self.operation);
            let payload = (self.prepare)(&self.input).map_err(|problems| invalid(problems, &label))?;
            let scope = self.operation.scope();
            let options = self.options.started(self.core.clock.now());
            let checked = check_scope(&self.core, self.operation, scope, &options).await;
            checked.map_err(|error| error.before_sending().for_call(&label, 0))?;
            let out = outgoing(&self.core, self.operation, self.conversation.as_ref(), payload, scope)?;
            let answer = self.core.run(&out, &options).await?;
            decode(&answer).map_err(|error| error.for_call(&label, answer.attempts))
        })
    }
}

impl<I: Clone, O> Clone for Call<I, O> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            operation: self.operation,
            conversation: self.conversation.clone(),
            input: self.input.clone(),
            prepare: self.prepare,
            options: self.options.clone(),
            gives: PhantomData,
        }
    }
}

impl<I: fmt::Debug, O> fmt::Debug for Call<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("operation", &self.operation)
            .field("conversation", &self.conversation)
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}

/// A read of the conversation, for those who look into it again and again.
pub(crate) fn read(
    core: &Arc<Core>,
    conversation: &ConversationId,
    options: &Options,
) -> Call<(), Conversation> {
    let mut read = Call::bare(core, Operation::GetConversation, Some(conversation));
    read.options = options.clone();
    read
}
