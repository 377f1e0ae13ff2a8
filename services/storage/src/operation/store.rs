//! The table of operations.

use api::{Operation, OperationProgress, OperationState, ProblemDetails};
use ids::{OperationId, StorageId, TenantId};
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use super::Kind;

#[derive(sqlx::FromRow)]
struct Row {
    id: OperationId,
    storage_id: StorageId,
    kind: String,
    state: OperationState,
    progress: Value,
    problem: Option<Value>,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
    finished_at: Option<jiff_sqlx::Timestamp>,
}

impl From<Row> for Operation {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            kind: row.kind,
            target: row.storage_id.to_string(),
            state: row.state,
            progress: row.progress,
            problem: row.problem,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
            finished_at: row.finished_at.map(|at| at.to_jiff()),
        }
    }
}

/// Records that `kind` was asked of a storage.
pub(crate) async fn begin(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    kind: Kind,
) -> sqlx::Result<OperationId> {
    let id = OperationId::new();
    sqlx::query(
        "insert into operations (id, tenant_id, storage_id, kind, state) values ($1, $2, $3, $4, $5)",
    )
    .bind(id)
    .bind(tenant)
    .bind(storage)
    .bind(kind.as_str())
    .bind(OperationState::Pending)
    .execute(conn)
    .await?;
    Ok(id)
}

/// A later action overtakes what is still open on the storage.
pub(crate) async fn cancel_open(conn: &mut PgConnection, storage: StorageId) -> sqlx::Result<()> {
    sqlx::query(
        "update operations set state = $2, updated_at = now(), finished_at = now()
         where storage_id = $1 and finished_at is null",
    )
    .bind(storage)
    .bind(OperationState::Cancelled)
    .execute(conn)
    .await
    .map(drop)
}

/// Notes how far an open operation is.
pub(crate) async fn progress(
    conn: &mut PgConnection,
    id: OperationId,
    progress: &OperationProgress,
) -> sqlx::Result<()> {
    sqlx::query(
        "update operations set state = $2, progress = $3, updated_at = now()
         where id = $1 and finished_at is null",
    )
    .bind(id)
    .bind(OperationState::Running)
    .bind(Json(progress))
    .execute(conn)
    .await
    .map(drop)
}

/// Ends an operation, once: one that has ended stays as it is.
pub(crate) async fn finish(
    conn: &mut PgConnection,
    id: OperationId,
    state: OperationState,
    problem: Option<&ProblemDetails>,
) -> sqlx::Result<()> {
    sqlx::query(
        "update operations set state = $2, problem = $3, updated_at = now(), finished_at = now()
         where id = $1 and finished_at is null",
    )
    .bind(id)
    .bind(state)
    .bind(problem.map(Json))
    .execute(conn)
    .await
    .map(drop)
}

/// The tenant's operation.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OperationId,
) -> sqlx::Result<Option<Operation>> {
    let row: Option<Row> = sqlx::query_as("select * from operations where tenant_id = $1 and id = $2")
        .bind(tenant)
        .bind(id)
        .fetch_optional(conn)
        .await?;
    Ok(row.map(Into::into))
}

/// The tenant's operations before `before`, newest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Option<OperationId>,
    storage: Option<StorageId>,
    limit: i64,
) -> sqlx::Result<Vec<Operation>> {
    let rows: Vec<Row> = sqlx::query_as(
        "select * from operations
         where tenant_id = $1 and ($2::uuid is null or id < $2) and ($3::uuid is null or storage_id = $3)
         order by id desc limit $4",
    )
    .bind(tenant)
    .bind(before)
    .bind(storage)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}
