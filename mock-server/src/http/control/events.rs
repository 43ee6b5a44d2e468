//! Server-sent events: the changes of a world, for pages and tools that follow it.
//!
//! A follower that is too slow receives `missed`, and reads the state again.

use std::time::Duration;

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderValue, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{broadcast, watch};

use crate::{
    http::connection::{Phase, stopped},
    runtime::change::Change,
};

/// Detects half-open connections, and keeps proxies from closing idle ones.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The query of a follower.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct FollowQuery {
    /// Also sends `request` when requests to the service have ended; one event may stand for several.
    #[serde(default)]
    pub(super) requests: bool,
    /// Ids of further worlds, separated by commas, whose events come on the same connection. Each has its
    /// `world` in the data; `gone` is sent for a world that does not exist (any more).
    #[serde(default)]
    pub(super) worlds: String,
}

/// One world that is followed.
pub(super) struct FollowedWorld {
    /// Its id, if events have to name it.
    pub(super) world: Option<String>,
    pub(super) changes: broadcast::Receiver<Change>,
    pub(super) requests: Option<watch::Receiver<u64>>,
}

/// The data of an event.
#[derive(Serialize)]
struct Data<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    world: Option<&'a str>,
    #[serde(flatten)]
    data: T,
}

/// Returns a stream that ends when the client disconnects, all worlds are deleted or the server stops.
pub(super) fn follow(
    followed: Vec<FollowedWorld>,
    unknown: Vec<String>,
    mut stop: watch::Receiver<Phase>,
) -> Response {
    let opening = Event::default().comment("changes of this world");
    let unknown = stream::iter(unknown).map(|world| gone(&world));
    let worlds = stream::select_all(followed.into_iter().map(|it| Box::pin(events_of(it))));
    let events = stream::once(std::future::ready(Ok(opening))).chain(unknown).chain(worlds);
    let events = events.take_until(async move { stopped(&mut stop).await });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("still here");
    let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the events of one world until it is deleted.
fn events_of(followed: FollowedWorld) -> impl Stream<Item = Result<Event, axum::Error>> + Send {
    stream::unfold(Some(followed), |followed| async {
        let mut followed = followed?;
        let world = followed.world.as_deref();
        let event = tokio::select! {
            ended = next_request(&mut followed.requests) => {
                Event::default().event("request").json_data(Data { world, data: json!({ "ended": ended }) })
            }
            change = followed.changes.recv() => match change {
                Ok(change) => {
                    let event = Event::default().id(change.number.to_string()).event("change");
                    event.json_data(Data { world, data: change })
                }
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    Event::default().event("missed").json_data(Data { world, data: json!({ "missed": missed }) })
                }
                Err(broadcast::error::RecvError::Closed) => return world.map(|world| (gone(world), None)),
            },
        };
        Some((event, Some(followed)))
    })
}

fn gone(world: &str) -> Result<Event, axum::Error> {
    Event::default().event("gone").json_data(json!({ "world": world }))
}

/// Returns how many requests have ended, once another has; never returns if requests are not followed.
async fn next_request(requests: &mut Option<watch::Receiver<u64>>) -> u64 {
    let Some(requests) = requests else { return std::future::pending().await };
    match requests.changed().await {
        Ok(()) => *requests.borrow_and_update(),
        Err(_) => std::future::pending().await,
    }
}
