//! The requests that were read: those that are worked on, no more than can be carried, and those that wait
//! for a place.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{
        ClientRequest, ConstString, GetExtensions as _, JsonRpcMessage, RequestId,
        SubscriptionsListenRequestMethod,
    },
    service::RxJsonRpcMessage,
};
use shared_inbox::__spec::Operation;
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

/// How many subscriptions a client may have open.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 8;
/// How many requests are worked on at once.
pub(super) const MAX_RUNNING: usize = 32;
/// How many requests may run without a place in the queue: every subscription, and some pings.
pub(super) const MAX_UNQUEUED: usize = MAX_SUBSCRIPTIONS + 8;
/// How many requests are queued, so that what comes behind them can pass: the answer to a question, a
/// cancellation.
pub(super) const MAX_QUEUED: usize = 256;
/// How many bytes the queue may hold; one more is read while it holds less.
const MAX_QUEUED_BYTES: usize = 1 << 20;
/// How long a request is queued. After that a client is about to give up on it.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(50);

/// The requests that were read and have no response yet.
#[derive(Default)]
pub(super) struct InFlight(Mutex<HashMap<RequestId, Request>>);

struct Request {
    method: String,
    since: Instant,
    place: Admission,
}

/// How far a request has come.
enum Admission {
    Waiting,
    /// It runs, and holds a permit until it has a response.
    Taken(#[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit),
    /// It runs without a permit: a subscription, which ends when the client ends it, or a ping, by which a
    /// client sees that the bridge is still there.
    Beside,
}

impl InFlight {
    pub(super) fn holds(&self, id: &RequestId) -> bool {
        self.lock().contains_key(id)
    }

    /// Adds a request, and returns whether it needs no permit and can start.
    pub(super) fn enter(&self, id: RequestId, request: &ClientRequest) -> bool {
        let method = name(request);
        tracing::debug!(method, "request");
        let light = request.method() == SubscriptionsListenRequestMethod::VALUE
            || matches!(request, ClientRequest::PingRequest(_));
        let mut all = self.lock();
        let begins =
            light && all.values().filter(|one| matches!(one.place, Admission::Beside)).count() < MAX_UNQUEUED;
        let place = if begins { Admission::Beside } else { Admission::Waiting };
        all.insert(id, Request { method, since: Instant::now(), place });
        begins
    }

    fn begin(&self, id: &RequestId, place: OwnedSemaphorePermit) {
        if let Some(request) = self.lock().get_mut(id) {
            request.place = Admission::Taken(place);
        }
    }

    pub(super) fn complete(&self, id: &RequestId, how: &str) {
        if let Some(request) = self.lock().remove(id) {
            let ms = request.since.elapsed().as_millis() as u64;
            tracing::debug!(method = request.method, how, ms, "completed");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Request>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the name of the method or tool for logs, if it is a known one: any other could hold private text.
fn name(request: &ClientRequest) -> String {
    match request {
        ClientRequest::CallToolRequest(call) => match Operation::from_tool_name(&call.params.name) {
            Some(_) => format!("{} {}", request.method(), call.params.name),
            None => request.method().to_owned(),
        },
        ClientRequest::CustomRequest(_) => "(unknown)".to_owned(),
        request => request.method().to_owned(),
    }
}

/// How long a request was queued, in the extensions of its context.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueueWait(pub Duration);

/// The requests that wait for a permit, first come first served.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiter>,
    bytes: usize,
}

struct Waiter {
    id: RequestId,
    message: Box<RxJsonRpcMessage<RoleServer>>,
    bytes: usize,
    since: Instant,
}

impl Queue {
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < MAX_QUEUED && self.bytes < MAX_QUEUED_BYTES
    }

    /// Adds a request that was read from so many bytes.
    pub(super) fn push(&mut self, id: RequestId, message: Box<RxJsonRpcMessage<RoleServer>>, bytes: usize) {
        self.bytes += bytes;
        self.waiting.push_back(Waiter { id, message, bytes, since: Instant::now() });
    }

    /// Removes a request that the client cancelled.
    pub(super) fn forget(&mut self, id: &RequestId) {
        if let Some(at) = self.waiting.iter().position(|one| one.id == *id) {
            self.bytes -= self.waiting.remove(at).map_or(0, |one| one.bytes);
        }
    }

    /// Returns when the first has waited for too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.front().map(|first| first.since + REQUEST_TIMEOUT)
    }

    /// Starts the first request in the queue.
    pub(super) fn begin(
        &mut self,
        in_flight: &InFlight,
        place: OwnedSemaphorePermit,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        let Waiter { id, mut message, since, .. } = self.pop()?;
        in_flight.begin(&id, place);
        if let JsonRpcMessage::Request(request) = &mut *message {
            request.request.extensions_mut().insert(QueueWait(since.elapsed()));
        }
        Some(*message)
    }

    /// Removes the first request from the queue and returns its id.
    pub(super) fn give_up(&mut self) -> Option<RequestId> {
        self.pop().map(|first| first.id)
    }

    fn pop(&mut self) -> Option<Waiter> {
        let first = self.waiting.pop_front()?;
        self.bytes -= first.bytes;
        Some(first)
    }
}
