//! Samples the nodes of one cluster, in the replica that has its lock: every few seconds a request to each
//! node with running instances, and one statement for all samples. Instances that do not run are not sampled.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use api::ErrorChain;
use clusters::{Cluster, NetworkStats, PodError, PodStats, RunningPod};
use db::Db;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use gpu_core::unit::PodRef;
use ids::InstanceId;
use jiff::Timestamp;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::config::MonitoringConfig;
use super::{
    metrics::{MonitoringMetrics, Outcome},
    store::{self, Sample},
};

/// How often other replicas try to get the lock. After a crash nothing is sampled for this long.
const LOCK: Duration = Duration::from_secs(10);
/// Nodes asked at a time.
const PARALLEL: usize = 8;
/// Samples stored in one statement.
const BATCH: usize = 1000;
/// Maximum difference between a node's time and now, in seconds. A measurement beyond it gets the time at
/// which it was read.
const MAX_SKEW: f64 = 60.0;
const NANO: f64 = 1e-9;

/// The sampler of a cluster.
pub(super) struct Sampler {
    db: Db,
    cluster: Arc<Cluster>,
    config: MonitoringConfig,
    metrics: MonitoringMetrics,
    clock: fn() -> Timestamp,
}

/// The last measurements of the instances.
type Known = HashMap<InstanceId, PodStats>;

impl Sampler {
    pub(super) fn new(
        db: &Db,
        cluster: &Arc<Cluster>,
        config: MonitoringConfig,
        metrics: MonitoringMetrics,
        clock: fn() -> Timestamp,
    ) -> Self {
        Self { db: db.clone(), cluster: Arc::clone(cluster), config, metrics, clock }
    }

    /// Samples whenever this replica has the lock.
    pub(super) async fn run(&self) -> anyhow::Result<()> {
        let name = format!("samples of {}", self.cluster.name());
        loop {
            if let Some(mut lock) = self.db.lock(&name).await? {
                tokio::select! {
                    failed = self.sample() => failed?,
                    // as in a crash
                    () = lock.lost() => tracing::warn!(cluster = self.cluster.name(), "lock of the samples lost"),
                }
            }
            sleep(LOCK).await;
        }
    }

    /// Samples until the database fails.
    async fn sample(&self) -> anyhow::Result<()> {
        let mut rounds = interval(self.config.interval());
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut known = Known::new();
        let mut silent = BTreeSet::new();
        loop {
            rounds.tick().await;
            let running = self.cluster.running_pods();
            let stats = self.read_nodes(&running, &mut silent).await;
            let samples = self.samples(&running, stats, &mut known);
            let present: BTreeSet<InstanceId> = running.iter().map(|running| running.instance).collect();
            known.retain(|instance, _| present.contains(instance));
            for batch in samples.chunks(BATCH) {
                let mut tx = self.db.worker().await?;
                let stored = store::insert(&mut tx, batch).await?;
                tx.commit().await?;
                self.metrics.samples.inc_by(stored);
            }
        }
    }

    /// Returns what the nodes with running instances report. Each node that stops or resumes answering is
    /// logged once.
    async fn read_nodes(
        &self,
        running: &[RunningPod],
        silent: &mut BTreeSet<String>,
    ) -> HashMap<PodRef, PodStats> {
        let nodes: BTreeSet<&str> = running.iter().map(|running| running.node.as_str()).collect();
        silent.retain(|node| nodes.contains(node.as_str()));
        let cluster = &self.cluster;
        let reading = nodes.into_iter().map(|node| async move { (node, cluster.node_stats(node).await) });
        let reading: Vec<BoxFuture<'_, _>> = reading.map(FutureExt::boxed).collect();
        let answers: Vec<_> = stream::iter(reading).buffer_unordered(PARALLEL).collect().await;
        let mut stats = HashMap::new();
        for (node, answer) in answers {
            self.metrics.reading(self.cluster.name(), outcome(&answer));
            match answer {
                Ok(pods) => {
                    silent.remove(node);
                    stats.extend(pods.into_iter().map(|stats| (stats.pod.clone(), stats)));
                }
                Err(error) => {
                    if silent.insert(node.to_owned()) {
                        tracing::warn!(
                            cluster = self.cluster.name(), node, error = %ErrorChain(&error),
                            "the node does not report what its pods use"
                        );
                    }
                }
            }
        }
        stats
    }

    fn samples(
        &self,
        running: &[RunningPod],
        mut stats: HashMap<PodRef, PodStats>,
        known: &mut Known,
    ) -> Vec<Sample> {
        let interval = self.config.interval().as_secs_f64();
        let now = (self.clock)();
        let mut samples = Vec::new();
        for RunningPod { instance, pod, .. } in running {
            let Some(present) = stats.remove(pod) else { continue };
            let before = known.get(instance).filter(|before| before.pod == *pod);
            if before.is_some_and(|before| before.at == present.at) {
                // the node has not measured it again
                continue;
            }
            samples.push(sample(*instance, before, &present, interval, now));
            known.insert(*instance, present);
        }
        samples
    }
}

