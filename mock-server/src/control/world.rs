//! Calls for the whole world: its document, its journal, and other worlds.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::{
    sync::broadcast,
    time::{Instant, timeout_at},
};

use super::{
    Control,
    call::{Ack, Created, EventStream, Json, NoContent, WorldDocument, delete, get, post, put},
    calls::calls,
    input::{Extension, JsonBody, PathId, QueryParams, RawBody, WriteDocument},
};
use crate::{
    http::events::{self, FollowedWorld},
    ready::Ready,
    runtime::{
        WorldRuntime,
        change::Change,
        clock::ClockMode,
        document::Origin,
        journal::entry::{JournalEntry, RequestFilter},
    },
    world::{JobEntry, Refusal, Result, Section},
};

/// How a new world starts.
///
/// ```
/// use shared_inbox_mock::{ClockMode, NewWorld};
/// let new = NewWorld::empty().clock(ClockMode::Manual);
/// assert_eq!(serde_json::to_string(&new).unwrap(), r#"{"empty":true,"clock":"manual"}"#);
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NewWorld {
    /// The document it starts from; the demo workspace when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub seed: Option<Box<RawValue>>,
    /// Starts with nothing in it.
    #[serde(default)]
    pub empty: bool,
    /// How its clock runs; as the server's when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockMode>,
}

impl NewWorld {
    /// Returns the demo workspace.
    pub fn demo() -> Self {
        Self::default()
    }

    /// Returns a workspace with nothing in it.
    pub fn empty() -> Self {
        Self { empty: true, ..Self::default() }
    }

    /// Returns the world that a document describes.
    ///
    /// # Errors
    ///
    /// When the document is not JSON.
    pub fn seed(document: impl Into<String>) -> serde_json::Result<Self> {
        Ok(Self { seed: Some(RawValue::from_string(document.into())?), ..Self::default() })
    }

    setters! {
        /// How its clock runs.
        clock(mode: ClockMode) => clock = Some(mode);
    }
}

calls! {
    post "/reset" "reset" "Puts the world back to its start"
        about "The world as it was at the start, the same keys, the clock too; faults and journal are cleared."
        errors "None that a world that has started could give."
    fn reset() -> () as Ack {
        |it| {
            it.runtime.reset()?;
            it.registry.index(&it.runtime);
            Ok(())
        }
    }

    paged "/requests" "list_requests" "The requests to the service so far, oldest first"
        about "The last 10,000, or a part of them. Keys never appear."
        errors "400 for a section or a status that there is not."
    fn find_requests(query filter: RequestFilter) -> JournalEntry as Json {
        |it, section| {
            section.check()?;
            filter.check()?;
            it.present_requests(filter, section.or_whole()).await
        }
    }

    get "/requests/{id}" "get_request" "One request"
        errors "404 when the journal does not have it, or no longer."
    fn request(id request) -> JournalEntry as Json {
        |it| {
            let found = it.runtime.journal(|journal| journal.find(request.as_ref()));
            let mut found = found.ok_or_else(|| Refusal::new(404, "The journal has no such request."))?;
            it.add_conversation_details(std::slice::from_mut(&mut found));
            Ok(found)
        }
    }

    list "/jobs" "list_jobs" "What is due and when, soonest first"
    fn jobs() -> JobEntry as Json { |it| it.read(|world, _| world.jobs()) }

    list "/worlds" "list_worlds" "The worlds of this server, the main one first"
    fn worlds() -> Ready as Json {
        |it| {
            let ready = |runtime: Arc<WorldRuntime>| it.addresses.ready(runtime.config.number, &runtime.config.keys);
            it.registry.all().into_iter().map(ready).collect()
        }
    }

    delete "/worlds/{id}" "delete_world" "Ends a world"
        about "Requests with its keys get 401 from now on."
        errors "404 when there is none."
    fn delete_world(id world) -> () as NoContent { |it| it.registry.delete(world.as_ref()) }

    ; also [
        get("/health", "health", "Whether the server is there", |_, ()| async {
            Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") }))
        })
            .about("The one call that needs no token, so that a container can be probed."),
        get("/openapi.json", "openapi", "This document", |_: Control, Extension(document): Extension<WriteDocument>| async move {
            Ok(Json(document().as_object().cloned().unwrap_or_default()))
        }),
        get("/state", "get_state", "The whole world as one document", |it: Control, ()| async move {
            it.runtime.document().await.map(WorldDocument)
        }),
        put("/state", "put_state", "Makes the world what a document says", |it: Control, RawBody(document)| async move {
            it.restore_document(document).await.map(Ack)
        }),
        get("/lines/{id}", "get_line", "What led to something, and what it led to", |it: Control, PathId(id)| async move {
            Ok(Json(it.trace(id).await))
        })
        .about(
            "For the id of a request, a message, a note, an event, a document request, a booking or a conversation: \
             the request or control call that began it, what it made, the jobs that it left behind, the events that \
             they caused, and each try to deliver them. Empty for what was there from the start of the world.",
        ),
        get("/ready", "ready", "The addresses and the two keys of this world", |it: Control, ()| async move {
            Ok(Json(it.ready()))
        }),
        delete("/requests", "clear_requests", "Forgets the requests so far", |it: Control, ()| async move {
            it.clear_requests().await;
            Ok(NoContent(()))
        }),
        get(
            "/events",
            "follow",
            "Follows the world's changes",
            |it: Control, (QueryParams(following), Extension(stop)): (QueryParams<events::FollowQuery>, _)| async move {
                let follow = |world: Option<&str>, runtime: &WorldRuntime| FollowedWorld {
                    world: world.map(str::to_owned),
                    changes: runtime.follow(),
                    requests: following.requests.then(|| runtime.follow_journal()),
                };
                let (mut followed, mut unknown) = (vec![follow(None, &it.runtime)], Vec::new());
                for id in following.worlds.split(',').filter(|id| !id.is_empty()) {
                    match it.registry.world(id) {
                        Ok(runtime) => followed.push(follow(Some(id), &runtime)),
                        Err(_) => unknown.push(id.to_owned()),
                    }
                }
                Ok(EventStream(events::follow(followed, unknown, stop)))
            },
        )
        .about("Server-sent events, one for each change, for pages and tools that follow the world."),
        post("/worlds", "create_world", "A new world beside this one", |it: Control, JsonBody(new)| async move {
            it.create_world(new).await.map(|world| Created(world.ready()))
        })
        .about(
            "With its own keys, data, clock, faults, journal and rate limits. The service API stays at the same \
             address, the key says which world is meant; its control API is at its own `control_url`.",
        )
        .conflict("There are 10,000 worlds already."),
    ]
}

