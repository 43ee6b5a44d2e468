//! One call of the control API: its method and path, its input, its output, and what it does.
//!
//! Each call is written down once, in `calls!` of its family. The routes, the methods of [`Control`], the reading of inputs and
//! the OpenAPI document are all made from it.

use std::{pin::Pin, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{RawPathParams, Request},
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use http::{HeaderName, Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{
    Control,
    input::{CallRequest, Extract, InputSchema, Search},
};
use crate::{
    http::response,
    runtime::plan::LARGE_DOCUMENT,
    world::{Page, Refusal, Result, Section},
};

/// A call of the control API.
pub(crate) struct Call {
    pub(super) method: Method,
    pub(crate) path: &'static str,
    /// Its name for programs.
    pub(super) name: &'static str,
    /// What it is for, in one line.
    pub(super) summary: &'static str,
    /// What more there is to say.
    pub(super) about: &'static str,
    /// When the present state does not allow it.
    pub(super) conflict: Option<&'static str>,
    pub(super) takes: fn(&mut InputSchema, &mut SchemaGenerator),
    pub(super) gives: fn(&mut SchemaGenerator) -> OutputSchema,
    pub(crate) route: MethodRouter,
}

/// The response of a call, for the OpenAPI document.
pub(super) struct OutputSchema {
    pub(super) status: u16,
    /// The content type and the schema, when there is a body.
    pub(super) body: Option<(&'static str, Schema)>,
}

impl Call {
    pub(super) fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Says when it answers 409.
    pub(super) fn conflict(mut self, when: &'static str) -> Self {
        self.conflict = Some(when);
        self
    }
}

/// What a call gives back.
pub(super) trait Output: Send + 'static {
    fn output_schema(generator: &mut SchemaGenerator) -> OutputSchema;
    fn respond(self) -> Response;
}

fn json_schema_of<T: JsonSchema>(status: u16, generator: &mut SchemaGenerator) -> OutputSchema {
    OutputSchema { status, body: Some(("application/json", generator.subschema_for::<T>())) }
}

fn json_response<T: Serialize>(status: u16, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => response::json(status, body).map(Body::from),
        Err(error) => Refusal::new(500, format!("The answer could not be written: {error}.")).into_response(),
    }
}

macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident = $status:literal;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name<T>(pub(super) T);

        impl<T: Serialize + JsonSchema + Send + 'static> Output for $name<T> {
            fn output_schema(generator: &mut SchemaGenerator) -> OutputSchema {
                json_schema_of::<T>($status, generator)
            }
            fn respond(self) -> Response {
                json_response($status, &self.0)
            }
        }
    )*};
}

answers! {
    /// Here it is.
    Shown = 200;
    /// It was made.
    Made = 201;
    /// It will be done.
    Accepted = 202;
}

/// It was done, and there is nothing to say about it.
pub(super) struct Done(pub(super) ());

/// `{"ok": true}`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Done")]
struct Ok {
    /// Always true.
    ok: bool,
}

impl Output for Done {
    fn output_schema(generator: &mut SchemaGenerator) -> OutputSchema {
        json_schema_of::<Ok>(200, generator)
    }
    fn respond(self) -> Response {
        json_response(200, &Ok { ok: true })
    }
}

/// It is gone.
pub(super) struct Gone(pub(super) ());

