//! Concurrency limits by owner: connections of an address, requests of a tenant.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The current use of each owner. Clones share it.
#[derive(Clone)]
pub(crate) struct Concurrency<K> {
    used: Used<K>,
    most: usize,
}

type Used<K> = Arc<Mutex<HashMap<K, usize>>>;

/// One slot of an owner, until this is dropped.
pub(crate) struct Slot<K: Eq + Hash> {
    used: Used<K>,
    owner: K,
}

impl<K: Eq + Hash + Copy> Concurrency<K> {
    /// At most `most` for one owner.
    pub(crate) fn new(most: usize) -> Self {
        Self { used: Arc::default(), most: most.max(1) }
    }

    /// Takes a slot. Returns none if the owner has reached its limit.
    pub(crate) fn take(&self, owner: K) -> Option<Slot<K>> {
        let mut used = lock(&self.used);
        let count = used.entry(owner).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Slot { used: Arc::clone(&self.used), owner })
    }
}

impl<K: Eq + Hash> Drop for Slot<K> {
    fn drop(&mut self) {
        let mut used = lock(&self.used);
        if let Some(count) = used.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                used.remove(&self.owner);
            }
        }
    }
}

fn lock<K>(used: &Mutex<HashMap<K, usize>>) -> MutexGuard<'_, HashMap<K, usize>> {
    used.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_a_number_of_slots() {
        let slots = Concurrency::new(2);
        let (one, two) = (slots.take(1), slots.take(1));
        assert!(one.is_some() && two.is_some());
        assert!(slots.take(1).is_none());
        assert!(slots.take(2).is_some(), "another owner");
        drop(one);
        assert!(slots.take(1).is_some());
        drop(two);
        assert!(lock(&slots.used).is_empty());
    }
}
