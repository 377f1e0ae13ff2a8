//! The table of logs.

use ids::{JobId, TenantId};
use jiff::Timestamp;
use sqlx::PgConnection;

/// Maximum number of characters kept of an attempt: the last ones.
const KEPT: i32 = 65_536;
/// Maximum number of attempts of a job whose logs are kept: the last ones.
const ATTEMPTS: i32 = 3;

/// Stores a part of a log, unless it is stored already. Parts missing before it stay missing. Returns the end
/// of the stored log; none if there is no such job.
pub async fn append(
    conn: &mut PgConnection,
    (job, number): (JobId, i32),
    (from, until): (i64, i64),
    text: &str,
) -> sqlx::Result<Option<i64>> {
    let stored = sqlx::query_scalar!(
        r#"insert into job_logs as l (job_id, attempt, tenant_id, until, text)
           select id, $2, tenant_id, $4, right($5, $6) from jobs where id = $1
           on conflict (job_id, attempt) do update
           set until = excluded.until, updated_at = now(),
               text = right(case when l.until = $3::bigint then l.text || excluded.text else excluded.text end, $6)
           where l.until <= $3::bigint
           returning until"#,
        job as JobId,
        number,
        from,
        until,
        text,
        KEPT,
    );
    if let Some(stored) = stored.fetch_optional(&mut *conn).await? {
        sqlx::query!(
            "delete from job_logs where job_id = $1 and attempt <= $2",
            job as JobId,
            number - ATTEMPTS,
        )
        .execute(conn)
        .await?;
        return Ok(Some(stored));
    }
    let known = sqlx::query_scalar!(
        "select until from job_logs where job_id = $1 and attempt = $2",
        job as JobId,
        number,
    );
    known.fetch_optional(conn).await
}

/// The stored end of a log.
pub struct Stored {
    pub text: String,
    /// Bytes that were written so far.
    pub until: i64,
    pub updated_at: Timestamp,
}

/// Returns the log of an attempt of a job of the tenant.
pub async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    job: JobId,
    number: i32,
) -> sqlx::Result<Option<Stored>> {
    sqlx::query_as!(
        Stored,
        "select text, until, updated_at from job_logs where tenant_id = $1 and job_id = $2 and attempt = $3",
        tenant as TenantId,
        job as JobId,
        number,
    )
    .fetch_optional(conn)
    .await
}
