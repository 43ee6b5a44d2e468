//! The serve loop: accepts connections, and makes sure that none of them can hold the server up.
//!
//! It stands on hyper itself because the faults need what frameworks hide: a connection that closes without an
//! answer, and an answer that ends before its length.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    time::Sleep,
};

/// How long requests under way have to end when the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// What clients may take up, so that slow or half-open ones do not pile up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections at one time; more wait to be accepted.
    pub(crate) connections: u32,
    /// How long a client may take to send a request's head, and again its body; how long its connection may be idle;
    /// and how long it may refuse to take an answer.
    pub(crate) patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 2_000, patience: Duration::from_secs(30) }
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

impl Reply {
    /// The headers, of whatever has some.
    pub(crate) fn headers_mut(&mut self) -> Option<&mut http::HeaderMap> {
        match self {
            Reply::Answer(response) => Some(response.headers_mut()),
            Reply::Truncated(response, _) => Some(response.headers_mut()),
            Reply::Drop => None,
        }
    }
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
    handle: H,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(limits.connections as usize));
    loop {
        let place = Arc::clone(&places).acquire_owned();
        let accept = async {
            let place = place.await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            accepted = accept => accepted,
            () = stopped(&mut stop) => break,
        };
        let (Ok((stream, _)), Ok(place)) = (accepted, place) else {
            // Out of file handles, most likely: those under way must end first.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (handle, stop) = (handle.clone(), stop.clone());
        tokio::spawn(async move {
            serve_one(stream, limits.patience, stop, handle).await;
            drop(place);
        });
    }
    drop(listener);
    // All places free again: every connection has ended.
    tokio::select! {
        _ = tokio::time::timeout(GRACE, places.acquire_many(limits.connections)) => {}
        _ = stop.wait_for(|phase| *phase == Phase::Over) => {}
    }
}

/// Waits until the server is told to stop, or whoever could tell it is gone.
pub(crate) async fn stopped(stop: &mut watch::Receiver<Phase>) {
    let _ = stop.wait_for(|phase| *phase != Phase::Running).await;
}

async fn serve_one<H, F>(stream: TcpStream, patience: Duration, mut stop: watch::Receiver<Phase>, handle: H)
where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let reply = handle(request);
        async move {
            match reply.await {
                Reply::Answer(response) => Ok(response),
                Reply::Truncated(response, bytes) => Ok(truncated(response, bytes)),
                Reply::Drop => Err(Closed),
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .serve_connection(TokioIo::new(Impatient::new(stream, patience)), service);
    let mut connection = std::pin::pin!(connection);
    // What a client did wrong is its own affair: it has been told, or it has gone.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopped(&mut stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// The head with the whole length, the first bytes, and an error, at which hyper closes the connection.
fn truncated(response: Response<Bytes>, bytes: usize) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    parts.headers.insert(header::CONTENT_LENGTH, body.len().into());
    // Cutting off nothing would be an answer like any other.
    let first = body.slice(..bytes.min(body.len().saturating_sub(1)));
    let body = stream::unfold(Some(first), |step| async {
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

/// A connection that gives up when its client takes nothing for too long.
struct Impatient {
    stream: TcpStream,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream, patience, stalled: None }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
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

    /// A server with places for two, and a way to connect to it.
    async fn two_places(patience: Duration) -> (std::net::SocketAddr, watch::Sender<Phase>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (phase, stop) = watch::channel(Phase::Running);
        let limits = Limits { connections: 2, patience };
        tokio::spawn(serve(listener, limits, stop, |_| async { Reply::from(Response::new("ok".into())) }));
        (address, phase)
    }

    #[tokio::test]
    async fn half_open_connections_give_their_places_back() {
        let (address, _phase) = two_places(Duration::from_millis(50)).await;
        let mut half = Vec::new();
        for _ in 0..8 {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(b"GET / HTTP/1.1\r\nhost").await.expect("written");
            half.push(stream);
        }
        // It comes after four pairs of others.
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an orderly end");
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok"), "{answer}");
    }

    #[tokio::test]
    async fn more_connections_than_there_are_places_wait_their_turn() {
        let (address, _phase) = two_places(Duration::from_secs(600)).await;
        let mut held = Vec::new();
        for _ in 0..2 {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
            stream.read_u8().await.expect("it was accepted");
            held.push(stream);
        }
        let mut third = TcpStream::connect(address).await.expect("the system accepts it");
        third.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
        let early = tokio::time::timeout(Duration::from_millis(50), third.read_u8()).await;
        assert!(early.is_err(), "both places are taken");
        held.pop();
        third.read_u8().await.expect("its turn has come");
    }

    #[test]
    fn a_client_has_thirty_seconds_and_two_thousand_have_a_place() {
        let Limits { connections, patience } = Limits::default();
        assert_eq!((connections, patience), (2_000, Duration::from_secs(30)));
    }
}
