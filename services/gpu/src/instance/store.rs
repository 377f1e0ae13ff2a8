//! SQL of instances.

use std::time::Duration;

use ids::{InstanceId, OperationId, TenantId};
use jiff_sqlx::{Timestamp, ToSqlx};
use sqlx::{PgConnection, types::Json};
use uuid::Uuid;

use super::model::{Effects, Instance, State};
use super::parts::{Attached, Meter, Order, Place};
use crate::{
    operation::{self, Kind},
    usage,
};

/// The channel on which replicas tell each other that an instance is to be looked at.
pub(crate) const CHANNEL: &str = "atelier_gpu_instances";

#[derive(sqlx::FromRow)]
struct Row {
    id: InstanceId,
    tenant_id: TenantId,
    name: String,
    spec: Json<Order>,
    phase: Json<State>,
    attempt: i64,
    restart: i64,
    storage: Option<Json<Attached>>,
    meter: Json<Meter>,
    last_place: Option<Json<Place>>,
    operation_id: OperationId,
    operation_kind: Kind,
    generation: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct DueRow {
    #[sqlx(flatten)]
    row: Row,
    due: bool,
}

impl From<Row> for Instance {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            tenant: row.tenant_id,
            name: row.name,
            order: row.spec.0,
            state: row.phase.0,
            attempt: row.attempt,
            restart: row.restart,
            storage: row.storage.map(|s| s.0),
            meter: row.meter.0,
            last_place: row.last_place.map(|p| p.0),
            operation: (row.operation_id, row.operation_kind),
            generation: row.generation,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        }
    }
}

// the columns of Row, of which each statement needs all
macro_rules! instance_columns {
    () => {
        "id, tenant_id, name, spec, phase, attempt, restart, storage, meter, last_place, operation_id, \
         operation_kind, generation, created_at, updated_at"
    };
}

/// Inserts a new instance, to be looked at now, with its first operation.
pub(crate) async fn insert(conn: &mut PgConnection, instance: &Instance) -> sqlx::Result<()> {
    sqlx::query(
        "insert into instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id,
             operation_kind, generation, created_at, updated_at, wake_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, now())",
    )
    .bind(instance.id)
    .bind(instance.tenant)
    .bind(&instance.name)
    .bind(Json(&instance.order))
    .bind(Json(&instance.state))
    .bind(instance.attempt)
    .bind(instance.restart)
    .bind(Json(instance.meter))
    .bind(instance.operation.0)
    .bind(instance.operation.1)
    .bind(instance.generation)
    .bind(instance.created_at.to_sqlx())
    .execute(&mut *conn)
    .await?;
    let (operation, kind) = instance.operation;
    operation::store::insert(&mut *conn, operation, instance.tenant, instance.id, kind).await?;
    notify(conn, instance.id).await
}

/// Tells every replica, when the transaction is committed.
async fn notify(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<()> {
    sqlx::query("select pg_notify($1, $2)").bind(CHANNEL).bind(id.to_string()).execute(conn).await.map(drop)
}

/// An instance of a tenant, unless it is deleted.
pub(crate) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: InstanceId,
) -> sqlx::Result<Option<Instance>> {
    sqlx::query_as::<_, Row>(concat!(
        "select ",
        instance_columns!(),
        " from instances where id = $1 and tenant_id = $2 and state <> 'deleted'"
    ))
    .bind(id)
    .bind(tenant)
    .fetch_optional(conn)
    .await
    .map(|row| row.map(Instance::from))
}

/// As [`find`], locked for a change until the transaction ends.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: InstanceId,
) -> sqlx::Result<Option<Instance>> {
    sqlx::query_as::<_, Row>(concat!(
        "select ",
        instance_columns!(),
        " from instances where id = $1 and tenant_id = $2 and state <> 'deleted' for update"
    ))
    .bind(id)
    .bind(tenant)
    .fetch_optional(conn)
    .await
    .map(|row| row.map(Instance::from))
}

/// A page of a tenant's instances, the newest first.
pub(crate) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    state: Option<&str>,
    name_prefix: Option<&str>,
    after: Option<InstanceId>,
    limit: i64,
) -> sqlx::Result<Vec<Instance>> {
    sqlx::query_as::<_, Row>(concat!(
        "select ",
        instance_columns!(),
        " from instances
         where tenant_id = $1 and state <> 'deleted' and ($2::text is null or state = $2)
           and ($3::text is null or starts_with(lower(name), lower($3)))
           and ($4::uuid is null or id < $4)
         order by id desc limit $5"
    ))
    .bind(tenant)
    .bind(state)
    .bind(name_prefix)
    .bind(after)
    .bind(limit)
    .fetch_all(conn)
    .await
    .map(|rows| rows.into_iter().map(Instance::from).collect())
}

