//! Lists and maps with cheap copies, which share what neither has changed.
//!
//! A reset copies the initial world, and writing a document copies the current one, so the cost of both under the lock does not
//! depend on the size of the world.

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

    /// Returns whether both have the same items, in the same place of memory.
    #[cfg(test)]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<_>, &Arc<_>)| Arc::ptr_eq(one, other);
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: std::ops::Range<u32>) -> SharedVec<u32> {
        items.collect()
    }

    #[test]
    fn a_list_holds_what_was_put_in_across_its_chunks() {
        for len in [0, 1, 63, 64, 65, 200] {
            let list = list(0..len);
            assert_eq!(list.len(), len as usize);
            assert!(list.iter().copied().eq(0..len) && (0..len).all(|at| list[at as usize] == at));
            let again: SharedVec<u32> =
                serde_json::from_str(&serde_json::to_string(&list).expect("JSON")).expect("a list");
            assert!(again.iter().eq(list.iter()));
        }
    }

    #[test]
    fn a_copy_of_a_list_does_not_see_what_the_other_changes() {
        let before = list(0..130);
        let mut after = before.clone();
        after[70] = 7;
        after.push(8);
        assert_eq!((before[70], before.len()), (70, 130));
        assert_eq!((after[70], after[130]), (7, 8));
        assert!(Arc::ptr_eq(&before.0[0], &after.0[0]), "what did not change is kept once");
    }

    #[test]
    fn a_copy_of_a_map_does_not_see_what_the_other_changes() {
        let mut one = LayeredMap::default();
        one.insert("a", 1);
        one.insert("b", 2);
        let mut two = one.clone();
        two.insert("a", 3);
        two.insert("c", 4);
        two.remove("b");
        assert_eq!((one.get("a"), one.get("b"), one.get("c")), (Some(&1), Some(&2), None));
        assert_eq!((two.get("a"), two.get("b"), two.get("c")), (Some(&3), None, Some(&4)));
        drop(one);
        two.insert("a", 5);
        assert_eq!(two.get("a"), Some(&5), "also when nobody else has the base any more");
    }
}
