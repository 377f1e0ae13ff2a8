//! Keeps a cluster's cache current and reports the instances that its events concern.

use std::{collections::HashSet, time::Duration};

use api::ErrorChain;
use backon::{BackoffBuilder, ExponentialBuilder};
use crds::GpuUnit;
use futures::StreamExt;
use ids::InstanceId;
use kube::{
    Api, ResourceExt,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};

use super::{Cluster, observed::observed};

/// Maximum number of events handled at a time.
const BATCH: usize = 500;
/// Failures in a row after which the kubeconfig is read again.
const MAX_FAILURES: u32 = 3;
/// Delay before a cluster without usable credentials is tried again: the first, and the longest.
const MIN_DELAY: Duration = Duration::from_millis(500);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// Marks the cache as not current when the watch ends, however it ends.
struct Connection<'c>(&'c Cluster);

impl Connection<'_> {
    fn set(&self, connected: bool) {
        self.0.change(|cache| cache.connected = connected);
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}

impl Cluster {
    /// Watches the cluster's units for ever. `changed` receives the instances that a batch of events reports on.
    pub async fn watch<R: Future<Output = ()>>(&self, changed: impl Fn(Vec<InstanceId>) -> R) {
        let mut delays = delays();
        loop {
            match self.units().await {
                Ok(units) => {
                    delays = self::delays();
                    self.follow(units, &changed).await;
                    tracing::warn!(
                        cluster = self.name,
                        "cluster does not answer; its kubeconfig is read again"
                    );
                    self.clients.forget(&self.name);
                }
                Err(error) => {
                    tracing::warn!(cluster = self.name, error = %ErrorChain(&error), "cluster cannot be watched");
                    tokio::time::sleep(delays.next().unwrap_or(MAX_DELAY)).await;
                }
            }
        }
    }

    /// Returns after several failures in a row.
    async fn follow<R: Future<Output = ()>>(
        &self,
        units: Api<GpuUnit>,
        changed: &impl Fn(Vec<InstanceId>) -> R,
    ) {
        let events = watcher(units, watcher::Config::default()).default_backoff();
        let mut events = std::pin::pin!(events.ready_chunks(BATCH));
        let (connection, mut listed, mut failures) = (Connection(self), HashSet::new(), 0);
        while let Some(batch) = events.next().await {
            let mut instances = HashSet::new();
            for event in batch {
                match event {
                    // sent before the first request, so it does not show that the cluster answers
                    Ok(Event::Init) => listed.clear(),
                    Ok(event) => {
                        failures = 0;
                        self.observe(event, &mut listed, &mut instances);
                    }
                    Err(error) => {
                        failures += 1;
                        tracing::warn!(cluster = self.name, failures, error = %ErrorChain(&error), "watch failed");
                    }
                }
            }
            connection.set(failures == 0 && self.read(|cache| cache.synced));
            if !instances.is_empty() {
                self.observed.send_replace(());
                changed(instances.into_iter().collect()).await;
            }
            if failures >= MAX_FAILURES {
                return;
            }
        }
    }

    /// Stores what an event reports and adds the instances that it concerns to `instances`.
    fn observe(
        &self,
        event: Event<GpuUnit>,
        listed: &mut HashSet<String>,
        instances: &mut HashSet<InstanceId>,
    ) {
        match event {
            Event::Init => {}
            Event::InitApply(unit) => {
                listed.insert(unit.name_any());
                self.put(unit, instances);
            }
            Event::InitDone => {
                let before = self.change(|cache| {
                    cache.synced = true;
                    let before: Vec<_> = cache.units.values().cloned().collect();
                    // deleted while the watch was down
                    for unit in before.iter().filter(|unit| !listed.contains(&unit.name)) {
                        cache.remove(&unit.name);
                    }
                    before
                });
                tracing::info!(cluster = self.name, units = listed.len(), "units listed");
                instances.extend(before.iter().flat_map(|unit| unit.instances()));
            }
            Event::Apply(unit) => self.put(unit, instances),
            Event::Delete(unit) => {
                let before = self.change(|cache| cache.remove(&unit.name_any()));
                instances.extend(before.iter().flat_map(|unit| unit.instances()));
            }
        }
    }

    fn put(&self, unit: GpuUnit, instances: &mut HashSet<InstanceId>) {
        let unit = observed(unit);
        instances.extend(unit.instances());
        let (before, leaving, awaiting) = self.change(|cache| {
            let name = unit.name.clone();
            (cache.put(unit.into()), cache.leaving(&name), cache.vacated(&name))
        });
        instances.extend(before.iter().flat_map(|unit| unit.instances()));
        instances.extend(leaving);
        instances.extend(awaiting);
    }
}

fn delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(MIN_DELAY)
        .with_max_delay(MAX_DELAY)
        .with_jitter()
        .without_max_times()
        .build()
}
