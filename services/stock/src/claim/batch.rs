//! Requests of the same kind that arrive together are carried out together.
//!
//! A request that finds its lane idle is carried out at once and alone. While that is under way others
//! queue, and what has queued is the next batch: so a batch is as large as the load makes it, and nobody
//! waits for a timer. Knows nothing of what a request is.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::oneshot;

/// What is done with a batch.
pub(crate) trait Work: Send + Sync + 'static {
    /// Requests of the same key can share a batch.
    type Key: Hash + Eq + Clone + Send + Sync + 'static;
    /// A request.
    type Item: Send + 'static;
    /// Its answer.
    type Answer: Send + 'static;

    /// Carries out a batch; gives an answer for each request, in the same order.
    fn run(&self, key: &Self::Key, items: Vec<Self::Item>) -> impl Future<Output = Vec<Self::Answer>> + Send;
}

type Waiting<W> = (<W as Work>::Item, oneshot::Sender<<W as Work>::Answer>);

struct Lane<W: Work> {
    queue: Vec<Waiting<W>>,
    running: usize,
}

struct Inner<W: Work> {
    work: W,
    lanes: Mutex<HashMap<W::Key, Lane<W>>>,
    /// Requests in a batch, at most.
    most: usize,
    /// Batches of one key under way, at most.
    abreast: usize,
}

/// Gathers requests into batches. Clones share the lanes.
pub(crate) struct Batcher<W: Work>(Arc<Inner<W>>);

impl<W: Work> Clone for Batcher<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Work> Batcher<W> {
    pub(crate) fn new(work: W, most: usize, abreast: usize) -> Self {
        Self(Arc::new(Inner { work, lanes: Mutex::default(), most, abreast }))
    }

    /// Carries out a request, with others if there are any. None when the batch came to nothing (a panic).
    /// A caller that stops waiting does not stop its request.
    pub(crate) async fn submit(&self, key: W::Key, item: W::Item) -> Option<W::Answer> {
        let (sender, receiver) = oneshot::channel();
        let start = {
            let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
            let lane = lanes.entry(key.clone()).or_insert_with(|| Lane { queue: Vec::new(), running: 0 });
            lane.queue.push((item, sender));
            let start = lane.running < self.0.abreast;
            lane.running += usize::from(start);
            start
        };
        if start {
            tokio::spawn(Runner { inner: Arc::clone(&self.0), key, done: false }.run());
        }
        receiver.await.ok()
    }
}

/// One of the batches abreast in a lane. Leaves the lane when it finds nothing to do, or is dropped.
struct Runner<W: Work> {
    inner: Arc<Inner<W>>,
    key: W::Key,
    done: bool,
}

impl<W: Work> Runner<W> {
    async fn run(mut self) {
        // requests that are already readable get into the first batch
        tokio::task::yield_now().await;
        loop {
            let batch = self.next();
            if batch.is_empty() {
                return;
            }
            let (items, senders): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            let answers = self.inner.work.run(&self.key, items).await;
            for (answer, sender) in answers.into_iter().zip(senders) {
                // whoever asked may have gone
                let _ = sender.send(answer);
            }
        }
    }

    /// The next batch. With none, the lane is left.
    fn next(&mut self) -> Vec<Waiting<W>> {
        let mut lanes = self.inner.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lane) = lanes.get_mut(&self.key) else { return Vec::new() };
        let take = lane.queue.len().min(self.inner.most);
        let batch: Vec<_> = lane.queue.drain(..take).collect();
        if batch.is_empty() {
            self.done = true;
            lane.running -= 1;
            if lane.running == 0 {
                lanes.remove(&self.key);
            }
        }
        batch
    }
}

impl<W: Work> Drop for Runner<W> {
    /// A panic in the work must not close the lane for ever: what still waits is told so.
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let mut lanes = self.inner.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get_mut(&self.key) {
            lane.running -= 1;
            if lane.running == 0 {
                lanes.remove(&self.key);
            }
        }
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
        under_way: AtomicUsize,
        most_under_way: AtomicUsize,
    }

    impl Work for Arc<Doubler> {
        type Key = u8;
        type Item = u64;
        type Answer = u64;

        async fn run(&self, _: &u8, items: Vec<u64>) -> Vec<u64> {
            let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_under_way.fetch_max(now, Ordering::SeqCst);
            self.batches.lock().unwrap().push(items.len());
            assert!(!items.contains(&666), "the work itself fails");
            self.gate.acquire().await.unwrap().forget();
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            items.into_iter().map(|item| item * 2).collect()
        }
    }

    fn doubler() -> Arc<Doubler> {
        Arc::new(Doubler {
            gate: Semaphore::new(0),
            batches: Mutex::default(),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
        })
    }

    #[tokio::test]
    async fn what_queues_meanwhile_is_one_batch_and_each_gets_its_own_answer() {
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
        assert_eq!(work.most_under_way.load(Ordering::SeqCst), 1);
        while !batcher.0.lanes.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_failure_in_one_batch_does_not_close_the_lane() {
        let work = doubler();
        work.gate.add_permits(10);
        let batcher = Batcher::new(Arc::clone(&work), 64, 1);
        assert_eq!(batcher.submit(0, 666).await, None);
        while !batcher.0.lanes.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(batcher.submit(0, 21).await, Some(42));
    }
}
