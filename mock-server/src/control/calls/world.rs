//! The world as a whole.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared_inbox::Timestamp;

use crate::{
    control::{
        Control,
        call::{Call, Done, Gone, Made, Raw, Shown, WorldDocument, delete, get, list, paged, post, put},
        input::{ControlDocument, Id, Input, Search, Stopping, Whole},
    },
    http::events,
    runtime::advance::Until,
    world::Refusal,
};

pub(super) fn calls() -> Vec<Call> {
    vec![
        get("/health", "health", "Whether the server is there", |_, ()| async { Ok(Shown(Health::new())) })
            .about("The one call that needs no token, so that a container can be probed."),
        get("/openapi.json", "openapi", "This document", |_: Control, ControlDocument(document)| async move {
            Ok(Shown(document().as_object().cloned().unwrap_or_default()))
        }),
        post("/reset", "reset", "Puts the world back to its start", |it: Control, ()| async move {
            it.reset().await.map(|()| Done)
        })
        .about("The world as it was at the start, the same keys, the clock too; faults and journal are cleared."),
        get("/state", "get_state", "The whole world as one document", |it: Control, ()| async move {
            it.document().await.map(WorldDocument)
        }),
        put("/state", "put_state", "Makes the world what a document says", |it: Control, Whole(document)| async move {
            it.put(document).await.map(|()| Done)
        }),
        get("/clock", "get_clock", "What the clock shows", |it: Control, ()| async move {
            Ok(Shown(it.clock().await))
        }),
        post("/clock", "move_clock", "Moves the clock ahead", |it: Control, Input(to): Input<MoveClock>| async move {
            it.move_clock(to.until()?).await.map(Shown)
        })
        .about(
            "By `advanceSeconds`, `to` a time, or to the `nextJob`: one of the three. Everything that falls due on the \
             way happens in order, each at its own time, webhook tries included; the answer comes when every try that \
             fell due or was under way has ended. A real clock runs on from the later time.",
        )
        .conflict("The world was replaced or reset meanwhile."),
        paged(
            "/requests",
            "list_requests",
            "The requests to the service so far, oldest first",
            |it: Control, Search(filter), part| async move { it.find_requests(filter, part).await },
        )
        .about("The last 10,000, or a part of them. Keys never appear."),
        get("/requests/{id}", "get_request", "One request", |it: Control, Id(id)| async move {
            it.request(&id).await.map(Shown)
        }),
        get("/lines/{id}", "get_line", "What led to something, and what it led to", |it: Control, Id(id)| async move {
            Ok(Shown(it.trace(id).await))
        })
        .about(
            "For the id of a request, a message, a note, an event, a document request, a booking or a conversation: \
             the request or control call that began it, what it made, the jobs that it left behind, the events that \
             they caused, and each try to deliver them. Empty for what was there from the start of the world.",
        ),
        get("/ready", "ready", "The addresses and the two keys of this world", |it: Control, ()| async move {
            Ok(Shown(it.ready()))
        }),
        delete("/requests", "clear_requests", "Forgets the requests so far", |it: Control, ()| async move {
            it.clear_requests().await;
            Ok(Gone)
        }),
        list("/jobs", "list_jobs", "What is due and when, soonest first", |it: Control, ()| async move {
            Ok(it.jobs().await)
        }),
        get(
            "/events",
            "follow",
            "Follows the world's changes",
            |it: Control, (Search(following), Stopping(stop)): (Search<events::Following>, _)| async move {
                let requests = following.requests.then(|| it.ended_requests());
                Ok(Raw(events::follow(it.changes(), requests, stop)))
            },
        )
        .about("Server-sent events, one for each change, for pages and tools that follow the world."),
        list("/worlds", "list_worlds", "The worlds of this server, the main one first", |it: Control, ()| async move {
            Ok(it.worlds().await)
        }),
        post("/worlds", "create_world", "A new world beside this one", |it: Control, Input(new)| async move {
            it.create_world(new).await.map(|world| Made(world.ready()))
        })
        .about(
            "With its own keys, data, clock, faults, journal and rate limits. The service API stays at the same \
             address, the key says which world is meant; its control API is at its own `control_url`.",
        )
        .conflict("There are 10,000 worlds already."),
        delete("/worlds/{id}", "delete_world", "Ends a world", |it: Control, Id(id)| async move {
            it.delete_world(&id).await.map(|()| Gone)
        })
        .about("Its keys answer 401 from now on."),
    ]
}

/// That the server is there.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// The server's version.
    version: &'static str,
}

impl Health {
    fn new() -> Self {
        Self { status: "ok", version: env!("CARGO_PKG_VERSION") }
    }
}

/// How far to move the clock: one of the three.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MoveClock {
    /// By so many seconds.
    #[serde(default)]
    advance_seconds: Option<f64>,
    /// To this time, which must not have passed.
    #[serde(default)]
    to: Option<Timestamp>,
    /// To the time of the next job, with all that is due at that time; stays where it is when there is none.
    #[serde(default)]
    next_job: Option<bool>,
}

/// A hundred years; the clock's own range ends in 9999.
const MOST_SECONDS: u64 = 3_155_760_000;

impl MoveClock {
    fn until(self) -> Result<Until, Refusal> {
        match (self.advance_seconds, self.to, self.next_job) {
            (Some(seconds), None, None) => Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|by| by.as_secs() <= MOST_SECONDS)
                .map(Until::By)
                .ok_or_else(|| {
                    Refusal::field("advanceSeconds", "must be from 0 to 3155760000, a hundred years")
                }),
            (None, Some(to), None) => Ok(Until::Time(to)),
            (None, None, Some(true)) => Ok(Until::NextJob),
            (None, None, Some(false)) => Err(Refusal::field("nextJob", "must be true")),
            (None, None, None) => Err(Refusal::field("advanceSeconds", "is required, or `to`, or `nextJob`")),
            _ => Err(Refusal::field(
                "advanceSeconds",
                "goes with neither `to` nor `nextJob`: give one of the three",
            )),
        }
    }
}
