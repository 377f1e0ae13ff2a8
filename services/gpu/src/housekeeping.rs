//! Periodic workers: confirm what runs, count instances for the metrics, delete what is too old.

use std::time::Duration;

use db::{Db, queue::Queue};
use ids::InstanceId;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};
use service::{Metrics, Process, Round};

use crate::{
    cluster::{Clusters, Observation, UnitRef},
    event, instance, route, share, ssh,
    usage::{self, UsageKind},
};

/// Time between rounds. A run whose end was not reported is billed up to this much too little.
const PERIOD: Duration = Duration::from_secs(60);
/// Time between two clean-ups.
const CLEAN_UP: Duration = Duration::from_secs(300);
/// Runs confirmed in one statement.
const CONFIRMED: usize = 1000;
/// Time between comparisons of the meter with the histories of the clusters.
const COMPARISON: Duration = Duration::from_secs(300);
/// Holds read at a time.
const HOLDS: i64 = 1000;
/// Rows of one kind deleted in one round.
const DELETED: i64 = 10_000;
/// The same for changes of routes.
const CHANGES_DELETED: u32 = 10_000;
/// Events deleted in one transaction, which locks the logs of their tenants.
const EVENTS_DELETED: i64 = 1000;

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
pub(crate) struct Measures {
    states: Family<StateLabel, Gauge>,
    watches: Family<ClusterLabel, Gauge>,
    corrections: Counter,
}

impl Measures {
    pub(crate) fn register(metrics: &Metrics) -> Self {
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

/// Starts the workers. Events are kept for `events_seconds`.
pub(crate) fn start(
    process: &Process,
    db: &Db,
    clusters: &Clusters,
    queue: &Queue<InstanceId>,
    events_seconds: f64,
) {
    let workers = &process.workers;
    let (runs, reported, instances) = (db.clone(), clusters.clone(), queue.clone());
    workers.spawn_periodic("gpu.confirm_runs", PERIOD, move || {
        confirm_runs(runs.clone(), reported.clone(), instances.clone())
    });
    let measures = Measures::register(&process.metrics);
    let (meter, histories, instances) = (db.clone(), clusters.clone(), queue.clone());
    let corrections = measures.corrections.clone();
    workers.spawn_periodic("gpu.compare_usage", COMPARISON, move || {
        compare_usage(meter.clone(), histories.clone(), instances.clone(), corrections.clone())
    });
    let (counted, watched) = (db.clone(), clusters.clone());
    workers.spawn_periodic("gpu.count_instances", PERIOD, move || {
        measure(counted.clone(), watched.clone(), measures.clone())
    });
    let cleaned = db.clone();
    workers.spawn_periodic("gpu.clean_up", CLEAN_UP, move || clean_up(cleaned.clone()));
    let log = db.clone();
    workers.spawn_periodic("gpu.events.clean_up", CLEAN_UP, move || {
        clean_up_events(log.clone(), events_seconds)
    });
}

async fn confirm_runs(db: Db, clusters: Clusters, queue: Queue<InstanceId>) -> anyhow::Result<Round> {
    let connected = clusters.connected();
    for running in clusters.running().chunks(CONFIRMED) {
        let mut tx = db.worker().await?;
        usage::store::confirm(&mut tx, UsageKind::Running, running).await?;
        tx.commit().await?;
    }
    confirm_holds(&db, &clusters, &connected, &queue).await?;
    let mut tx = db.worker().await?;
    usage::store::close_unseen_holds(&mut tx).await?;
    usage::store::advance_watermarks(&mut tx, &connected).await?;
    tx.commit().await?;
    Ok(Round::Done)
}

async fn compare_usage(
    db: Db,
    clusters: Clusters,
    queue: Queue<InstanceId>,
    corrections: Counter,
) -> anyhow::Result<Round> {
    corrections.inc_by(usage::comparison::run(&db, &clusters, &queue).await?);
    Ok(Round::Done)
}

/// Confirms the holds whose unit has its place. The instances of the others are reconciled, in case the watch missed it.
async fn confirm_holds(
    db: &Db,
    clusters: &Clusters,
    connected: &[String],
    queue: &Queue<InstanceId>,
) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let mut tx = db.worker().await?;
        let holds = usage::store::open_holds(&mut tx, after, HOLDS).await?;
        let Some(last) = holds.last() else { return Ok(()) };
        after = Some(last.instance_id);
        let mut confirmed = Vec::new();
        for hold in holds.iter().filter(|hold| connected.contains(&hold.cluster)) {
            let unit = UnitRef { cluster: hold.cluster.clone(), name: hold.unit_id.k8s_name() };
            match clusters.observation(&unit) {
                Observation::Unit(unit) if unit.holds_place() => confirmed.push(hold.instance_id),
                _ => queue.poke(hold.instance_id),
            }
        }
        usage::store::confirm(&mut tx, UsageKind::Held, &confirmed).await?;
        tx.commit().await?;
    }
}

async fn measure(db: Db, clusters: Clusters, measures: Measures) -> anyhow::Result<Round> {
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

async fn clean_up(db: Db) -> anyhow::Result<Round> {
    let mut tx = db.worker().await?;
    let tickets = route::store::delete_expired_tickets(&mut tx, DELETED).await?;
    let links = share::store::delete_expired(&mut tx, DELETED).await?;
    let link_tickets = share::personal_store::delete_expired_tickets(&mut tx, DELETED).await?;
    let changes = route::OUTBOX.delete_old(&mut tx, route::RETENTION, CHANGES_DELETED).await?;
    let keys = api::idempotency::forget_old(&mut tx, DELETED).await?;
    let operations = operations::prune(&mut tx, DELETED).await?;
    let sessions = ssh::store::delete_old_sessions(&mut tx, DELETED).await?;
    tx.commit().await?;
    let most = tickets.max(links).max(link_tickets).max(changes).max(keys).max(operations).max(sessions);
    Ok(Round::of(most, DELETED.unsigned_abs()))
}

async fn clean_up_events(db: Db, seconds: f64) -> anyhow::Result<Round> {
    let mut tx = db.worker().await?;
    let deleted = event::store::delete_old(&mut tx, seconds, EVENTS_DELETED).await?;
    tx.commit().await?;
    Ok(Round::of(deleted.unsigned_abs(), EVENTS_DELETED.unsigned_abs()))
}
