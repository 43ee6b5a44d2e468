//! Requests to the service, REST or MCP: reads the body, applies a fault, makes the response, and writes the
//! journal and the log.

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::Router;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderName, HeaderValue, Request, Response, header, request::Parts};
use hyper::body::Incoming;

use super::{
    app::ServerState,
    body,
    caller::Caller,
    connection::{HttpReply, Phase, stopped},
    control, log, mcp, response, rest,
};
use crate::{
    faults::{FaultAction, FaultMatch, FaultTiming, RequestParts},
    ready::REST_PREFIX,
    runtime::{
        WorldRuntime,
        journal::{HeaderLines, RecordedRequest, RecordedResponse, entry::Transport, split_target},
    },
    world::Result,
};

/// The endpoint that a request is for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ServiceTarget {
    Rest,
    Mcp,
}

impl ServiceTarget {
    /// Returns the endpoint of a path, or `None` if it is not the service's.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        if path == "/mcp" {
            return Some(ServiceTarget::Mcp);
        }
        let rest = path.strip_prefix(REST_PREFIX)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(ServiceTarget::Rest)
    }

    /// Returns whether this may be a search.
    fn may_search(self, parts: &Parts) -> bool {
        self == ServiceTarget::Mcp || parts.uri.query().is_some_and(|query| query.contains("q="))
    }

    /// Returns the path as fault rules name it.
    fn path(self, parts: &Parts) -> &str {
        match self {
            ServiceTarget::Rest => parts.uri.path().strip_prefix(REST_PREFIX).unwrap_or_default(),
            ServiceTarget::Mcp => "/mcp",
        }
    }
}

/// Handles a request to an endpoint of the service.
pub(crate) async fn handle(
    app: &ServerState,
    routes: &Router,
    target: ServiceTarget,
    request: Request<Incoming>,
) -> HttpReply {
    let (parts, body) = request.into_parts();
    let (caller, mut record) = RequestRecord::begin(app, target, &parts);
    let body = body::read(body, body::SERVICE_LIMIT, app.limits.client_timeout).await;
    record.body = body.clone().unwrap_or_default();
    record.runtime.catch_up().await;
    // Before the faults: a page of another site must not use them up, see them, or make their control calls.
    if let Err(refused) = app.guard.check_host_and_origin(&parts) {
        return record.respond(response::refusal(&refused));
    }
    let request_parts = RequestParts {
        method: parts.method.as_str(),
        path: target.path(&parts),
        query: parts.uri.query().unwrap_or_default(),
        agent: caller.as_ref().ok().map(|caller| &caller.agent),
        body: &record.body,
    };
    let Some(fault) = record.runtime.match_fault(&request_parts) else {
        record.draw_number();
        return record.respond(perform(app, target, caller, parts, body).await);
    };
    let number = record.meet_fault(&fault.id);
    make_control_calls(app, routes, &record.runtime, number, &fault, FaultTiming::Before).await;
    record.draw_number();
    let reply = match fault.act.clone() {
        FaultAction::Drop(FaultTiming::Before) => HttpReply::Drop,
        FaultAction::Status { status, when: FaultTiming::Before } => {
            record.respond(with_headers(response::for_status(status), &fault.headers))
        }
        act => {
            let response = with_headers(perform(app, target, caller, parts, body).await, &fault.headers);
            match act {
                FaultAction::Drop(_) => HttpReply::Drop,
                FaultAction::Status { status, .. } => {
                    record.respond(with_headers(response::for_status(status), &fault.headers))
                }
                FaultAction::Truncate(bytes) => {
                    // At least one byte is cut off.
                    let bytes = bytes.min(response.body().len().saturating_sub(1));
                    HttpReply::Truncated(record.record_response(response, bytes), bytes)
                }
                FaultAction::Body(text) => record.respond(with_body(response, text)),
                // The others apply to webhooks, or were applied before.
                FaultAction::Answer
                | FaultAction::Twice
                | FaultAction::Swap
                | FaultAction::Late(_)
                | FaultAction::Control { .. } => record.respond(response),
            }
        }
    };
    make_control_calls(app, routes, &record.runtime, number, &fault, FaultTiming::After).await;
    if fault.delay > Duration::ZERO {
        // A stopping server cuts the delay short; one that has ended sends no response.
        let mut stop = app.stop.clone();
        let _ = tokio::time::timeout(fault.delay, stopped(&mut stop)).await;
        if *stop.borrow() == Phase::Over {
            return HttpReply::Drop;
        }
    }
    reply
}

/// Makes the control calls of a fault for this moment, as a part of the trace of the request with this
/// number.
async fn make_control_calls(
    app: &ServerState,
    routes: &Router,
    runtime: &Arc<WorldRuntime>,
    number: u64,
    fault: &FaultMatch,
    at: FaultTiming,
) {
    for (id, when, calls) in &fault.calls {
        if *when != at {
            continue;
        }
        let mut statuses = Vec::new();
        for call in calls {
            let what = format!("{} {}", call.method, call.path);
            let step = runtime.enter(|world, now| world.record_fault_call(number, id, what, now));
            // Boxed, so that the future of other requests stays small.
            let status = Box::pin(control::make_call(app, routes, runtime, step, call)).await;
            runtime.enter(|world, _| world.set_step_status(step, status));
            statuses.push(status);
        }
        runtime.faults(|faults, _| faults.record_statuses(id, &statuses));
    }
}

