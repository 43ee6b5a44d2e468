//! The serve loop: accepts connections and keeps slow ones from blocking the server.
//!
//! It uses hyper directly because faults need what frameworks hide: closing a connection without a response,
//! and ending a response early.

mod stream;

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream as parts;
use http::{Request, Response, header};
use http_body_util::BodyExt;
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::log;
use stream::{Activity, BusyGuard, Stream};

/// How long requests under way may take to end when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);
/// How often the log reports closed connections.
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// Limits for clients, so that slow or half-open connections do not pile up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections at one time; one more closes those that are idle. As many requests are handled at once,
    /// and others wait; those of the control API do not.
    pub(crate) connections: usize,
    /// How long a client may take to send a request's head, and again its body; how long its connection may
    /// be idle; and how long it may refuse to take a response.
    pub(crate) client_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 2_000, client_timeout: Duration::from_secs(30) }
    }
}

/// What happens with a request.
#[derive(Debug)]
pub(crate) enum HttpReply {
    /// A response.
    Response(Response<Body>),
    /// The head of this response and only the first bytes of its body; then the connection closes.
    Truncated(Response<Bytes>, usize),
    /// The connection closes without a response.
    Drop,
}

/// An error that makes hyper close the connection.
#[derive(Debug, thiserror::Error)]
#[error("the connection was closed on purpose")]
struct Closed;

/// The phase of a server's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It accepts connections.
    Running,
    /// Requests under way may end.
    Ending,
    /// The server ends at once.
    Over,
}

/// Accepts connections until the server stops, then waits for requests that are under way.
pub(crate) async fn serve<H, F>(
    listener: TcpListener,
    limits: Limits,
    mut stop: watch::Receiver<Phase>,
    urgent: fn(&str) -> bool,
    handle: H,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = HttpReply> + Send + 'static,
{
    let (close_idle, _) = watch::channel(());
    let (mut connections, mut logged) = (JoinSet::new(), None::<Instant>);
    let permits = Arc::new(Semaphore::new(limits.connections));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = stopped(&mut stop) => break,
        };
        if accepted.is_err() || connections.len() >= limits.connections {
            close_idle.send_replace(());
            if logged.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
                log::closed_idle(connections.len());
                logged = Some(Instant::now());
            }
        }
        match accepted {
            Ok((stream, _)) => {
                let connection = Connection {
                    stop: stop.clone(),
                    close_idle: close_idle.subscribe(),
                    permits: Arc::clone(&permits),
                    client_timeout: limits.client_timeout,
                    urgent,
                };
                connections.spawn(connection.serve(stream, handle.clone()));
            }
            // Most likely out of file handles: idle connections have to close first.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    drop(listener);
    close_idle.send_replace(());
    tokio::select! {
        _ = tokio::time::timeout(SHUTDOWN_GRACE, async { while connections.join_next().await.is_some() {} }) => {}
        _ = stop.wait_for(|phase| *phase == Phase::Over) => {}
    }
}

/// Waits until the server stops, or its handle is dropped.
pub(crate) async fn stopped(stop: &mut watch::Receiver<Phase>) {
    let _ = stop.wait_for(|phase| *phase != Phase::Running).await;
}

/// The state of one connection.
struct Connection {
    stop: watch::Receiver<Phase>,
    /// Changes when idle connections have to close.
    close_idle: watch::Receiver<()>,
    permits: Arc<Semaphore>,
    client_timeout: Duration,
    urgent: fn(&str) -> bool,
}

impl Connection {
    async fn serve<H, F>(self, stream: TcpStream, handle: H)
    where
        H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
        F: Future<Output = HttpReply> + Send + 'static,
    {
        let Self { stop, mut close_idle, permits, client_timeout, urgent } = self;
        let _ = stream.set_nodelay(true);
        let activity = Arc::new(Activity::default());
        let service = service_fn(|request: Request<Incoming>| {
            activity.begin();
            let (activity, handle) = (Arc::clone(&activity), &handle);
            let permits = (!urgent(request.uri().path())).then_some(&permits);
            async move {
                let _permit = match permits {
                    Some(permits) => permits.acquire().await.ok(),
                    None => None,
                };
                match handle(request).await {
                    // A stream keeps its connection busy until it ends.
                    HttpReply::Response(response) if response.body().size_hint().exact().is_none() => {
                        let guard = BusyGuard(activity);
                        let hold = move |frame| {
                            let _guard = &guard;
                            frame
                        };
                        Ok(response.map(|body| Body::new(body.map_frame(hold))))
                    }
                    HttpReply::Response(response) => {
                        activity.respond();
                        Ok(response)
                    }
                    HttpReply::Truncated(response, bytes) => Ok(truncated(response, bytes)),
                    HttpReply::Drop => Err(Closed),
                }
            }
        });
        let stream = TokioIo::new(Stream::new(stream, client_timeout, Arc::clone(&activity)));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(client_timeout);
        let mut connection = std::pin::pin!(http.serve_connection(stream, service));
        // Errors of the client are not reported here: it has received a response, or has disconnected.
        loop {
            tokio::select! {
                biased;
                _ = connection.as_mut() => return,
                _ = close_idle.changed() => {}
            }
            if activity.is_idle() {
                return;
            }
            if *stop.borrow() != Phase::Running {
                break;
            }
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// Returns a body that fails after its first bytes, at which hyper closes the connection.
fn truncated(response: Response<Bytes>, bytes: usize) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    parts.headers.insert(header::CONTENT_LENGTH, body.len().into());
    let first = body.slice(..bytes.min(body.len()));
    let body = parts::unfold(Some(first), |step| async {
        match step {
            Some(first) => Some((Ok(first), None)),
            None => {
                // hyper discards what it has not yet written when a body fails.
                tokio::time::sleep(Duration::from_millis(10)).await;
                Some((Err(Closed), None))
            }
        }
    });
    Response::from_parts(parts, Body::from_stream(body))
}

/// A response with a complete body.
impl From<Response<Bytes>> for HttpReply {
    fn from(response: Response<Bytes>) -> Self {
        HttpReply::Response(response.map(Body::from))
    }
}