impl Output for Gone {
    fn output_schema(_: &mut SchemaGenerator) -> OutputSchema {
        OutputSchema { status: 204, body: None }
    }
    fn respond(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

/// A body that is finished already.
pub(super) struct Raw(pub(super) Response);

/// The world as a document.
pub(super) struct WorldDocument(pub(super) Vec<u8>);

impl Output for WorldDocument {
    fn output_schema(_: &mut SchemaGenerator) -> OutputSchema {
        OutputSchema { status: 200, body: Some(("application/json", super::input::world_document())) }
    }
    fn respond(self) -> Response {
        response::json(200, self.0).map(Body::from)
    }
}

impl Output for Raw {
    fn output_schema(_: &mut SchemaGenerator) -> OutputSchema {
        let schema = schemars::json_schema!({ "type": "string" });
        OutputSchema { status: 200, body: Some(("text/event-stream", schema)) }
    }
    fn respond(self) -> Response {
        self.0
    }
}

/// A call that does something.
pub(super) fn call<A, G, F, Fut>(
    method: Method,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    act: F,
) -> Call
where
    A: Extract,
    G: Output,
    F: Fn(Control, A) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<G>> + Send,
{
    let read = move |request: &mut CallRequest| -> Result<Act> {
        let (act, taken) = (act.clone(), A::extract(request)?);
        Ok(Box::new(move |control| {
            Box::pin(
                async move { act(control, taken).await.map_or_else(Refusal::into_response, Output::respond) },
            )
        }))
    };
    let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET);
    Call {
        method,
        path,
        name,
        summary,
        about: "",
        conflict: None,
        takes: A::describe,
        gives: G::output_schema,
        route: route(filter, Arc::new(read)),
    }
}

/// What is left to do when what came with a call has been read.
type Act = Box<dyn FnOnce(Control) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send>;

/// Reads what came with a call.
type Read = dyn Fn(&mut CallRequest) -> Result<Act> + Send + Sync;

/// All calls take this one way, whatever their types: with a way for each, this crate took noticeably longer to build.
fn route(filter: MethodFilter, read: Arc<Read>) -> MethodRouter {
    on(filter, move |control: Control, ids: RawPathParams, request: Request| async move {
        let (parts, _) = request.into_parts();
        let ids: Vec<String> = ids.iter().map(|(_, id)| id.to_owned()).collect();
        let mut call = CallRequest { ids: ids.into_iter(), uri: parts.uri, extensions: parts.extensions };
        let act = control.runtime.apart(call.body().len() > LARGE_DOCUMENT, move || read(&mut call)).await;
        match act {
            Ok(Ok(act)) => act(control).await,
            Ok(Err(refused)) | Err(refused) => refused.into_response(),
        }
    })
}

macro_rules! methods {
    ($($name:ident $method:ident;)*) => {$(
        pub(super) fn $name<A, G, F, Fut>(path: &'static str, name: &'static str, summary: &'static str, act: F) -> Call
        where
            A: Extract,
            G: Output,
            F: Fn(Control, A) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future<Output = Result<G>> + Send,
        {
            call(Method::$method, path, name, summary, act)
        }
    )*};
}

methods! {
    get GET;
    post POST;
    put PUT;
    delete DELETE;
}

/// A list, which can be waited for.
pub(super) fn list<A, T, F, Fut>(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    act: F,
) -> Call
where
    A: Extract + Clone + Sync,
    T: Serialize + JsonSchema + Send + 'static,
    F: Fn(Control, A) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Vec<T>>> + Send,
{
    get(path, name, summary, move |it: Control, (input, Search(wait)): (A, Search<Wait>)| {
        let act = act.clone();
        async move {
            let look = || act(it.clone(), input.clone());
            it.wait_for(wait.span()?, look, |found| wait.is_enough(found.len())).await.map(Shown)
        }
    })
}

/// A part of a long list, which can be waited for; a header says how long the whole is.
pub(super) fn paged<A, T, F, Fut>(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    act: F,
) -> Call
where
    A: Extract + Clone + Sync,
    T: Serialize + JsonSchema + Send + 'static,
    F: Fn(Control, A, Section) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Page<T>>> + Send,
{
    type CallRequest<A> = (A, (Search<Section>, Search<Wait>));
    get(path, name, summary, move |it: Control, (input, (Search(part), Search(wait))): CallRequest<A>| {
        let act = act.clone();
        async move {
            let look = || act(it.clone(), input.clone(), part);
            it.wait_for(wait.span()?, look, |found| wait.is_enough(found.items.len())).await.map(Paged)
        }
    })
}

/// A part of a list.
struct Paged<T>(Page<T>);

impl<T: Serialize + JsonSchema + Send + 'static> Output for Paged<T> {
    fn output_schema(generator: &mut SchemaGenerator) -> OutputSchema {
        json_schema_of::<Vec<T>>(200, generator)
    }
    fn respond(self) -> Response {
        let mut response = json_response(200, &self.0.items);
        response.headers_mut().insert(TOTAL, self.0.total.into());
        response
    }
}

/// How many there are in all, of which the answer is a part.
const TOTAL: HeaderName = HeaderName::from_static("x-total-count");

/// How long to wait for a list to have something in it.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
pub(super) struct Wait {
    /// Waits up to so many seconds, in real time, until the list has `least` items; then it is answered as it is.
    wait: Option<f64>,
    /// How many items are waited for; 1 unless set.
    least: Option<usize>,
}

/// The longest wait for a list.
const MAX_WAIT: Duration = Duration::from_secs(300);

impl Wait {
    /// Returns how long to wait, which is zero unless set.
    fn span(&self) -> Result<Duration> {
        Duration::try_from_secs_f64(self.wait.unwrap_or_default())
            .ok()
            .filter(|span| *span <= MAX_WAIT)
            .ok_or_else(|| Refusal::field("wait", "must be from 0 to 300 seconds"))
    }

    fn is_enough(&self, items: usize) -> bool {
        items >= self.least.unwrap_or(1)
    }
}
