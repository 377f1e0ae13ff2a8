//! Workers that get no jobs: silent, drained, or on a failing node.

use std::{collections::BTreeSet, time::Duration};

use ids::{PoolId, WorkerId};
use jobs_core::scheduler::SchedulerConfig;
use sqlx::PgConnection;

use super::worker_store;

/// A node is failing while this number of jobs, of several tenants, lost a worker on it within
/// [`LOSSES_TIME`].
const LOSSES: i64 = 3;
const LOSSES_TIME: Duration = Duration::from_secs(600);

/// Workers of a pool that get no jobs.
pub struct Closed {
    pub workers: BTreeSet<WorkerId>,
    /// Failing nodes.
    pub nodes: BTreeSet<String>,
}

/// Returns the workers of a pool that get no jobs.
pub async fn find(conn: &mut PgConnection, pool: PoolId, config: &SchedulerConfig) -> sqlx::Result<Closed> {
    let silent = worker_store::silent_workers(conn, pool, config.silent()).await?;
    let draining = worker_store::draining_workers(conn, pool).await?;
    let failing = worker_store::on_failing_nodes(conn, pool, LOSSES, LOSSES_TIME).await?;
    let (of_nodes, nodes): (Vec<_>, _) = failing.into_iter().map(|one| (one.worker, one.node)).unzip();
    Ok(Closed { workers: silent.into_iter().chain(draining).chain(of_nodes).collect(), nodes })
}
