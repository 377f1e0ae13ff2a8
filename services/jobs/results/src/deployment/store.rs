//! The table of deployments.

use std::time::Duration;

use ids::{DeploymentId, JobId, ModelId, StorageId, TenantId};
use sqlx::PgConnection;

use super::model::{DeploymentReason, DeploymentState, DeploymentView};

/// A deployment to insert.
pub(super) struct Insertion<'a> {
    pub(super) id: DeploymentId,
    pub(super) tenant: TenantId,
    pub(super) model: ModelId,
    pub(super) storage: StorageId,
    pub(super) path: &'a str,
}

/// Inserts a deployment, due at once. False if another one to the path is pending.
pub(super) async fn insert(conn: &mut PgConnection, new: &Insertion<'_>) -> sqlx::Result<bool> {
    sqlx::query!(
        "insert into deployments (id, tenant_id, model_id, storage_id, path, state)
         values ($1, $2, $3, $4, $5, 'pending')
         on conflict (storage_id, path) where state = 'pending' do nothing",
        new.id as DeploymentId,
        new.tenant as TenantId,
        new.model as ModelId,
        new.storage as StorageId,
        new.path,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

struct Row {
    id: DeploymentId,
    model_id: ModelId,
    storage_id: StorageId,
    path: String,
    state: DeploymentState,
    reason: Option<DeploymentReason>,
    message: Option<String>,
    created_at: jiff_sqlx::Timestamp,
    finished_at: Option<jiff_sqlx::Timestamp>,
}

impl From<Row> for DeploymentView {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            model_id: row.model_id,
            storage_id: row.storage_id,
            path: row.path,
            state: row.state,
            reason: row.reason,
            message: row.message,
            created_at: row.created_at.to_jiff(),
            finished_at: row.finished_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

/// Returns the tenant's deployment of the model.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    model: ModelId,
    id: DeploymentId,
) -> sqlx::Result<Option<DeploymentView>> {
    sqlx::query_as!(
        Row,
        "select id, model_id, storage_id, path, state, reason, message, created_at, finished_at
         from deployments where tenant_id = $1 and model_id = $2 and id = $3 and state <> 'deleting'",
        tenant as TenantId,
        model as ModelId,
        id as DeploymentId,
    )
    .map(DeploymentView::from)
    .fetch_optional(conn)
    .await
}

/// Returns the tenant's deployments of the model before `before`, newest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    model: ModelId,
    before: Option<DeploymentId>,
    limit: i64,
) -> sqlx::Result<Vec<DeploymentView>> {
    sqlx::query_as!(
        Row,
        "select id, model_id, storage_id, path, state, reason, message, created_at, finished_at
         from deployments
         where tenant_id = $1 and model_id = $2 and state <> 'deleting' and ($3::uuid is null or id < $3)
         order by id desc limit $4",
        tenant as TenantId,
        model as ModelId,
        before as Option<DeploymentId>,
        limit,
    )
    .map(DeploymentView::from)
    .fetch_all(conn)
    .await
}

/// Marks the tenant's deployment of the model for deletion. Returns false if it does not exist. `check_at` is unchanged: a request
/// to the storage service that is in progress finishes first.
pub(super) async fn mark_deleting(
    conn: &mut PgConnection,
    tenant: TenantId,
    model: ModelId,
    id: DeploymentId,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "update deployments set state = 'deleting'
         where tenant_id = $1 and model_id = $2 and id = $3 and state <> 'deleting'",
        tenant as TenantId,
        model as ModelId,
        id as DeploymentId,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// A deployment to ask the storage service about.
pub(super) struct Due {
    pub(super) id: DeploymentId,
    pub(super) tenant: TenantId,
    pub(super) storage: StorageId,
    pub(super) path: String,
    pub(super) state: DeploymentState,
    /// None if the model was deleted.
    pub(super) file: Option<ModelFile>,
}

/// The file of a model.
pub(super) struct ModelFile {
    pub(super) bucket: StorageId,
    pub(super) job: JobId,
    pub(super) attempt: i32,
    pub(super) name: String,
    pub(super) sha256: String,
    pub(super) bytes: i64,
}

/// Claims a due deployment for the duration of a call: no other replica takes it meanwhile.
pub(super) async fn take_due(conn: &mut PgConnection, call: Duration) -> sqlx::Result<Option<Due>> {
    let row = sqlx::query!(
        r#"update deployments d set check_at = now() + make_interval(secs => $1)
           from (select t.id, m.storage_id as bucket, m.job_id, m.attempt, m.file, m.bytes,
                        encode(m.sha256, 'hex') as sha256
                 from deployments t left join models m on m.id = t.model_id
                 where t.state in ('pending', 'deleting') and t.check_at <= now()
                 order by t.check_at limit 1 for update of t skip locked) f
           where d.id = f.id
           returning d.id, d.tenant_id, d.storage_id, d.path, d.state, f.bucket as "bucket?: StorageId",
                     f.job_id as "job?: JobId", f.attempt as "attempt?", f.file as "file?", f.bytes as "bytes?",
                     f.sha256 as "sha256?""#,
        call.as_secs_f64(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let file = || {
            Some(ModelFile {
                bucket: row.bucket?,
                job: row.job?,
                attempt: row.attempt?,
                name: row.file?,
                sha256: row.sha256?,
                bytes: row.bytes?,
            })
        };
        Due {
            id: row.id,
            tenant: row.tenant_id,
            storage: row.storage_id,
            path: row.path,
            state: row.state,
            file: file(),
        }
    }))
}

/// Records why a deployment waits. It is checked again after a tenth of its age, between one and fifteen
/// seconds.
pub(super) async fn wait(
    conn: &mut PgConnection,
    id: DeploymentId,
    reason: DeploymentReason,
    message: Option<&str>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deployments
         set reason = $2, message = $3,
             check_at = now() + least(greatest((now() - created_at) / 10, interval '1 s'), interval '15 s')
         where id = $1 and state = 'pending'",
        id as DeploymentId,
        reason as DeploymentReason,
        message,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records that the file is on the volume.
pub(super) async fn finish(conn: &mut PgConnection, id: DeploymentId) -> sqlx::Result<()> {
    sqlx::query!(
        "update deployments set state = 'deployed', reason = null, message = null, finished_at = now()
         where id = $1 and state = 'pending'",
        id as DeploymentId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Marks a deployment as failed.
pub(super) async fn fail(
    conn: &mut PgConnection,
    id: DeploymentId,
    reason: DeploymentReason,
    message: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deployments set state = 'failed', reason = $2, message = $3, finished_at = now()
         where id = $1 and state = 'pending'",
        id as DeploymentId,
        reason as DeploymentReason,
        message,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the row of a deployment that its user has deleted.
pub(super) async fn delete_row(conn: &mut PgConnection, id: DeploymentId) -> sqlx::Result<()> {
    sqlx::query!("delete from deployments where id = $1 and state = 'deleting'", id as DeploymentId)
        .execute(conn)
        .await
        .map(drop)
}
