//! SQL of instances.

use std::collections::BTreeMap;

use db::queue::Table;
use gpu_core::{
    claim::Place,
    event::{By, Detail, Entry},
    instance::{
        AttachedStorage, CurrentOperation, Effects, Instance, InstanceState, OperationKind, Order, State,
        created,
        idle_stop::IdleStop,
        port::PublicPort,
        secret::{SecretRef, TrackedSecret},
    },
    meter::{Meter, RunKey},
};
use ids::{InstanceId, OperationId, RegistryCredentialId, StorageId, TenantId};
use jiff_sqlx::ToSqlx;
use operations::{End, NewOperation};
use sqlx::{
    PgConnection,
    types::{Json, Text},
};

use super::progress::progress;
use crate::{
    event,
    meter::{self, Billing},
};

/// The queue of instances to reconcile. A lane is the instances in one cluster.
pub const QUEUE: Table = Table { name: "instances", channel: "atelier_gpu_instances", lane: "q.cluster" };

struct Row {
    id: InstanceId,
    tenant_id: TenantId,
    managed_by: Option<String>,
    name: String,
    spec: Json<Order>,
    idle_stop: Option<Json<IdleStop>>,
    public_ports: Json<Vec<PublicPort>>,
    phase: Json<State>,
    attempt: i64,
    restart: i64,
    restored_attempt: Option<i64>,
    leave_by: Option<jiff_sqlx::Timestamp>,
    attached: Json<BTreeMap<StorageId, AttachedStorage>>,
    detaching: Vec<StorageId>,
    secrets: Json<Vec<SecretRef>>,
    secret_objects: Json<Vec<TrackedSecret>>,
    pull_credential: Option<RegistryCredentialId>,
    meter: Json<Meter>,
    last_place: Option<Json<Place>>,
    operation_id: OperationId,
    operation_kind: Text<OperationKind>,
    generation: i64,
    created_at: jiff::Timestamp,
    updated_at: jiff::Timestamp,
}

impl From<Row> for Instance {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            tenant: row.tenant_id,
            managed_by: row.managed_by,
            name: row.name,
            order: row.spec.0,
            idle_stop: row.idle_stop.map(|idle_stop| idle_stop.0),
            public_ports: row.public_ports.0,
            state: row.phase.0,
            attempt: row.attempt,
            restart: row.restart,
            restored_attempt: row.restored_attempt,
            leave_by: row.leave_by.map(jiff_sqlx::Timestamp::to_jiff),
            attached: row.attached.0,
            detaching: row.detaching,
            secrets: row.secrets.0,
            secret_objects: row.secret_objects.0,
            pull_credential: row.pull_credential,
            meter: row.meter.0,
            last_place: row.last_place.map(|place| place.0),
            operation: CurrentOperation { id: row.operation_id, kind: row.operation_kind.0 },
            generation: row.generation,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// Selects instances. A macro because `query_as!` takes the text of the query only, and many queries name the same
/// columns.
macro_rules! select_instances {
    ($tail:tt $(, $parameter:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            "select id, tenant_id, managed_by, name, spec, idle_stop, public_ports, phase, attempt, restart, restored_attempt, leave_by, attached, detaching, \
             secret_objects, meter, last_place, operation_id, operation_kind, generation, created_at, updated_at, \
             (select coalesce(jsonb_agg(jsonb_build_object('name', s.name, 'updated_at', s.updated_at) \
                  order by s.name), '[]') \
              from instance_secrets s where s.instance_id = instances.id) as \"secrets!: Json<Vec<SecretRef>>\", \
             case when spec ? 'pull' then \
                 (select c.id from registry_credentials c \
                  where c.tenant_id = instances.tenant_id \
                      and case when spec #> '{pull,credential}' is null then c.registry = spec #>> '{pull,registry}' \
                               else c.id = substr(spec #>> '{pull,credential}', 5)::uuid end \
                  order by c.id desc limit 1) \
             end as \"pull_credential: RegistryCredentialId\" \
             from instances "
                + $tail
            $(, $parameter)*
        )
    };
}

/// Inserts a new instance with its first operation and event, and enqueues it. The operation of one that is created
/// stopped has ended.
pub async fn insert(conn: &mut PgConnection, instance: &Instance, by: &By) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id,
             operation_kind, generation, created_at, updated_at, idle_stop, public_ports, managed_by, wake_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15, now())",
        instance.id as InstanceId,
        instance.tenant as TenantId,
        instance.name,
        Json(&instance.order) as _,
        Json(&instance.state) as _,
        instance.attempt,
        instance.restart,
        Json(&instance.meter) as _,
        instance.operation.id as OperationId,
        instance.operation.kind.as_str(),
        instance.generation,
        instance.created_at.to_sqlx() as _,
        instance.idle_stop.as_ref().map(Json) as _,
        Json(&instance.public_ports) as _,
        instance.managed_by.as_deref(),
    )
    .execute(&mut *conn)
    .await?;
    insert_operation(&mut *conn, instance).await?;
    if let State::Stopped { .. } = instance.state {
        operations::finish(&mut *conn, instance.operation.id, &End::Succeeded).await?;
    }
    QUEUE.notify(&mut *conn).await?;
    log(conn, instance, by, &[Detail::Created(created(instance)).into()]).await
}

