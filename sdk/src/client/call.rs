//! A request that has not been sent yet: a small builder that is sent by awaiting it.

use std::borrow::Cow;
use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::Client;
use super::clock::BoxFuture;
use super::decode::decode;
use super::error::{Cause, Certainty, Error, Result};
use super::options::{Options, call_options};
use super::transport::Outgoing;
use crate::{ConversationId, Input, Method, Operation, Problems, Scope};

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
    client: Client,
    operation: Operation,
    conversation: Option<ConversationId>,
    pub(super) input: I,
    prepare: fn(&I) -> Result<Payload, Problems>,
    pub(super) options: Options,
    gives: PhantomData<fn() -> O>,
}

/// What travels with a request.
#[derive(Default)]
pub(super) struct Payload {
    query: Vec<(String, String)>,
    body: Option<Bytes>,
}

pub(super) fn query<I: Input>(input: &I) -> Result<Payload, Problems> {
    input.check()?;
    Ok(Payload { query: input.query(), body: None })
}

pub(super) fn body<I: Input>(input: &I) -> Result<Payload, Problems> {
    input.check()?;
    let json = serde_json::to_vec(input).map_err(|error| crate::Problem::new("body", error.to_string()))?;
    Ok(Payload { query: Vec::new(), body: Some(json.into()) })
}

impl<O> Call<(), O> {
    pub(super) fn bare(client: &Client, operation: Operation, conversation: Option<&ConversationId>) -> Self {
        Self::make(client, operation, conversation, (), |()| Ok(Payload::default()))
    }
}

impl<I: Input, O> Call<I, O> {
    pub(super) fn new(
        client: &Client,
        operation: Operation,
        conversation: Option<&ConversationId>,
        input: I,
    ) -> Self {
        let prepare = match operation.method() {
            Method::Get => query::<I>,
            Method::Post => body::<I>,
        };
        Self::make(client, operation, conversation, input, prepare)
    }

    /// Takes the whole input at once, instead of what was set so far.
    pub fn input(mut self, input: I) -> Self {
        self.input = input;
        self
    }
}

impl<I, O> Call<I, O> {
    fn make(
        client: &Client,
        operation: Operation,
        conversation: Option<&ConversationId>,
        input: I,
        prepare: fn(&I) -> Result<Payload, Problems>,
    ) -> Self {
        Self {
            client: client.clone(),
            operation,
            conversation: conversation.cloned(),
            input,
            prepare,
            options: client.inner.options.clone(),
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
            let options = self.options.started(self.client.inner.clock.now());
            let checked = self.client.check_scope(self.operation, scope, &options).await;
            checked.map_err(|error| error.before_sending().for_call(&label, 0))?;
            let out = outgoing(&self.client, self.operation, self.conversation.as_ref(), payload, scope)?;
            let answer = self.client.run(&out, &options).await?;
            decode(&answer).map_err(|error| error.for_call(&label, answer.attempts))
        })
    }
}

impl<I: Clone, O> Clone for Call<I, O> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
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

/// Method and path template.
pub(super) fn label(operation: Operation) -> String {
    format!("{} {}", operation.method().as_str(), operation.path())
}

pub(super) fn invalid(problems: Problems, label: &str) -> Error {
    Error::new(Cause::Input(problems), Certainty::NotSent).for_call(label, 0)
}

pub(super) fn outgoing(
    client: &Client,
    operation: Operation,
    conversation: Option<&ConversationId>,
    payload: Payload,
    scope: &Scope,
) -> Result<Outgoing> {
    let path = conversation.map_or(Cow::Borrowed(operation.path()), |id| operation.path_for(id).into());
    Ok(Outgoing {
        label: label(operation),
        template: operation.path(),
        method: match operation.method() {
            Method::Get => http::Method::GET,
            Method::Post => http::Method::POST,
        },
        url: client.inner.base.join(&path, &payload.query)?,
        body: payload.body,
        repeat: operation.repeat(),
        scope: Some(scope.clone()),
    })
}
