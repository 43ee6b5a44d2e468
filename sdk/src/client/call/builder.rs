//! A request that is sent by awaiting it.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::list::List;
use super::options::{call_options, single_call_options};
use super::payload::{Payload, body, invalid, label, outgoing, query};
use super::response::Response;
use crate::client::engine::{Core, HttpResponse, decode, traced};
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::{BoxFuture, Options};
use crate::input::{Input, ListConversations};
use crate::model::setters;
use crate::{
    Conversation, ConversationId, ConversationSummary, Me, Problems, Scope,
    operation::{Method, Operation},
};

/// A request that is sent by awaiting it. `I` is its input, `O` its output.
///
/// Nothing happens before it is awaited. It can be cloned and kept. `into_future` makes a future of it, for
/// `tokio::spawn`, `join_all` or `select!`.
#[must_use = "a call is made by awaiting it"]
pub struct Request<I, O> {
    core: Arc<Core>,
    operation: Operation,
    conversation: Option<ConversationId>,
    pub(super) input: I,
    prepare: fn(&I) -> Result<Payload, Problems>,
    read: fn(&Core, &I, &HttpResponse) -> Result<O>,
    options: Options,
}

impl<I: Input, O: DeserializeOwned> Request<I, O> {
    pub(crate) fn new(
        core: &Arc<Core>,
        operation: Operation,
        conversation: Option<&ConversationId>,
        input: I,
    ) -> Self {
        Self::reading(core, operation, conversation, input, |_, _, response| decode(response))
    }
}

impl<I: Input, O> Request<I, O> {
    /// Creates a request whose response is read by `read`.
    pub(crate) fn reading(
        core: &Arc<Core>,
        operation: Operation,
        conversation: Option<&ConversationId>,
        input: I,
        read: fn(&Core, &I, &HttpResponse) -> Result<O>,
    ) -> Self {
        let prepare = match operation.method() {
            Method::Get => query::<I>,
            Method::Post => body::<I>,
        };
        let (core, conversation) = (Arc::clone(core), conversation.cloned());
        let options = core.options.clone();
        Self { core, operation, conversation, input, prepare, read, options }
    }

    setters! {
        /// Replaces the input.
        input(input: I) input = input;
    }
}

impl Request<ListConversations, List<ConversationSummary>> {
    pub(crate) fn conversations(core: &Arc<Core>, input: ListConversations) -> Self {
        Self::reading(core, Operation::ListConversations, None, input, |_, input, response| {
            List::read(input.limit, response)
        })
    }
}

impl<I, O> Request<I, O> {
    call_options!();
    single_call_options!();

    pub(crate) fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Sends the request and returns the value together with status, headers and number of attempts.
    pub async fn send_with_response(self) -> Result<Response<O>> {
        let label = label(self.operation);
        traced(&label, Response::describe, self.send(&label)).await
    }

    async fn send(self, label: &str) -> Result<Response<O>> {
        let payload = (self.prepare)(&self.input).map_err(|problems| invalid(problems, label))?;
        let scope = self.operation.scope();
        let options = self.options.started(self.core.clock.now());
        let checked = check_scope(&self.core, self.operation, scope, &options).await;
        checked.map_err(|error| error.before(label))?;
        let out = outgoing(&self.core, self.operation, self.conversation.as_ref(), payload, scope)?;
        let response = self.core.run(&out, &options).await?;
        let attempts = response.attempts;
        let value = (self.read)(&self.core, &self.input, &response);
        let value = value.map_err(|error| error.for_call(label, attempts))?;
        Ok(Response::received(value, response, attempts))
    }
}

impl<I, O> IntoFuture for Request<I, O>
where
    I: Send + Sync + 'static,
    O: Send + 'static,
{
    type Output = Result<O>;
    type IntoFuture = BoxFuture<'static, Result<O>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send_with_response().await.map(Response::into_inner) })
    }
}

impl<I: Clone, O> Clone for Request<I, O> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            operation: self.operation,
            conversation: self.conversation.clone(),
            input: self.input.clone(),
            prepare: self.prepare,
            read: self.read,
            options: self.options.clone(),
        }
    }
}

impl<I: fmt::Debug, O> fmt::Debug for Request<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation)
            .field("conversation", &self.conversation)
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}

/// Returns a read of the conversation, which the client remembers.
pub(crate) fn read(
    core: &Arc<Core>,
    conversation: &ConversationId,
    options: &Options,
) -> Request<(), Conversation> {
    let read =
        Request::reading(core, Operation::GetConversation, Some(conversation), (), |core, (), response| {
            let conversation = decode(response)?;
            core.reads.remember(&conversation, &core.service_clock, core.clock.now());
            Ok(conversation)
        });
    read.with_options(options.clone())
}

/// Returns whose key this is, requested once.
pub(crate) async fn identity<'a>(core: &'a Arc<Core>, options: &Options) -> Result<&'a Me> {
    let ask = || Request::new(core, Operation::Me, None, ()).with_options(options.clone()).into_future();
    // Another call may be requesting it already, with a later deadline. Like that of an attempt, the time is
    // real.
    let left = core.budget(options).left();
    match tokio::time::timeout(left, core.me.get_or_try_init(ask)).await {
        Ok(me) => me,
        Err(_) => Err(Error::new(Cause::Deadline, Certainty::NotSent)),
    }
}

/// Fails when the client checks scopes and the key lacks this one.
pub(crate) async fn check_scope(
    core: &Arc<Core>,
    operation: Operation,
    scope: &Scope,
    options: &Options,
) -> Result<()> {
    // `GET /me` needs no scope, and its response is needed for the check.
    if !core.check_scopes || operation == Operation::Me {
        return Ok(());
    }
    // Keys with other scopes always have `read`, so a failed `GET /me` is another failure.
    if identity(core, options).await?.allows(scope) {
        Ok(())
    } else {
        Err(Error::new(Cause::Scope(scope.clone()), Certainty::NotSent))
    }
}
