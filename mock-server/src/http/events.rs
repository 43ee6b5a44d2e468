//! Server-sent events: tells pages and tools that follow a world what changes in it.
//!
//! A follower that is too slow is not waited for: it is told that it has missed something, and reads anew.

use std::time::Duration;

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use futures_util::{StreamExt, stream};
use http::{HeaderValue, header};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
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
) -> Response {
    let opening = Event::default().comment("changes of this world");
    let changes = stream::unfold((changes, requests, stop), |(mut changes, mut requests, mut stop)| async {
        let event = tokio::select! {
            () = stopped(&mut stop) => return None,
            ended = next_request(&mut requests) => {
                Event::default().event("request").json_data(json!({ "ended": ended }))
            }
            change = changes.recv() => match change {
                Ok(change) => {
                    Event::default().id(change.number.to_string()).event("change").json_data(change)
                }
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    Event::default().event("missed").json_data(json!({ "missed": missed }))
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            },
        };
        Some((event, (changes, requests, stop)))
    });
    let events = stream::once(std::future::ready(Ok(opening))).chain(changes);
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("still here");
    let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
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
