//! The inputs of control calls: ids of the path, queries and bodies, and every problem of a body.

use axum::{
    extract::{FromRequestParts, Query},
    http::{Extensions, Uri, request::Parts},
};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use shared_inbox::Problems;

use super::describe::DescribeInput;
use crate::{
    control::{Control, OPENAPI_DOCUMENT},
    json::read::{ReadError, read},
    world::{Refusal, Result},
};

/// The parts of a request that a call reads.
pub(super) struct CallRequest {
    pub(super) ids: std::vec::IntoIter<String>,
    pub(super) uri: Uri,
    pub(super) extensions: Extensions,
    /// The name of the call.
    pub(super) name: &'static str,
}

/// A part of a request that a call takes.
pub(super) trait Extract: DescribeInput + Sized + Send + 'static {
    fn extract(request: &mut CallRequest) -> Result<Self>;
}

impl Extract for () {
    fn extract(_: &mut CallRequest) -> Result<Self> {
        Ok(())
    }
}

impl<A: Extract, B: Extract> Extract for (A, B) {
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

impl<T: DeserializeOwned + Send + 'static> Extract for QueryParams<T>
where
    Self: DescribeInput,
{
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
    fn extract(request: &mut CallRequest) -> Result<Self> {
        Ok(Self(request.body()))
    }
}

/// Something that the server puts beside each request, such as when it stops.
pub(super) struct Extension<T>(pub(super) T);

impl<T: Clone + Send + Sync + 'static> Extract for Extension<T> {
    fn extract(request: &mut CallRequest) -> Result<Self> {
        let found = request.extensions.get().cloned().map(Self);
        found.ok_or_else(|| Refusal::new(500, "The server is stopping."))
    }
}

/// A JSON body; an empty one is `{}`.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned + Send + 'static> Extract for JsonBody<T>
where
    Self: DescribeInput,
{
    fn extract(request: &mut CallRequest) -> Result<Self> {
        let body = request.body();
        let body = if body.is_empty() { &b"{}"[..] } else { &body };
        read_json(body).map(Self).map_err(|first| {
            let problem = |body: &[u8]| read_json::<T>(body).err();
            match every_problem(request.name, body, &problem).or(()) {
                Err(problems) => problems.into(),
                Ok(()) => first.into(),
            }
        })
    }
}

/// Reads a JSON object, or returns its first problem.
fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ReadError> {
    // The types would also accept a list of their fields' values.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(ReadError::whole("must be a JSON object"));
    }
    read(body)
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        let field = error.field();
        Refusal::field(if field.is_empty() { "body" } else { &field }, error.reason)
    }
}

/// Returns every problem of a body, as the service does. Reading stops at the first one, so each field is read by itself,
/// and the OpenAPI document says which fields are missing.
fn every_problem(call: &str, body: &[u8], problem: &dyn Fn(&[u8]) -> Option<ReadError>) -> Problems {
    let mut problems = Problems::default();
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(body) else { return problems };
    for (name, value) in &fields {
        let alone = serde_json::json!({ name: value }).to_string();
        if let Some(error) = problem(alone.as_bytes()).filter(|error| !error.is_missing_at_top()) {
            // It is valid JSON, so a word of an enum is missing.
            let must = if error.reason == "expected value" { "must be a string" } else { &error.reason };
            let field = Some(error.field()).filter(|field| !field.is_empty());
            problems.push(field.unwrap_or_else(|| name.clone()), must.to_owned());
        }
    }
    for name in required_fields(call).filter(|name| !fields.contains_key(*name)) {
        problems.push(name, "is required");
    }
    problems
}

/// Returns the fields that the body of a call must have.
fn required_fields(call: &str) -> impl Iterator<Item = &'static str> {
    let paths = OPENAPI_DOCUMENT["paths"].as_object().into_iter().flat_map(Map::values);
    let mut operations = paths.filter_map(Value::as_object).flat_map(Map::values);
    let schema = operations.find(|operation| operation["operationId"] == call).and_then(|operation| {
        let schema = operation.pointer("/requestBody/content/application~1json/schema")?;
        schema["$ref"]
            .as_str()
            .map_or(Some(schema), |path| OPENAPI_DOCUMENT.pointer(path.trim_start_matches('#')))
    });
    let required = schema.and_then(|schema| schema["required"].as_array()).into_iter().flatten();
    required.filter_map(Value::as_str)
}

impl<S: Send + Sync> FromRequestParts<S> for Control {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get().cloned().ok_or_else(|| Refusal::new(404, "There is no such world."))
    }
}
