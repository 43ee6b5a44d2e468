//! The serve loop: accepts connections, and makes sure that none of them can hold the server up.
//!
//! It stands on hyper itself because the faults need what frameworks hide: a connection that closes without an
//! answer, and an answer that ends before its length.

mod slots;
mod stream;

use std::{future::Future, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream as parts;
use http::{Request, Response, header};
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use slots::{ConnectionSlot, ConnectionSlots};
use stream::{Held, Stream};

/// How long requests under way have to end when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// What clients may take up, so that slow or half-open ones do not pile up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections at one time. One more makes the one go that has been idle the longest; when none is idle it waits.
    pub(crate) connections: u32,
    /// Further connections when all are busy, for requests that cannot wait: those of the control API.
    pub(crate) urgent: u32,
    /// How long a client may take to send a request's head, and again its body; how long its connection may be idle;
    /// and how long it may refuse to take an answer.
    pub(crate) client_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 2_000, urgent: 32, client_timeout: Duration::from_secs(30) }
    }
}

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// An answer.
    Answer(Response<Body>),
    /// The head of this answer and only the first bytes of its body; then the connection closes.
    Truncated(Response<Bytes>, usize),
    /// The connection closes without an answer.
    Drop,
}

/// Makes hyper close the connection.
#[derive(Debug, thiserror::Error)]
#[error("the connection was closed on purpose")]
struct Closed;

/// How far along a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It accepts connections.
    Running,
    /// Requests under way may end.
    Ending,
    /// Nobody waits for anything any more.
    Over,
}

/// Accepts connections until `stop` says so, then lets those under way end.
pub(crate) async fn serve<H, F>(
    listener: TcpListener,
    limits: Limits,
    mut stop: watch::Receiver<Phase>,
    urgent: fn(&str) -> bool,
    handle: H,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let slots = ConnectionSlots::new(limits.connections, limits.urgent);
    let mut sweep = std::pin::pin!(slots.sweep(limits.client_timeout));
    loop {
        let accept = async {
            match listener.accept().await {
                Ok((stream, _)) => Some((stream, slots.slot().await)),
                Err(_) => {
                    // Out of file handles, most likely: some must go first.
                    slots.shed();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    None
                }
            }
        };
        let accepted = tokio::select! {
            accepted = accept => accepted,
            never = &mut sweep => match never {},
            () = stopped(&mut stop) => break,
        };
        let Some((stream, slot)) = accepted else { continue };
        tokio::spawn(serve_one(stream, slot, limits.client_timeout, urgent, handle.clone()));
    }
    drop(listener);
    tokio::select! {
        _ = tokio::time::timeout(SHUTDOWN_GRACE, slots.end()) => {}
        _ = stop.wait_for(|phase| *phase == Phase::Over) => {}
    }
}

/// Waits until the server is told to stop, or whoever could tell it is gone.
pub(crate) async fn stopped(stop: &mut watch::Receiver<Phase>) {
    let _ = stop.wait_for(|phase| *phase != Phase::Running).await;
}

async fn serve_one<H, F>(
    stream: TcpStream,
    slot: ConnectionSlot,
    client_timeout: Duration,
    urgent: fn(&str) -> bool,
    handle: H,
) where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let connection_state = Arc::clone(slot.connection_state());
    let service = service_fn(|request: Request<Incoming>| {
        let begun = connection_state.begin();
        let (connection_state, handle) = (Arc::clone(&connection_state), &handle);
        let permit = (!urgent(request.uri().path())).then(|| slot.permit());
        async move {
            if !begun {
                return Err(Closed);
            }
            // Held until the answer is made.
            let _place = match permit {
                Some(permit) => permit.await,
                None => None,
            };
            match handle(request).await {
                // An answer that goes on and on keeps its connection busy.
                Reply::Answer(response) if response.body().size_hint().exact().is_none() => {
                    Ok(response.map(|body| Body::new(Held::new(body, connection_state))))
                }
                Reply::Answer(response) => {
                    connection_state.answered();
                    Ok(response)
                }
                Reply::Truncated(response, bytes) => Ok(truncated(response, bytes)),
                Reply::Drop => Err(Closed),
            }
        }
    });
    let stream = TokioIo::new(Stream::new(stream, client_timeout, Arc::clone(&connection_state)));
    let mut connection = std::pin::pin!(http1::Builder::new().serve_connection(stream, service));
    // What a client did wrong is its own affair: it has been told, or it has gone.
    let at_once = tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        at_once = connection_state.close_requested() => at_once,
    };
    if !at_once {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// The head with the whole length, the first bytes, and an error, at which hyper closes the connection.
fn truncated(response: Response<Bytes>, bytes: usize) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    parts.headers.insert(header::CONTENT_LENGTH, body.len().into());
    let first = body.slice(..bytes.min(body.len()));
    let body = parts::unfold(Some(first), |step| async {
        match step {
            Some(first) => Some((Ok(first), None)),
            None => {
                // hyper throws away what it has not yet written when a body fails.
                tokio::time::sleep(Duration::from_millis(10)).await;
                Some((Err(Closed), None))
            }
        }
    });
    Response::from_parts(parts, Body::from_stream(body))
}