fn outcome(answer: &Result<Vec<PodStats>, PodError>) -> Outcome {
    match answer {
        Ok(_) => Outcome::Succeeded,
        Err(PodError::Unreachable(_)) => Outcome::Unreachable,
        Err(PodError::NotRunning(_) | PodError::Credentials(_)) => Outcome::Unexpected,
    }
}

/// The use of an instance between two measurements, or up to the first one. `interval` is the usual time
/// between two, in seconds.
fn sample(
    instance: InstanceId,
    before: Option<&PodStats>,
    present: &PodStats,
    interval: f64,
    now: Timestamp,
) -> Sample {
    let elapsed = |before: Timestamp, present: Timestamp| {
        let seconds = present.duration_since(before).as_secs_f64();
        // a rate over a longer time says little about its end
        (seconds > 0.0 && seconds <= 4.0 * interval).then_some(seconds)
    };
    let since_before = before.and_then(|before| elapsed(before.at, present.at));
    let rate = |before: Option<u64>, present: Option<u64>, seconds: Option<f64>| {
        // a counter that has shrunk was reset
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
        Some(present?.checked_sub(before?)? as f64 / seconds?)
    };
    #[expect(clippy::cast_precision_loss, reason = "bytes beyond 2^53 need no last digit")]
    let number = |value: Option<u64>| value.map(|value| value as f64);
    let cpu = rate(before.and_then(|before| before.cpu_nanoseconds), present.cpu_nanoseconds, since_before);
    let network = before.and_then(|before| before.network).zip(present.network);
    let since_network = network.and_then(|(before, present)| elapsed(before.at, present.at));
    let transfer = |bytes: fn(&NetworkStats) -> u64| {
        let (before, present) = network?;
        rate(Some(bytes(&before)), Some(bytes(&present)), since_network)
    };
    let skew = now.duration_since(present.at).as_secs_f64().abs();
    Sample {
        instance_id: instance,
        at: if skew > MAX_SKEW { now } else { present.at },
        seconds: since_before.unwrap_or(interval).min(2.0 * interval),
        cpu_cores: cpu.or(number(present.cpu_nanocores)).map(|nanos| nanos * NANO),
        memory_bytes: number(present.memory_bytes),
        disk_bytes: number(present.disk_bytes),
        network_received: transfer(|network| network.received_bytes),
        network_sent: transfer(|network| network.sent_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn stats(second: i64, cpu_seconds: u64, received_bytes: u64) -> PodStats {
        PodStats {
            pod: PodRef::new("ten-1", "a"),
            at: at(second),
            cpu_nanoseconds: Some(cpu_seconds * 1_000_000_000),
            cpu_nanocores: Some(250_000_000),
            memory_bytes: Some(1024),
            disk_bytes: None,
            network: Some(NetworkStats { at: at(second), received_bytes, sent_bytes: 7 }),
        }
    }

    fn sampled(before: Option<&PodStats>, present: &PodStats, now: i64) -> Sample {
        sample(InstanceId::new(), before, present, 15.0, at(now))
    }

    #[test]
    fn rates_are_differences_of_counters() {
        let found = sampled(Some(&stats(0, 10, 1000)), &stats(20, 40, 3000), 21);
        assert_eq!((found.at, found.seconds), (at(20), 20.0));
        assert_eq!((found.cpu_cores, found.network_received), (Some(1.5), Some(100.0)));
        assert_eq!(
            (found.network_sent, found.memory_bytes, found.disk_bytes),
            (Some(0.0), Some(1024.0), None)
        );
    }

    #[test]
    fn without_a_measurement_before_there_is_no_rate() {
        // the node's own rate of the CPU needs none
        let first = sampled(None, &stats(20, 40, 3000), 21);
        assert_eq!((first.cpu_cores, first.network_received, first.seconds), (Some(0.25), None, 15.0));
        let restarted = sampled(Some(&stats(0, 50, 9000)), &stats(20, 40, 3000), 21);
        assert_eq!((restarted.cpu_cores, restarted.network_received), (Some(0.25), None));
        let gap = sampled(Some(&stats(0, 10, 1000)), &stats(200, 40, 3000), 201);
        assert_eq!((gap.cpu_cores, gap.network_received, gap.seconds), (Some(0.25), None, 15.0));
    }

    #[test]
    fn a_node_with_a_wrong_clock_does_not_date_samples() {
        assert_eq!(sampled(None, &stats(0, 1, 1), 500).at, at(500));
        assert_eq!(sampled(None, &stats(900, 1, 1), 500).at, at(500));
    }
}
