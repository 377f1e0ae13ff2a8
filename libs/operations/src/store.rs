//! SQL of operations. The statements run in several schemas, on tables of the same shape.

use api::{Operation, OperationProgress, OperationState};
use ids::{OperationId, TenantId};
use jiff_sqlx::Timestamp;
use serde_json::Value;
use sqlx::{PgConnection, types::Json};
use traces::TraceContext;

use crate::{End, Filter, NewOperation};

struct Row {
    id: OperationId,
    target: String,
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
            target: row.target,
            state: row.state,
            progress: row.progress,
            problem: row.problem,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
            finished_at: row.finished_at.map(Timestamp::to_jiff),
        }
    }
}

pub(crate) async fn insert(conn: &mut PgConnection, new: &NewOperation<'_>) -> sqlx::Result<Operation> {
    let row = sqlx::query_as!(
        Row,
        "insert into operations (id, tenant_id, target, kind, state, progress)
         values ($1, $2, $3, $4, 'pending', $5)
         returning id, target, kind, state, progress, problem, created_at, updated_at, finished_at",
        new.id as OperationId,
        new.tenant as Option<TenantId>,
        new.target,
        new.kind,
        Json(&new.progress) as _,
    )
    .fetch_one(conn)
    .await?;
    Ok(row.into())
}

/// Stores the trace position of the running request with an operation, if its trace is recorded.
///
/// # Errors
/// If the database fails.
pub async fn record_trace(conn: &mut PgConnection, id: OperationId) -> sqlx::Result<()> {
    let Some(request) = traces::current().filter(TraceContext::is_sampled) else { return Ok(()) };
    sqlx::query!(
        "update operations set traceparent = $2 where id = $1",
        id as OperationId,
        request.traceparent(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Trace positions of the requests behind an open operation, if they are recorded.
#[derive(Debug, Clone, Copy, Default)]
pub struct Requests {
    /// The request that started the operation.
    pub asked: Option<TraceContext>,
    /// The request that started the previous operation on the same target, which this one continues, undoes
    /// or supersedes.
    pub before: Option<TraceContext>,
}

/// Returns the requests behind an open operation.
///
/// # Errors
/// If the database fails.
pub async fn requests(conn: &mut PgConnection, id: OperationId) -> sqlx::Result<Requests> {
    let recorded = sqlx::query!(
        "select o.traceparent as asked,
             (select e.traceparent from operations e where e.target = o.target and e.id < o.id
              order by e.id desc limit 1) as before
         from operations o where o.id = $1 and o.finished_at is null",
        id as OperationId,
    )
    .fetch_optional(conn)
    .await?;
    let position = |text: Option<String>| TraceContext::parse(&text?);
    Ok(recorded.map_or_else(Requests::default, |row| Requests {
        asked: position(row.asked),
        before: position(row.before),
    }))
}

/// Records the progress of an open operation and that it runs. Writes nothing if that is recorded already.
///
/// # Errors
/// If the database fails.
pub async fn report(
    conn: &mut PgConnection,
    id: OperationId,
    progress: &OperationProgress,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update operations set state = 'running', progress = $2, updated_at = now()
         where id = $1 and finished_at is null and (state, progress) is distinct from ('running', $2)",
        id as OperationId,
        Json(progress) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Finishes an open operation. False if it has finished before; it is unchanged then.
///
/// # Errors
/// If the database fails.
pub async fn finish(conn: &mut PgConnection, id: OperationId, end: &End) -> sqlx::Result<bool> {
    let (state, problem) = match end {
        End::Succeeded => (OperationState::Succeeded, None),
        End::Failed(problem) => (OperationState::Failed, Some(Json(&**problem))),
        End::Cancelled => (OperationState::Cancelled, None),
    };
    sqlx::query!(
        "update operations set state = $2, problem = $3, updated_at = now(), finished_at = now()
         where id = $1 and finished_at is null",
        id as OperationId,
        state as OperationState,
        problem as _,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Cancels the open operations on `target`.
///
/// # Errors
/// If the database fails.
pub async fn cancel_open(conn: &mut PgConnection, target: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update operations set state = 'cancelled', updated_at = now(), finished_at = now()
         where target = $1 and finished_at is null",
        target,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns an operation of `tenant`, or of the platform if that is none.
///
/// # Errors
/// If the database fails.
pub async fn find(
    conn: &mut PgConnection,
    tenant: Option<TenantId>,
    id: OperationId,
) -> sqlx::Result<Option<Operation>> {
    let row = sqlx::query_as!(
        Row,
        "select id, target, kind, state, progress, problem, created_at, updated_at, finished_at
         from operations where id = $1 and tenant_id is not distinct from $2",
        id as OperationId,
        tenant as Option<TenantId>,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Operation::from))
}

/// Returns operations before `before`, newest first.
///
/// # Errors
/// If the database fails.
pub async fn list(
    conn: &mut PgConnection,
    filter: &Filter,
    before: Option<OperationId>,
    limit: i64,
) -> sqlx::Result<Vec<Operation>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, target, kind, state, progress, problem, created_at, updated_at, finished_at
         from operations
         where tenant_id is not distinct from $1 and ($2::text is null or target = $2)
           and ($3::uuid is null or id < $3)
         order by id desc limit $4",
        filter.tenant as Option<TenantId>,
        filter.target.as_deref(),
        before as Option<OperationId>,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Operation::from).collect())
}

/// Deletes up to `limit` operations that finished more than 90 days ago; returns how many.
///
/// # Errors
/// If the database fails.
pub async fn prune(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from operations where id in (
             select id from operations where finished_at < now() - interval '90 days' limit $1)",
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
