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
use shared_inbox::Problems;

use super::{
    describe::{DescribeOutput, Schemas},
    input::{CallRequest, Extract, QueryParams, read_input},
};
use crate::{
    control::Control,
    http::response,
    runtime::config::LARGE_DOCUMENT,
    world::{Page, Refusal, Result},
};

/// A call of the control API.
#[cfg_attr(not(feature = "schemas"), expect(dead_code, reason = "only the OpenAPI document shows all of it"))]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// The operation id of the OpenAPI document.
    pub(super) name: &'static str,
    pub(super) schemas: Schemas,
    pub(super) route: MethodRouter,
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct OkResponse {
    /// Always true.
    ok: bool,
}

impl Output for Ack {
    fn respond(self) -> Response {
        json_response(200, &OkResponse { ok: true })
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

/// Work under way. Boxed, so that what awaits it is compiled once and not once for each call.
type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Reads the input of a call and starts it.
type Start = dyn Fn(Control, &mut CallRequest) -> Result<Pending<Response>> + Send + Sync;

/// Makes an entry of the table.
fn entry(
    method: Method,
    path: &'static str,
    name: &'static str,
    schemas: Schemas,
    start: Arc<Start>,
) -> Call {
    let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET);
    let route = on(filter, move |control: Control, ids: RawPathParams, request: Request| async move {
        let (parts, _) = request.into_parts();
        let ids: Vec<String> = ids.iter().map(|(_, id)| id.to_owned()).collect();
        let (ids, problems) = (ids.into_iter(), Problems::default());
        let mut request = CallRequest { ids, uri: parts.uri, extensions: parts.extensions, name, problems };
        let (large, runtime) = (request.body().len() > LARGE_DOCUMENT, Arc::clone(&control.runtime));
        runtime.catch_up().await;
        match runtime.offload_if(large, move || start(control, &mut request)).await {
            Ok(Ok(started)) => started.await,
            Ok(Err(refused)) | Err(refused) => refused.into_response(),
        }
    });
    Call { method, path, name, schemas, route }
}

macro_rules! methods {
    ($($name:ident $method:ident;)*) => {$(
        pub(super) fn $name<A, G, F, Fut>(path: &'static str, name: &'static str, act: F) -> Call
        where
            A: Extract,
            G: Output,
            F: Fn(Control, A) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<G>> + Send + 'static,
        {
            let start = move |control: Control, request: &mut CallRequest| -> Result<Pending<Response>> {
                let called = act(control, read_input(request)?);
                Ok(Box::pin(async move { called.await.map_or_else(Refusal::into_response, Output::respond) }))
            };
            entry(Method::$method, path, name, Schemas::for_call::<A, G>(), Arc::new(start))
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
pub(super) trait List: Send {
    fn count(&self) -> usize;
    fn respond(self: Box<Self>) -> Response;
}

impl<T: Serialize + Send + 'static> List for Json<Vec<T>>
where
    Self: Output,
{
    fn count(&self) -> usize {
        self.0.len()
    }
    fn respond(self: Box<Self>) -> Response {
        Output::respond(*self)
    }
}

impl<T: Serialize + Send + 'static> List for Page<T>
where
    Self: Output,
{
    fn count(&self) -> usize {
        self.items.len()
    }
    fn respond(self: Box<Self>) -> Response {
        Output::respond(*self)
    }
}

/// Makes an entry for a list that can be waited for.
pub(super) fn list<A, L, F, Fut>(path: &'static str, name: &'static str, act: F) -> Call
where
    A: Extract + Clone + Sync,
    L: Output + List,
    F: Fn(Control, A) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<L>> + Send + 'static,
{
    let start = move |control: Control, request: &mut CallRequest| -> Result<Pending<Response>> {
        let (act, input, QueryParams(wait)) =
            (act.clone(), read_input::<A>(request)?, QueryParams::extract(request)?);
        let look = move |control: Control| -> Pending<Result<Box<dyn List>>> {
            let looked = act(control, input.clone());
            Box::pin(async move { looked.await.map(|list| Box::new(list) as Box<dyn List>) })
        };
        Ok(Box::pin(wait_for_list(control, wait, Box::new(look))))
    };
    let schemas = Schemas::for_call::<(A, QueryParams<Wait>), L>();
    entry(Method::GET, path, name, schemas, Arc::new(start))
}

/// Reads a list.
type Look = dyn Fn(Control) -> Pending<Result<Box<dyn List>>> + Send + Sync;

/// Reads a list until it is long enough, or the wait is over.
async fn wait_for_list(control: Control, wait: Wait, look: Box<Look>) -> Response {
    let least = wait.least.unwrap_or(1);
    let waited = async {
        control.wait_for(wait.span()?, |_| look(control.clone()), |list| list.count() >= least).await
    };
    waited.await.map_or_else(Refusal::into_response, List::respond)
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
    /// Waits up to this many seconds, in real time, until the list has `least` items; then returns it as it
    /// is.
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
