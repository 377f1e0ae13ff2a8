//! The scheduler of each pool: one replica leads a pool under a lease, keeps its [`crate::schedule::Pool`] by what changes in
//! the database, and carries out the decisions in transactions that its epoch fences.

mod carry_out;
mod changes;
mod closed;
mod estimates;
mod leader;
mod lost;
mod moves;
mod moves_store;
mod returns;
mod rows;
mod specs;
mod store;
mod view;
mod worker_store;
mod world;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use api::ErrorChain;
use ids::PoolId;
use service::{Process, Round};
use tokio::task::JoinHandle;

use crate::{rest, schedule::Estimate, state::AppState};

pub(crate) use rows::Probe;
pub(crate) use view::{Capacity, Found, Views};

/// How often pools are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// Changes are kept for this long. A scheduler that is further behind has lost its lease.
const KEEP_CHANGES: Duration = Duration::from_secs(600);
/// Period of the worker that deletes older ones.
const CLEAN_UP_PERIOD: Duration = Duration::from_secs(60);
/// Changes that it deletes in one transaction, at most.
const CLEAN_UP_BATCH: u32 = 10_000;

/// The tasks of pools.
type Tasks = Arc<Mutex<HashMap<PoolId, JoinHandle<()>>>>;

/// Returns how long a job of a class takes, once its model is loaded.
///
/// # Errors
/// If the database fails.
pub(crate) async fn estimate(conn: &mut sqlx::PgConnection, class: &str) -> sqlx::Result<Estimate> {
    estimates::Estimates::of_class(conn, class).await
}

/// Starts the workers `jobs.scheduler`, which starts a task for each pool, and `jobs.changes`.
pub(crate) fn start(state: &AppState, process: &Process) {
    let tasks = Tasks::default();
    let stop = process.shutdown.clone();
    rest::spawn_periodic(state, &process.workers, "jobs.scheduler", LOOK, move |state| {
        let (tasks, stop) = (Arc::clone(&tasks), stop.clone());
        async move {
            let mut tx = state.db.worker().await?;
            let pools = store::pools(&mut tx).await?;
            drop(tx);
            state.metrics.pools(pools.len());
            let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
            tasks.retain(|pool, task| pools.contains(pool) && !task.is_finished());
            for pool in pools {
                tasks.entry(pool).or_insert_with(|| {
                    let (state, token) = (state.clone(), stop.token());
                    let (done, ended) = tokio::sync::oneshot::channel::<()>();
                    stop.track(async move { drop(ended.await) });
                    tokio::spawn(async move {
                        if let Err(error) = leader::run(&state, pool, &token).await {
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
    let db = state.db.clone();
    process.workers.spawn_periodic("jobs.changes", CLEAN_UP_PERIOD, move || {
        let db = db.clone();
        async move {
            let mut tx = db.worker().await?;
            let deleted = store::CHANGES.delete_old(&mut tx, KEEP_CHANGES, CLEAN_UP_BATCH).await?;
            tx.commit().await?;
            Ok(Round::of(deleted, CLEAN_UP_BATCH.into()))
        }
    });
}
