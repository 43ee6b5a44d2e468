//! Standard input and output as a transport: every request gets an answer, also one that cannot be read, no more are taken
//! on than can be carried, and a client that goes away ends the program.
//!
//! Requests beyond that wait, and what needs no place passes them: the answer to a question, or a cancellation, must not
//! wait for the very calls that wait for it. A client that does not read its answers is not read from either.

mod flight;
mod lines;
mod outline;
mod refusal;

use std::{io, sync::Arc};

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
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use flight::{AT_ONCE, Flight, PATIENCE, Queue};
use lines::{LONGEST, Line, Lines};

pub(crate) use flight::Waited;

/// How many refusals may be on their way to the client.
const REFUSALS: usize = 8;

/// The transport.
pub struct Stdio<R = StdioReader, W = StdioWriter> {
    lines: Lines<R>,
    writer: Arc<AsyncMutex<W>>,
    room: Arc<Semaphore>,
    flight: Arc<Flight>,
    queue: Queue,
    /// An answer to what cannot be worked on.
    refusal: Option<String>,
    refusals: Arc<Semaphore>,
    begun: bool,
    closed: CancellationToken,
}

enum Read {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    Refusal(String),
}

impl Stdio {
    /// The transport, and a token that is cancelled when the client closes the bridge's standard input.
    pub fn new() -> (Self, CancellationToken) {
        let (read, write) = stdio_pipes();
        let stdio = Self::over(read, write);
        let closed = stdio.closed.clone();
        (stdio, closed)
    }
}

impl<R: AsyncRead + Unpin, W> Stdio<R, W> {
    fn over(read: R, write: W) -> Self {
        Self {
            lines: Lines::new(read),
            writer: Arc::new(AsyncMutex::new(write)),
            room: Arc::new(Semaphore::new(AT_ONCE)),
            flight: Arc::default(),
            queue: Queue::default(),
            refusal: None,
            refusals: Arc::new(Semaphore::new(REFUSALS)),
            begun: false,
            closed: CancellationToken::new(),
        }
    }

