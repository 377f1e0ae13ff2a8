//! Periodic workers of the meter: confirm what runs and what is held, compare the meter with the clusters, count instances for the
//! metrics.

use std::time::Duration;

use clusters::Clusters;
use db::{Db, queue::Queue};
use gpu_core::{
    meter::UsageKind,
    unit::{Observation, UnitRef},
};
use ids::InstanceId;
use instances::{instance, meter};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};
use service::{Duty, Metrics, Process, Round, Task};

use crate::used;

/// Time between rounds. A run without a reported end is underbilled by up to this much.
const PERIOD: Duration = Duration::from_secs(60);
/// Runs confirmed in one statement.
const CONFIRMED: usize = 1000;
/// Time between comparisons of the meter with the histories of the clusters.
const COMPARISON: Duration = Duration::from_secs(300);
/// Holds read at a time.
const HOLDS: i64 = 1000;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClusterLabel {
    cluster: String,
}

/// What the workers measure. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Measures {
    states: Family<StateLabel, Gauge>,
    watches: Family<ClusterLabel, Gauge>,
    corrections: Counter,
}

impl Measures {
    /// Returns the measures, which are among the metrics of the process.
    pub fn register(metrics: &Metrics) -> Self {
        let own = Self::default();
        metrics.register(|registry| {
            registry.register("instances", "Instances by state", &["state"], own.states.clone());
            registry.register(
                "cluster_watch_connected",
                "1 while this replica follows the units of the cluster, else 0",
                &["cluster"],
                own.watches.clone(),
            );
            registry.register(
                "usage_corrections",
                "Corrections of the meter by the history of a cluster",
                &[],
                own.corrections.clone(),
            );
        });
        own
    }
}

/// The tasks that confirm runs, compare the meter with the clusters, and count instances.
pub fn tasks(process: &Process, db: &Db, clusters: &Clusters, queue: &Queue<InstanceId>) -> [Task; 3] {
    let measures = Measures::register(&process.metrics);
    let metered = (db.clone(), clusters.clone(), queue.clone());
    let compared = (metered.clone(), measures.corrections.clone());
    let measured = (db.clone(), clusters.clone(), measures);
    [
        Task::every("runs", Duty::Reconcile, PERIOD, &metered, confirm_runs),
        Task::every("usage", Duty::Reconcile, COMPARISON, &compared, compare_usage),
        Task::every("instances", Duty::Housekeeping, PERIOD, &measured, measure),
    ]
}

/// The database of the meter, the clusters to compare it with, and the queue that reconciles differences.
type Metered = (Db, Clusters, Queue<InstanceId>);

async fn confirm_runs((db, clusters, queue): Metered) -> anyhow::Result<Round> {
    let connected = clusters.connected();
    for running in clusters.running().chunks(CONFIRMED) {
        let mut tx = db.worker().await?;
        meter::store::confirm(&mut tx, UsageKind::Running, running).await?;
        tx.commit().await?;
    }
    confirm_holds(&db, &clusters, &connected, &queue).await?;
    let mut tx = db.worker().await?;
    meter::store::advance_watermarks(&mut tx, &connected).await?;
    tx.commit().await?;
    Ok(Round::Done)
}

async fn compare_usage(((db, clusters, queue), corrections): (Metered, Counter)) -> anyhow::Result<Round> {
    corrections.inc_by(used::comparison::run(&db, &clusters, &queue).await?);
    Ok(Round::Done)
}

/// Confirms the holds of units that have their place. The instances of the others are reconciled, in case the
/// watch missed the loss.
async fn confirm_holds(
    db: &Db,
    clusters: &Clusters,
    connected: &[String],
    queue: &Queue<InstanceId>,
) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let mut tx = db.worker().await?;
        let holds = meter::store::open_holds(&mut tx, after, HOLDS).await?;
        let Some(last) = holds.last() else { return Ok(()) };
        after = Some(last.instance_id);
        let mut confirmed = Vec::new();
        for hold in holds.iter().filter(|hold| connected.contains(&hold.cluster)) {
            let unit = UnitRef { cluster: hold.cluster.clone(), name: hold.unit_id.k8s_name() };
            match clusters.observation(&unit) {
                Observation::Unit(unit) if unit.holds_place() => confirmed.push(hold.instance_id),
                _ => queue.wake(hold.instance_id),
            }
        }
        meter::store::confirm(&mut tx, UsageKind::Held, &confirmed).await?;
        tx.commit().await?;
    }
}

async fn measure((db, clusters, measures): (Db, Clusters, Measures)) -> anyhow::Result<Round> {
    let connected = clusters.connected();
    for cluster in clusters.iter() {
        let labels = ClusterLabel { cluster: cluster.name().to_owned() };
        let is_connected = connected.contains(&labels.cluster);
        measures.watches.get_or_create(&labels).set(is_connected.into());
    }
    let mut tx = db.worker().await?;
    let counts = instance::store::count_by_state(&mut tx).await?;
    tx.commit().await?;
    measures.states.clear();
    for counted in counts {
        measures.states.get_or_create(&StateLabel { state: counted.state }).set(counted.count);
    }
    Ok(Round::Done)
}
