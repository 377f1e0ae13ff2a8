//! SQL of operations.

use api::{Operation, OperationProgress, OperationState};
use ids::{InstanceId, OperationId, TenantId};
use jiff_sqlx::Timestamp;
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use super::{Kind, Outcome, problem_of};

#[derive(sqlx::FromRow)]
struct Row {
    id: OperationId,
    instance_id: InstanceId,
    kind: String,
    state: OperationState,
    progress: Value,
    problem: Option<Value>,
    created_at: Timestamp,
    updated_at: Timestamp,
    finished_at: Option<Timestamp>,
}

impl From<Row> for Operation {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            kind: row.kind,
            target: row.instance_id.to_string(),
            state: row.state,
            progress: row.progress,
            problem: row.problem,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
            finished_at: row.finished_at.map(Timestamp::to_jiff),
        }
    }
}

/// Records that something was asked.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    id: OperationId,
    tenant: TenantId,
    instance: InstanceId,
    kind: Kind,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into operations (id, tenant_id, instance_id, kind, state) values ($1, $2, $3, $4, 'pending')",
    )
    .bind(id)
    .bind(tenant)
    .bind(instance)
    .bind(kind)
    .execute(conn)
    .await
    .map(drop)
}

/// Records how far it is, unless it has ended.
pub(crate) async fn progress(
    conn: &mut PgConnection,
    id: OperationId,
    progress: &OperationProgress,
) -> sqlx::Result<()> {
    sqlx::query(
        "update operations set state = 'running', progress = $2, updated_at = now()
         where id = $1 and finished_at is null and (state, progress) is distinct from ('running', $2)",
    )
    .bind(id)
    .bind(Json(progress))
    .execute(conn)
    .await
    .map(drop)
}

/// Records how it ended. What has ended stays as it is.
pub(crate) async fn end(conn: &mut PgConnection, id: OperationId, outcome: &Outcome) -> sqlx::Result<()> {
    let (state, problem) = match outcome {
        Outcome::Succeeded => (OperationState::Succeeded, None),
        Outcome::Cancelled => (OperationState::Cancelled, None),
        Outcome::Failed(failure) => (OperationState::Failed, Some(problem_of(failure))),
    };
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

/// One operation of a tenant.
pub(crate) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: OperationId,
) -> sqlx::Result<Option<Operation>> {
    sqlx::query_as::<_, Row>("select * from operations where id = $1 and tenant_id = $2")
        .bind(id)
        .bind(tenant)
        .fetch_optional(conn)
        .await
        .map(|row| row.map(Operation::from))
}

/// A page of a tenant's operations, the newest first.
pub(crate) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: Option<InstanceId>,
    after: Option<OperationId>,
    limit: i64,
) -> sqlx::Result<Vec<Operation>> {
    sqlx::query_as::<_, Row>(
        "select * from operations
         where tenant_id = $1 and ($2::uuid is null or instance_id = $2) and ($3::uuid is null or id < $3)
         order by id desc limit $4",
    )
    .bind(tenant)
    .bind(instance)
    .bind(after)
    .bind(limit)
    .fetch_all(conn)
    .await
    .map(|rows| rows.into_iter().map(Operation::from).collect())
}
