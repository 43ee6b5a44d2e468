//! One call of the control API: its method and path, its input, its output, and what it does.
//!
//! The route, the reading of the input and the OpenAPI document come from its entry in the table.

use std::{pin::Pin, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{RawPathParams, Request},
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use http::{HeaderName, Method, StatusCode};
use serde::{Deserialize, Serialize};

#[cfg(feature = "schemas")]
use super::describe::Schemas;
use super::{
    describe::DescribeOutput,
    input::{CallRequest, Extract, QueryParams},
};
use crate::{
    control::Control,
    http::response,
    runtime::config::LARGE_DOCUMENT,
    world::{Page, Refusal, Result},
};

/// A call of the control API.
#[cfg_attr(not(feature = "schemas"), expect(dead_code, reason = "only the OpenAPI document shows the texts"))]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// The operation id of the OpenAPI document.
    pub(super) name: &'static str,
    /// Its purpose in one line.
    pub(super) summary: &'static str,
    /// More about it for the OpenAPI document.
    pub(super) about: &'static str,
    /// When it responds with 409.
    pub(super) conflict: Option<&'static str>,
    #[cfg(feature = "schemas")]
    pub(super) schemas: Schemas,
    pub(super) route: MethodRouter,
}

impl Call {
    pub(super) fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Sets when it responds with 409.
    pub(super) fn conflict(mut self, when: &'static str) -> Self {
        self.conflict = Some(when);
        self
    }
}

/// The response of a call.
pub(super) trait Output: DescribeOutput + Send + 'static {
    fn respond(self) -> Response;
}

fn json_response<T: Serialize>(status: u16, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => response::json(status, body).map(Body::from),
        Err(error) => {
            Refusal::new(500, format!("The response could not be written: {error}.")).into_response()
        }
    }
}

macro_rules! json_responses {
    ($($(#[$doc:meta])* $name:ident = $status:literal;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name<T>(pub(super) T);

        impl<T: Serialize + Send + 'static> Output for $name<T>
        where
            Self: DescribeOutput,
        {
            fn respond(self) -> Response {
                json_response($status, &self.0)
            }
        }
    )*};
}

json_responses! {
    /// 200 with JSON.
    Json = 200;
    /// 201 with JSON.
    Created = 201;
    /// 202 with JSON.
    Accepted = 202;
}

/// 200 with `{"ok": true}`.
pub(super) struct Ack(pub(super) ());

/// `{"ok": true}`.
#[derive(Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(rename = "Done"))]
pub(super) struct AckBody {
    /// Always true.
    ok: bool,
}

impl Output for Ack {
    fn respond(self) -> Response {
        json_response(200, &AckBody { ok: true })
    }
}

/// 204 without a body.
pub(super) struct NoContent(pub(super) ());

impl Output for NoContent {
    fn respond(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

/// A stream of server-sent events.
pub(super) struct EventStream(pub(super) Response);

/// 200 with a world document.
pub(super) struct WorldDocument(pub(super) Vec<u8>);

impl Output for WorldDocument {
    fn respond(self) -> Response {
        response::json(200, self.0).map(Body::from)
    }
}

/// 200 with the OpenAPI document of the control API.
pub(super) struct ApiDocument(pub(super) &'static str);

impl Output for ApiDocument {
    fn respond(self) -> Response {
        response::json(200, self.0).map(Body::from)
    }
}

impl Output for EventStream {
    fn respond(self) -> Response {
        self.0
    }
}

/// Makes an entry of the table.
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
    let read = move |request: &mut CallRequest| -> Result<MakeCall> {
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
        #[cfg(feature = "schemas")]
        schemas: Schemas::of::<A, G>(),
        route: route(filter, name, Arc::new(read)),
    }
}

/// Makes a call whose input has been read.
type MakeCall = Box<dyn FnOnce(Control) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send>;

/// Reads the input of a call.
type ReadInput = dyn Fn(&mut CallRequest) -> Result<MakeCall> + Send + Sync;

/// Routes a call of any type: a function for each type made this crate noticeably slower to build.
fn route(filter: MethodFilter, name: &'static str, read: Arc<ReadInput>) -> MethodRouter {
    on(filter, move |control: Control, ids: RawPathParams, request: Request| async move {
        let (parts, _) = request.into_parts();
        let ids: Vec<String> = ids.iter().map(|(_, id)| id.to_owned()).collect();
        let mut call =
            CallRequest { ids: ids.into_iter(), uri: parts.uri, extensions: parts.extensions, name };
        let act =
            control.runtime.offload_if(call.body().len() > LARGE_DOCUMENT, move || read(&mut call)).await;
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

/// A list that can be waited for.
pub(super) trait List: Output {
    fn count(&self) -> usize;
}

impl<T: Serialize + Send + 'static> List for Json<Vec<T>>
where
    Self: DescribeOutput,
{
    fn count(&self) -> usize {
        self.0.len()
    }
}

impl<T: Serialize + Send + 'static> List for Page<T>
where
    Self: DescribeOutput,
{
    fn count(&self) -> usize {
        self.items.len()
    }
}

/// Makes an entry for a list that can be waited for.
pub(super) fn list<A, L, F, Fut>(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    act: F,
) -> Call
where
    A: Extract + Clone + Sync,
    L: List,
    F: Fn(Control, A) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<L>> + Send,
{
    get(path, name, summary, move |control: Control, (input, QueryParams(wait)): (A, QueryParams<Wait>)| {
        let act = act.clone();
        async move {
            let look = || act(control.clone(), input.clone());
            control.wait_for(wait.span()?, look, |found: &L| found.count() >= wait.least.unwrap_or(1)).await
        }
    })
}

/// 200 with the items of a page; a header has the length of the list.
impl<T: Serialize + Send + 'static> Output for Page<T>
where
    Self: DescribeOutput,
{
    fn respond(self) -> Response {
        let mut response = json_response(200, &self.items);
        response.headers_mut().insert(TOTAL_COUNT, self.total.into());
        response
    }
}

/// The header with the number of items on all pages.
const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

/// How long to wait for a list to have something in it.
#[derive(Clone, Copy, Default, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Wait {
    /// Waits up to so many seconds, in real time, until the list has `least` items; then returns it as it is.
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
}