/// An answer whose body is at hand.
impl From<Response<Bytes>> for Reply {
    fn from(response: Response<Bytes>) -> Self {
        Reply::Answer(response.map(Body::from))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// A server with places for two and one for what is urgent, and a way to connect to it. `/slow` never answers.
    async fn two_slots(client_timeout: Duration) -> (std::net::SocketAddr, watch::Sender<Phase>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (phase, stop) = watch::channel(Phase::Running);
        let limits = Limits { connections: 2, urgent: 1, client_timeout };
        let handle = |request: Request<Incoming>| async move {
            if request.uri().path() == "/slow" {
                std::future::pending::<()>().await;
            }
            Reply::from(Response::new("ok".into()))
        };
        tokio::spawn(serve(listener, limits, stop, |path| path == "/urgent", handle));
        (address, phase)
    }

    async fn ask(address: std::net::SocketAddr, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("written");
        stream
    }

    /// Long enough for any machine; whoever waits longer waits for ever.
    const TEST_TIMEOUT: Duration = Duration::from_secs(60);

    async fn answered(stream: &mut TcpStream) -> bool {
        let mut answer = [0; 15];
        let read = tokio::time::timeout(TEST_TIMEOUT, stream.read_exact(&mut answer)).await;
        matches!(read, Ok(Ok(_))) && &answer == b"HTTP/1.1 200 OK"
    }

    #[tokio::test]
    async fn half_open_connections_make_room_for_one_that_asks() {
        let (address, _phase) = two_slots(Duration::from_secs(600)).await;
        let mut half = Vec::new();
        for _ in 0..8 {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(b"GET / HTTP/1.1\r\nhost").await.expect("written");
            half.push(stream);
        }
        assert!(answered(&mut ask(address, "/").await).await);
    }

    #[tokio::test]
    async fn the_connection_that_has_been_idle_the_longest_goes_first() {
        let (address, _phase) = two_slots(Duration::from_secs(600)).await;
        let mut first = ask(address, "/").await;
        assert!(answered(&mut first).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
        let mut second = ask(address, "/").await;
        assert!(answered(&mut second).await);
        assert!(answered(&mut ask(address, "/").await).await);
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(TEST_TIMEOUT, first.read_to_end(&mut rest)).await;
        closed.expect("it goes").expect("it was closed in order");
        second.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
        let mut more = [0; 64];
        assert!(second.read(&mut more).await.is_ok_and(|read| read > 0), "the other one is still there");
    }

    #[tokio::test]
    async fn when_all_are_busy_others_wait_and_what_is_urgent_does_not() {
        let (address, _phase) = two_slots(Duration::from_secs(600)).await;
        let mut busy = vec![ask(address, "/slow").await, ask(address, "/slow").await];
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(answered(&mut ask(address, "/urgent").await).await);
        let mut waits = ask(address, "/").await;
        let early = tokio::time::timeout(Duration::from_millis(50), waits.read_u8()).await;
        assert!(early.is_err(), "both places are taken");
        busy.pop();
        assert!(answered(&mut waits).await, "its turn has come");
    }

    #[tokio::test]
    async fn a_kept_connection_ends_with_the_server() {
        let (address, phase) = two_slots(Duration::from_secs(600)).await;
        let mut kept = ask(address, "/").await;
        assert!(answered(&mut kept).await);
        phase.send_replace(Phase::Ending);
        let closed = tokio::time::timeout(TEST_TIMEOUT, kept.read_to_end(&mut Vec::new())).await;
        assert!(closed.is_ok(), "nobody waits for a request that may never come");
    }

    #[test]
    fn a_client_has_thirty_seconds_and_two_thousand_have_a_place() {
        let Limits { connections, urgent, client_timeout } = Limits::default();
        assert_eq!((connections, urgent, client_timeout), (2_000, 32, Duration::from_secs(30)));
    }
}
