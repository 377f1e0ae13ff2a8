//! Attempts that are delivering: the work is done, but the results cannot be stored yet. The worker keeps
//! them, and runs other jobs meanwhile. When its session ends they are lost.

use api::{Json, Path, Problem};
use attempts::attempt::{end, member};
use axum::extract::State;
use ids::{JobId, PoolId, WorkerId};
use jobs_core::{
    attempt::{End, Policy},
    status::{Fence, Status},
};
use records::{
    job, pool,
    worker::{
        self, NotYours, WorkerCaller,
        store::{self as workers, Held},
    },
};
use serde::{Deserialize, Serialize};
use service::Round;
use sqlx::PgConnection;

use super::Parts;

/// Attempts that are lost in one round.
const BATCH: u32 = 50;
/// Maximum number of hours for which an attempt may be delivering.
const MOST_HOURS: i32 = 6;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HandOver {
    session: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct HandedOver {
    /// Whether the worker may get another job. If not, it keeps this one until its end.
    handed_over: bool,
}

/// Frees the worker of an attempt whose work is done. It reports the end of the attempt later, in the same session. Can be repeated.
pub(super) async fn hand_over(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(request): Json<HandOver>,
) -> Result<Json<HandedOver>, Problem> {
    let mut tx = parts.db.worker().await?;
    let held = worker.touch_running(&mut tx, request.session, (job, number)).await?;
    if held.current != Some((job, number)) {
        return Ok(Json(HandedOver { handed_over: true }));
    }
    let (found, counts) = job::lock_for_attempt(&mut tx, job).await?.ok_or(NotYours)?;
    let fence = Fence { attempt: number, worker: worker.0 };
    // an attempt that must stop learns it from the poll; a gang ends as one
    let is_free = found.status == Status::Running(fence) && !counts.is_leaving;
    if !is_free || member::find(&mut tx, job, number, worker.0).await?.is_some() {
        return Ok(Json(HandedOver { handed_over: false }));
    }
    begin(&mut tx, job, number, request.session).await?;
    pool::publish(&mut tx, held.pool, &pool::Changed::Job(job)).await?;
    workers::leave(&mut tx, &held, job).await?;
    tx.commit().await?;
    parts.submitted.send_replace(());
    Ok(Json(HandedOver { handed_over: true }))
}

async fn begin(conn: &mut PgConnection, job: JobId, number: i32, session: i64) -> sqlx::Result<()> {
    sqlx::query!(
        "update attempts set delivering_at = now(), delivering_session = $3
         where job_id = $1 and number = $2 and state = 'open' and delivering_at is null",
        job as JobId,
        number,
        session,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// An attempt that is delivering, whose worker no longer has its results.
struct Abandoned {
    job: JobId,
    number: i32,
    worker: WorkerId,
    pool: PoolId,
}

async fn abandoned(conn: &mut PgConnection) -> sqlx::Result<Vec<Abandoned>> {
    sqlx::query_as!(
        Abandoned,
        "select a.job_id as job, a.number, a.worker_id as worker, j.pool_id as pool
         from attempts a join jobs j on j.id = a.job_id left join workers w on w.id = a.worker_id
         where a.state = 'open' and a.delivering_at is not null
           and (w.state is distinct from 'ready' or w.session is distinct from a.delivering_session
                or a.delivering_at < now() - make_interval(hours => $2))
         order by a.delivering_at limit $1",
        i64::from(BATCH),
        MOST_HOURS,
    )
    .fetch_all(conn)
    .await
}

/// Marks attempts as lost whose results are gone with the session of their worker: they are tried again.
pub async fn sweep(parts: &Parts) -> anyhow::Result<Round> {
    let mut tx = parts.db.worker().await?;
    let found = abandoned(&mut tx).await?;
    tx.commit().await?;
    let policy = Policy::of(&parts.scheduler);
    for Abandoned { job, number, worker, pool } in &found {
        let mut tx = parts.db.worker().await?;
        // the worker may have been deleted
        let gone = Held { id: *worker, pool: *pool, current: None, is_recalled: false };
        let held = workers::lock(&mut tx, *worker).await?.unwrap_or(gone);
        match end(&mut tx, &held, *job, *number, &End::Lost, &policy, (parts.clock)()).await {
            // it has ended meanwhile
            Err(worker::Error::NotYours(_)) => continue,
            ended => {
                ended?;
            }
        }
        tx.commit().await?;
        tracing::warn!(job.id = %job, attempt = number, worker.id = %worker, "results lost before they were delivered");
        parts.submitted.send_replace(());
    }
    Ok(Round::of(found.len() as u64, BATCH.into()))
}