/// Performs a request. A panic becomes a 500.
async fn perform(
    app: &ServerState,
    target: ServiceTarget,
    caller: Result<Caller>,
    parts: Parts,
    body: Result<Bytes>,
) -> Response<Bytes> {
    if let Ok(caller) = &caller
        && target.may_search(&parts)
    {
        caller.runtime.wait_until_searchable().await;
    }
    let performed = async move {
        match (target, target.path(&parts)) {
            (ServiceTarget::Rest, "/openapi.json") => app.openapi(&parts.method, caller.as_ref()),
            (ServiceTarget::Rest, path) => rest::handle(caller.as_ref(), path, &parts, body),
            (ServiceTarget::Mcp, _) => match caller {
                // Boxed, so that the future of other requests stays small.
                Ok(caller) => Box::pin(mcp::handle(caller, parts, body)).await,
                Err(refused) => response::refusal(&refused),
            },
        }
    };
    AssertUnwindSafe(performed).catch_unwind().await.unwrap_or_else(|_| response::for_status(500))
}

/// Adds headers to a response.
fn with_headers(mut response: Response<Bytes>, headers: &BTreeMap<String, String>) -> Response<Bytes> {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Replaces the body of a response.
fn with_body(response: Response<Bytes>, text: String) -> Response<Bytes> {
    let page = text.trim_start().starts_with('<');
    let mut response = response.map(|_| Bytes::from(text));
    if page {
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    }
    response
}

/// Writes the journal and the log when a request ends, also if its client has disconnected.
struct RequestRecord {
    runtime: Arc<WorldRuntime>,
    log: bool,
    started: Instant,
    /// Taken when the request ends.
    entry: Option<RecordedRequest>,
    body: Bytes,
    status: Option<u16>,
    response: Option<RecordedResponse>,
}

impl RequestRecord {
    /// Returns the caller and the record of a request. Without a valid key the request belongs to the main
    /// world.
    fn begin(app: &ServerState, target: ServiceTarget, parts: &Parts) -> (Result<Caller>, Self) {
        let (caller, runtime, number, at) = match Caller::authenticate(&app.registry, &parts.headers) {
            Ok((caller, at)) => {
                let (runtime, number) = (Arc::clone(&caller.runtime), caller.request);
                (Ok(caller), runtime, number, at)
            }
            Err(refused) => {
                let (number, at) = app.registry.main.begin_request();
                (Err(refused), Arc::clone(&app.registry.main), number, at)
            }
        };
        let entry = RecordedRequest {
            number,
            order: None,
            at,
            transport: if target == ServiceTarget::Mcp { Transport::Mcp } else { Transport::Rest },
            method: parts.method.clone(),
            // Copied, since the original is part of the connection's read buffer.
            target: parts.uri.path_and_query().map_or("", |target| target.as_str()).into(),
            agent: caller.as_ref().ok().map(|caller| caller.agent.clone()),
            headers: HeaderLines::of_request(&parts.headers),
            fault: None,
            status: None,
            duration: Duration::ZERO,
            body: Bytes::new(),
        };
        let (log, started, entry) = (app.log, Instant::now(), Some(entry));
        (caller, Self { runtime, log, started, entry, body: Bytes::new(), status: None, response: None })
    }

    /// Gives the request its place in the order of everything that happens in the world: it is handled now.
    fn draw_number(&mut self) {
        if let Some(entry) = &mut self.entry {
            entry.order = Some(self.runtime.draw_number());
        }
    }

    /// Notes the fault rule that fired; returns the number of the request in the journal.
    fn meet_fault(&mut self, fault: &str) -> u64 {
        self.entry.as_mut().map_or(0, |entry| {
            entry.fault = Some(fault.into());
            entry.number
        })
    }

    fn respond(&mut self, response: Response<Bytes>) -> HttpReply {
        let head = self.entry.as_ref().is_some_and(|entry| entry.method == http::Method::HEAD);
        self.record_response(response, if head { 0 } else { usize::MAX }).into()
    }

    /// Records a response of which the client receives `received` bytes of the body.
    fn record_response(&mut self, mut response: Response<Bytes>, received: usize) -> Response<Bytes> {
        // The world's time, as in everything that it stores: clients compare the two.
        if let Some(date) = self.runtime.http_date() {
            response.headers_mut().insert(header::DATE, date);
        }
        self.status = Some(response.status().as_u16());
        self.response = Some(RecordedResponse::new(&response, received));
        response
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        let Some(mut entry) = self.entry.take() else { return };
        entry.duration = self.started.elapsed();
        entry.status = self.status;
        entry.body = std::mem::take(&mut self.body);
        if self.log {
            let (path, _) = split_target(&entry.target);
            log::request(&entry.method, path, entry.status, entry.duration, entry.agent.as_ref());
        }
        self.runtime.record_request(entry, self.response.take());
    }
}
