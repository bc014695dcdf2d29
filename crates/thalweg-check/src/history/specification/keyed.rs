//! The set and the map.

use super::Specification;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;

/// What an operation on a set did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OnSet<K> {
    /// An insertion, and whether the key is new.
    Inserted(K, bool),
    /// A removal, and whether the key was there.
    Removed(K, bool),
    /// A look, and whether the key is there.
    Contains(K, bool),
}

/// A set of keys.
///
/// ```
/// use thalweg_check::history::{History, OnSet, Set};
///
/// let mut history = History::new();
/// history.add(0, OnSet::Inserted('a', true), []);
/// history.add(1, OnSet::Inserted('a', true), []); // both think that theirs is the first
/// assert!(history.linearize(Set::new()).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Set<K>(BTreeSet<K>);

impl<K> Set<K> {
    /// An empty set.
    pub fn new() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Clone + Ord + Hash + Debug> Specification for Set<K> {
    type Operation = OnSet<K>;

    fn apply(&mut self, operation: &OnSet<K>) -> bool {
        match operation {
            OnSet::Inserted(key, new) => self.0.insert(key.clone()) == *new,
            OnSet::Removed(key, there) => self.0.remove(key) == *there,
            OnSet::Contains(key, there) => self.0.contains(key) == *there,
        }
    }
}

/// What an operation on a map did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OnMap<K, V> {
    /// An insertion of a key and a value, and the value that was there before.
    Inserted(K, V, Option<V>),
    /// A removal of a key, and its value.
    Removed(K, Option<V>),
    /// A look for a key, and its value.
    Got(K, Option<V>),
}

/// A map from keys to values.
///
/// ```
/// use thalweg_check::history::{History, Map, OnMap};
///
/// let mut history = History::new();
/// let put = history.add(0, OnMap::Inserted('a', 1, None), []);
/// history.add(1, OnMap::Got('a', None), [put]); // comes after it
/// assert!(history.linearize(Map::new()).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Map<K, V>(BTreeMap<K, V>);

impl<K, V> Map<K, V> {
    /// An empty map.
    pub fn new() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Clone + Ord + Hash + Debug, V: Clone + Eq + Hash + Debug> Specification for Map<K, V> {
    type Operation = OnMap<K, V>;

    fn apply(&mut self, operation: &OnMap<K, V>) -> bool {
        match operation {
            OnMap::Inserted(key, value, before) => self.0.insert(key.clone(), value.clone()) == *before,
            OnMap::Removed(key, value) => self.0.remove(key) == *value,
            OnMap::Got(key, value) => self.0.get(key) == value.as_ref(),
        }
    }
}
