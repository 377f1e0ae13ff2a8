//! Keys watched by open streams: read once per replica, regardless of the number of streams.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, watch};

/// The keys that streams of this process watch, each with its last value. Clones share them.
pub struct Watched<K, T = ()>(Arc<Inner<K, T>>);

struct Inner<K, T> {
    keys: Mutex<HashMap<K, watch::Sender<T>>>,
    /// A stream was opened.
    opened: Notify,
}

impl<K, T> Clone for Watched<K, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, T> Default for Watched<K, T> {
    fn default() -> Self {
        Self(Arc::new(Inner { keys: Mutex::default(), opened: Notify::new() }))
    }
}

impl<K: Clone + Eq + Hash, T: Clone + Default> Watched<K, T> {
    /// Watches a key until the result is dropped.
    #[must_use]
    pub fn subscribe(&self, key: K) -> Subscription<K, T> {
        let mut keys = self.keys();
        let sender = keys.entry(key.clone()).or_insert_with(|| watch::Sender::new(T::default()));
        let seen = Some(sender.subscribe());
        drop(keys);
        self.0.opened.notify_one();
        Subscription { watched: self.clone(), key, seen }
    }

    /// Completes when a stream was opened, now or since the last call.
    pub async fn opened(&self) {
        self.0.opened.notified().await;
    }

    /// Returns whether nothing is watched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys().is_empty()
    }

    /// Returns the watched keys.
    #[must_use]
    pub fn all(&self) -> Vec<K> {
        self.keys().keys().cloned().collect()
    }

    /// Notifies the streams of these keys of a change.
    pub fn wake(&self, changed: impl IntoIterator<Item = K>) {
        let keys = self.keys();
        for sender in changed.into_iter().filter_map(|key| keys.get(&key)) {
            sender.send_modify(|_| {});
        }
    }

    /// Notifies all streams of a possible change.
    pub fn wake_all(&self) {
        self.keys().values().for_each(|sender| sender.send_modify(|_| {}));
    }

    /// Sends the value of a key to its streams if it has changed. Without a value, the key no longer exists: its streams end.
    pub fn found(&self, key: &K, found: Option<T>)
    where
        T: PartialEq,
    {
        let mut keys = self.keys();
        match (found, keys.get(key)) {
            (Some(found), Some(sender)) => {
                sender.send_if_modified(|known| {
                    let is_new = *known != found;
                    *known = found;
                    is_new
                });
            }
            (None, _) => drop(keys.remove(key)),
            (Some(_), None) => {}
        }
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<K, watch::Sender<T>>> {
        self.0.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watched key.
pub struct Subscription<K: Clone + Eq + Hash, T: Clone + Default = ()> {
    watched: Watched<K, T>,
    key: K,
    seen: Option<watch::Receiver<T>>,
}

impl<K: Clone + Eq + Hash, T: Clone + Default> Subscription<K, T> {
    /// Returns the last value of the key. Later values count as changes.
    pub fn seen(&mut self) -> T {
        self.seen.as_mut().map(|seen| seen.borrow_and_update().clone()).unwrap_or_default()
    }

    /// Waits until there may be a change since [`Subscription::seen`]. False if the key is gone.
    pub async fn changed(&mut self) -> bool {
        match &mut self.seen {
            Some(seen) => seen.changed().await.is_ok(),
            None => false,
        }
    }
}

impl<K: Clone + Eq + Hash, T: Clone + Default> Drop for Subscription<K, T> {
    fn drop(&mut self) {
        let mut keys = self.watched.keys();
        drop(self.seen.take());
        if keys.get(&self.key).is_some_and(|sender| sender.receiver_count() == 0) {
            keys.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn streams_of_a_key_are_woken_and_the_last_one_forgets_it() {
        let watched = Watched::<u8>::default();
        let (mut one, mut same, mut other) =
            (watched.subscribe(1), watched.subscribe(1), watched.subscribe(2));
        watched.wake([1, 3]);
        assert_eq!(one.changed().now_or_never(), Some(true));
        assert_eq!(same.changed().now_or_never(), Some(true));
        assert_eq!(other.changed().now_or_never(), None);
        watched.wake_all();
        other.seen();
        assert_eq!(other.changed().now_or_never(), None, "it was seen");
        drop(one);
        assert_eq!(watched.all().len(), 2);
        drop((same, other));
        assert!(watched.is_empty());
    }

    #[tokio::test]
    async fn what_was_found_is_told_once_and_streams_of_what_is_gone_end() {
        let watched = Watched::<u8, u32>::default();
        let mut stream = watched.subscribe(1);
        watched.opened().await;
        watched.found(&1, Some(5));
        assert_eq!(stream.changed().now_or_never(), Some(true));
        assert_eq!(stream.seen(), 5);
        watched.found(&1, Some(5));
        assert_eq!(stream.changed().now_or_never(), None);
        watched.found(&1, None);
        assert_eq!(stream.changed().now_or_never(), Some(false));
    }
}
