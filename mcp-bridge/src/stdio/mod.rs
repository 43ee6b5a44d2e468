//! Standard input and output as a transport: every request gets an answer, also one that cannot be read, no more are taken
//! on than can be carried, and a client that goes away ends the program.

mod lines;
mod outline;

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use rmcp::{
    RoleServer,
    model::{
        ClientNotification, ClientRequest, ConstString, ErrorCode, JsonRpcMessage, RequestId,
        SubscriptionsListenRequestMethod,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        Transport,
        io::{StdioReader, StdioWriter, stdio_pipes},
    },
};
use serde_json::{Value, json};
use shared_inbox::Operation;
use tokio::{
    io::AsyncWriteExt,
    sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;

use lines::{LONGEST, Line, Lines};
use outline::Outline;

/// How many requests are worked on at once. More wait in the pipe, where they cost nothing, and a client that does not read its
/// answers is not read from either.
const AT_ONCE: usize = 32;

/// The transport.
pub struct Stdio {
    lines: Lines<StdioReader>,
    writer: Arc<AsyncMutex<StdioWriter>>,
    room: Arc<Semaphore>,
    flight: Arc<Flight>,
    /// What was read and waits for room.
    next: Option<Read>,
    begun: bool,
    closed: CancellationToken,
}

/// The requests that are being worked on.
#[derive(Default)]
struct Flight(Mutex<HashMap<RequestId, Request>>);

struct Request {
    method: String,
    since: Instant,
    /// Its place among those that are worked on; free again when it has been answered.
    _place: Option<OwnedSemaphorePermit>,
}

enum Read {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// An answer to what cannot be worked on.
    Refusal(String),
}

impl Stdio {
    /// The transport, and a token that is cancelled when the client closes the bridge's standard input.
    pub fn new() -> (Self, CancellationToken) {
        let (read, write) = stdio_pipes();
        let closed = CancellationToken::new();
        let stdio = Self {
            lines: Lines::new(read),
            writer: Arc::new(AsyncMutex::new(write)),
            room: Arc::new(Semaphore::new(AT_ONCE)),
            flight: Arc::default(),
            next: None,
            begun: false,
            closed: closed.clone(),
        };
        (stdio, closed)
    }

    /// What to do about a line, if anything.
    fn understand(&mut self) -> Option<Read> {
        let (line, outline) = match self.lines.line() {
            Line::Whole(line, outline) => (line, outline),
            Line::TooLong(outline) => {
                let why = format!("The line is longer than {} MiB.", LONGEST >> 20);
                return refusal(outline, ErrorCode::INVALID_REQUEST, &why);
            }
        };
        let message = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line) {
            Ok(message) => message,
            Err(_) => return misread(line, outline),
        };
        match &message {
            JsonRpcMessage::Request(request) if self.flight.holds(&request.id) => {
                let why = "A request with this id is still being worked on.";
                return refusal(outline, ErrorCode::INVALID_REQUEST, why);
            }
            JsonRpcMessage::Request(_) => self.begun = true,
            // The library takes a request whose id or params have a wrong form for something else.
            _ if outline.is_request() => return misread(line, outline),
            // The server would end on a stray notification before the first request.
            _ if !self.begun => {
                tracing::debug!("passed over a message that came before the first request");
                return None;
            }
            JsonRpcMessage::Notification(notification) => {
                // A cancelled request gets no answer.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.flight.land(id, "cancelled");
                }
            }
            _ => {}
        }
        Some(Read::Message(Box::new(message)))
    }
}

/// An error for a line that is no message, if somebody waits for its answer.
fn misread(line: &[u8], outline: &Outline) -> Option<Read> {
    if !outline.is_request() {
        tracing::debug!("passed over a line that is no message");
        return None;
    }
    let (code, why) = match serde_json::from_slice::<Value>(line) {
        Err(_) if std::str::from_utf8(line).is_err() => {
            (ErrorCode::PARSE_ERROR, "The line is not UTF-8.".to_owned())
        }
        // Such an error names a place in the line, and nothing that stands there.
        Err(error) => (ErrorCode::PARSE_ERROR, format!("The line is not JSON that can be read: {error}.")),
        Ok(value) if value.get("params").is_some_and(|params| !params.is_object()) => {
            (ErrorCode::INVALID_PARAMS, "`params` must be an object.".to_owned())
        }
        Ok(_) => {
            let why = "This is not a request of the protocol: `jsonrpc` must be \"2.0\", `id` a whole number or a text, \
                       `method` a text.";
            (ErrorCode::INVALID_REQUEST, why.to_owned())
        }
    };
    refusal(outline, code, &why)
}

fn refusal(outline: &Outline, code: ErrorCode, why: &str) -> Option<Read> {
    if !outline.is_request() {
        return None;
    }
    tracing::debug!(code = code.0, "a request could not be read");
    let error = json!({ "code": code.0, "message": why });
    Some(Read::Refusal(format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, outline.id())))
}

/// The name of what is asked for, as far as it is the protocol's own: a stranger's could hold anything.
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

impl Flight {
    fn holds(&self, id: &RequestId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }

    fn start(&self, id: RequestId, request: &ClientRequest, place: Option<OwnedSemaphorePermit>) {
        let method = name(request);
        tracing::debug!(method, "request");
        // A subscription is answered when it ends, and must not keep others out until then.
        let place = place.filter(|_| request.method() != SubscriptionsListenRequestMethod::VALUE);
        let request = Request { method, since: Instant::now(), _place: place };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, request);
    }

    fn land(&self, id: &RequestId, how: &str) {
        if let Some(request) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id) {
            let ms = request.since.elapsed().as_millis() as u64;
            tracing::debug!(method = request.method, how, ms, "answered");
        }
    }
}

async fn write(writer: &AsyncMutex<StdioWriter>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut writer = writer.lock().await;
    writer.write_all(&line).await?;
    writer.flush().await
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (writer, flight) = (self.writer.clone(), self.flight.clone());
        async move {
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some((response.id.clone(), "result")),
                JsonRpcMessage::Error(error) => error.id.clone().map(|id| (id, "error")),
                _ => None,
            };
            let written = write(&writer, serde_json::to_vec(&item)?).await;
            if let Some((id, how)) = answered {
                flight.land(&id, how);
            }
            written
        }
    }

    /// Nothing is lost when this is dropped midway: what was read waits in `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(next) = &self.next else {
                if !self.lines.read().await {
                    self.closed.cancel();
                    return None;
                }
                self.next = self.understand();
                self.lines.clear();
                continue;
            };
            let place = match next {
                Read::Message(message) if !matches!(**message, JsonRpcMessage::Request(_)) => None,
                _ => self.room.clone().acquire_owned().await.ok(),
            };
            match self.next.take()? {
                Read::Message(message) => {
                    if let JsonRpcMessage::Request(request) = &*message {
                        self.flight.start(request.id.clone(), &request.request, place);
                    }
                    return Some(*message);
                }
                Read::Refusal(answer) => {
                    let writer = self.writer.clone();
                    tokio::spawn(async move {
                        _ = write(&writer, answer.into_bytes()).await;
                        drop(place);
                    });
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.lock().await.shutdown().await
    }
}