/// Writes a changed instance, whose generation is still the one that was read; it becomes one more.
/// False when it has changed meanwhile.
async fn write(conn: &mut PgConnection, instance: &mut Instance) -> sqlx::Result<bool> {
    let written: Option<(i64, Timestamp)> = sqlx::query_as(
        "update instances set name = $3, phase = $4, attempt = $5, restart = $6, storage = $7, meter = $8,
             last_place = $9, operation_id = $10, operation_kind = $11, generation = generation + 1,
             updated_at = now()
         where id = $1 and generation = $2
         returning generation, updated_at",
    )
    .bind(instance.id)
    .bind(instance.generation)
    .bind(&instance.name)
    .bind(Json(&instance.state))
    .bind(instance.attempt)
    .bind(instance.restart)
    .bind(instance.storage.as_ref().map(Json))
    .bind(Json(instance.meter))
    .bind(instance.last_place.as_ref().map(Json))
    .bind(instance.operation.0)
    .bind(instance.operation.1)
    .fetch_optional(conn)
    .await?;
    Ok(written.is_some_and(|(generation, updated_at)| {
        instance.generation = generation;
        instance.updated_at = updated_at.to_jiff();
        true
    }))
}

/// Writes what a user's command changed, with the operation that stands for it, and has it looked at.
/// The row must be locked.
pub(crate) async fn command(
    conn: &mut PgConnection,
    instance: &mut Instance,
    effects: &Effects,
) -> sqlx::Result<bool> {
    for (operation, outcome) in &effects.ended {
        operation::store::end(&mut *conn, *operation, outcome).await?;
    }
    let (operation, kind) = instance.operation;
    operation::store::insert(&mut *conn, operation, instance.tenant, instance.id, kind).await?;
    if !write(&mut *conn, instance).await? {
        return Ok(false);
    }
    sqlx::query("update instances set wake_at = now() where id = $1")
        .bind(instance.id)
        .execute(&mut *conn)
        .await?;
    notify(conn, instance.id).await?;
    Ok(true)
}

/// Writes a new name.
pub(crate) async fn rename(conn: &mut PgConnection, instance: &mut Instance) -> sqlx::Result<bool> {
    write(conn, instance).await
}

/// Writes what a reconciler changed: the instance, its operation's progress or end, the meter.
/// False, and nothing is written, when the instance has changed meanwhile.
pub(crate) async fn advance(
    conn: &mut PgConnection,
    before: &Instance,
    instance: &mut Instance,
    effects: &Effects,
) -> sqlx::Result<bool> {
    if !write(&mut *conn, instance).await? {
        return Ok(false);
    }
    for metering in &effects.metering {
        usage::store::meter(&mut *conn, before, metering).await?;
    }
    if effects.ended.is_empty() {
        let why = instance.state.why();
        let progress = api::OperationProgress {
            phase: Some(instance.state.name().to_owned()),
            reason: why.map(|why| why.reason.clone()),
            message: why.map(|why| why.message.clone()),
            ..api::OperationProgress::default()
        };
        operation::store::progress(&mut *conn, instance.operation.0, &progress).await?;
    }
    for (operation, outcome) in &effects.ended {
        operation::store::end(&mut *conn, *operation, outcome).await?;
    }
    Ok(true)
}

/// Any tenant's instance, deleted ones too, and whether a look at it is due.
pub(crate) async fn peek(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<Option<(Instance, bool)>> {
    sqlx::query_as::<_, DueRow>(concat!(
        "select ",
        instance_columns!(),
        ", coalesce(wake_at <= now(), false) as due from instances where id = $1"
    ))
    .bind(id)
    .fetch_optional(conn)
    .await
    .map(|row| row.map(|row| (row.row.into(), row.due)))
}

/// Takes or renews the lease on an instance for `time`, unless another holds it. A look is due when it ends:
/// what was told to others meanwhile, they have left to its holder.
pub(crate) async fn lease(
    conn: &mut PgConnection,
    id: InstanceId,
    owner: Uuid,
    time: Duration,
) -> sqlx::Result<bool> {
    sqlx::query(
        "update instances set lease_owner = $2, lease_until = now() + make_interval(secs => $3),
             wake_at = least(wake_at, now() + make_interval(secs => $3))
         where id = $1 and (lease_owner = $2 or lease_until is null or lease_until < now())",
    )
    .bind(id)
    .bind(owner)
    .bind(time.as_secs_f64())
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Gives the lease back, and says after which time to look again without an event (none: never).
pub(crate) async fn unlease(
    conn: &mut PgConnection,
    id: InstanceId,
    owner: Uuid,
    again: Option<Duration>,
    generation: i64,
) -> sqlx::Result<()> {
    // a command that came meanwhile has set its own time
    sqlx::query(
        "update instances set lease_owner = null, lease_until = null,
             wake_at = case when generation <> $4 then wake_at
                            else now() + make_interval(secs => $3) end
         where id = $1 and lease_owner = $2",
    )
    .bind(id)
    .bind(owner)
    .bind(again.map(|time| time.as_secs_f64()))
    .bind(generation)
    .execute(conn)
    .await
    .map(drop)
}

/// Instances to be looked at now that nobody looks at.
pub(crate) async fn due(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<InstanceId>> {
    sqlx::query_scalar(
        "select id from instances
         where wake_at <= now() and (lease_until is null or lease_until < now())
         order by wake_at limit $1",
    )
    .bind(limit)
    .fetch_all(conn)
    .await
}

/// How many instances are in each state, for the metrics.
pub(crate) async fn count_by_state(conn: &mut PgConnection) -> sqlx::Result<Vec<(String, i64)>> {
    sqlx::query_as("select state, count(*) from instances where state <> 'deleted' group by state")
        .fetch_all(conn)
        .await
}