/// Adds to the tenant's log of events: last in each function, as it locks the log.
async fn log(conn: &mut PgConnection, instance: &Instance, by: &By, entries: &[Entry]) -> sqlx::Result<()> {
    event::store::append(conn, instance.tenant, Some(instance.id), by, entries).await
}

async fn insert_operation(conn: &mut PgConnection, instance: &Instance) -> sqlx::Result<()> {
    let CurrentOperation { id, kind } = instance.operation;
    let new = NewOperation { id, ..NewOperation::new(Some(instance.tenant), instance.id, kind.as_str()) };
    new.insert(&mut *conn).await?;
    operations::record_trace(conn, id).await
}

fn end_of(end: &gpu_core::instance::End) -> End {
    match end {
        gpu_core::instance::End::Succeeded => End::Succeeded,
        gpu_core::instance::End::Failed(problem) => End::Failed(problem.clone()),
        gpu_core::instance::End::Cancelled => End::Cancelled,
    }
}

/// Returns a tenant's instance, unless it is deleted.
pub async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: InstanceId,
) -> sqlx::Result<Option<Instance>> {
    let row = select_instances!(
        "where id = $1 and tenant_id = $2 and state <> 'deleted'",
        id as InstanceId,
        tenant as TenantId,
    );
    Ok(row.fetch_optional(conn).await?.map(Instance::from))
}

/// Like [`find`], locked until the transaction ends.
pub async fn lock(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: InstanceId,
) -> sqlx::Result<Option<Instance>> {
    let row = select_instances!(
        "where id = $1 and tenant_id = $2 and state <> 'deleted' for update",
        id as InstanceId,
        tenant as TenantId,
    );
    Ok(row.fetch_optional(conn).await?.map(Instance::from))
}

/// Returns up to `limit` of the tenant's instances in these states, locked until the transaction ends.
pub async fn lock_in(
    conn: &mut PgConnection,
    tenant: TenantId,
    states: &[InstanceState],
    limit: i64,
) -> sqlx::Result<Vec<Instance>> {
    let states: Vec<String> = states.iter().map(|state| state.as_str().to_owned()).collect();
    let rows = select_instances!(
        "where tenant_id = $1 and state <> 'deleted' and state = any($2) order by id limit $3 for update",
        tenant as TenantId,
        &states,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Instance::from).collect())
}

/// Returns up to `limit` of the tenant's instances that keep a unit, or are to keep one, locked until the transaction ends.
pub async fn lock_held(conn: &mut PgConnection, tenant: TenantId, limit: i64) -> sqlx::Result<Vec<Instance>> {
    let rows = select_instances!(
        "where tenant_id = $1 and state <> 'deleted' and phase ? 'hold' order by id limit $2 for update",
        tenant as TenantId,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Instance::from).collect())
}

