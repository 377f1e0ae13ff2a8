//! SQL of the units of operations. The operations themselves are in the table of `libs/operations`.

use std::time::Duration;

use api::{Operation, OperationProgress};
use ids::{OperationId, UnitId};
use operations::{End, Filter, NewOperation};
use serde_json::json;
use sqlx::{PgConnection, types::Json};
use traces::TraceContext;

use super::model::{ChangeKind, Counts, FailedUnit, MAX_LISTED_FAILURES, StockProgress, update_progress};
use crate::reason::UnitReason;

/// Channel on which replicas notify each other that operations may have ended.
pub(crate) const CHANNEL: &str = "stock_operations";

/// Records an operation on these units, which ends at `within` from now at the latest; none: when all are done.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    kind: ChangeKind,
    progress: &StockProgress,
    units: &[UnitId],
    within: Option<Duration>,
) -> sqlx::Result<Operation> {
    let mut new = NewOperation::new(None, progress.gpu_spec.id, kind.as_str());
    new.progress = progress.record();
    let operation = new.insert(&mut *conn).await?;
    operations::record_trace(&mut *conn, operation.id).await?;
    sqlx::query!(
        "insert into stock_changes (operation_id, deadline) values ($1, now() + make_interval(secs => $2))",
        operation.id as OperationId,
        within.map(|within| within.as_secs_f64()),
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into operation_units (operation_id, unit_id, step) select $1, u, 'asked' from unnest($2::uuid[]) u",
        operation.id as OperationId,
        units as &[UnitId],
    )
    .execute(&mut *conn)
    .await?;
    notify(conn).await?;
    Ok(operation)
}

/// Returns the position of the request that asked for the newest open operation on a unit, if its trace is recorded.
pub(crate) async fn open_trace(conn: &mut PgConnection, unit: UnitId) -> sqlx::Result<Option<TraceContext>> {
    let recorded = sqlx::query_scalar!(
        "select o.traceparent from operation_units u join operations o on o.id = u.operation_id
         where u.unit_id = $1 and u.step in ('asked', 'made') and o.finished_at is null
         order by o.id desc limit 1",
        unit as UnitId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(recorded.flatten().and_then(|text| TraceContext::parse(&text)))
}

/// Makes other transactions that call this wait until this one ends.
pub(crate) async fn lock_open(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('open stock operations', 0)) as "locked: ()""#
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns how many operations of this kind are open.
pub(crate) async fn count_open(conn: &mut PgConnection, kind: ChangeKind) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from operations where kind = $1 and finished_at is null"#,
        kind as ChangeKind,
    )
    .fetch_one(conn)
    .await
}

/// Finds an operation, with its progress now.
pub(crate) async fn find(conn: &mut PgConnection, id: OperationId) -> sqlx::Result<Option<Operation>> {
    let Some(mut operation) = operations::find(&mut *conn, None, id).await? else { return Ok(None) };
    refresh(conn, &mut operation).await?;
    Ok(Some(operation))
}

/// Finds the open operation that removes a unit.
pub(crate) async fn find_open_removal(
    conn: &mut PgConnection,
    unit: UnitId,
) -> sqlx::Result<Option<Operation>> {
    let id = sqlx::query_scalar!(
        "select o.id from operation_units u join operations o on o.id = u.operation_id
         where u.unit_id = $1 and u.step in ('asked', 'made') and o.kind = 'remove_stock' and o.finished_at is null
         order by o.id desc limit 1",
        unit as UnitId,
    )
    .fetch_optional(&mut *conn)
    .await?;
    match id {
        Some(id) => find(conn, id).await,
        None => Ok(None),
    }
}

/// Returns operations before `before` with their progress now, newest first.
pub(crate) async fn list(
    conn: &mut PgConnection,
    before: Option<OperationId>,
    limit: i64,
) -> sqlx::Result<Vec<Operation>> {
    let mut operations = operations::list(&mut *conn, &Filter::default(), before, limit).await?;
    for operation in &mut operations {
        refresh(&mut *conn, operation).await?;
    }
    Ok(operations)
}

/// A finished operation stores its progress; that of an open one is counted.
async fn refresh(conn: &mut PgConnection, operation: &mut Operation) -> sqlx::Result<()> {
    if operation.finished_at.is_some() {
        return Ok(());
    }
    let kind = if operation.kind == ChangeKind::AddStock.as_str() {
        ChangeKind::AddStock
    } else {
        ChangeKind::RemoveStock
    };
    let counts = counts(&mut *conn, operation.id).await?;
    let failed = failed(conn, operation.id, &counts).await?;
    let mut progress: OperationProgress =
        serde_json::from_value(operation.progress.take()).unwrap_or_default();
    update_progress(&mut progress, kind, &counts, &failed);
    operation.progress = json!(progress);
    Ok(())
}

