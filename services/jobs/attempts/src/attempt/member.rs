//! The table of members: the workers of an attempt that has several.
//!
//! Rank 0 is the attempt's worker: it reports progress, checkpoints and results. The attempt ends for all when rank 0 ends it, or
//! another one fails or is lost. A worker keeps an attempt that is over until its process is idle: then it gets other jobs.

use ids::{JobId, WorkerId};
use sqlx::PgConnection;

/// The place of a worker in its attempt.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub rank: i16,
    pub size: i64,
    /// Its program has ended, or has left.
    pub is_done: bool,
}

/// Inserts the workers of an attempt, by rank.
pub async fn insert(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    workers: &[WorkerId],
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into attempt_members (job_id, attempt, rank, worker_id, tenant_id)
         select j.id, $2, w.n - 1, w.id, j.tenant_id from jobs j, unnest($3::uuid[]) with ordinality as w(id, n)
         where j.id = $1",
        job as JobId,
        number,
        workers as &[WorkerId],
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the place of a worker in an attempt; none if the attempt has one worker.
pub async fn find(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    worker: WorkerId,
) -> sqlx::Result<Option<Member>> {
    sqlx::query_as!(
        Member,
        r#"select rank, done_at is not null as "is_done!",
                  (select count(*) from attempt_members o where o.job_id = $1 and o.attempt = $2) as "size!"
           from attempt_members where job_id = $1 and attempt = $2 and worker_id = $3"#,
        job as JobId,
        number,
        worker as WorkerId,
    )
    .fetch_optional(conn)
    .await
}

/// Records that the program of a worker has ended, or has left.
pub async fn set_done(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    worker: WorkerId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update attempt_members set done_at = now()
         where job_id = $1 and attempt = $2 and worker_id = $3 and done_at is null",
        job as JobId,
        number,
        worker as WorkerId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Whether one of the workers of a job has to leave its unit.
pub async fn is_any_recalled(conn: &mut PgConnection, job: JobId, number: i32) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from workers where current_job = $1 and current_attempt = $2 and leave_by is not null) as "is!""#,
        job as JobId,
        number,
    )
    .fetch_one(conn)
    .await
}

/// Returns the other workers of an attempt.
pub async fn others(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    worker: WorkerId,
) -> sqlx::Result<Vec<WorkerId>> {
    sqlx::query_scalar!(
        r#"select worker_id as "worker_id: WorkerId" from attempt_members
           where job_id = $1 and attempt = $2 and worker_id <> $3 order by rank"#,
        job as JobId,
        number,
        worker as WorkerId,
    )
    .fetch_all(conn)
    .await
}

/// Records the address at which the others reach a worker, which has its inputs. Returns the address of rank
/// 0 once all have joined.
pub async fn join(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    worker: WorkerId,
    address: &str,
) -> sqlx::Result<Option<String>> {
    sqlx::query!(
        "update attempt_members set address = $4
         where job_id = $1 and attempt = $2 and worker_id = $3 and address is distinct from $4",
        job as JobId,
        number,
        worker as WorkerId,
        address,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query_scalar!(
        "select case when bool_and(address is not null) then min(address) filter (where rank = 0) end
         from attempt_members where job_id = $1 and attempt = $2",
        job as JobId,
        number,
    )
    .fetch_one(conn)
    .await
}
