//! Collects the logs of one cluster, in the replica that has its lock.
//!
//! Logs are followed, so that the last lines of a container are read before the cluster deletes them: up to a
//! limit of open connections, half of them for containers that are starting or ending. The others are read
//! every few seconds, from the last line on.

use std::{collections::HashMap, sync::Arc, time::Duration};

use api::ErrorChain;
use clusters::{Cluster, Container, PodError};
use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use ids::InstanceId;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    Archive,
    collect::{CollectError, Source},
};

/// How often other replicas try to get the lock. After a crash nothing is collected for this long.
const LOCK: Duration = Duration::from_secs(5);
/// Time until a container that is starting or ending is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Minimum time between two checks of the containers, while observations arrive.
const PAUSE: Duration = Duration::from_millis(100);

/// One attempt of an instance.
type Key = (InstanceId, i64);

/// The collector of a cluster.
pub(super) struct Collector {
    archive: Arc<Archive>,
    cluster: Arc<Cluster>,
}

/// The log of a container.
enum Entry {
    /// A task reads or follows it.
    Busy,
    /// The next read is due at `due`.
    Idle { source: Box<Source>, due: Instant },
}

/// What has been read, and when to read again.
struct Done {
    key: Key,
    source: Box<Source>,
    wait: Duration,
    followed: bool,
}

impl Collector {
    pub(super) fn new(archive: &Arc<Archive>, cluster: &Arc<Cluster>) -> Self {
        Self { archive: Arc::clone(archive), cluster: Arc::clone(cluster) }
    }

    /// Collects whenever this replica has the lock.
    pub(super) async fn run(&self) -> anyhow::Result<()> {
        let name = format!("logs of {}", self.cluster.name());
        loop {
            if let Some(mut lock) = self.archive.db.lock(&name).await? {
                tokio::select! {
                    () = self.collect() => {}
                    // as after a crash
                    () = lock.lost() => tracing::warn!(cluster = self.cluster.name(), "lock of the logs lost"),
                }
            }
            sleep(LOCK).await;
        }
    }

    /// Collects for ever.
    async fn collect(&self) {
        let mut observed = self.cluster.observed();
        let mut logs: HashMap<Key, Entry> = HashMap::new();
        let mut working: FuturesUnordered<BoxFuture<'_, Done>> = FuturesUnordered::new();
        let (mut reading, mut following) = (0, 0);
        loop {
            observed.borrow_and_update();
            let containers = self.cluster.containers();
            let next = self.start_due(&containers, &mut logs, &working, &mut reading, &mut following);
            tokio::select! {
                Some(done) = working.next() => {
                    let count = if done.followed { &mut following } else { &mut reading };
                    *count -= 1;
                    let due = Instant::now() + done.wait;
                    logs.insert(done.key, Entry::Idle { source: done.source, due });
                }
                () = sleep_until(next) => {}
                _ = observed.changed() => sleep(PAUSE).await,
            }
        }
    }

    /// Starts what is due, and forgets logs of containers that are gone. Returns when something is due next.
    fn start_due<'a>(
        &'a self,
        containers: &[Container],
        logs: &mut HashMap<Key, Entry>,
        working: &FuturesUnordered<BoxFuture<'a, Done>>,
        reading: &mut usize,
        following: &mut usize,
    ) -> Instant {
        let config = &self.archive.config;
        let now = Instant::now();
        let mut next = now + config.interval();
        let mut present = std::collections::HashSet::new();
        for container in containers {
            let key = (container.instance, container.attempt);
            present.insert(key);
            let due = match logs.get(&key) {
                Some(Entry::Busy) => continue,
                Some(Entry::Idle { due, .. }) if container.settled => *due,
                // it may end at any moment
                Some(Entry::Idle { due, .. }) => (*due).min(now + RETRY),
                None => now,
            };
            if due > now {
                next = next.min(due);
                continue;
            }
            let follow = *following < if container.settled { config.follows / 2 } else { config.follows };
            if !follow && *reading >= config.collections {
                // a read that ends frees capacity
                continue;
            }
            *if follow { &mut *following } else { &mut *reading } += 1;
            let source = match logs.insert(key, Entry::Busy) {
                Some(Entry::Idle { source, .. }) => source,
                _ => Box::new(Source::new(container)),
            };
            working.push(Box::pin(self.work(source, container.clone(), follow)));
        }
        for (key, entry) in logs.iter_mut().filter(|(key, _)| !present.contains(*key)) {
            let has_lines = matches!(entry, Entry::Idle { source, .. } if source.has_lines());
            if has_lines && let Entry::Idle { source, .. } = std::mem::replace(entry, Entry::Busy) {
                *reading += 1;
                working.push(Box::pin(self.finish(*key, source)));
            }
        }
        logs.retain(|key, entry| present.contains(key) || matches!(entry, Entry::Busy));
        next
    }

    async fn work(&self, mut source: Box<Source>, container: Container, follow: bool) -> Done {
        let key = (container.instance, container.attempt);
        let collected = source.collect(&self.archive, &self.cluster, &container, follow).await;
        let wait = if container.settled { self.archive.config.interval() } else { RETRY };
        self.report(key.0, collected);
        Done { key, source, wait, followed: follow }
    }

    /// Stores what is left of the log of a container that is gone.
    async fn finish(&self, key: Key, mut source: Box<Source>) -> Done {
        self.report(key.0, source.finish(&self.archive).await);
        Done { key, source, wait: RETRY, followed: false }
    }

    fn report(&self, instance: InstanceId, collected: Result<(), CollectError>) {
        match collected {
            Ok(()) | Err(CollectError::Pod(PodError::NotRunning(_)) | CollectError::Deleted) => {}
            Err(CollectError::Overtaken) => {
                tracing::info!(instance.id = %instance, "another replica has collected this log");
            }
            Err(error) => {
                tracing::warn!(
                    cluster = self.cluster.name(), instance.id = %instance, error = %ErrorChain(&error),
                    "log not collected"
                );
            }
        }
    }
}