    /// What to do about a line, if anything.
    fn understand(&mut self) -> Option<Read> {
        let (line, outline) = match self.lines.line() {
            Line::Whole(line, outline) => (line, outline),
            Line::TooLong(outline) => {
                let why = format!("The line is longer than {} MiB.", LONGEST >> 20);
                return refusal::refuse(outline, ErrorCode::INVALID_REQUEST, &why).map(Read::Refusal);
            }
        };
        let message = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line) {
            Ok(message) => message,
            Err(_) => return refusal::misread(line, outline).map(Read::Refusal),
        };
        match &message {
            JsonRpcMessage::Request(request) if self.flight.holds(&request.id) => {
                let why = "A request with this id is still being worked on.";
                return refusal::refuse(outline, ErrorCode::INVALID_REQUEST, why).map(Read::Refusal);
            }
            JsonRpcMessage::Request(_) => self.begun = true,
            // The library takes a request whose id or params have a wrong form for something else.
            _ if outline.is_request() => return refusal::misread(line, outline).map(Read::Refusal),
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
                    self.flight.land(id, "cancelled");
                }
            }
            _ => {}
        }
        Some(Read::Message(Box::new(message)))
    }

    /// Answers the request that has waited for too long.
    fn give_up(&mut self) {
        let Some(id) = self.queue.give_up() else { return };
        self.flight.land(&id, "no place");
        let why = format!(
            "{AT_ONCE} other requests are being worked on, and none of them ended within {} seconds. Nothing was done with this \
             one: send it again later.",
            PATIENCE.as_secs()
        );
        let id = serde_json::to_string(&id).unwrap_or_else(|_| "null".into());
        self.refusal = Some(refusal::error(&id, ErrorCode::INTERNAL_ERROR, &why));
    }
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
            if self.refusal.is_some() {
                let place = self.refusals.clone().acquire_owned().await.ok();
                let (writer, answer) = (self.writer.clone(), self.refusal.take()?);
                tokio::spawn(async move {
                    _ = write(&writer, answer.into_bytes()).await;
                    drop(place);
                });
            }
            let (room, patience) = (self.room.clone(), self.queue.patience());
            tokio::select! {
                biased;
                Ok(place) = room.acquire_owned(), if patience.is_some() => {
                    return self.queue.begin(&self.flight, place);
                }
                () = sleep_until(patience.unwrap_or_else(Instant::now)), if patience.is_some() => {
                    self.give_up();
                }
                more = self.lines.read(), if self.queue.has_room() && !self.closed.is_cancelled() => {
                    if !more {
                        self.closed.cancel();
                        continue;
                    }
                    let (read, bytes) = (self.understand(), self.lines.bytes());
                    self.lines.clear();
                    match read {
                        None => {}
                        Some(Read::Refusal(answer)) => self.refusal = Some(answer),
                        Some(Read::Message(message)) => match &*message {
                            JsonRpcMessage::Request(request) => {
                                let id = request.id.clone();
                                if self.flight.enter(id.clone(), &request.request) {
                                    return Some(*message);
                                }
                                self.queue.push(id, message, bytes);
                            }
                            _ => return Some(*message),
                        },
                    }
                }
                else => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rmcp::model::{GetExtensions as _, RequestId};
    use serde_json::{Value, json};
    use tokio::{
        io::{AsyncBufReadExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split},
        time::timeout,
    };

    use super::*;

    type Pipe = Stdio<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

    struct Client {
        reader: BufReader<ReadHalf<DuplexStream>>,
        writer: WriteHalf<DuplexStream>,
    }

    impl Client {
        async fn says(&mut self, message: Value) {
            self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }

        async fn asks(&mut self, ids: std::ops::Range<usize>) {
            for id in ids {
                self.says(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" })).await;
            }
        }

        async fn hears(&mut self) -> Value {
            let mut line = String::new();
            self.reader.read_line(&mut line).await.unwrap();
            serde_json::from_str(&line).unwrap()
        }
    }

    fn pair() -> (Client, Pipe) {
        let (ours, theirs) = duplex(1 << 16);
        let ((reader, writer), (read, write)) = (split(ours), split(theirs));
        (Client { reader: BufReader::new(reader), writer }, Stdio::over(read, write))
    }

    /// The id of the next request that is to be worked on, and how long it waited.
    async fn begun(stdio: &mut Pipe) -> (RequestId, Duration) {
        match stdio.receive().await.expect("a message") {
            JsonRpcMessage::Request(request) => {
                (request.id, request.request.extensions().get::<Waited>().expect("how long").0)
            }
            other => panic!("a request, not {other:?}"),
        }
    }

    async fn fill(client: &mut Client, stdio: &mut Pipe) {
        client.asks(0..AT_ONCE).await;
        for id in 0..AT_ONCE {
            assert_eq!(begun(stdio).await, (RequestId::Number(id as i64), Duration::ZERO));
        }
    }

    async fn answer(stdio: &mut Pipe, id: usize) {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        stdio.send(serde_json::from_value(answer).unwrap()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_answer_to_a_question_passes_the_requests_that_wait() {
        let (mut client, mut stdio) = pair();
        fill(&mut client, &mut stdio).await;
        client.asks(100..110).await;
        client.says(json!({ "jsonrpc": "2.0", "id": 7, "result": { "action": "decline" } })).await;
        assert!(matches!(stdio.receive().await, Some(JsonRpcMessage::Response(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancellation_passes_the_requests_that_wait_and_takes_out_its_own() {
        let (mut client, mut stdio) = pair();
        fill(&mut client, &mut stdio).await;
        client.asks(100..102).await;
        let cancelled = json!({ "requestId": 100 });
        client
            .says(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }))
            .await;
        assert!(matches!(stdio.receive().await, Some(JsonRpcMessage::Notification(_))));
        answer(&mut stdio, 3).await;
        assert_eq!(begun(&mut stdio).await.0, RequestId::Number(101));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_begins_when_there_is_a_place_and_tells_how_long_it_waited() {
        let (mut client, mut stdio) = pair();
        fill(&mut client, &mut stdio).await;
        client.asks(100..101).await;
        assert!(timeout(Duration::from_secs(20), stdio.receive()).await.is_err(), "there is no place");
        answer(&mut stdio, 0).await;
        let (id, waited) = begun(&mut stdio).await;
        assert!(id == RequestId::Number(100) && waited.as_secs() == 20, "{id} {waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_without_a_place_is_answered_before_its_client_gives_up() {
        let (mut client, mut stdio) = pair();
        fill(&mut client, &mut stdio).await;
        client.asks(100..101).await;
        assert!(timeout(Duration::from_secs(49), stdio.receive()).await.is_err());
        let (heard, _) = tokio::join!(client.hears(), timeout(Duration::from_secs(2), stdio.receive()));
        assert_eq!(heard["id"], 100);
        assert!(heard["error"]["message"].as_str().unwrap().contains("send it again"), "{heard}");
        client.asks(100..101).await;
        answer(&mut stdio, 0).await;
        assert_eq!(begun(&mut stdio).await.0, RequestId::Number(100), "its id can be used again");
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_read_than_can_wait() {
        let (mut client, mut stdio) = pair();
        fill(&mut client, &mut stdio).await;
        // More than the pipe holds.
        let flood = async { client.asks(100..10_000).await };
        let reads = async { while stdio.receive().await.is_some() {} };
        let both = async { tokio::join!(flood, reads) };
        assert!(timeout(Duration::from_secs(1), both).await.is_err());
        assert_eq!(stdio.flight.count(), AT_ONCE + flight::MOST_WAITING);
    }

    #[tokio::test(start_paused = true)]
    async fn pings_and_subscriptions_need_no_place_as_far_as_there_are_few() {
        let (mut client, mut stdio) = pair();
        fill(&mut client, &mut stdio).await;
        let listen = json!({ "notifications": { "toolsListChanged": true } });
        for id in 0..flight::BESIDE + 2 {
            let (method, params) =
                if id % 2 == 0 { ("ping", json!({})) } else { ("subscriptions/listen", listen.clone()) };
            client
                .says(json!({ "jsonrpc": "2.0", "id": 100 + id, "method": method, "params": params }))
                .await;
        }
        for _ in 0..flight::BESIDE {
            assert!(matches!(stdio.receive().await, Some(JsonRpcMessage::Request(_))));
        }
        assert!(timeout(Duration::from_secs(1), stdio.receive()).await.is_err(), "the others wait");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_read_before_the_end_is_still_worked_on() {
        let (mut client, mut stdio) = pair();
        client.asks(0..2).await;
        client.writer.shutdown().await.unwrap();
        assert_eq!(begun(&mut stdio).await.0, RequestId::Number(0));
        assert_eq!(begun(&mut stdio).await.0, RequestId::Number(1));
        assert!(stdio.receive().await.is_none() && stdio.closed.is_cancelled());
    }
}
