//! SQL of operations.

use api::{OperationState, ProblemDetails};
use ids::{DatacenterId, GpuSpecId, OperationId, UnitId};

use sqlx::{PgConnection, types::Json};

use super::model::{FailedUnit, MOST_FAILURES, OperationKind, Progress, Record};
use crate::{datacenter::model::Datacenter, spec::model::GpuSpec};

#[derive(sqlx::FromRow)]
struct Row {
    id: OperationId,
    kind: OperationKind,
    gpu_spec_id: GpuSpecId,
    gpu_spec_name: String,
    datacenter_id: DatacenterId,
    datacenter_name: String,
    count: i32,
    state: OperationState,
    #[sqlx(json(nullable))]
    problem: Option<ProblemDetails>,
    progress: Option<Json<Progress>>,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
    finished_at: Option<jiff_sqlx::Timestamp>,
}

#[derive(sqlx::FromRow)]
struct UnitRow {
    unit_id: UnitId,
    reason: String,
    message: Option<String>,
}

/// A new operation about these units. `patience`: seconds for its units to be held; none for ever.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    kind: OperationKind,
    spec: &GpuSpec,
    datacenter: &Datacenter,
    units: &[UnitId],
    patience: Option<u32>,
) -> sqlx::Result<Record> {
    let row: Row = sqlx::query_as(
        "insert into operations (id, kind, gpu_spec_id, gpu_spec_name, datacenter_id, datacenter_name, count,
             state, judge_after)
         values ($1, $2, $3, $4, $5, $6, $7, 'pending',
             coalesce(now() + $8 * interval '1 second', 'infinity'))
         returning *",
    )
    .bind(OperationId::new())
    .bind(kind)
    .bind(spec.id)
    .bind(&spec.name)
    .bind(datacenter.id)
    .bind(&datacenter.name)
    .bind(i32::try_from(units.len()).unwrap_or(i32::MAX))
    .bind(patience.map(f64::from))
    .fetch_one(&mut *conn)
    .await?;
    sqlx::query(
        "insert into operation_units (operation_id, unit_id, step) select $1, u, 'asked' from unnest($2::uuid[]) u",
    )
    .bind(row.id)
    .bind(units)
    .execute(&mut *conn)
    .await?;
    let progress = Progress { requested: row.count.into(), ..Progress::default() };
    Ok(record(row, progress))
}

pub(crate) async fn find(conn: &mut PgConnection, id: OperationId) -> sqlx::Result<Option<Record>> {
    let row: Option<Row> =
        sqlx::query_as("select * from operations where id = $1").bind(id).fetch_optional(&mut *conn).await?;
    match row {
        Some(row) => with_progress(conn, row).await.map(Some),
        None => Ok(None),
    }
}

/// The newest first, before `before`.
pub(crate) async fn list(
    conn: &mut PgConnection,
    before: Option<OperationId>,
    limit: i64,
) -> sqlx::Result<Vec<Record>> {
    let rows: Vec<Row> = sqlx::query_as(
        "select * from operations where $1::uuid is null or id < $1 order by id desc limit $2",
    )
    .bind(before)
    .bind(limit)
    .fetch_all(&mut *conn)
    .await?;
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        records.push(with_progress(conn, row).await?);
    }
    Ok(records)
}

fn record(row: Row, progress: Progress) -> Record {
    Record {
        id: row.id,
        kind: row.kind,
        gpu_spec: (row.gpu_spec_id, row.gpu_spec_name),
        datacenter: (row.datacenter_id, row.datacenter_name),
        state: row.state,
        problem: row.problem,
        progress,
        created_at: row.created_at.to_jiff(),
        updated_at: row.updated_at.to_jiff(),
        finished_at: row.finished_at.map(|at| at.to_jiff()),
    }
}

