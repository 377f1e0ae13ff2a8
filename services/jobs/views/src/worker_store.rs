//! SQL of the workers of a pool, for its scheduler.

use std::time::Duration;

use ids::{JobId, ModelId, PoolId, WorkerId};
use jiff::Timestamp;
use jobs_core::{needs::Models, worker::Tenure};
use sqlx::PgConnection;

/// A ready worker whose node is known.
#[derive(Debug, Clone)]
pub struct WorkerRow {
    pub id: WorkerId,
    pub gpu_spec: String,
    pub node: String,
    pub session: i64,
    pub model: Option<ModelId>,
    pub quantum_end: Option<jiff_sqlx::Timestamp>,
    pub busy_until: Option<jiff_sqlx::Timestamp>,
    pub idle_since: Timestamp,
    pub current_job: Option<JobId>,
    pub tenure: Tenure,
    /// Set if it was recalled: it leaves its unit by this time.
    pub leave_by: Option<jiff_sqlx::Timestamp>,
    pub recall_rank: i16,
    pub checkpoints: Option<Vec<String>>,
    pub base_models: Option<Vec<String>>,
}

impl WorkerRow {
    pub fn models(&self) -> Models {
        Models { checkpoints: self.checkpoints.clone(), base_models: self.base_models.clone() }
    }
}

/// Returns the ready workers of a pool whose nodes are known; without those that have not left an attempt that is over.
pub async fn ready_workers(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<WorkerRow>> {
    sqlx::query_as!(
        WorkerRow,
        "select id, gpu_spec, node, session, model, quantum_end, busy_until, idle_since, current_job, tenure, leave_by,
                recall_rank, checkpoints, base_models
         from workers w where pool_id = $1 and state = 'ready' and node <> ''
           and (current_job is null or exists (
               select from jobs j where j.id = w.current_job and j.attempt = w.current_attempt and j.worker_id is not null))
         order by id",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// Returns those of these workers that are ready, as [`ready_workers`].
pub async fn workers(conn: &mut PgConnection, ids: &[WorkerId]) -> sqlx::Result<Vec<WorkerRow>> {
    sqlx::query_as!(
        WorkerRow,
        "select id, gpu_spec, node, session, model, quantum_end, busy_until, idle_since, current_job, tenure, leave_by,
                recall_rank, checkpoints, base_models
         from workers w where id = any($1) and state = 'ready' and node <> ''
           and (current_job is null or exists (
               select from jobs j where j.id = w.current_job and j.attempt = w.current_attempt and j.worker_id is not null))
         order by id",
        ids as &[WorkerId],
    )
    .fetch_all(conn)
    .await
}

/// Returns the ready workers of a pool that have been silent for this long.
pub async fn silent_workers(
    conn: &mut PgConnection,
    pool: PoolId,
    time: Duration,
) -> sqlx::Result<Vec<WorkerId>> {
    sqlx::query_scalar!(
        "select id from workers
         where pool_id = $1 and state = 'ready' and greatest(last_seen_at, present_until) < now() - make_interval(secs => $2)
         order by id",
        pool as PoolId,
        time.as_secs_f64(),
    )
    .fetch_all(conn)
    .await
}

/// Returns the workers of a pool that get no more jobs.
pub async fn draining_workers(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<WorkerId>> {
    sqlx::query_scalar!(
        "select id from workers where pool_id = $1 and state = 'ready' and stage = 'draining' order by id",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// A worker on a node that gets no jobs.
pub struct Cordoned {
    pub worker: WorkerId,
    pub node: String,
}

/// Returns the ready workers of a pool on nodes where at least `losses` of its jobs lost a worker within
/// `time`, if the jobs are of several tenants, or only one tenant has jobs there. A job that has lost workers
/// on several nodes does not count, as it is the cause itself. None if all ready workers of the pool are on
/// such nodes. Losses of other pools do not count: a program of a tenant may kill its worker.
pub async fn on_failing_nodes(
    conn: &mut PgConnection,
    pool: PoolId,
    losses: i64,
    time: Duration,
) -> sqlx::Result<Vec<Cordoned>> {
    sqlx::query_as!(
        Cordoned,
        "with lost as (
             select distinct a.job_id, j.tenant_id, a.lost_node as node from attempts a join jobs j on j.id = a.job_id
             where a.lost_node is not null and a.ended_at > now() - make_interval(secs => $3) and j.pool_id = $1
               and not exists (select from attempts o where o.job_id = a.job_id and o.lost_node <> a.lost_node)),
         counted as (
             select node, count(*) as jobs, count(distinct tenant_id) as tenants, (array_agg(tenant_id))[1] as tenant
             from lost group by node),
         failing as (
             select node from counted c
             where c.jobs >= $2
               and (c.tenants > 1 or not exists (
                   select from jobs o where o.pool_id = $1 and o.tenant_id <> c.tenant
                      and (o.ended_at is null or o.ended_at > now() - make_interval(secs => $3))))),
         ready as (
             select id, node, node in (select node from failing) as fails from workers
             where pool_id = $1 and state = 'ready' and node <> '' and stage is distinct from 'draining')
         select id as worker, node from ready where fails and exists (select from ready where not fails) order by id",
        pool as PoolId,
        losses,
        time.as_secs_f64(),
    )
    .fetch_all(conn)
    .await
}
