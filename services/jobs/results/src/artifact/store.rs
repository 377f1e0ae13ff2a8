//! The tables of artifacts and of outputs in object storage.

use ids::{ArtifactId, JobId, StorageId, TenantId};
use jiff::Timestamp;
use sqlx::PgConnection;

use super::model::{Artifact, ArtifactView};

/// How long the objects of a discarded attempt are kept: longer than an upload URL is valid.
const KEPT_MINUTES: i32 = 60;

/// The attempt whose outputs are the checkpoints of a job.
pub const CHECKPOINTS: i32 = 0;

/// Where the objects of an attempt are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    pub(super) job: JobId,
    pub(super) attempt: i32,
    pub(super) tenant: TenantId,
    pub(super) storage: StorageId,
}

/// Returns where the objects of an attempt are; none if it has not begun to upload.
pub(super) async fn output(
    conn: &mut PgConnection,
    job: JobId,
    attempt: i32,
) -> sqlx::Result<Option<Output>> {
    sqlx::query_as!(
        Output,
        "select job_id as job, attempt, tenant_id as tenant, storage_id as storage from outputs
         where job_id = $1 and attempt = $2",
        job as JobId,
        attempt,
    )
    .fetch_optional(conn)
    .await
}

/// Records that an attempt begins to upload.
pub(super) async fn insert_output(conn: &mut PgConnection, output: &Output) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into outputs (job_id, attempt, tenant_id, storage_id) values ($1, $2, $3, $4) on conflict do nothing",
        output.job as JobId,
        output.attempt,
        output.tenant as TenantId,
        output.storage as StorageId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Marks the staged files of an ended attempt for deletion.
