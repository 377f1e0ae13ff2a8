//! SQL of the workers of a pool, for its scheduler.

use std::time::Duration;

use ids::{InstanceId, JobId, ModelId, PoolId, WorkerId};
use jiff::Timestamp;
use sqlx::PgConnection;

use crate::{base_model::Models, worker::Tenure};

/// A ready worker whose node is known.
#[derive(Debug, Clone)]
pub(super) struct WorkerRow {
    pub(super) id: WorkerId,
    pub(super) gpu_spec: String,
    pub(super) node: String,
    pub(super) session: i64,
    pub(super) model: Option<ModelId>,
    pub(super) quantum_end: Option<jiff_sqlx::Timestamp>,
    pub(super) busy_until: Option<jiff_sqlx::Timestamp>,
    pub(super) idle_since: Timestamp,
    pub(super) current_job: Option<JobId>,
    pub(super) tenure: Tenure,
    /// Set if it was recalled: it leaves its unit by this time.
    pub(super) leave_by: Option<jiff_sqlx::Timestamp>,
    pub(super) recall_rank: i16,
    pub(super) checkpoints: Option<Vec<String>>,
    pub(super) base_models: Option<Vec<String>>,
}

impl WorkerRow {
    pub(super) fn models(&self) -> Models {
        Models { checkpoints: self.checkpoints.clone(), base_models: self.base_models.clone() }
    }
}

/// Returns the ready workers of a pool whose nodes are known; without those that have not left an attempt that is over.
pub(super) async fn ready_workers(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<WorkerRow>> {
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
pub(super) async fn workers(conn: &mut PgConnection, ids: &[WorkerId]) -> sqlx::Result<Vec<WorkerRow>> {
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
pub(super) async fn silent_workers(
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
pub(super) async fn draining_workers(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<WorkerId>> {
    sqlx::query_scalar!(
        "select id from workers where pool_id = $1 and state = 'ready' and stage = 'draining' order by id",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// A lent worker.
pub(super) struct LentRow {
    pub(super) id: WorkerId,
    pub(super) instance: InstanceId,
    pub(super) gpu_spec: String,
    /// Whether it returns its unit already, after its job.
    pub(super) leaves: bool,
}

/// Returns the lent workers of a pool.
pub(super) async fn lent_workers(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<LentRow>> {
    sqlx::query_as!(
        LentRow,
        r#"select id, instance_id as "instance!: InstanceId", gpu_spec, stage in ('draining', 'leaving') as "leaves!"
           from workers where pool_id = $1 and tenure = 'lent' and stage is not null and instance_id is not null
           order by id"#,
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// A worker on a node that gets no jobs.
pub(super) struct Cordoned {
    pub(super) worker: WorkerId,
    pub(super) node: String,
}

/// Returns the ready workers of a pool on nodes where at least `losses` of its jobs lost a worker within `time`, jobs of several
/// tenants, unless only one has jobs there. A job that has lost workers on several nodes does not count: it is the cause. None if all
/// ready workers of the pool are on such nodes. Losses of other pools do not count: a program of a tenant may kill its worker.
pub(super) async fn on_failing_nodes(
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

/// Returns the workers of a pool whose job has not left them in time.
pub(super) async fn overdue_workers(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<WorkerId>> {
    sqlx::query_scalar!(
        "select w.id from workers w join jobs j on j.id = w.current_job and j.attempt = w.current_attempt
         where w.pool_id = $1 and j.leave_by < now() order by w.id",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// Whether a locked worker is lost: silent for this long, or its job has not left it in time.
pub(super) async fn is_lost(conn: &mut PgConnection, id: WorkerId, time: Duration) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select greatest(w.last_seen_at, w.present_until) < now() - make_interval(secs => $2)
                  or exists (select from jobs j where j.id = w.current_job and j.attempt = w.current_attempt
                                and j.leave_by < now()) as "lost!"
           from workers w where w.id = $1 and w.state = 'ready'"#,
        id as WorkerId,
        time.as_secs_f64(),
    )
    .fetch_optional(conn)
    .await
    .map(|lost| lost.unwrap_or(false))
}