/// Counts the units of an open operation. A unit that the scheduler has not tried yet has no problem.
pub(crate) async fn counts(conn: &mut PgConnection, id: OperationId) -> sqlx::Result<Counts> {
    sqlx::query_as!(
        Counts,
        r#"select count(*) as "requested!", count(*) filter (where step in ('made', 'held')) as "made!",
             count(*) filter (where step = 'held') as "held!", count(*) filter (where step = 'removed') as "removed!",
             count(*) filter (where step = 'failed' or (step in ('asked', 'made') and reason <> 'scheduling'))
                 as "failed!"
         from operation_units where operation_id = $1"#,
        id as OperationId,
    )
    .fetch_one(conn)
    .await
}

/// Returns the failed units of an open operation.
pub(crate) async fn failed(
    conn: &mut PgConnection,
    id: OperationId,
    counts: &Counts,
) -> sqlx::Result<Vec<FailedUnit>> {
    if counts.failed == 0 {
        return Ok(Vec::new());
    }
    sqlx::query_as!(
        FailedUnit,
        r#"select unit_id, reason as "reason!", coalesce(message, '') as "message!" from operation_units
         where operation_id = $1 and (step = 'failed' or (step in ('asked', 'made') and reason <> 'scheduling'))
         order by unit_id limit $2"#,
        id as OperationId,
        MAX_LISTED_FAILURES,
    )
    .fetch_all(conn)
    .await
}

