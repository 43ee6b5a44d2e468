//! The snapshots of one world. They survive a reset and are deleted with the world.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use shared_inbox::Timestamp;

use super::memory::{MemoryLimit, MemoryShare};
use crate::world::{Refusal, Result};

/// A bound for suites that take one per test and delete none.
const MAX_SNAPSHOTS: usize = 100;

pub(crate) struct Snapshots {
    documents: BTreeMap<String, (Timestamp, Bytes)>,
    share: MemoryShare,
}

impl Snapshots {
    pub(crate) fn new(limit: &Arc<MemoryLimit>) -> Self {
        Self { documents: BTreeMap::new(), share: MemoryShare::new(limit) }
    }

    pub(crate) fn put(&mut self, name: &str, at: Timestamp, document: Bytes) -> Result<()> {
        let replaced = self.documents.get(name).map(|(_, document)| document.len());
        if self.documents.len() >= MAX_SNAPSHOTS && replaced.is_none() {
            let full = format!("There are {MAX_SNAPSHOTS} snapshots already; delete some.");
            return Err(Refusal::conflict(full));
        }
        if !self.share.try_resize(self.share.bytes - replaced.unwrap_or_default() + document.len()) {
            return Err(Refusal::conflict(format!(
                "The snapshots of all worlds would take more than {} KiB, three quarters of the server's memory limit. \
                 Delete snapshots or worlds, or raise the limit (--memory-limit).",
                self.share.limit() >> 10
            )));
        }
        self.documents.insert(name.to_owned(), (at, document));
        Ok(())
    }

    pub(crate) fn list(&self) -> impl Iterator<Item = (String, Timestamp, usize)> {
        self.documents.iter().map(|(name, (at, document))| (name.clone(), *at, document.len()))
    }

    pub(crate) fn get(&self, name: &str) -> Result<Bytes> {
        let found = self.documents.get(name).map(|(_, document)| document.clone());
        found.ok_or_else(|| Refusal::no_such("snapshot"))
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<()> {
        let (_, document) = self.documents.remove(name).ok_or_else(|| Refusal::no_such("snapshot"))?;
        self.share.resize(self.share.bytes - document.len());
        Ok(())
    }
}
