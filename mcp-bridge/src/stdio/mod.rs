//! Standard input and output as a transport. Every request gets a response, also a malformed one; the number
//! of running requests is limited; and the program ends when the client disconnects.
//!
//! Requests beyond the limit are queued. The answer to a question, or a cancellation, passes them, because
//! running calls wait for it. A client that does not read its responses is not read from either.

mod in_flight;
mod lines;
mod numbers;
mod outline;
mod refusal;

use std::{io, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{ClientNotification, ErrorCode, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        Transport,
        io::{StdioReader, StdioWriter, stdio_pipes},
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{Mutex as AsyncMutex, Semaphore},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use in_flight::{InFlight, MAX_RUNNING, Queue, REQUEST_TIMEOUT};
use lines::{Lines, MAX_LINE_BYTES};
use outline::Outline;

pub(crate) use in_flight::MAX_SUBSCRIPTIONS;
pub use in_flight::QueueWait;

/// How many refusals may be on their way to the client.
const MAX_REFUSALS: u32 = 8;

/// How often it is checked whether the client is still there, while nothing more can be read.
const HANG_UP_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// A transport over standard input and output.
pub struct Stdio<R = StdioReader, W = StdioWriter> {
    lines: Lines<R>,
    writer: Arc<AsyncMutex<W>>,
    room: Arc<Semaphore>,
    in_flight: Arc<InFlight>,
    queue: Queue,
    /// An answer to what cannot be worked on.
    refusal: Option<String>,
    refusals: Arc<Semaphore>,
    begun: bool,
    /// Whether everything was read.
    ended: bool,
    closed: CancellationToken,
    /// Whether nobody can write to the input any more, although there is more to read.
    is_hung_up: fn() -> bool,
}

/// A message, or the response to a line that is none.
type Read = Result<Box<RxJsonRpcMessage<RoleServer>>, String>;

impl Stdio {
    /// Creates the transport, and a token that is cancelled when the client closes the bridge's standard
    /// input.
    pub fn new() -> (Self, CancellationToken) {
        let (read, write) = stdio_pipes();
        let (stdio, closed) = Self::from_pipes(read, write);
        (Self { is_hung_up, ..stdio }, closed)
    }
}

impl<R: AsyncRead + Unpin, W> Stdio<R, W> {
    /// Creates the transport over other pipes, and a token that is cancelled when the client closes the one
    /// to read from.
    pub fn from_pipes(read: R, write: W) -> (Self, CancellationToken) {
        let closed = CancellationToken::new();
        let stdio = Self {
            lines: Lines::new(read),
            writer: Arc::new(AsyncMutex::new(write)),
            room: Arc::new(Semaphore::new(MAX_RUNNING)),
            in_flight: Arc::default(),
            queue: Queue::default(),
            refusal: None,
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS as usize)),
            begun: false,
            ended: false,
            closed: closed.clone(),
            is_hung_up: || false,
        };
        (stdio, closed)
    }

    /// Returns what to do about a line, if anything.
    fn understand(&mut self) -> Option<Read> {
        let Some(line) = self.lines.line() else {
            let why = format!("The line is longer than {} MiB.", MAX_LINE_BYTES >> 20);
            return Some(Err(refusal::error("null", ErrorCode::INVALID_REQUEST, &why)));
        };
        if line.first() == Some(&b'[') {
            return Some(Err(refusal::error("null", ErrorCode::INVALID_REQUEST, refusal::BATCH)));
        }
        let message = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line) {
            Ok(message) => message,
            Err(_) => return refusal::misread(line).map(Err),
        };
        match &message {
            JsonRpcMessage::Request(request) if self.in_flight.holds(&request.id) => {
                let id = serde_json::to_string(&request.id).unwrap_or_else(|_| "null".into());
                return Some(Err(refusal::error(&id, ErrorCode::INVALID_REQUEST, refusal::IN_FLIGHT)));
            }
            // The library takes a request whose id or params have a wrong form for something else.
            JsonRpcMessage::Request(_) => {}
            _ if Outline::read(line).is_request() => return refusal::misread(line).map(Err),
            _ => {}
        }
        self.admit(message).map(|message| Ok(Box::new(message)))
    }

    /// Takes on a message, if there is anything to do about it.
    fn admit(&mut self, mut message: RxJsonRpcMessage<RoleServer>) -> Option<RxJsonRpcMessage<RoleServer>> {
        match &message {
            JsonRpcMessage::Request(_) => self.begun = true,
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
                    self.queue.forget(id);
                    self.in_flight.complete(id, "cancelled");
                }
            }
            _ => numbers::restore(&mut message),
        }
        Some(message)
    }

    /// Gives a message that can be worked on now; a request that needs a place waits for it.
    fn enter(
        &mut self,
        message: RxJsonRpcMessage<RoleServer>,
        bytes: usize,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        if let JsonRpcMessage::Request(request) = &message {
            let id = request.id.clone();
            if !self.in_flight.enter(id.clone(), &request.request) {
                self.queue.push(id, Box::new(message), bytes);
                return None;
            }
        }
        Some(message)
    }

    /// Answers the request that has waited for too long.
    fn give_up(&mut self) {
        let Some(id) = self.queue.give_up() else { return };
        self.in_flight.complete(&id, "no place");
        let why = format!(
            "{MAX_RUNNING} other requests are being worked on, and none of them ended within {} seconds. Nothing was done with this \
             one: send it again later.",
            REQUEST_TIMEOUT.as_secs()
        );
        let id = serde_json::to_string(&id).unwrap_or_else(|_| "null".into());
        self.refusal = Some(refusal::error(&id, ErrorCode::INTERNAL_ERROR, &why));
    }
}

