//! Standard input and output as a transport: every request gets an answer, also one that cannot be read, no more are taken
//! on than can be carried, and a client that goes away ends the program.
//!
//! Requests beyond that wait, and what needs no place passes them: the answer to a question, or a cancellation, must not
//! wait for the very calls that wait for it. A client that does not read its answers is not read from either.

mod batch;
mod flight;
mod lines;
mod numbers;
mod outline;
mod refusal;

use std::{
    collections::{HashSet, VecDeque},
    io,
    sync::Arc,
};

use rmcp::{
    RoleServer,
    model::{ClientNotification, ErrorCode, JsonRpcMessage, ProtocolVersion, RequestId, ServerResult},
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

use batch::{Batches, Outgoing};
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
    batches: Arc<Batches>,
    /// What a batch held beside the requests that wait for a place.
    backlog: VecDeque<RxJsonRpcMessage<RoleServer>>,
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
            batches: Arc::default(),
            backlog: VecDeque::new(),
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
        if line.first() == Some(&b'[') {
            return match refusal::batch(line, self.batches.are_allowed()) {
                Ok(messages) => self.understand_batch(messages).map(Read::Refusal),
                Err(answer) => Some(Read::Refusal(answer)),
            };
        }
        let message = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line) {
            Ok(message) => message,
            Err(_) => return refusal::misread(line, outline).map(Read::Refusal),
        };
        match &message {
            JsonRpcMessage::Request(request) if self.flight.holds(&request.id) => {
                return refusal::refuse(outline, ErrorCode::INVALID_REQUEST, refusal::IN_FLIGHT)
                    .map(Read::Refusal);
            }
            // The library takes a request whose id or params have a wrong form for something else.
            message if !matches!(message, JsonRpcMessage::Request(_)) && outline.is_request() => {
                return refusal::misread(line, outline).map(Read::Refusal);
            }
            _ => {}
        }
        self.admit(message).map(|message| Read::Message(Box::new(message)))
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
                    self.flight.land(id, "cancelled");
                    self.refusal = self.batches.forget(id);
                }
            }
            _ => numbers::restore(&mut message),
        }
        Some(message)
    }

    /// Takes on the messages of a batch. Gives its answer, if nothing in it has to be waited for.
    fn understand_batch(&mut self, messages: Vec<serde_json::Value>) -> Option<String> {
        let (mut waiting, mut answers, mut taken) = (HashSet::new(), Vec::new(), Vec::new());
        for value in messages {
            let message = match serde_json::from_value::<RxJsonRpcMessage<RoleServer>>(value.clone()) {
                Ok(message) => message,
                Err(_) => {
                    answers.extend(refusal::misread_part(&value));
                    continue;
                }
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    let id = &request.id;
                    if self.flight.holds(id) || !waiting.insert(id.clone()) {
                        answers.push(refusal::error(
                            &as_json(id),
                            ErrorCode::INVALID_REQUEST,
                            refusal::IN_FLIGHT,
                        ));
                        continue;
                    }
                }
                _ if value.get("id").is_some() && value.get("method").is_some() => {
                    answers.extend(refusal::misread_part(&value));
                    continue;
                }
                _ => {}
            }
            taken.push(message);
        }
        let answer = self.batches.open(waiting, answers);
        for message in taken {
            if let Some(message) = self.admit(message) {
                // Their bytes were one line, which has been read.
                if let Some(message) = self.enter(message, 0) {
                    self.backlog.push_back(message);
                }
            }
        }
        answer
    }

    /// Gives a message that can be worked on now; a request that needs a place waits for it.
    fn enter(
        &mut self,
        message: RxJsonRpcMessage<RoleServer>,
        bytes: usize,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        if let JsonRpcMessage::Request(request) = &message {
            let id = request.id.clone();
            if !self.flight.enter(id.clone(), &request.request) {
                self.queue.push(id, Box::new(message), bytes);
                return None;
            }
        }
        Some(message)
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
        let answer = refusal::error(&as_json(&id), ErrorCode::INTERNAL_ERROR, &why);
        if let Outgoing::Now(answer) = self.batches.take(&id, answer) {
            self.refusal = Some(answer);
        }
    }
}

fn as_json(id: &RequestId) -> String {
    serde_json::to_string(id).unwrap_or_else(|_| "null".into())
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
        let (writer, flight, batches) = (self.writer.clone(), self.flight.clone(), self.batches.clone());
        async move {
            numbers::number(&mut item);
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some((response.id.clone(), "result")),
                JsonRpcMessage::Error(error) => error.id.clone().map(|id| (id, "error")),
                _ => None,
            };
            if let JsonRpcMessage::Response(response) = &item
                && let ServerResult::InitializeResult(result) = &response.result
                && result.protocol_version == ProtocolVersion::V_2025_03_26
            {
                batches.allow();
            }
            let line = serde_json::to_string(&item)?;
            let outgoing = match &answered {
                Some((id, _)) => batches.take(id, line),
                None => Outgoing::Now(line),
            };
            let written = match outgoing {
                Outgoing::Now(line) => write(&writer, line.into_bytes()).await,
                Outgoing::Later => Ok(()),
            };
            if let Some((id, how)) = answered {
                flight.land(&id, how);
            }
            written
        }
    }

    /// Nothing is lost when this is dropped midway: what was read waits in `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(message) = self.backlog.pop_front() {
                return Some(message);
            }
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
                        Some(Read::Message(message)) => {
                            if let Some(message) = self.enter(*message, bytes) {
                                return Some(message);
                            }
                        }
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
