//! The queue of objects to reconcile. A key is queued at most once and never reconciled twice at a time. It can be
//! requeued after a delay, and after failures with exponential backoff.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Delay after the first failure; jitter adds up to as much again.
const BACKOFF_MIN: Duration = Duration::from_millis(10);
/// Longest delay after failures, without jitter.
const BACKOFF_MAX: Duration = Duration::from_secs(15);

/// The queue.
pub(crate) struct Queue<K> {
    state: Mutex<State<K>>,
    wake: Notify,
}

struct State<K> {
    ready: VecDeque<K>,
    /// The keys in `ready`.
    queued: HashSet<K>,
    /// Keys being reconciled; true if the key was added again meanwhile.
    busy: HashMap<K, bool>,
    /// Delayed keys, earliest first. An entry counts only if `due` has the same time.
    delayed: BinaryHeap<Reverse<(Instant, K)>>,
    due: HashMap<K, Instant>,
    /// Keys whose last reconcile failed.
    backoff: HashMap<K, ExponentialBackoff>,
}

fn backoff() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(BACKOFF_MIN)
        .with_max_delay(BACKOFF_MAX)
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
        .build()
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                ready: VecDeque::new(),
                queued: HashSet::new(),
                busy: HashMap::new(),
                delayed: BinaryHeap::new(),
                due: HashMap::new(),
                backoff: HashMap::new(),
            }),
            wake: Notify::new(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues the key.
    pub(crate) fn add(&self, key: K) {
        if self.lock().enqueue(key) {
            self.wake.notify_one();
        }
    }

    /// Enqueues the key after a delay. The earliest of several delays counts.
    pub(crate) fn add_after(&self, key: K, delay: Duration) {
        let at = Instant::now() + delay;
        let mut state = self.lock();
        if state.due.get(&key).is_none_or(|due| at < *due) {
            state.due.insert(key.clone(), at);
            state.delayed.push(Reverse((at, key)));
            drop(state);
            self.wake.notify_one();
        }
    }

    /// The next key to reconcile. Must be followed by [`Self::done`] or [`Self::failed`] with this key.
    pub(crate) async fn next(&self) -> K {
        loop {
            let due = {
                let mut state = self.lock();
                state.enqueue_due(Instant::now());
                if let Some(key) = state.ready.pop_front() {
                    state.queued.remove(&key);
                    state.busy.insert(key.clone(), false);
                    if !state.ready.is_empty() {
                        self.wake.notify_one();
                    }
                    return key;
                }
                state.delayed.peek().map(|Reverse((at, _))| *at)
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

    /// The key was reconciled: its backoff ends.
    pub(crate) fn done(&self, key: &K) {
        self.lock().backoff.remove(key);
        self.finish(key);
    }

    /// The reconcile of the key failed: it is requeued with backoff.
    pub(crate) fn failed(&self, key: &K) {
        let delay = self.lock().backoff.entry(key.clone()).or_insert_with(backoff).next();
        self.finish(key);
        self.add_after(key.clone(), delay.unwrap_or(BACKOFF_MAX));
    }

    fn finish(&self, key: &K) {
        let added_again = self.lock().busy.remove(key).unwrap_or(false);
        if added_again {
            self.add(key.clone());
        }
    }

    /// Enqueues the keys that were being reconciled by tasks which have been aborted.
    pub(crate) fn reset(&self) {
        let aborted: Vec<K> = self.lock().busy.drain().map(|(key, _)| key).collect();
        for key in aborted {
            self.add(key);
        }
    }

    /// Number of keys that wait.
    pub(crate) fn depth(&self) -> usize {
        self.lock().ready.len()
    }
}

impl<K: Clone + Eq + Hash + Ord> State<K> {
    /// Returns whether the key is ready now and was not before.
    fn enqueue(&mut self, key: K) -> bool {
        if let Some(added_again) = self.busy.get_mut(&key) {
            *added_again = true;
            return false;
        }
        let is_new = self.queued.insert(key.clone());
        if is_new {
            self.ready.push_back(key);
        }
        is_new
    }

    fn enqueue_due(&mut self, now: Instant) {
        while let Some(Reverse((at, key))) = self.delayed.peek().cloned() {
            if at > now {
                return;
            }
            self.delayed.pop();
            if self.due.get(&key) == Some(&at) {
                self.due.remove(&key);
                self.enqueue(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_is_reconciled_once_at_a_time_and_never_forgotten() {
        let queue = Queue::new();
        queue.add(1);
        queue.add(1);
        assert_eq!(queue.next().await, 1);
        assert_eq!(queue.depth(), 0, "added twice, queued once");
        queue.add(1);
        assert_eq!(queue.depth(), 0, "it is being reconciled");
        queue.done(&1);
        assert_eq!(queue.next().await, 1, "it was added during the reconcile");
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_delay_counts_and_failures_back_off() {
        let queue = Queue::new();
        let begun = Instant::now();
        queue.add_after(1, Duration::from_secs(600));
        queue.add_after(1, Duration::from_millis(20));
        assert_eq!(queue.next().await, 1);
        assert_eq!(begun.elapsed().as_millis(), 20);
        let failed = async || {
            let begun = Instant::now();
            queue.failed(&1);
            assert_eq!(queue.next().await, 1);
            begun.elapsed()
        };
        for least in [10, 20, 40] {
            let delay = failed().await.as_millis();
            assert!((least..=2 * least + 1).contains(&delay), "{delay} ms after a backoff of {least} ms");
        }
        for _ in 0..20 {
            assert!(failed().await <= 2 * BACKOFF_MAX + Duration::from_millis(1));
        }
        queue.done(&1);
        queue.add(1);
        queue.next().await;
        assert!(failed().await <= 2 * BACKOFF_MIN + Duration::from_millis(1), "success ends the backoff");
    }

    #[tokio::test]
    async fn keys_of_aborted_tasks_are_queued_again() {
        let queue = Queue::new();
        queue.add(1);
        queue.add(2);
        assert_eq!((queue.next().await, queue.next().await), (1, 2));
        queue.done(&2);
        queue.reset();
        assert_eq!((queue.next().await, queue.depth()), (1, 0));
    }
}
