//! How a world is configured, and how it starts.

use std::{sync::Arc, time::Duration};

use sha2::{Digest, Sha256};
use shared_inbox::Timestamp;
use tokio::runtime::Handle;

use super::{
    clock::{Clock, ClockMode},
    delivery::Deliverer,
    document::{self, Origin},
    memory::MemoryLimits,
};
use crate::world::{ReadyKeys, Result, World};

/// Larger worlds and documents are handled on a thread of their own.
pub(crate) const LARGE_WORLD: usize = 1_000;
pub(crate) const LARGE_DOCUMENT: usize = 256 << 10;

/// The configuration of one world.
pub(crate) struct WorldConfig {
    /// 0 is the main world.
    pub(crate) number: u64,
    pub(crate) keys: ReadyKeys,
    pub(crate) start: Timestamp,
    pub(crate) settings: Settings,
}

/// The settings that all worlds of a server share; each may have its own kind of clock.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) clock: ClockMode,
    /// Where a manual clock starts; the time of the server's start by default.
    pub(crate) start: Option<Timestamp>,
    /// Requests a minute for each key.
    pub(crate) rate_limit: Option<u32>,
    /// The span that counts as a minute.
    pub(crate) rate_window: Duration,
    pub(crate) deliverer: Deliverer,
    pub(crate) memory: MemoryLimits,
    pub(crate) runtime: Handle,
}

/// The initial state of a world.
pub(super) enum InitialState {
    Demo,
    Empty,
    Read(Arc<DocumentWorld>),
}

impl InitialState {
    pub(super) fn document(&self) -> Option<&Arc<DocumentWorld>> {
        match self {
            InitialState::Read(document) => Some(document),
            InitialState::Demo | InitialState::Empty => None,
        }
    }
}

/// The world of a document as it was read, to be copied. Suites put the same document again and again:
/// reading it each time would hold two worlds in memory at once, of which allocators return little.
pub(super) struct DocumentWorld {
    digest: [u8; 32],
    pub(super) world: World,
    /// The time at which the document was written.
    pub(super) saved: Option<Timestamp>,
}

impl WorldConfig {
    pub(super) fn new(number: u64, keys: ReadyKeys, settings: Settings) -> Self {
        let fixed = settings.start.filter(|_| settings.clock == ClockMode::Manual);
        Self { number, keys, start: fixed.unwrap_or_else(Timestamp::now), settings }
    }

    /// Returns the initial state of the world, a first copy of it, and its clock.
    pub(super) fn begin(&self, origin: Origin) -> Result<(InitialState, World, Clock)> {
        let beginning = match origin {
            Origin::Demo => InitialState::Demo,
            Origin::Empty => InitialState::Empty,
            Origin::Document(document) => InitialState::Read(self.read(&document, &[])?),
        };
        let (world, clock) = self.restart(&beginning)?;
        Ok((beginning, world, clock))
    }

    pub(super) fn restart(&self, beginning: &InitialState) -> Result<(World, Clock)> {
        let (world, saved) = match beginning {
            InitialState::Demo => self.prepare(World::demo(self.start), b"")?,
            InitialState::Empty => self.prepare(World::empty(), b"")?,
            InitialState::Read(document) => (document.world.clone(), document.saved),
        };
        let start = match self.settings.clock {
            ClockMode::Manual => saved.unwrap_or(self.start),
            ClockMode::Real => saved.map_or(self.start, |saved| saved.max(self.start)),
        };
        Ok((world, Clock::new(self.settings.clock, start)))
    }

    /// Returns the world of a document, which may be one that was read before.
    pub(super) fn read(&self, document: &[u8], known: &[Arc<DocumentWorld>]) -> Result<Arc<DocumentWorld>> {
        let digest = Sha256::digest(document).into();
        if let Some(known) = known.iter().find(|known| known.digest == digest) {
            return Ok(Arc::clone(known));
        }
        let (world, saved) = self.prepare(document::read(document)?, document)?;
        Ok(Arc::new(DocumentWorld { digest, world, saved }))
    }

    /// Gives a world its own keys and limits; returns it with the time at which its document was written.
    fn prepare(&self, mut world: World, document: &[u8]) -> Result<(World, Option<Timestamp>)> {
        let saved = world.now.take();
        world.prepare_with(&self.keys).map_err(|problems| document::refuse_unsound(document, &problems))?;
        world.set_rate_limit(self.settings.rate_limit);
        world.set_rate_window(self.settings.rate_window);
        Ok((world, saved))
    }
}