impl Control {
    /// Returns the addresses and keys of this world.
    pub fn ready(&self) -> Ready {
        self.addresses.ready(self.runtime.config.number, &self.runtime.config.keys)
    }

    /// Returns the whole world as one document.
    ///
    /// # Errors
    ///
    /// When the world cannot be written as JSON, which would be a mistake of this crate.
    pub async fn state(&self) -> Result<String> {
        String::from_utf8(self.runtime.document().await?)
            .map_err(|_| Refusal::new(500, "The world is not text."))
    }

    /// Replaces the world by that of a document.
    ///
    /// # Errors
    ///
    /// 400 with line, field and reason when the document is not sound.
    pub async fn restore(&self, document: impl AsRef<[u8]>) -> Result<()> {
        self.restore_document(Bytes::copy_from_slice(document.as_ref())).await
    }

    pub(crate) async fn restore_document(&self, document: Bytes) -> Result<()> {
        self.runtime.restore(document).await?;
        self.registry.index(&self.runtime);
        Ok(())
    }

    /// Calls `look` until its result is enough or the span has passed, in real time; returns the last result.
    pub(crate) async fn wait_for<T, F>(
        &self,
        span: Duration,
        look: impl Fn() -> F,
        enough: impl Fn(&T) -> bool,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let until = Instant::now() + span;
        loop {
            let mut woken = std::pin::pin!(self.runtime.woken());
            woken.as_mut().enable();
            let found = look().await?;
            if enough(&found) || timeout_at(until, woken).await.is_err() {
                return Ok(found);
            }
        }
    }

    /// Returns the requests to the service so far, oldest first.
    pub async fn requests(&self) -> Vec<JournalEntry> {
        let all = self.present_requests(RequestFilter::default(), Section::default().or_whole()).await;
        all.map(|page| page.items).unwrap_or_default()
    }

    /// Clears the journal.
    pub async fn clear_requests(&self) {
        self.runtime.journal(|journal| journal.clear());
        self.runtime.notify_control_change("requests");
    }

    /// Returns every change of the world from now on.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.runtime.follow()
    }

    /// Creates another world, with keys, data, clock, faults, journal and limits of its own.
    ///
    /// # Errors
    ///
    /// 400 when the seed is not sound, or is combined with `empty`.
    pub async fn create_world(&self, new: NewWorld) -> Result<Control> {
        let origin = match (new.seed, new.empty) {
            (Some(_), true) => return Err(Refusal::field("empty", "goes with no seed")),
            (Some(seed), false) => Origin::Document(Box::<str>::from(seed).into_boxed_bytes().into()),
            (None, true) => Origin::Empty,
            (None, false) => Origin::Demo,
        };
        let runtime = self.registry.begin(origin, new.clock).await?;
        Ok(Self { runtime, ..self.clone() })
    }

    /// Returns the control of the world with this id.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub fn world(&self, id: &str) -> Result<Control> {
        Ok(Self { runtime: self.registry.world(id)?, ..self.clone() })
    }
}

/// That the server is there.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// The server's version.
    version: &'static str,
}
