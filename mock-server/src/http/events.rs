//! Server-sent events: tells pages and tools that follow a world what changes in it.
//!
//! A follower that is too slow is not waited for: it is told that it has missed something, and reads anew.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Response, header};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{broadcast, watch};

use super::connection::{Phase, stopped};
use crate::runtime::change::Change;

/// Keeps proxies and half-open connections from going unnoticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Which ends of requests a follower wants to hear of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) struct Following {
    /// Also tells, as `request`, that requests to the service have ended; one word may stand for several.
    #[serde(default)]
    pub(crate) requests: bool,
}

/// An answer that goes on until the follower leaves, the world is gone or the server stops.
pub(crate) fn follow(
    changes: broadcast::Receiver<Change>,
    requests: Option<watch::Receiver<u64>>,
    stop: watch::Receiver<Phase>,
) -> Response<Body> {
    let opening = Bytes::from_static(b": changes of this world\n\n");
    let start = (Some(opening), changes, requests, stop);
    let body = stream::unfold(start, |(opening, mut changes, mut requests, mut stop)| async move {
        if let Some(opening) = opening {
            return Some((Ok::<_, std::convert::Infallible>(opening), (None, changes, requests, stop)));
        }
        let text = tokio::select! {
            () = stopped(&mut stop) => return None,
            () = tokio::time::sleep(KEEP_ALIVE) => Bytes::from_static(b": still here\n\n"),
            ended = next_request(&mut requests) => {
                format!("event: request\ndata: {{\"ended\":{ended}}}\n\n").into()
            }
            change = changes.recv() => match change {
                Ok(change) => {
                    let data = serde_json::to_string(&change).unwrap_or_default();
                    format!("id: {}\nevent: change\ndata: {data}\n\n", change.number).into()
                }
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    format!("event: missed\ndata: {{\"missed\":{missed}}}\n\n").into()
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            },
        };
        Some((Ok(text), (None, changes, requests, stop)))
    });
    let mut response = Response::new(Body::from_stream(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// How many requests have ended, when another has; never for those who do not want to hear of it.
async fn next_request(requests: &mut Option<watch::Receiver<u64>>) -> u64 {
    let Some(requests) = requests else { return std::future::pending().await };
    match requests.changed().await {
        Ok(()) => *requests.borrow_and_update(),
        Err(_) => std::future::pending().await,
    }
}
