//! Values in the memory of the process.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use moka::{Expiry, sync::Cache};

/// Maximum size of all keys and values together, in bytes.
const CAPACITY: u64 = 16 * 1024 * 1024;

#[derive(Clone)]
struct Kept {
    bytes: Arc<[u8]>,
    life: Duration,
}

struct Lives;

impl Expiry<String, Kept> for Lives {
    fn expire_after_create(&self, _: &String, kept: &Kept, _: Instant) -> Option<Duration> {
        Some(kept.life)
    }

    fn expire_after_update(
        &self,
        _: &String,
        kept: &Kept,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(kept.life)
    }
}

/// The values.
pub(crate) struct Memory(Cache<String, Kept>);

impl Default for Memory {
    fn default() -> Self {
        let size =
            |name: &String, kept: &Kept| u32::try_from(name.len() + kept.bytes.len()).unwrap_or(u32::MAX);
        Self(Cache::builder().max_capacity(CAPACITY).weigher(size).expire_after(Lives).build())
    }
}

impl Memory {
    pub(crate) fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.0.get(name).map(|kept| kept.bytes.to_vec())
    }

    pub(crate) fn put(&self, name: String, bytes: Vec<u8>, life: Duration) {
        self.0.insert(name, Kept { bytes: bytes.into(), life });
    }

    pub(crate) fn remove(&self, name: &str) {
        self.0.invalidate(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded() {
        let memory = Memory::default();
        let mebibyte = vec![0; 1024 * 1024];
        for n in 0..64 {
            memory.put(n.to_string(), mebibyte.clone(), Duration::from_secs(60));
        }
        memory.0.run_pending_tasks();
        assert!(memory.0.weighted_size() <= CAPACITY, "{}", memory.0.weighted_size());
        let found = (0..64).filter(|n| memory.get(&n.to_string()).is_some()).count();
        assert!((1..=16).contains(&found), "{found}");
    }

    #[test]
    fn a_value_is_replaced_removed_and_forgotten_in_time() {
        let memory = Memory::default();
        memory.put("a".to_owned(), vec![1], Duration::ZERO);
        assert_eq!(memory.get("a"), None);
        memory.put("a".to_owned(), vec![2], Duration::from_secs(60));
        assert_eq!(memory.get("a"), Some(vec![2]));
        memory.remove("a");
        assert_eq!(memory.get("a"), None);
    }
}
