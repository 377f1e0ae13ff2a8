//! The table of models.

use ids::{JobId, ModelId, StorageId, TenantId};
use sqlx::PgConnection;

use super::view::ModelView;

/// The model that a training has made.
pub struct Trained<'a> {
    pub job: JobId,
    pub attempt: i32,
    pub name: &'a str,
    pub base_model: &'a str,
    /// Name of the result with the file.
    pub file: &'a str,
}

/// Inserts the model of a training whose results were inserted in this transaction.
///
/// # Errors
/// [`sqlx::Error::RowNotFound`] if there is no such result.
pub async fn insert(conn: &mut PgConnection, trained: &Trained<'_>) -> sqlx::Result<()> {
    let done = sqlx::query!(
        "insert into models (id, tenant_id, name, kind, base_model, job_id, attempt, storage_id, file, sha256, bytes)
         select $1, a.tenant_id, $2, 'lora', $3, a.job_id, a.attempt, a.storage_id, a.name, a.sha256, a.bytes
         from artifacts a where a.job_id = $4 and a.attempt = $5 and a.name = $6",
        ModelId::new() as ModelId,
        trained.name,
        trained.base_model,
        trained.job as JobId,
        trained.attempt,
        trained.file,
    )
    .execute(conn)
    .await?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(sqlx::Error::RowNotFound) }
}

/// Selects models as users see them. A macro, as the text of a checked query is a literal.
macro_rules! select_models {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            ModelView,
            r#"select id, name, kind, base_model, job_id, encode(sha256, 'hex') as "sha256!", bytes,
                      generation, created_at, updated_at
               from models "# + $rest,
            $($arguments)*
        )
    };
}

/// Returns the tenant's model.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ModelId,
) -> sqlx::Result<Option<ModelView>> {
    select_models!("where tenant_id = $1 and id = $2", tenant as TenantId, id as ModelId)
        .fetch_optional(conn)
        .await
}

/// Returns models of the tenant before `before`, newest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Option<ModelId>,
    limit: i64,
) -> sqlx::Result<Vec<ModelView>> {
    select_models!(
        "where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3",
        tenant as TenantId,
        before as Option<ModelId>,
        limit
    )
    .fetch_all(conn)
    .await
}

/// Returns the tenant's model, locked until the end of the transaction.
pub(super) async fn lock(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ModelId,
) -> sqlx::Result<Option<ModelView>> {
    select_models!("where tenant_id = $1 and id = $2 for update", tenant as TenantId, id as ModelId)
        .fetch_optional(conn)
        .await
}

/// Returns whether the tenant has the model.
pub async fn exists(conn: &mut PgConnection, tenant: TenantId, id: ModelId) -> sqlx::Result<bool> {
    Ok(find(conn, tenant, id).await?.is_some())
}

/// Returns the name of the tenant's model, which is not deleted until the end of the transaction.
pub async fn lock_name(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ModelId,
) -> sqlx::Result<Option<String>> {
    Ok(lock(conn, tenant, id).await?.map(|model| model.name))
}

/// Changes the name of the tenant's model, which is locked.
pub(super) async fn rename(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ModelId,
    name: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update models set name = $3, generation = generation + 1, updated_at = now()
         where tenant_id = $1 and id = $2",
        tenant as TenantId,
        id as ModelId,
        name,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the tenant's model, and marks the results of its training and its deployments for deletion. False
/// if there is none.
pub(super) async fn delete(conn: &mut PgConnection, tenant: TenantId, id: ModelId) -> sqlx::Result<bool> {
    let deleted = sqlx::query!(
        "delete from models where tenant_id = $1 and id = $2 returning job_id, attempt",
        tenant as TenantId,
        id as ModelId,
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(deleted) = deleted else { return Ok(false) };
    delete_deployments(conn, tenant, id).await?;
    sqlx::query!(
        "delete from artifacts where tenant_id = $1 and job_id = $2",
        tenant as TenantId,
        deleted.job_id as JobId,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "update outputs set delete_at = now() where tenant_id = $1 and job_id = $2 and attempt = $3",
        tenant as TenantId,
        deleted.job_id as JobId,
        deleted.attempt,
    )
    .execute(conn)
    .await?;
    Ok(true)
}

/// The file of a model, and its base model.
pub struct StoredModel {
    pub id: ModelId,
    pub base_model: String,
    pub job: JobId,
    pub attempt: i32,
    pub storage: StorageId,
    pub file: String,
    pub sha256: String,
    pub bytes: i64,
}

/// Returns those of these models of the tenant that exist.
pub async fn find_all(
    conn: &mut PgConnection,
    tenant: TenantId,
    ids: &[ModelId],
) -> sqlx::Result<Vec<StoredModel>> {
    sqlx::query_as!(
        StoredModel,
        r#"select id, base_model, job_id as job, attempt, storage_id as storage, file,
                  encode(sha256, 'hex') as "sha256!", bytes
           from models where tenant_id = $1 and id = any($2)"#,
        tenant as TenantId,
        ids as &[ModelId],
    )
    .fetch_all(conn)
    .await
}

/// Marks the deployments of a model of the tenant for deletion, with the model.
async fn delete_deployments(conn: &mut PgConnection, tenant: TenantId, model: ModelId) -> sqlx::Result<()> {
    sqlx::query!(
        "update deployments set state = 'deleting' where tenant_id = $1 and model_id = $2",
        tenant as TenantId,
        model as ModelId,
    )
    .execute(conn)
    .await
    .map(drop)
}
