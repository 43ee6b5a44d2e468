//! The inputs of control calls: ids of the path, queries and bodies, and every problem of a body.

use axum::{
    extract::{FromRequestParts, Query},
    http::{Extensions, Uri, request::Parts},
};
use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use shared_inbox::Problems;

use crate::{
    control::Control,
    json::explain::explain,
    world::{Refusal, Result},
};

/// The parts of a request that a call reads.
pub(super) struct CallRequest {
    pub(super) ids: std::vec::IntoIter<String>,
    pub(super) uri: Uri,
    pub(super) extensions: Extensions,
}

/// The input of a call for the OpenAPI document.
#[derive(Default)]
pub(super) struct InputSchema {
    /// The schema of the query, an object.
    pub(super) query: Vec<Schema>,
    /// The schema of the body, and whether there must be one.
    pub(super) body: Option<(Schema, bool)>,
}

/// A part of a request that a call takes.
pub(super) trait Extract: Sized + Send + 'static {
    fn describe(_taken: &mut InputSchema, _generator: &mut SchemaGenerator) {}
    fn extract(request: &mut CallRequest) -> Result<Self>;
}

impl Extract for () {
    fn extract(_: &mut CallRequest) -> Result<Self> {
        Ok(())
    }
}

impl<A: Extract, B: Extract> Extract for (A, B) {
    fn describe(taken: &mut InputSchema, generator: &mut SchemaGenerator) {
        A::describe(taken, generator);
        B::describe(taken, generator);
    }
    fn extract(request: &mut CallRequest) -> Result<Self> {
        Ok((A::extract(request)?, B::extract(request)?))
    }
}

/// The next id in the path.
#[derive(Clone)]
pub(super) struct PathId(pub(super) String);

impl Extract for PathId {
    fn extract(request: &mut CallRequest) -> Result<Self> {
        request.ids.next().map(Self).ok_or_else(|| Refusal::new(404, "There is nothing at this path."))
    }
}

/// The query.
#[derive(Clone)]
pub(super) struct QueryParams<T>(pub(super) T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Extract for QueryParams<T> {
    fn describe(taken: &mut InputSchema, generator: &mut SchemaGenerator) {
        taken.query.push(T::json_schema(generator));
    }
    fn extract(request: &mut CallRequest) -> Result<Self> {
        // An empty value is none.
        let given = form_urlencoded::parse(request.uri.query().unwrap_or_default().as_bytes());
        let given = given.filter(|(_, value)| !value.is_empty());
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
        let uri = format!("/?{query}").parse().unwrap_or_default();
        let Query(query) = Query::try_from_uri(&uri).map_err(|rejection| {
            let text = rejection.body_text();
            Refusal::field("query", text.rsplit("query string: ").next().unwrap_or(&text).to_owned())
        })?;
        Ok(Self(query))
    }
}

/// The bytes of the body, which are read before the call is looked up.
#[derive(Clone)]
pub(crate) struct RawBody(pub(crate) Bytes);

impl CallRequest {
    pub(super) fn body(&self) -> Bytes {
        self.extensions.get().map(|RawBody(body)| body.clone()).unwrap_or_default()
    }
}

/// A world document, which the call itself reads.
impl Extract for RawBody {
    fn describe(taken: &mut InputSchema, _: &mut SchemaGenerator) {
        taken.body = Some((world_document(), true));
    }
    fn extract(request: &mut CallRequest) -> Result<Self> {
        Ok(Self(request.body()))
    }
}

/// Returns an outline: the schema of a world is as large as all others together, and the program prints it.
pub(super) fn world_document() -> Schema {
    json_schema!({
        "type": "object",
        "title": "WorldDocument",
        "description": "The whole world as one document. `shared-inbox-mock schema` prints its JSON Schema.",
        "additionalProperties": true,
    })
}

/// Writes the OpenAPI document of the control API, from the table that the call for it is part of.
pub(crate) type WriteDocument = fn() -> &'static Value;

/// Something that the server puts beside each request: how to write its document, or when it stops.
pub(super) struct Extension<T>(pub(super) T);

impl<T: Clone + Send + Sync + 'static> Extract for Extension<T> {
    fn extract(request: &mut CallRequest) -> Result<Self> {
        let found = request.extensions.get().cloned().map(Self);
        found.ok_or_else(|| Refusal::new(500, "The server is stopping."))
    }
}

/// A JSON body; an empty one is `{}`.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Extract for JsonBody<T> {
    fn describe(taken: &mut InputSchema, generator: &mut SchemaGenerator) {
        let required = schemars::schema_for!(T).get("required").is_some();
        taken.body = Some((generator.subschema_for::<T>(), required));
    }
    fn extract(request: &mut CallRequest) -> Result<Self> {
        let body = request.body();
        let body = if body.is_empty() { &b"{}"[..] } else { &body };
        read_json(body).map(Self).map_err(|first| match every_problem::<T>(body).or(()) {
            Err(problems) => problems.into(),
            Ok(()) => first.into(),
        })
    }
}

/// Reads a JSON object, or returns its first problem.
fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, FieldError> {
    // The types would also accept a list of their fields' values.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(FieldError {
            missing: false,
            field: String::new(),
            reason: "must be a JSON object".to_owned(),
        });
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let whole = error.path().iter().next().is_none();
        let (field, reason) = explain(&error);
        FieldError { missing: whole && !field.is_empty(), field, reason }
    })?;
    json.end().map_err(|error| FieldError {
        missing: false,
        field: String::new(),
        reason: error.to_string(),
    })?;
    Ok(value)
}

/// A problem of a body.
struct FieldError {
    /// Whether a field of the body itself is missing.
    missing: bool,
    /// Empty for the body itself.
    field: String,
    reason: String,
}

impl From<FieldError> for Refusal {
    fn from(error: FieldError) -> Self {
        Refusal::field(if error.field.is_empty() { "body" } else { &error.field }, error.reason)
    }
}

/// Returns every problem of a body, as the service does. Reading stops at the first one, so each field is read by itself,
/// and the schema shows which fields are missing.
fn every_problem<T: DeserializeOwned + JsonSchema>(body: &[u8]) -> Problems {
    let mut problems = Problems::default();
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(body) else { return problems };
    for (name, value) in &fields {
        let alone = serde_json::json!({ name: value }).to_string();
        if let Err(FieldError { missing: false, field, reason }) = read_json::<T>(alone.as_bytes()) {
            // It is valid JSON, so a word of an enum is missing.
            let reason = if reason == "expected value" { "must be a string".to_owned() } else { reason };
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
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get().cloned().ok_or_else(|| Refusal::new(404, "There is no such world."))
    }
}
