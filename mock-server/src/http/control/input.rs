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
    control::{Control, api::DocumentedCall},
    json::{
        add_all,
        read::{ReadError, read},
    },
    world::{Refusal, Result},
};

/// The parts of a request that a call reads.
pub(super) struct CallRequest {
    pub(super) ids: std::vec::IntoIter<String>,
    pub(super) uri: Uri,
    pub(super) extensions: Extensions,
    /// The name of the call.
    pub(super) name: &'static str,
    /// The problems of its input so far.
    pub(super) problems: Problems,
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

/// Reads the input of a call, or returns all problems of it. Every call comes through here: what it does not
/// know is refused, at any depth of its query and its body.
pub(super) fn read_input<A: Extract>(request: &mut CallRequest) -> Result<A> {
    if let Some(call) = DocumentedCall::named(request.name) {
        request.problems = call.problems_of_query(request.uri.query().unwrap_or_default());
        let in_body = call.problems_of_body("", &request.body());
        add_all(&mut request.problems, "", &in_body);
    }
    let input = A::extract(request);
    if request.problems.is_empty() { input } else { Err(std::mem::take(&mut request.problems).into()) }
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
            add_problems(body, &mut request.problems, &|body| read_json::<T>(body).err());
            first.into()
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

/// Adds the problems that only the types know, such as fields that exclude each other. Reading stops at the
/// first one, so each field is read by itself.
fn add_problems(body: &[u8], problems: &mut Problems, problem: &dyn Fn(&[u8]) -> Option<ReadError>) {
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(body) else { return };
    let top = |field: &str| field.split(['.', '[']).next().unwrap_or_default().to_owned();
    for (name, value) in &fields {
        if problems.iter().any(|known| top(&known.field) == *name) {
            continue;
        }
        let alone = serde_json::json!({ name: value }).to_string();
        if let Some(error) = problem(alone.as_bytes()).filter(|error| !error.is_missing()) {
            let field = Some(error.field()).filter(|field| !field.is_empty());
            problems.push(field.unwrap_or_else(|| name.clone()), error.reason);
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Control {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get().cloned().ok_or_else(|| Refusal::new(404, "There is no such world."))
    }
}