/// Ended operations carry their progress; of one under way it is counted now.
async fn with_progress(conn: &mut PgConnection, mut row: Row) -> sqlx::Result<Record> {
    let progress = match row.progress.take() {
        Some(Json(progress)) => progress,
        None => progress(conn, row.id).await?,
    };
    Ok(record(row, progress))
}

async fn progress(conn: &mut PgConnection, id: OperationId) -> sqlx::Result<Progress> {
    let (requested, made, held, removed, failed_count): (i64, i64, i64, i64, i64) = sqlx::query_as(
        "select count(*), count(*) filter (where step in ('made', 'held')), count(*) filter (where step = 'held'),
             count(*) filter (where step = 'removed'),
             count(*) filter (where step = 'failed' or (step in ('asked', 'made') and reason is not null))
         from operation_units where operation_id = $1",
    )
    .bind(id)
    .fetch_one(&mut *conn)
    .await?;
    let failed: Vec<UnitRow> = if failed_count == 0 {
        Vec::new()
    } else {
        sqlx::query_as(
            "select unit_id, reason, message from operation_units
             where operation_id = $1 and reason is not null and step in ('asked', 'made', 'failed')
             order by unit_id limit $2",
        )
        .bind(id)
        .bind(i64::try_from(MOST_FAILURES).unwrap_or(i64::MAX))
        .fetch_all(&mut *conn)
        .await?
    };
    let failed = failed
        .into_iter()
        .map(|row| FailedUnit {
            unit_id: row.unit_id,
            reason: row.reason,
            message: row.message.unwrap_or_default(),
        })
        .collect();
    Ok(Progress { requested, made, held, removed, failed_count, failed })
}

/// An operation that may have ended, for this transaction alone: nothing more is awaited of its units, or
/// the time for it is over. True: overdue.
pub(crate) async fn lease_ripe(conn: &mut PgConnection) -> sqlx::Result<Option<(Record, bool)>> {
    let id: Option<(OperationId, bool)> = sqlx::query_as(
        "select o.id, o.judge_after < now() from operations o
         where o.finished_at is null and (o.judge_after < now() or not exists (
             select from operation_units u where u.operation_id = o.id and u.step in ('asked', 'made')))
         order by o.id limit 1 for update skip locked",
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some((id, overdue)) = id else { return Ok(None) };
    if overdue {
        sqlx::query(
            "update operation_units o
             set step = 'failed', reason = coalesce(o.reason, u.reason, 'NotInTime'),
                 message = coalesce(o.message, u.message, 'the cluster did not report it held in time')
             from operation_units p left join units u on u.id = p.unit_id
             where p.operation_id = $1 and p.step in ('asked', 'made')
               and o.operation_id = p.operation_id and o.unit_id = p.unit_id",
        )
        .bind(id)
        .execute(&mut *conn)
        .await?;
    }
    Ok(find(conn, id).await?.map(|record| (record, overdue)))
}

/// Ends an operation. Its units are followed no more.
pub(crate) async fn finish(
    conn: &mut PgConnection,
    id: OperationId,
    state: OperationState,
    problem: Option<&ProblemDetails>,
    progress: &Progress,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update operations set state = $2, problem = $3, progress = $4, updated_at = now(), finished_at = now()
         where id = $1 and finished_at is null",
    )
    .bind(id)
    .bind(state)
    .bind(problem.map(Json))
    .bind(Json(progress))
    .execute(&mut *conn)
    .await?;
    sqlx::query("delete from operation_units where operation_id = $1").bind(id).execute(conn).await?;
    Ok(done.rows_affected() == 1)
}

/// Marks the operations that these units belong to as begun.
pub(crate) async fn begin(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<()> {
    sqlx::query(
        "update operations o set state = 'running', updated_at = now()
         where o.state = 'pending' and o.id in (
             select operation_id from operation_units where unit_id = any($1) and step in ('asked', 'made'))",
    )
    .bind(units)
    .execute(conn)
    .await
    .map(drop)
}
