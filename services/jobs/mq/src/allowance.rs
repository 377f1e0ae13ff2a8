//! Rate limits per key. In one process.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Keys above which those are forgotten that have not used their allowance.
const KEPT: usize = 10_000;

/// Each key may use `burst` at once, and one more after each `interval`.
pub(super) struct Allowances<K> {
    interval: Duration,
    burst: u32,
    /// The time until which the allowance is used; it is exhausted if that is `interval * burst` ahead.
    used_until: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash> Allowances<K> {
    pub(super) fn new(burst: u32, interval: Duration) -> Self {
        Self { interval, burst, used_until: Mutex::default() }
    }

    /// Uses one of a key. False if it has none left.
    pub(super) fn take(&self, key: K, now: Instant) -> bool {
        let mut all = self.used_until.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > KEPT {
            all.retain(|_, until| *until > now);
        }
        let until = all.entry(key).or_insert(now);
        let next = (*until).max(now) + self.interval;
        let is_left = next <= now + self.interval * self.burst;
        if is_left {
            *until = next;
        }
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_key_has_its_own_allowance() {
        let (allowances, now) = (Allowances::new(3, Duration::from_secs(2)), Instant::now());
        let taken = |key, at, count: usize| (0..count).filter(|_| allowances.take(key, at)).count();
        assert_eq!((taken("one", now, 10), taken("other", now, 2)), (3, 2));
        let later = now + Duration::from_secs(4);
        assert_eq!((taken("one", later, 10), taken("other", later, 10)), (2, 3));
        assert_eq!(taken("one", later + Duration::from_secs(100), 10), 3);
    }
}