pub async fn discard_staged(conn: &mut PgConnection, job: JobId, attempt: i32) -> sqlx::Result<()> {
    sqlx::query!(
        "update outputs set staged_until = now() + make_interval(mins => $3) where job_id = $1 and attempt = $2",
        job as JobId,
        attempt,
        KEPT_MINUTES,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns outputs with staged files to delete, those that are due longest first.
pub(super) async fn due_staged(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<Output>> {
    sqlx::query_as!(
        Output,
        "select job_id as job, attempt, tenant_id as tenant, storage_id as storage from outputs
         where staged_until <= now() order by staged_until limit $1",
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Postpones the deletion of staged files, or records that they are deleted.
pub(super) async fn set_staged(
    conn: &mut PgConnection,
    output: &Output,
    again_seconds: Option<i32>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update outputs set staged_until = now() + make_interval(secs => $3) where job_id = $1 and attempt = $2",
        output.job as JobId,
        output.attempt,
        again_seconds.map(f64::from),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Marks the objects of an attempt that does not count for deletion.
pub async fn discard(conn: &mut PgConnection, job: JobId, attempt: i32) -> sqlx::Result<()> {
    sqlx::query!(
        "update outputs set delete_at = now() + make_interval(mins => $3) where job_id = $1 and attempt = $2",
        job as JobId,
        attempt,
        KEPT_MINUTES,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns outputs to delete, those that are due longest first.
pub(super) async fn due(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<Output>> {
    sqlx::query_as!(
        Output,
        "select job_id as job, attempt, tenant_id as tenant, storage_id as storage from outputs
         where delete_at <= now() order by delete_at limit $1",
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Postpones the deletion of outputs.
pub(super) async fn postpone(conn: &mut PgConnection, output: &Output, seconds: i32) -> sqlx::Result<()> {
    sqlx::query!(
        "update outputs set delete_at = now() + make_interval(secs => $3) where job_id = $1 and attempt = $2",
        output.job as JobId,
        output.attempt,
        f64::from(seconds),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the rows of outputs that were deleted.
pub(super) async fn delete_output(conn: &mut PgConnection, output: &Output) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from outputs where job_id = $1 and attempt = $2 and delete_at is not null",
        output.job as JobId,
        output.attempt,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// A checkpoint to insert.
pub(super) struct NewCheckpoint<'a> {
    pub(super) job: JobId,
    pub(super) attempt: i32,
    pub(super) slot: i16,
    pub(super) tenant: TenantId,
    pub(super) step: i32,
    pub(super) sha256: &'a [u8],
    pub(super) bytes: i64,
    /// The object found in its place.
    pub(super) found: Option<&'a str>,
}

/// Returns the slot of the next checkpoint of a locked attempt: the last one that was stored keeps its own. Without one, they take
/// turns.
pub(super) async fn next_slot(conn: &mut PgConnection, job: JobId, attempt: i32) -> sqlx::Result<i16> {
    sqlx::query_scalar!(
        r#"select coalesce((select 1 - slot from checkpoints where job_id = $1 and attempt = $2
                            order by coalesce(stored_at >= created_at, false) desc, created_at desc limit 1),
                           0)::smallint as "slot!""#,
        job as JobId,
        attempt,
    )
    .fetch_one(conn)
    .await
}

/// Inserts a checkpoint of a locked attempt in place of the one that had its slot.
pub(super) async fn insert_checkpoint(conn: &mut PgConnection, new: &NewCheckpoint<'_>) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into checkpoints (job_id, attempt, slot, tenant_id, step, sha256, bytes, found)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (job_id, attempt, slot) do update
         set step = excluded.step, sha256 = excluded.sha256, bytes = excluded.bytes, created_at = clock_timestamp(),
             stored_at = null, found = excluded.found",
        new.job as JobId,
        new.attempt,
        new.slot,
        new.tenant as TenantId,
        new.step,
        new.sha256,
        new.bytes,
        new.found,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// An announced checkpoint that was not found since.
pub(super) struct Announced {
    pub(super) slot: i16,
    pub(super) bytes: i64,
    /// The object that was in its place then.
    pub(super) found: Option<String>,
}

/// Returns the announced checkpoints of an attempt that were not found since.
pub(super) async fn announced(
    conn: &mut PgConnection,
    job: JobId,
    attempt: i32,
) -> sqlx::Result<Vec<Announced>> {
    sqlx::query_as!(
        Announced,
        "select slot, bytes, found from checkpoints
         where job_id = $1 and attempt = $2 and (stored_at is null or stored_at < created_at)",
        job as JobId,
        attempt,
    )
    .fetch_all(conn)
    .await
}

/// Records that a checkpoint was found as announced.
pub(super) async fn record_stored(
    conn: &mut PgConnection,
    (job, attempt): (JobId, i32),
    seen: &Announced,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update checkpoints set stored_at = clock_timestamp()
         where job_id = $1 and attempt = $2 and slot = $3 and bytes = $4 and found is not distinct from $5",
        job as JobId,
        attempt,
        seen.slot,
        seen.bytes,
        seen.found.as_deref(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// A checkpoint that was announced.
pub(super) struct CheckpointRow {
    pub(super) attempt: i32,
    pub(super) slot: i16,
    pub(super) step: i32,
    pub(super) sha256: String,
    pub(super) bytes: i64,
}

/// Returns the checkpoints of a job, the latest first.
pub(super) async fn checkpoints(conn: &mut PgConnection, job: JobId) -> sqlx::Result<Vec<CheckpointRow>> {
    sqlx::query_as!(
        CheckpointRow,
        r#"select attempt, slot, step, encode(sha256, 'hex') as "sha256!", bytes from checkpoints
           where job_id = $1 order by step desc, created_at desc"#,
        job as JobId,
    )
    .fetch_all(conn)
    .await
}

/// Returns when the last checkpoint of an attempt that is known to be stored was announced.
pub async fn checkpointed_at(
    conn: &mut PgConnection,
    job: JobId,
    attempt: i32,
) -> sqlx::Result<Option<Timestamp>> {
    let last = sqlx::query_scalar!(
        "select max(created_at) from checkpoints where job_id = $1 and attempt = $2 and stored_at >= created_at",
        job as JobId,
        attempt,
    );
    Ok(last.fetch_one(conn).await?.map(jiff_sqlx::Timestamp::to_jiff))
}

/// Inserts the results of a job.
pub async fn insert(
    conn: &mut PgConnection,
    job: JobId,
    attempt: i32,
    artifacts: &[Artifact],
) -> sqlx::Result<()> {
    for artifact in artifacts {
        sqlx::query!(
            "insert into artifacts (id, job_id, attempt, tenant_id, name, content_type, sha256, bytes, storage_id)
             select $2, j.id, $3, j.tenant_id, $4, $5, $6, $7, o.storage_id
             from jobs j left join outputs o on o.job_id = j.id and o.attempt = $3 where j.id = $1",
            job as JobId,
            ArtifactId::new() as ArtifactId,
            attempt,
            artifact.name,
            artifact.content_type,
            artifact.sha256,
            artifact.bytes,
        )
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Returns artifacts of the tenant's job after `after`, by id.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    job: JobId,
    after: Option<ArtifactId>,
    limit: i64,
) -> sqlx::Result<Vec<ArtifactView>> {
    sqlx::query_as!(
        ArtifactView,
        r#"select id, name, content_type, encode(sha256, 'hex') as "sha256!", bytes, created_at from artifacts
           where tenant_id = $1 and job_id = $2 and ($3::uuid is null or id > $3) order by id limit $4"#,
        tenant as TenantId,
        job as JobId,
        after as Option<ArtifactId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// An artifact, and where its content is.
pub struct Stored {
    pub id: ArtifactId,
    pub job: JobId,
    pub attempt: i32,
    pub name: String,
    pub content_type: String,
    /// In hexadecimal.
    pub sha256: String,
    pub bytes: i64,
    pub storage: Option<StorageId>,
}

/// Selects artifacts. A macro, as the text of a checked query is a literal.
macro_rules! select_artifacts {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            Stored,
            r#"select id, job_id as job, attempt, name, content_type, encode(sha256, 'hex') as "sha256!", bytes,
                      storage_id as storage
               from artifacts "# + $rest,
            $($arguments)*
        )
    };
}

/// Returns all artifacts of the tenant's job, by id.
pub async fn results(conn: &mut PgConnection, tenant: TenantId, job: JobId) -> sqlx::Result<Vec<Stored>> {
    select_artifacts!("where tenant_id = $1 and job_id = $2 order by id", tenant as TenantId, job as JobId)
        .fetch_all(conn)
        .await
}

/// Returns those of these artifacts of the tenant that exist.
pub async fn find_all(
    conn: &mut PgConnection,
    tenant: TenantId,
    ids: &[ArtifactId],
) -> sqlx::Result<Vec<Stored>> {
    select_artifacts!("where tenant_id = $1 and id = any($2)", tenant as TenantId, ids as &[ArtifactId])
        .fetch_all(conn)
        .await
}

/// Returns an artifact of the tenant's job.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    job: JobId,
    id: ArtifactId,
) -> sqlx::Result<Option<Stored>> {
    select_artifacts!(
        "where tenant_id = $1 and job_id = $2 and id = $3",
        tenant as TenantId,
        job as JobId,
        id as ArtifactId
    )
    .fetch_optional(conn)
    .await
}
