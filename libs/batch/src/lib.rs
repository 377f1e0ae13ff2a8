//! Items of the same kind that arrive together share a batch.
//!
//! An item that finds its lane idle is processed at once and alone. Items that arrive meanwhile wait, and
//! form the next batch: the size of a batch follows the load, without a timer. The work decides what a batch
//! shares: a transaction, a statement, a lock.

use std::{
    collections::HashMap,
    hash::Hash,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use futures::FutureExt as _;
use tokio::sync::oneshot;

/// How a batch is processed.
pub trait BatchWork: Send + Sync + 'static {
    /// Items of the same key can share a batch.
    type Key: Hash + Eq + Clone + Send + Sync + 'static;
    /// One item.
    type Item: Send + 'static;
    /// The answer to one item.
    type Answer: Send + 'static;

    /// Processes a batch. Returns an answer for each item, in the same order.
    fn run(&self, key: &Self::Key, items: Vec<Self::Item>) -> impl Future<Output = Vec<Self::Answer>> + Send;
}

type Waiting<W> = (<W as BatchWork>::Item, oneshot::Sender<<W as BatchWork>::Answer>);

struct Lane<W: BatchWork> {
    queue: Vec<Waiting<W>>,
    running: usize,
}

struct Inner<W: BatchWork> {
    work: W,
    lanes: Mutex<HashMap<W::Key, Lane<W>>>,
    /// Maximum number of items in a batch.
    max_batch: usize,
    /// Maximum number of batches of one key in progress.
    concurrency: usize,
}

/// Collects items into batches. Clones share the lanes.
pub struct Batcher<W: BatchWork>(Arc<Inner<W>>);

impl<W: BatchWork> Clone for Batcher<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: BatchWork> Batcher<W> {
    /// Batches of at most `max_batch` items, of which `concurrency` with the same key are in progress at a time.
    pub fn new(work: W, max_batch: usize, concurrency: usize) -> Self {
        Self(Arc::new(Inner { work, lanes: Mutex::default(), max_batch, concurrency }))
    }

    /// Processes an item, with others if there are any. None if the batch has panicked. If the caller stops
    /// waiting, its item is still processed.
    pub async fn submit(&self, key: W::Key, item: W::Item) -> Option<W::Answer> {
        let (sender, receiver) = oneshot::channel();
        let start = {
            let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
            let lane = lanes.entry(key.clone()).or_insert_with(|| Lane { queue: Vec::new(), running: 0 });
            lane.queue.push((item, sender));
            let start = lane.running < self.0.concurrency;
            lane.running += usize::from(start);
            start
        };
        if start {
            let inner = Arc::clone(&self.0);
            tokio::spawn(async move { inner.process(key).await });
        }
        receiver.await.ok()
    }
}

impl<W: BatchWork> Inner<W> {
    /// Processes the batches of a lane one after the other, until nothing waits.
    async fn process(&self, key: W::Key) {
        // lets items that are about to be submitted join the first batch
        tokio::task::yield_now().await;
        while let Some(batch) = self.next(&key) {
            let (items, senders): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            let work = async { self.work.run(&key, items).await };
            // after a panic, which its hook has logged, the items of this batch get no answer, but later ones
            // do
            let answers = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_default();
            for (answer, sender) in answers.into_iter().zip(senders) {
                // the caller may have stopped waiting
                let _ = sender.send(answer);
            }
        }
    }

    /// Takes the next batch; leaves the lane if there is none.
    fn next(&self, key: &W::Key) -> Option<Vec<Waiting<W>>> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.get_mut(key)?;
        let take = lane.queue.len().min(self.max_batch);
        if take > 0 {
            return Some(lane.queue.drain(..take).collect());
        }
        lane.running -= 1;
        if lane.running == 0 {
            lanes.remove(key);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    struct Doubler {
        gate: Semaphore,
        batches: Mutex<Vec<usize>>,
        in_progress: AtomicUsize,
        max_in_progress: AtomicUsize,
    }

    impl BatchWork for Arc<Doubler> {
        type Key = u8;
        type Item = u64;
        type Answer = u64;

        async fn run(&self, _: &u8, items: Vec<u64>) -> Vec<u64> {
            let now = self.in_progress.fetch_add(1, Ordering::SeqCst) + 1;
            self.max_in_progress.fetch_max(now, Ordering::SeqCst);
            self.batches.lock().unwrap().push(items.len());
            assert!(!items.contains(&666), "injected");
            self.gate.acquire().await.unwrap().forget();
            self.in_progress.fetch_sub(1, Ordering::SeqCst);
            items.into_iter().map(|item| item * 2).collect()
        }
    }

    fn doubler() -> Arc<Doubler> {
        Arc::new(Doubler {
            gate: Semaphore::new(0),
            batches: Mutex::default(),
            in_progress: AtomicUsize::new(0),
            max_in_progress: AtomicUsize::new(0),
        })
    }

    #[tokio::test]
    async fn waiting_items_form_one_batch_and_each_gets_its_answer() {
        let work = doubler();
        let batcher = Batcher::new(Arc::clone(&work), 64, 1);
        let first = tokio::spawn({
            let batcher = batcher.clone();
            async move { batcher.submit(0, 1).await }
        });
        while work.batches.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let rest: Vec<_> = (2..=100u64)
            .map(|n| {
                let batcher = batcher.clone();
                tokio::spawn(async move { (n, batcher.submit(0, n).await) })
            })
            .collect();
        while batcher.0.lanes.lock().unwrap()[&0].queue.len() < 99 {
            tokio::task::yield_now().await;
        }
        work.gate.add_permits(100);
        assert_eq!(first.await.unwrap(), Some(2));
        for task in rest {
            let (n, answer) = task.await.unwrap();
            assert_eq!(answer, Some(n * 2));
        }
        assert_eq!(*work.batches.lock().unwrap(), [1, 64, 35]);
        assert_eq!(work.max_in_progress.load(Ordering::SeqCst), 1);
        while !batcher.0.lanes.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn items_behind_a_batch_that_panics_are_processed() {
        let work = doubler();
        work.gate.add_permits(10);
        let batcher = Batcher::new(Arc::clone(&work), 1, 1);
        let answers = tokio::join!(batcher.submit(0, 666), batcher.submit(0, 1), batcher.submit(0, 2));
        assert_eq!(answers, (None, Some(2), Some(4)));
        assert_eq!(*work.batches.lock().unwrap(), [1, 1, 1]);
        while !batcher.0.lanes.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(batcher.submit(0, 21).await, Some(42));
    }

    #[tokio::test]
    async fn keys_do_not_wait_for_each_other_and_one_key_for_its_concurrency() {
        let work = doubler();
        let batcher = Batcher::new(Arc::clone(&work), 1, 2);
        let submit = |key, item| {
            let batcher = batcher.clone();
            tokio::spawn(async move { batcher.submit(key, item).await })
        };
        let tasks = [submit(0, 1), submit(0, 2), submit(0, 3), submit(1, 4)];
        while work.batches.lock().unwrap().len() < 3 {
            tokio::task::yield_now().await;
        }
        work.gate.add_permits(4);
        for (n, task) in (1..).zip(tasks) {
            assert_eq!(task.await.unwrap(), Some(n * 2));
        }
        assert_eq!(work.max_in_progress.load(Ordering::SeqCst), 3);
    }
}