/// Makes all replicas check for operations that have ended, when the transaction commits.
pub(crate) async fn notify(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!(r#"select pg_notify($1, '') as "sent: ()""#, CHANNEL).execute(conn).await.map(drop)
}

/// Marks operations that add or remove these units as running.
pub(crate) async fn begin(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<()> {
    sqlx::query!(
        "update operations o set state = 'running', updated_at = now()
         where o.state = 'pending' and o.id in (
             select operation_id from operation_units where unit_id = any($1) and step in ('asked', 'made'))",
        units as &[UnitId],
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records that the objects of these units exist.
pub(crate) async fn record_made(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<()> {
    sqlx::query!(
        "update operation_units p set step = 'made', reason = null, message = null
         from operations o where o.id = p.operation_id and o.kind = 'add_stock'
           and p.unit_id = any($1) and p.step = 'asked'",
        units as &[UnitId],
    )
    .execute(conn)
    .await
    .map(drop)
}

/// What the cluster reported about a unit.
#[derive(Debug)]
pub(crate) struct UnitReport {
    pub(crate) unit: UnitId,
    pub(crate) held: bool,
    pub(crate) reason: Option<UnitReason>,
    pub(crate) message: Option<String>,
}

/// Records reports of the cluster for the additions that wait for these units.
pub(crate) async fn record_reports(conn: &mut PgConnection, reports: &[UnitReport]) -> sqlx::Result<()> {
    let units: Vec<UnitId> = reports.iter().map(|report| report.unit).collect();
    let held: Vec<bool> = reports.iter().map(|report| report.held).collect();
    let reasons: Vec<Option<UnitReason>> = reports.iter().map(|report| report.reason).collect();
    let messages: Vec<Option<String>> = reports.iter().map(|report| report.message.clone()).collect();
    sqlx::query!(
        "update operation_units p set step = case when r.held then 'held' else 'made' end,
             reason = case when r.held then null else r.reason end,
             message = case when r.held then null else r.message end
         from unnest($1::uuid[], $2::bool[], $3::text[], $4::text[]) as r(id, held, reason, message), operations o
         where p.unit_id = r.id and p.step in ('asked', 'made') and o.id = p.operation_id and o.kind = 'add_stock'",
        &units as &[UnitId],
        &held,
        &reasons as &[Option<UnitReason>],
        &messages as &[Option<String>],
    )
    .execute(&mut *conn)
    .await?;
    notify(conn).await
}

/// Records why a unit is delayed.
pub(crate) async fn record_delay(
    conn: &mut PgConnection,
    units: &[UnitId],
    reason: UnitReason,
    message: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update operation_units set reason = $2, message = $3
         where unit_id = any($1) and step in ('asked', 'made')",
        units as &[UnitId],
        reason as UnitReason,
        message,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records that these units are gone from the cluster.
pub(crate) async fn record_removed(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<()> {
    sqlx::query!(
        "update operation_units p set step = 'removed', reason = null, message = null
         from operations o where o.id = p.operation_id and o.kind = 'remove_stock'
           and p.unit_id = any($1) and p.step in ('asked', 'made')",
        units as &[UnitId],
    )
    .execute(&mut *conn)
    .await?;
    notify(conn).await
}

/// Fails units that are being removed in the other operations that wait for them.
pub(crate) async fn abandon(
    conn: &mut PgConnection,
    units: &[UnitId],
    removal: OperationId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update operation_units set step = 'failed', reason = 'removed',
             message = 'The unit was removed from stock.'
         where unit_id = any($1) and operation_id <> $2 and step in ('asked', 'made')",
        units as &[UnitId],
        removal as OperationId,
    )
    .execute(&mut *conn)
    .await?;
    notify(conn).await
}

/// Returns open operations of which no unit is waiting or whose deadline has passed, in no order.
pub(crate) async fn due(conn: &mut PgConnection) -> sqlx::Result<Vec<OperationId>> {
    sqlx::query_scalar!(
        r#"select o.id as "id: OperationId" from operations o join stock_changes c on c.operation_id = o.id
         where o.finished_at is null and (c.deadline <= now() or not exists (
             select from operation_units u where u.operation_id = o.id and u.step in ('asked', 'made')))
         limit 100"#,
    )
    .fetch_all(conn)
    .await
}

/// Returns the time until the next deadline of an open operation that has not passed.
pub(crate) async fn until_next_deadline(conn: &mut PgConnection) -> sqlx::Result<Option<Duration>> {
    let seconds = sqlx::query_scalar!(
        "select extract(epoch from min(c.deadline) - now())::float8
         from operations o join stock_changes c on c.operation_id = o.id
         where o.finished_at is null and c.deadline > now()",
    )
    .fetch_one(conn)
    .await?;
    Ok(seconds.map(|seconds| Duration::from_secs_f64(seconds.max(0.0))))
}

/// An open operation, locked until the transaction ends.
#[derive(Debug)]
pub(crate) struct Locked {
    pub(crate) kind: ChangeKind,
    pub(crate) progress: Json<OperationProgress>,
    pub(crate) overdue: bool,
}

/// Locks an open operation; none if another replica has it or has finished it.
pub(crate) async fn lock(conn: &mut PgConnection, id: OperationId) -> sqlx::Result<Option<Locked>> {
    sqlx::query_as!(
        Locked,
        r#"select o.kind as "kind: ChangeKind", o.progress as "progress: Json<OperationProgress>", coalesce(c.deadline <= now(), false) as "overdue!"
         from operations o join stock_changes c on c.operation_id = o.id
         where o.id = $1 and o.finished_at is null for update of o skip locked"#,
        id as OperationId,
    )
    .fetch_optional(conn)
    .await
}

/// Fails the units of an operation that are still waiting at its deadline, and returns those whose objects have not been
/// created.
pub(crate) async fn expire(conn: &mut PgConnection, id: OperationId) -> sqlx::Result<Vec<UnitId>> {
    sqlx::query_scalar!(
        r#"with waiting as (
             select operation_id, unit_id, step from operation_units
             where operation_id = $1 and step in ('asked', 'made') for update),
           failed as (
             update operation_units p set step = 'failed', reason = coalesce(p.reason, 'not_in_time'),
                 message = coalesce(p.message, case w.step
                     when 'asked' then 'The unit was withdrawn: the cluster did not get it in time.'
                     else 'The cluster did not report in time that the unit holds its resources.' end)
             from waiting w where p.operation_id = w.operation_id and p.unit_id = w.unit_id)
           select unit_id from waiting where step = 'asked'"#,
        id as OperationId,
    )
    .fetch_all(conn)
    .await
}

/// Finishes an operation. Its units are no longer followed.
pub(crate) async fn finish(
    conn: &mut PgConnection,
    id: OperationId,
    progress: &OperationProgress,
    end: &End,
) -> sqlx::Result<()> {
    operations::report(&mut *conn, id, progress).await?;
    operations::finish(&mut *conn, id, end).await?;
    sqlx::query!("delete from operation_units where operation_id = $1", id as OperationId)
        .execute(conn)
        .await
        .map(drop)
}
