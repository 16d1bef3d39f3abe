//! One limiter per key, in bounded room.

use std::{borrow::Borrow, collections::BTreeMap, hash::Hash};

use indexmap::IndexMap;

/// Something that can be forgotten without loss while it is idle.
pub trait Idle {
    /// Whether a new value would behave the same from `now_ms` on.
    fn is_idle(&self, now_ms: u64) -> bool;
}

/// The part of the capacity within which the order of uses is not kept.
const LOOSE: u64 = 8;
/// How many of the least recently used entries are asked whether they are idle when room is needed.
const LOOKED_AT: usize = 64;

/// At most `capacity` values by key.
///
/// When a new key finds the table full, the least recently used *idle* entry goes (looking at the 64 least recently used
/// ones); only if none of them is idle goes the least recently used one. So a flood of fresh keys does not wash out a
/// used-up limit as long as there is anything better to forget, and refused attempts keep a limit in the table. Choose a
/// capacity well above the number of keys that are busy at the same time: a table full of busy entries does forget, and
/// [`Self::forgotten_busy`] counts it.
#[derive(Clone, Debug)]
pub struct Keyed<K, V> {
    capacity: usize,
    slots: IndexMap<K, Slot<V>>,
    /// Keys by when they were used last.
    order: BTreeMap<u64, K>,
    uses: u64,
    forgotten_busy: u64,
}

#[derive(Clone, Debug)]
struct Slot<V> {
    used: u64,
    value: V,
}

impl<K: Hash + Eq + Clone, V: Idle> Keyed<K, V> {
    /// An empty table; a capacity of zero is taken as one.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), slots: IndexMap::new(), order: BTreeMap::new(), uses: 0, forgotten_busy: 0 }
    }

    /// The value of `key`, made if there is none, as the most recently used one (to within an eighth of the capacity).
    pub fn entry<Q>(&mut self, key: &Q, now_ms: u64, make: impl FnOnce() -> V) -> &mut V
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.entry_place(key, now_ms, make).1
    }

    /// The same with the place where it is for now: a hint for [`Self::get_near`].
    pub fn entry_place<Q>(&mut self, key: &Q, now_ms: u64, make: impl FnOnce() -> V) -> (usize, &mut V)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        // One use per nanosecond would take 584 years to wrap.
        self.uses = self.uses.wrapping_add(1);
        let index = if let Some(index) = self.slots.get_index_of(key) {
            let used = &mut self.slots[index].used;
            // Of those used a moment ago none is near to being forgotten: their order need not be kept to the use.
            if self.uses.wrapping_sub(*used) > self.capacity as u64 / LOOSE
                && let Some(key) = self.order.remove(&std::mem::replace(used, self.uses))
            {
                self.order.insert(self.uses, key);
            }
            index
        } else {
            if self.slots.len() >= self.capacity {
                self.make_room(now_ms);
            }
            let key = key.to_owned();
            self.order.insert(self.uses, key.clone());
            self.slots.insert_full(key, Slot { used: self.uses, value: make() }).0
        };
        (index, &mut self.slots[index].value)
    }

    /// As [`Self::get_mut`], for a caller who knows where the key was a moment ago: it nearly always still is.
    pub fn get_near<Q>(&mut self, key: &Q, hint: usize) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let is_key = |found: &K| {
            let found: &Q = found.borrow();
            found == key
        };
        let there = self.slots.get_index(hint).is_some_and(|(found, _)| is_key(found));
        let place = if there { hint } else { self.slots.get_index_of(key)? };
        self.slots.get_index_mut(place).map(|(_, slot)| &mut slot.value)
    }

    /// The value of `key`, without making one or counting as a use.
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.slots.get_mut(key).map(|slot| &mut slot.value)
    }

    /// Forgets `key`.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let slot = self.slots.swap_remove(key)?;
        self.order.remove(&slot.used);
        Some(slot.value)
    }

    /// Keys and values, least recently used first.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.order.values().filter_map(|key| self.slots.get(key).map(|slot| (key, &slot.value)))
    }

    /// Every value, in no particular order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.slots.values_mut().map(|slot| &mut slot.value)
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many entries were forgotten although they were not idle.
    pub fn forgotten_busy(&self) -> u64 {
        self.forgotten_busy
    }

    fn make_room(&mut self, now_ms: u64) {
        let idle = self.iter().take(LOOKED_AT).find(|(_, value)| value.is_idle(now_ms)).map(|(key, _)| key.clone());
        if let Some(key) = idle {
            self.remove(&key);
        } else if let Some((_, key)) = self.order.pop_first() {
            self.slots.swap_remove(&key);
            self.forgotten_busy = self.forgotten_busy.saturating_add(1);
        }
    }
}