/// Counts the tenant's instances in these states.
pub async fn count_in(
    conn: &mut PgConnection,
    tenant: TenantId,
    states: &[InstanceState],
) -> sqlx::Result<i64> {
    let states: Vec<String> = states.iter().map(|state| state.as_str().to_owned()).collect();
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from instances
           where tenant_id = $1 and state <> 'deleted' and state = any($2)"#,
        tenant as TenantId,
        &states,
    )
    .fetch_one(conn)
    .await
}

/// Returns any tenant's instance, deleted ones too.
pub async fn read(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<Option<Instance>> {
    let row = select_instances!("where id = $1", id as InstanceId);
    Ok(row.fetch_optional(conn).await?.map(Instance::from))
}

/// Like [`read`], locked until the transaction ends.
pub async fn lock_any(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<Option<Instance>> {
    let row = select_instances!("where id = $1 for update", id as InstanceId);
    Ok(row.fetch_optional(conn).await?.map(Instance::from))
}

/// Returns those of the instances that exist, of any tenant, deleted ones too.
pub async fn read_all(conn: &mut PgConnection, ids: &[InstanceId]) -> sqlx::Result<Vec<Instance>> {
    let rows = select_instances!("where id = any($1)", ids as &[InstanceId]);
    Ok(rows.fetch_all(conn).await?.into_iter().map(Instance::from).collect())
}

/// Writes a changed instance. Its generation grows by one. Returns false if the stored generation is another.
async fn write(conn: &mut PgConnection, instance: &mut Instance) -> sqlx::Result<bool> {
    let written = sqlx::query!(
        "update instances set name = $3, phase = $4, attempt = $5, restart = $6, meter = $7,
             last_place = $8, operation_id = $9, operation_kind = $10, attached = $11, detaching = $12,
             secret_objects = $13, idle_stop = $14, public_ports = $15, restored_attempt = $16, leave_by = $17,
             generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2
         returning generation, updated_at",
        instance.id as InstanceId,
        instance.generation,
        instance.name,
        Json(&instance.state) as _,
        instance.attempt,
        instance.restart,
        Json(&instance.meter) as _,
        instance.last_place.as_ref().map(Json) as _,
        instance.operation.id as OperationId,
        instance.operation.kind.as_str(),
        Json(&instance.attached) as _,
        &instance.detaching as &[StorageId],
        Json(&instance.secret_objects) as _,
        instance.idle_stop.as_ref().map(Json) as _,
        Json(&instance.public_ports) as _,
        instance.restored_attempt,
        instance.leave_by.map(ToSqlx::to_sqlx) as _,
    )
    .fetch_optional(conn)
    .await?;
    Ok(written.is_some_and(|row| {
        instance.generation = row.generation;
        instance.updated_at = row.updated_at.to_jiff();
        true
    }))
}

/// Writes what a command changed, with its operation and events, and enqueues the instance. The row must be locked.
/// Returns false if the stored generation is another.
pub async fn command(
    conn: &mut PgConnection,
    instance: &mut Instance,
    effects: &Effects,
    by: &By,
) -> sqlx::Result<bool> {
    for ended in &effects.ended {
        operations::finish(&mut *conn, ended.id, &end_of(&ended.end)).await?;
    }
    insert_operation(&mut *conn, instance).await?;
    if !write(&mut *conn, instance).await? {
        return Ok(false);
    }
    QUEUE.enqueue(&mut *conn, &[instance.id]).await?;
    log(conn, instance, by, &effects.log).await?;
    Ok(true)
}

/// Writes a changed name, order and idle stop, with the events, and enqueues the instance if storages were removed. The row must be
/// locked. Returns false if the stored generation is another.
pub async fn change(
    conn: &mut PgConnection,
    instance: &mut Instance,
    entries: &[Entry],
    by: &By,
) -> sqlx::Result<bool> {
    let order = sqlx::query!(
        "update instances set spec = $3 where id = $1 and generation = $2",
        instance.id as InstanceId,
        instance.generation,
        Json(&instance.order) as _,
    );
    if order.execute(&mut *conn).await?.rows_affected() != 1 || !write(&mut *conn, instance).await? {
        return Ok(false);
    }
    if !instance.detaching.is_empty() {
        QUEUE.enqueue(&mut *conn, &[instance.id]).await?;
    }
    log(conn, instance, by, entries).await?;
    Ok(true)
}

/// Writes what a reconcile changed: the instance, its operation's progress or end, the meter, the events. Returns false,
/// and writes nothing, if the stored generation is another.
pub async fn advance(
    conn: &mut PgConnection,
    before: &Instance,
    instance: &mut Instance,
    effects: &Effects,
    by: &By,
) -> sqlx::Result<bool> {
    if !write(&mut *conn, instance).await? {
        return Ok(false);
    }
    // a claim stays the same while its runs are recorded
    let billing = before.state.claim().map(|claim| Billing::new(before.tenant, claim));
    for metering in &effects.metering {
        meter::store::record(&mut *conn, instance.id, billing.as_ref(), metering).await?;
    }
    if let (before, State::Running { pod, .. }) = (&before.state, &instance.state)
        && let Some(object) = &pod.object
        && !matches!(before, State::Running { pod: known, .. } if known == pod)
    {
        let key = RunKey { attempt: instance.attempt, since: pod.since };
        meter::store::set_pod(&mut *conn, instance.id, &key, object).await?;
    }
    if effects.ended.is_empty() {
        operations::report(&mut *conn, instance.operation.id, &progress(instance)).await?;
    }
    for ended in &effects.ended {
        operations::finish(&mut *conn, ended.id, &end_of(&ended.end)).await?;
    }
    log(conn, instance, by, &effects.log).await?;
    Ok(true)
}

/// Enqueues the tenant's instances that pull from a registry and are not stopped: its credentials have changed.
pub async fn wake_pulling_from(
    conn: &mut PgConnection,
    tenant: TenantId,
    registry: &str,
) -> sqlx::Result<()> {
    let ids = sqlx::query_scalar!(
        r#"select id as "id: InstanceId" from instances
           where tenant_id = $1 and spec ? 'pull' and spec #>> '{pull,registry}' = $2
             and state in ('pending', 'starting', 'running')"#,
        tenant as TenantId,
        registry,
    );
    let ids = ids.fetch_all(&mut *conn).await?;
    if ids.is_empty() { Ok(()) } else { QUEUE.enqueue(conn, &ids).await }
}

/// The number of instances in a state.
#[derive(Debug)]
pub struct StateCount {
    pub state: String,
    pub count: i64,
}

/// Counts the instances by state.
pub async fn count_by_state(conn: &mut PgConnection) -> sqlx::Result<Vec<StateCount>> {
    sqlx::query_as!(
        StateCount,
        r#"select state as "state!", count(*) as "count!" from instances where state <> 'deleted' group by state"#,
    )
    .fetch_all(conn)
    .await
}

/// Returns the cursor up to which grants have woken their instances.
pub async fn grants_cursor(conn: &mut PgConnection) -> sqlx::Result<String> {
    let cursor = sqlx::query_scalar!("select cursor from feed_cursors where feed = 'stock.grants'");
    Ok(cursor.fetch_optional(conn).await?.unwrap_or_default())
}

/// Stores a new cursor. Returns false if the stored one is not `before`.
pub async fn advance_grants_cursor(conn: &mut PgConnection, before: &str, after: &str) -> sqlx::Result<bool> {
    sqlx::query!(
        "insert into feed_cursors as c (feed, cursor)
         select 'stock.grants', $2 where $1 = '' or exists (select from feed_cursors where feed = 'stock.grants')
         on conflict (feed) do update set cursor = excluded.cursor, updated_at = now() where c.cursor = $1",
        before,
        after,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}
