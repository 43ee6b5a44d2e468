//! Lists and maps with cheap copies, which share what neither has changed.
//!
//! A reset copies the initial world, and writing a document copies the current one, so the cost of both under
//! the lock does not depend on the size of the world.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::Hash,
    ops::{Index, IndexMut},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many items are shared or copied as one.
const CHUNK: usize = 64;

/// A list in chunks. All chunks but the last are full.
pub(crate) struct SharedVec<T>(Vec<Arc<Vec<Arc<T>>>>);

impl<T> Clone for SharedVec<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for SharedVec<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> SharedVec<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * CHUNK + last.len())
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter().flat_map(|chunk| chunk.iter().map(Arc::as_ref))
    }

    /// Returns handles to the items. An item is copied when it is changed while somebody has a handle to it.
    pub(crate) fn shared(&self) -> impl Iterator<Item = Arc<T>> {
        self.0.iter().flat_map(|chunk| chunk.iter().cloned())
    }

    pub(crate) fn push(&mut self, item: T) {
        let item = Arc::new(item);
        match self.0.last_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => Arc::make_mut(last).push(item),
            None => self.0.push(Arc::new(vec![item])),
        }
    }
}

impl<T> Index<usize> for SharedVec<T> {
    type Output = T;
    fn index(&self, at: usize) -> &T {
        &self.0[at / CHUNK][at % CHUNK]
    }
}

impl<T: Clone> IndexMut<usize> for SharedVec<T> {
    fn index_mut(&mut self, at: usize) -> &mut T {
        Arc::make_mut(&mut Arc::make_mut(&mut self.0[at / CHUNK])[at % CHUNK])
    }
}

impl<T> FromIterator<T> for SharedVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut all = Self::default();
        items.into_iter().for_each(|item| all.push(item));
        all
    }
}

impl<T: Serialize> Serialize for SharedVec<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for SharedVec<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Vec::deserialize(d).map(Self::from_iter)
    }
}

/// A map in two layers: changes since the last copy, over the entries that copies share.
#[derive(Debug, Clone)]
pub(crate) struct LayeredMap<K, V> {
    base: Arc<HashMap<K, V>>,
    /// `None` for removed entries.
    over: HashMap<K, Option<V>>,
}

impl<K, V> Default for LayeredMap<K, V> {
    fn default() -> Self {
        Self { base: Arc::default(), over: HashMap::new() }
    }
}

impl<K: Eq + Hash, V> LayeredMap<K, V> {
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match self.over.get(key) {
            Some(over) => over.as_ref(),
            None => self.base.get(key),
        }
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        match Arc::get_mut(&mut self.base) {
            // No copy shares it.
            Some(base) if self.over.is_empty() => drop(base.insert(key, value)),
            _ => drop(self.over.insert(key, Some(value))),
        }
    }

    pub(crate) fn remove(&mut self, key: K) {
        match Arc::get_mut(&mut self.base) {
            Some(base) if self.over.is_empty() => drop(base.remove(&key)),
            _ => drop(self.over.insert(key, None)),
        }
    }
}
