//! Lost workers: silent for too long, or with a job that does not leave. Their attempts are tried again, and
//! their sessions end, so that their later reports do not count.

use std::collections::BTreeSet;

use attempts::session::{EndCause, end_session};
use ids::{PoolId, WorkerId};
use jiff::Timestamp;
use jobs_core::{attempt::Policy, scheduler::SchedulerConfig, worker::WorkerState};
use records::worker::{Error, store::lock};
use sqlx::PgConnection;
use views::worker_store::silent_workers;

use super::worker_store;

/// Returns workers that seem to be lost.
pub(super) async fn find(
    conn: &mut PgConnection,
    pool: PoolId,
    config: &SchedulerConfig,
) -> sqlx::Result<BTreeSet<WorkerId>> {
    let mut lost: BTreeSet<WorkerId> = silent_workers(conn, pool, config.lost()).await?.into_iter().collect();
    lost.extend(worker_store::overdue_workers(conn, pool).await?);
    Ok(lost)
}

/// Ends the sessions of those workers that are lost, in a transaction that is fenced. Returns how many.
pub(super) async fn end_sessions(
    conn: &mut PgConnection,
    lost: &BTreeSet<WorkerId>,
    config: &SchedulerConfig,
    now: Timestamp,
) -> Result<u32, Error> {
    let (policy, mut ended) = (Policy::of(config), 0);
    for id in lost {
        let Some(worker) = lock(conn, *id).await? else { continue };
        // it may have reported before it was locked
        if worker_store::is_lost(conn, *id, config.lost()).await? {
            tracing::warn!(worker.id = %id, "worker lost");
            let how = (EndCause::Unannounced, WorkerState::Offline);
            end_session(conn, &worker, how, &policy, now).await?;
            ended += 1;
        }
    }
    Ok(ended)
}
