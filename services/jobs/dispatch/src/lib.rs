//! The scheduler of each pool: one replica leads a pool under a lease, updates its [`schedule::Pool`] by the
//! changes in the database (`views`), and carries out the decisions in transactions that its epoch fences.
//!
//! Nothing may enter that serves a request: nothing stands on this crate but the one that wires. No rule of who gets
//! a worker either: `schedule` decides, and the SQL here stores a decision if its rows still allow it.
//!
//! Slices, each of which imports only those before it:
//! - `metrics`; `store`, `worker_store`, `moves_store`: SQL of pools and their jobs, of their workers, and of moves;
//! - `carry_out`: decisions as changes of rows; `lease`: under which a process leads a pool;
//! - `lost`: workers that are lost; `returns`: lent units that the stock wants back; `moves`: jobs that wait, to other pools;
//! - `leader`: a pool while this process leads it.

mod carry_out;
mod leader;
mod lease;
mod lost;
mod metrics;
mod moves;
mod moves_store;
mod returns;
mod store;
mod worker_store;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use api::ErrorChain;
use attempts::fleet::FleetConfig;
use db::Db;
use ids::PoolId;
use jiff::Timestamp;
use jobs_core::scheduler::SchedulerConfig;
use records::{
    budget,
    rest::{self, Rest},
};
use service::{Duty, Process, Round, Task};
use tokio::{sync::watch, task::JoinHandle};
use views::view::Views;

pub use metrics::DispatchMetrics;

/// What schedulers need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub scheduler: SchedulerConfig,
    /// None if the platform runs no workers.
    pub fleet: Option<Arc<FleetConfig>>,
    pub budget: budget::Parts,
    /// None if the configuration does not name it.
    pub stock: Option<stock_api::Client>,
    pub views: Views,
    pub metrics: DispatchMetrics,
    pub rest: Arc<Rest>,
    pub clock: fn() -> Timestamp,
    /// Wakes the schedulers of this process before they look by themselves.
    pub submitted: watch::Sender<()>,
    /// Wakes the open polls of workers in this process.
    pub assigned: watch::Sender<()>,
}

/// Time between two checks for new pools.
const LOOK: Duration = Duration::from_secs(1);
/// Changes are kept for this long. A scheduler that is further behind has lost its lease.
const KEEP_CHANGES: Duration = Duration::from_secs(600);
/// How often older ones are deleted.
const CLEAN_UP_PERIOD: Duration = Duration::from_secs(60);
/// Maximum number of changes that are deleted in one transaction.
const CLEAN_UP_BATCH: u32 = 10_000;

/// The tasks of pools.
type Tasks = Arc<Mutex<HashMap<PoolId, JoinHandle<()>>>>;

/// The tasks that start a scheduler for each pool, and delete old changes.
pub fn tasks(parts: &Parts, process: &Process) -> [Task; 2] {
    let tasks = Tasks::default();
    let stop = process.shutdown.clone();
    let schedule = rest::task(&parts.rest, ("pools", Duty::Reconcile, LOOK), parts, move |parts| {
        let (tasks, stop) = (Arc::clone(&tasks), stop.clone());
        async move {
            let mut tx = parts.db.worker().await?;
            let pools = store::pools(&mut tx).await?;
            drop(tx);
            parts.metrics.pools(pools.len());
            let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
            tasks.retain(|pool, task| pools.contains(pool) && !task.is_finished());
            for pool in pools {
                tasks.entry(pool).or_insert_with(|| {
                    let (parts, token) = (parts.clone(), stop.token());
                    let (done, ended) = tokio::sync::oneshot::channel::<()>();
                    stop.track(async move { drop(ended.await) });
                    tokio::spawn(async move {
                        if let Err(error) = leader::run(&parts, pool, &token).await {
                            let cause = ErrorChain(&*error);
                            tracing::error!(pool.id = %pool, %cause, "scheduler of a pool failed");
                        }
                        drop(done);
                    })
                });
            }
            Ok(Round::Done)
        }
    });
    let clean_up = parts.db.retention("changes", CLEAN_UP_PERIOD, CLEAN_UP_BATCH, |conn, _| {
        Box::pin(views::store::CHANGES.delete_old(conn, KEEP_CHANGES, CLEAN_UP_BATCH))
    });
    [schedule, clean_up]
}
