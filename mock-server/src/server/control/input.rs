//! What the handlers of the control API take in: ids, queries and bodies, and everything that is wrong with a body.

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use shared_inbox::Problems;

use crate::{
    control::Control,
    server::{answer, document},
    world::Refusal,
};

/// The id in the path.
pub(super) struct Id(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(id) = Path::from_request_parts(parts, state)
            .await
            .map_err(|_| Refusal::new(404, "There is nothing at this path."))?;
        Ok(Self(id))
    }
}

/// The query.
pub(super) struct Search<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Search<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Query(query) = Query::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Refusal::field("query", rejection.body_text()))?;
        Ok(Self(query))
    }
}

/// The body, which has been read whole before a handler is looked for.
#[derive(Clone)]
pub(super) struct Whole(pub(super) Bytes);

impl<S: Send + Sync> FromRequestParts<S> for Whole {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get().cloned().ok_or_else(|| Refusal::field("body", "is required"))
    }
}

/// A JSON body; an empty one is `{}`.
pub(super) struct Input<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + JsonSchema> FromRequest<S> for Input<T> {
    type Rejection = Refusal;
    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let Whole(body) = Whole::from_request(request, state).await?;
        let body = if body.is_empty() { &b"{}"[..] } else { &body };
        read(body).map(Self).map_err(|first| match every_problem::<T>(body).or(()) {
            Err(problems) => problems.into(),
            Ok(()) => first.into(),
        })
    }
}

/// Reads JSON; says with the field's name what went wrong first.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Wrong> {
    // The types would also take a list of their fields' values, which nobody means.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Wrong {
            missing: false,
            field: String::new(),
            reason: "must be a JSON object".to_owned(),
        });
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let whole = error.path().iter().next().is_none();
        let (field, reason) = document::explain(&error);
        Wrong { missing: whole && !field.is_empty(), field, reason }
    })?;
    json.end().map_err(|error| Wrong { missing: false, field: String::new(), reason: error.to_string() })?;
    Ok(value)
}

struct Wrong {
    /// Whether a field of the body itself is missing.
    missing: bool,
    /// Empty: the body as a whole.
    field: String,
    reason: String,
}

impl From<Wrong> for Refusal {
    fn from(wrong: Wrong) -> Self {
        Refusal::field(if wrong.field.is_empty() { "body" } else { &wrong.field }, wrong.reason)
    }
}

/// Reading stops at the first problem, and the service names them all. So each field is read by itself, and the schema
/// says which ones are missing.
fn every_problem<T: DeserializeOwned + JsonSchema>(body: &[u8]) -> Problems {
    let mut problems = Problems::default();
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(body) else { return problems };
    for (name, value) in &fields {
        let alone = serde_json::json!({ name: value }).to_string();
        if let Err(Wrong { missing: false, field, reason }) = read::<T>(alone.as_bytes()) {
            problems.push(if field.is_empty() { name.clone() } else { field }, reason);
        }
    }
    let schema = schemars::schema_for!(T);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
        problems.push(name, "is required");
    }
    problems
}

impl<S: Send + Sync> FromRequestParts<S> for Control {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get().cloned().ok_or_else(|| Refusal::new(404, "There is no such world."))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        answer::refusal(&self).map(Body::from)
    }
}
