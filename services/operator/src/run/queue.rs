//! A queue of keys to look at: each key at most once in it, never at two workers at a time, with times to
//! come back and a growing, jittered pause after failures.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand::RngExt as _;
use tokio::sync::Notify;
use tokio::time::Instant;

/// First pause after a failure.
const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// Longest pause after failures.
const BACKOFF_MOST: Duration = Duration::from_secs(30);

/// The queue.
pub(crate) struct Queue<K> {
    state: Mutex<State<K>>,
    wake: Notify,
}

struct State<K> {
    ready: VecDeque<K>,
    /// In `ready`.
    queued: HashSet<K>,
    /// At a worker; true when it must be looked at again afterwards.
    busy: HashMap<K, bool>,
    /// Keys that come back later, earliest first; only the time in `due` counts.
    later: BinaryHeap<Reverse<(Instant, K)>>,
    due: HashMap<K, Instant>,
    failures: HashMap<K, u32>,
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                ready: VecDeque::new(),
                queued: HashSet::new(),
                busy: HashMap::new(),
                later: BinaryHeap::new(),
                due: HashMap::new(),
                failures: HashMap::new(),
            }),
            wake: Notify::new(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the key as soon as a worker is free.
    pub(crate) fn add(&self, key: K) {
        let mut state = self.lock();
        if let Some(again) = state.busy.get_mut(&key) {
            *again = true;
        } else if state.queued.insert(key.clone()) {
            state.ready.push_back(key);
            drop(state);
            self.wake.notify_one();
        }
    }

    /// Looks at the key after a while, or earlier if it is already due earlier.
    pub(crate) fn add_after(&self, key: K, after: Duration) {
        let at = Instant::now() + after;
        let mut state = self.lock();
        if state.due.get(&key).is_none_or(|due| at < *due) {
            state.due.insert(key.clone(), at);
            state.later.push(Reverse((at, key)));
            drop(state);
            self.wake.notify_one();
        }
    }

    /// Next key for a worker, which must call [`Self::done`] or [`Self::failed`] with it.
    pub(crate) async fn next(&self) -> K {
        loop {
            let due = {
                let mut state = self.lock();
                let now = Instant::now();
                while let Some(Reverse((at, key))) = state.later.peek().cloned() {
                    if at > now {
                        break;
                    }
                    state.later.pop();
                    if state.due.get(&key) == Some(&at) {
                        state.due.remove(&key);
                        if let Some(again) = state.busy.get_mut(&key) {
                            *again = true;
                        } else if state.queued.insert(key.clone()) {
                            state.ready.push_back(key);
                        }
                    }
                }
                if let Some(key) = state.ready.pop_front() {
                    state.queued.remove(&key);
                    state.busy.insert(key.clone(), false);
                    if !state.ready.is_empty() {
                        self.wake.notify_one();
                    }
                    return key;
                }
                state.later.peek().map(|Reverse((at, _))| *at)
            };
            match due {
                Some(at) => tokio::select! {
                    () = self.wake.notified() => {}
                    () = tokio::time::sleep_until(at) => {}
                },
                None => self.wake.notified().await,
            }
        }
    }

    /// The key was looked at.
    pub(crate) fn done(&self, key: &K) {
        self.lock().failures.remove(key);
        self.finish(key);
    }

    /// Looking at the key failed: it comes back after a pause that doubles with each failure.
    pub(crate) fn failed(&self, key: &K) {
        let pause = {
            let mut state = self.lock();
            let count = state.failures.entry(key.clone()).or_default();
            *count = count.saturating_add(1);
            let full = BACKOFF_FIRST.saturating_mul(1 << (*count - 1).min(16)).min(BACKOFF_MOST);
            full.mul_f64(rand::rng().random_range(0.5..1.0))
        };
        self.finish(key);
        self.add_after(key.clone(), pause);
    }

    fn finish(&self, key: &K) {
        let again = self.lock().busy.remove(key).unwrap_or(false);
        if again {
            self.add(key.clone());
        }
    }

    /// Forgets which keys are at workers: the workers are gone.
    pub(crate) fn reset(&self) {
        let mut state = self.lock();
        let busy: Vec<K> = state.busy.drain().map(|(key, _)| key).collect();
        drop(state);
        for key in busy {
            self.add(key);
        }
    }

    /// How many keys wait for a worker now.
    pub(crate) fn depth(&self) -> usize {
        self.lock().ready.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_is_at_one_worker_at_a_time_and_never_forgotten() {
        let queue = Queue::new();
        queue.add(1);
        queue.add(1);
        assert_eq!(queue.next().await, 1);
        assert_eq!(queue.depth(), 0, "added twice, queued once");
        queue.add(1);
        assert_eq!(queue.depth(), 0, "it is at a worker");
        queue.done(&1);
        assert_eq!(queue.next().await, 1, "it came back after the worker was done");
    }

    #[tokio::test]
    async fn the_earliest_time_counts_and_failures_pause_longer() {
        let queue = Queue::new();
        let begun = Instant::now();
        queue.add_after(1, Duration::from_secs(600));
        queue.add_after(1, Duration::from_millis(20));
        assert_eq!(queue.next().await, 1);
        assert!((20..600_000).contains(&begun.elapsed().as_millis()));
        // half to all of 100, 200, 400 ms
        for least in [50, 100, 200] {
            let begun = Instant::now();
            queue.failed(&1);
            assert_eq!(queue.next().await, 1);
            assert!(begun.elapsed().as_millis() >= least, "{:?}", begun.elapsed());
        }
    }
}
