//! The snapshots of one world. They survive a reset and are deleted with the world.

use std::collections::BTreeMap;

use bytes::Bytes;
use shared_inbox::Timestamp;

use crate::world::{Refusal, Result};

/// A bound for suites that take one per test and delete none.
const MAX_SNAPSHOTS: usize = 100;

#[derive(Default)]
pub(crate) struct Snapshots(BTreeMap<String, (Timestamp, Bytes)>);

impl Snapshots {
    pub(crate) fn put(&mut self, name: &str, at: Timestamp, document: Bytes) -> Result<()> {
        if self.0.len() >= MAX_SNAPSHOTS && !self.0.contains_key(name) {
            let full = format!("There are {MAX_SNAPSHOTS} snapshots already; delete some.");
            return Err(Refusal::conflict(full));
        }
        self.0.insert(name.to_owned(), (at, document));
        Ok(())
    }

    pub(crate) fn list(&self) -> impl Iterator<Item = (String, Timestamp, usize)> {
        self.0.iter().map(|(name, (at, document))| (name.clone(), *at, document.len()))
    }

    pub(crate) fn get(&self, name: &str) -> Result<Bytes> {
        self.0.get(name).map(|(_, document)| document.clone()).ok_or_else(|| Refusal::no_such("snapshot"))
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<()> {
        self.0.remove(name).map(drop).ok_or_else(|| Refusal::no_such("snapshot"))
    }
}
