//! The world as a whole: its document, its clock, its journal, and worlds beside it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared_inbox::Timestamp;
use tokio::{
    sync::{broadcast, watch},
    time::{Instant, timeout_at},
};

use super::{Control, Controlled};
use crate::{
    ready::Ready,
    runtime::{
        WorldRuntime,
        advance::{Advanced, ClockReading, Until},
        change::Change,
        clock::ClockMode,
        document::Origin,
        journal::{JournalEntry, RequestFilter},
    },
    world::{JobEntry, Refusal, Section},
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
    /// The demo workspace.
    pub fn demo() -> Self {
        Self::default()
    }

    /// A workspace with nothing in it.
    pub fn empty() -> Self {
        Self { empty: true, ..Self::default() }
    }

    /// The world that a document describes.
    ///
    /// # Errors
    ///
    /// When the document is not JSON.
    pub fn seed(document: impl Into<String>) -> serde_json::Result<Self> {
        Ok(Self { seed: Some(RawValue::from_string(document.into())?), ..Self::default() })
    }

    /// How its clock runs.
    pub fn clock(mut self, mode: ClockMode) -> Self {
        self.clock = Some(mode);
        self
    }
}

impl Control {
    /// The addresses and keys of this world.
    pub fn ready(&self) -> Ready {
        self.addresses.ready(self.runtime.number(), self.runtime.keys())
    }

    /// The world as it was at the start, its clock too; no faults, an empty journal.
    ///
    /// # Errors
    ///
    /// None that a world that has started could give.
    pub async fn reset(&self) -> Controlled<()> {
        self.runtime.reset()?;
        self.registry.index(&self.runtime);
        Ok(())
    }

    /// The whole world as one document.
    ///
    /// # Errors
    ///
    /// When the world cannot be written as JSON, which would be a mistake of this crate.
    pub async fn state(&self) -> Controlled<String> {
        String::from_utf8(self.document().await?).map_err(|_| Refusal::new(500, "The world is not text."))
    }

    pub(crate) async fn document(&self) -> Controlled<Vec<u8>> {
        self.runtime.document().await
    }

    /// The world becomes what the document says.
    ///
    /// # Errors
    ///
    /// 400 with line, field and reason when the document is not sound.
    pub async fn restore(&self, document: impl AsRef<[u8]>) -> Controlled<()> {
        self.put(Bytes::copy_from_slice(document.as_ref())).await
    }

    pub(crate) async fn put(&self, document: Bytes) -> Controlled<()> {
        self.runtime.restore(document).await?;
        self.registry.index(&self.runtime);
        Ok(())
    }

    /// What the clock shows.
    pub async fn clock(&self) -> ClockReading {
        self.runtime.clock()
    }

    /// Moves the clock ahead. Everything that falls due on the way happens in order, each at its own time; webhook
    /// tries that fell due or were under way have ended when this returns.
    ///
    /// # Errors
    ///
    /// 409 when the world is replaced or reset meanwhile.
    pub async fn advance(&self, by: Duration) -> Controlled<Advanced> {
        self.move_clock(Until::By(by)).await
    }

    /// Moves the clock ahead to a time, with everything that falls due on the way.
    ///
    /// # Errors
    ///
    /// 400 when that time has passed, 409 when the world is replaced or reset meanwhile.
    pub async fn advance_to(&self, time: Timestamp) -> Controlled<Advanced> {
        self.move_clock(Until::Time(time)).await
    }

    /// Moves the clock ahead to the next job, and runs all that is due at that time. Nothing happens when there is none.
    ///
    /// # Errors
    ///
    /// 409 when the world is replaced or reset meanwhile.
    pub async fn run_next_job(&self) -> Controlled<Advanced> {
        self.move_clock(Until::NextJob).await
    }

    pub(crate) async fn move_clock(&self, until: Until) -> Controlled<Advanced> {
        self.runtime.advance(until).await
    }

    /// Looks until there is enough to see, or the span is over, in real time. Then what there is.
    pub(crate) async fn wait_for<T, F>(
        &self,
        span: Duration,
        look: impl Fn() -> F,
        enough: impl Fn(&T) -> bool,
    ) -> Controlled<T>
    where
        F: Future<Output = Controlled<T>>,
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

    /// The requests to the service so far, oldest first.
    pub async fn requests(&self) -> Vec<JournalEntry> {
        let all = self.look_at_requests(RequestFilter::default(), Section::default().or_whole()).await;
        all.map(|page| page.items).unwrap_or_default()
    }

    /// Forgets the requests so far.
    pub async fn clear_requests(&self) {
        self.runtime.journal(|journal| journal.clear());
        self.runtime.notify_control_change("requests");
    }

    /// What is due and when, soonest first.
    pub async fn jobs(&self) -> Vec<JobEntry> {
        self.read(|world, _| world.jobs())
    }

    /// Every change of the world from now on.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.runtime.follow()
    }

    /// How many requests to the service have ended, as it changes.
    pub(crate) fn ended_requests(&self) -> watch::Receiver<u64> {
        self.runtime.follow_journal()
    }

    /// A new world beside this one, with keys, data, clock, faults, journal and limits of its own.
    ///
    /// # Errors
    ///
    /// 400 when the seed is not sound, or goes together with `empty`.
    pub async fn create_world(&self, new: NewWorld) -> Controlled<Control> {
        let origin = match (new.seed, new.empty) {
            (Some(_), true) => return Err(Refusal::field("empty", "goes with no seed")),
            (Some(seed), false) => Origin::Document(Box::<str>::from(seed).into_boxed_bytes().into()),
            (None, true) => Origin::Empty,
            (None, false) => Origin::Demo,
        };
        let runtime = self.registry.begin(origin, new.clock).await?;
        Ok(Self { runtime, ..self.clone() })
    }

    /// The addresses and keys of all worlds of this server, the main one first.
    pub async fn worlds(&self) -> Vec<Ready> {
        let ready = |runtime: Arc<WorldRuntime>| self.addresses.ready(runtime.number(), runtime.keys());
        self.registry.all().into_iter().map(ready).collect()
    }

    /// The OpenAPI document of the control API itself, as JSON.
    pub fn openapi(&self) -> String {
        super::openapi::document().to_string()
    }

    /// The control of the world with this id.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub fn world(&self, id: &str) -> Controlled<Control> {
        Ok(Self { runtime: self.registry.world(id)?, ..self.clone() })
    }

    /// Ends a world beside the main one; its keys are wrong from now on.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn delete_world(&self, id: &str) -> Controlled<()> {
        self.registry.delete(id)
    }
}