/// Returns whether the client has closed its end of standard input.
fn is_hung_up() -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&at_once)).is_ok() && polled[0].revents().contains(PollFlags::HUP)
    }
    #[cfg(not(unix))]
    false
}

async fn write<W: AsyncWrite + Unpin>(writer: &AsyncMutex<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut writer = writer.lock().await;
    writer.write_all(&line).await?;
    writer.flush().await
}

impl<R, W> Transport<RoleServer> for Stdio<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (writer, in_flight) = (self.writer.clone(), self.in_flight.clone());
        async move {
            numbers::number(&mut item);
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some((response.id.clone(), "result")),
                JsonRpcMessage::Error(error) => error.id.clone().map(|id| (id, "error")),
                _ => None,
            };
            let written = write(&writer, serde_json::to_vec(&item)?).await;
            if let Some((id, how)) = answered {
                in_flight.complete(&id, how);
            }
            written
        }
    }

    /// Nothing is lost when this is dropped midway: what was read waits in `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let (room, refusals, deadline) =
                (self.room.clone(), self.refusals.clone(), self.queue.deadline());
            let can_read = self.refusal.is_none() && self.queue.has_room();
            tokio::select! {
                biased;
                Ok(place) = refusals.acquire_owned(), if self.refusal.is_some() => {
                    let (writer, answer) = (self.writer.clone(), self.refusal.take()?);
                    tokio::spawn(async move {
                        _ = write(&writer, answer.into_bytes()).await;
                        drop(place);
                    });
                }
                Ok(place) = room.acquire_owned(), if deadline.is_some() => {
                    return self.queue.begin(&self.in_flight, place);
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() && self.refusal.is_none() => {
                    self.give_up();
                }
                more = self.lines.read(), if can_read && !self.ended => {
                    if !more {
                        self.ended = true;
                        self.closed.cancel();
                        continue;
                    }
                    let (read, bytes) = (self.understand(), self.lines.bytes());
                    self.lines.clear();
                    match read {
                        None => {}
                        Some(Err(answer)) => self.refusal = Some(answer),
                        Some(Ok(message)) => {
                            if let Some(message) = self.enter(*message, bytes) {
                                return Some(message);
                            }
                        }
                    }
                }
                // The end of the input shows behind what cannot be read yet.
                () = sleep(HANG_UP_CHECK_INTERVAL), if !can_read && !self.closed.is_cancelled() => {
                    if (self.is_hung_up)() {
                        self.closed.cancel();
                    }
                }
                else => {
                    // The refusals are written before the output is closed.
                    _ = self.refusals.acquire_many(MAX_REFUSALS).await;
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.lock().await.shutdown().await
    }
}
