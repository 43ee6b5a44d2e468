//! From an operation and its checked input to a request that can be sent.

use std::borrow::Cow;

use bytes::Bytes;

use crate::client::engine::{Core, Outgoing};
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::input::{self, Input};
use crate::{
    ConversationId, Problem, Problems, Scope,
    operation::{Method, Operation},
};

impl From<Method> for http::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::GET,
            Method::Post => Self::POST,
        }
    }
}

/// The query and the body of a request.
#[derive(Default)]
pub(crate) struct Payload {
    query: Vec<(String, String)>,
    body: Option<Bytes>,
}

pub(crate) fn query<I: Input>(input: &I) -> Result<Payload, Problems> {
    input.check()?;
    Ok(Payload { query: input::read::query(input), body: None })
}

pub(crate) fn body<I: Input>(input: &I) -> Result<Payload, Problems> {
    input.check()?;
    let json = serde_json::to_vec(input).map_err(|error| Problem::new("body", error.to_string()))?;
    Ok(Payload { query: Vec::new(), body: Some(json.into()) })
}

/// Method and path template.
pub(crate) fn label(operation: Operation) -> String {
    format!("{} {}", operation.method().as_str(), operation.path())
}

pub(crate) fn invalid(problems: Problems, label: &str) -> Error {
    Error::new(Cause::Input(problems), Certainty::NotSent).for_call(label, 0)
}

pub(crate) fn outgoing(
    core: &Core,
    operation: Operation,
    conversation: Option<&ConversationId>,
    payload: Payload,
    scope: &Scope,
) -> Result<Outgoing> {
    let path = conversation.map_or(Cow::Borrowed(operation.path()), |id| operation.path_for(id).into());
    Ok(Outgoing {
        label: label(operation),
        template: operation.path(),
        method: operation.method().into(),
        url: core.base.join(&path, &payload.query)?,
        body: payload.body,
        repeat: operation.idempotency(),
        scope: Some(scope.clone()),
    })
}
