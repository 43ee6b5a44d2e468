//! Calls for the whole world: its document, its journal, and other worlds.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::{
    sync::broadcast,
    time::{Instant, timeout_at},
};

use super::Control;
use crate::{
    ready::Ready,
    runtime::{
        WorldRuntime,
        change::Change,
        clock::ClockMode,
        document::Origin,
        journal::entry::{JournalEntry, RequestFilter},
    },
    world::{JobEntry, Page, PageRange, Refusal, Result},
};

/// How a new world starts.
///
/// ```
/// use shared_inbox_mock::{NewWorld, clock::ClockMode};
/// let new = NewWorld::empty().clock(ClockMode::Manual);
/// assert_eq!(serde_json::to_string(&new).unwrap(), r#"{"empty":true,"clock":"manual"}"#);
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NewWorld {
    /// The document it starts from; the demo workspace when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<serde_json::Value>"))]
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

impl Control {
    /// Puts the world back to its start: the same data, keys and clock. Faults and journal are cleared.
    ///
    /// # Errors
    ///
    /// None that a world that has started could give.
    pub async fn reset(&self) -> Result<()> {
        self.runtime.reset()?;
        self.registry.index(&self.runtime);
        Ok(())
    }

    /// Returns a page of the requests to the service so far, oldest first: of the last 10,000. Keys never
    /// appear.
    ///
    /// # Errors
    ///
    /// 400 for a section or a status that there is not.
    pub async fn find_requests(
        &self,
        filter: RequestFilter,
        section: PageRange,
    ) -> Result<Page<JournalEntry>> {
        section.check()?;
        filter.check()?;
        self.present_requests(filter, section.or_whole()).await
    }

    /// Returns one request of the journal.
    ///
    /// # Errors
    ///
    /// 404 when the journal does not have it, or no longer.
    pub async fn request(&self, request: impl AsRef<str>) -> Result<JournalEntry> {
        let found = self.runtime.journal(|journal| journal.find(request.as_ref()));
        let mut found = found.ok_or_else(|| Refusal::new(404, "The journal has no such request."))?;
        self.add_conversation_details(std::slice::from_mut(&mut found));
        Ok(found)
    }

    /// Returns what is due and when, soonest first.
    pub async fn jobs(&self) -> Vec<JobEntry> {
        self.read(|world, _| world.jobs())
    }

    /// Returns the worlds of this server, the main one first.
    pub async fn worlds(&self) -> Vec<Ready> {
        let ready =
            |runtime: Arc<WorldRuntime>| self.addresses.ready(runtime.config.number, &runtime.config.keys);
        self.registry.all().into_iter().map(ready).collect()
    }

    /// Deletes a world. Requests with its keys get 401 from now on.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn delete_world(&self, world: impl AsRef<str>) -> Result<()> {
        self.registry.delete(world.as_ref())
    }

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
    /// Each call gets the result before it.
    pub(crate) async fn wait_for<T, F>(
        &self,
        span: Duration,
        look: impl Fn(Option<T>) -> F,
        enough: impl Fn(&T) -> bool,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let until = Instant::now() + span;
        let mut before = None;
        loop {
            let mut woken = std::pin::pin!(self.runtime.woken());
            woken.as_mut().enable();
            let found = look(before).await?;
            // Where something happens all the time, the timeout alone never comes.
            if enough(&found) || Instant::now() >= until || timeout_at(until, woken).await.is_err() {
                return Ok(found);
            }
            before = Some(found);
        }
    }

    /// Returns the requests to the service so far, oldest first.
    pub async fn requests(&self) -> Vec<JournalEntry> {
        let all = self.present_requests(RequestFilter::default(), PageRange::default().or_whole()).await;
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
