//! All worlds of one server, and the world of each key.
//!
//! Test workers share one server without seeing each other: the service API has one address, and the key of a
//! request selects the world.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use super::{
    WorldRuntime,
    clock::ClockMode,
    config::{LARGE_DOCUMENT, Settings, WorldConfig},
    document::Origin,
    worker::Worker,
};
use crate::world::{KeyHash, ReadyKeys, Refusal, Result};

/// How many worlds may exist beside the main one: enough for one per test of a large suite that deletes them.
const MAX_WORLDS: usize = 10_000;

pub(crate) struct WorldRegistry {
    settings: Settings,
    /// The world that a request without a valid key belongs to.
    pub(crate) main: Arc<WorldRuntime>,
    worlds: RwLock<Worlds>,
}

#[derive(Default)]
struct Worlds {
    others: BTreeMap<u64, Arc<WorldRuntime>>,
    /// The worlds of each key. A snapshot restored in a second world brings the first one's keys along; they
    /// stay with the older world.
    keys: BTreeSet<(KeyHash, u64)>,
    /// The keys of each world, as in `keys`.
    keys_by_world: BTreeMap<u64, Vec<KeyHash>>,
    created: u64,
}

impl Worlds {
    /// Replaces the keys of a world.
    fn set_keys(&mut self, number: u64, hashes: Vec<KeyHash>) {
        for gone in self.keys_by_world.remove(&number).into_iter().flatten() {
            self.keys.remove(&(gone, number));
        }
        self.keys.extend(hashes.iter().map(|hash| (*hash, number)));
        if !hashes.is_empty() {
            self.keys_by_world.insert(number, hashes);
        }
    }
}

impl WorldRegistry {
    pub(crate) fn new(settings: Settings, origin: Origin) -> Result<Self> {
        let main = WorldRuntime::start(
            WorldConfig::new(0, ReadyKeys::fixed(), settings.clone()),
            origin,
            Arc::default(),
        )?;
        let registry = Self { settings, main, worlds: RwLock::default() };
        registry.index(&registry.main);
        Ok(registry)
    }

    fn read(&self) -> RwLockReadGuard<'_, Worlds> {
        self.worlds.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Worlds> {
        self.worlds.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the world with this id.
    pub(crate) fn world(&self, id: &str) -> Result<Arc<WorldRuntime>> {
        let number = number(id)?;
        self.read().others.get(&number).cloned().ok_or_else(|| Refusal::no_such("world"))
    }

    /// Returns all worlds, the main one first.
    pub(crate) fn all(&self) -> Vec<Arc<WorldRuntime>> {
        std::iter::once(&self.main).chain(self.read().others.values()).cloned().collect()
    }

    /// Returns the world of a key.
    pub(crate) fn world_of(&self, key: &KeyHash) -> Option<Arc<WorldRuntime>> {
        let worlds = self.read();
        let (found, number) = worlds.keys.range((*key, 0)..).next()?;
        if found != key {
            return None;
        }
        if *number == 0 { Some(Arc::clone(&self.main)) } else { worlds.others.get(number).cloned() }
    }

    /// Updates the keys of a world.
    pub(crate) fn index(&self, runtime: &Arc<WorldRuntime>) {
        let number = runtime.config.number;
        // The world is locked first: others need not wait until it is free, and a concurrent update cannot
        // overwrite newer keys.
        runtime.with_key_hashes(|hashes| {
            let mut worlds = self.write();
            if number == 0 || worlds.others.contains_key(&number) {
                worlds.set_keys(number, hashes);
            }
        });
    }

    /// Creates a world; a large document is read by the world's worker.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        origin: Origin,
        clock: Option<ClockMode>,
    ) -> Result<Arc<WorldRuntime>> {
        if !matches!(&origin, Origin::Document(document) if document.len() > LARGE_DOCUMENT) {
            return self.create(origin, clock, Arc::default());
        }
        let (registry, worker) = (Arc::clone(self), Arc::<Worker>::default());
        let its_own = Arc::clone(&worker);
        worker.run(move || registry.create(origin, clock, its_own)).await?
    }

    /// Creates a world on this thread.
    fn create(
        &self,
        origin: Origin,
        clock: Option<ClockMode>,
        worker: Arc<Worker>,
    ) -> Result<Arc<WorldRuntime>> {
        let number = {
            let mut worlds = self.write();
            if worlds.others.len() >= MAX_WORLDS {
                let full = format!("There are {MAX_WORLDS} worlds already; delete those that are done with.");
                return Err(Refusal::new(409, full));
            }
            worlds.created += 1;
            worlds.created
        };
        let mut settings = self.settings.clone();
        settings.clock = clock.unwrap_or(settings.clock);
        let runtime = WorldRuntime::start(
            WorldConfig::new(number, ReadyKeys::numbered(number), settings),
            origin,
            worker,
        )?;
        self.write().others.insert(number, Arc::clone(&runtime));
        self.index(&runtime);
        Ok(runtime)
    }

    /// Deletes a world; its keys are no longer valid.
    pub(crate) fn delete(&self, id: &str) -> Result<()> {
        let number = number(id)?;
        let mut worlds = self.write();
        let runtime = worlds.others.remove(&number).ok_or_else(|| Refusal::no_such("world"))?;
        worlds.set_keys(number, Vec::new());
        // Dropped outside the lock.
        drop(worlds);
        drop(runtime);
        Ok(())
    }
}

fn number(id: &str) -> Result<u64> {
    let number = id.strip_prefix("wld_").and_then(|number| number.parse().ok());
    number.ok_or_else(|| Refusal::no_such("world"))
}
