//! SQL of the tenants' logs.

use feed::Outbox;
use gpu_core::event::{By, Entry, EventType, NewEvent};
use ids::{InstanceId, TenantId};
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

/// The feed of all tenants' events. A notification carries the tenant.
pub const OUTBOX: Outbox = Outbox { table: "events", channel: "atelier_gpu_events" };

/// An event as stored. Its content is not interpreted: a replica also serves types that it does not know.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) tenant_id: TenantId,
    pub(super) sequence: i64,
    pub(super) instance_id: InstanceId,
    pub(super) kind: String,
    at: jiff_sqlx::Timestamp,
    payload: Json<Value>,
}

impl Recorded {
    /// Returns the event as shown: see `model::Event`.
    pub(super) fn view(&self) -> Value {
        shown(&self.payload.0, self.at.to_jiff())
    }
}

/// Returns a stored event with its time.
pub(super) fn shown(payload: &Value, at: jiff::Timestamp) -> Value {
    let mut event = payload.clone();
    event["time"] = at.to_string().into();
    event
}

/// The instance of an event that concerns the tenant, as stored.
const NO_INSTANCE: InstanceId = InstanceId::from_uuid(sqlx::types::Uuid::nil());

/// Adds events of one instance, or without one of the tenant, to the tenant's log, and wakes readers when the transaction commits.
///
/// Locks the end of the log until then. To avoid deadlocks, lock all rows that the transaction changes before.
pub async fn append(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: Option<InstanceId>,
    by: &By,
    entries: &[Entry],
) -> sqlx::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let payloads =
        entries.iter().map(|entry| serde_json::to_value(NewEvent::new(tenant, instance, by, entry)));
    let payloads: Vec<Value> =
        payloads.collect::<Result<_, _>>().map_err(|e| sqlx::Error::Encode(e.into()))?;
    let count = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    sqlx::query!(
        r#"with log as (
               insert into event_logs as log (tenant_id, last) values ($1, $2)
               on conflict (tenant_id) do update set last = log.last + $2
               returning log.last - $2 as before),
           written as (
               insert into events (tenant_id, sequence, instance_id, type, payload)
               select $1, log.before + new.n, $3, new.payload ->> 'type',
                      new.payload || jsonb_build_object('sequence', log.before + new.n)
               from log cross join unnest($4::jsonb[]) with ordinality as new (payload, n)
               order by new.n
               returning 1)
           select pg_notify($5, $6) from (select count(*) from written) as done"#,
        tenant as TenantId,
        count,
        instance.unwrap_or(NO_INSTANCE) as InstanceId,
        &payloads,
        OUTBOX.channel,
        tenant.to_string(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// The bounds of a tenant's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Sequence number of the newest event, 0 before the first.
    pub(super) newest: i64,
    /// Events up to this sequence number were deleted.
    pub(super) deleted_to: i64,
}

impl Extent {
    /// Whether all events after this sequence number can be read.
    pub(super) fn is_complete_after(self, sequence: i64) -> bool {
        (self.deleted_to..=self.newest).contains(&sequence)
    }
}

pub(super) async fn extent(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Extent> {
    let found = sqlx::query_as!(
        Extent,
        "select last as newest, deleted_to from event_logs where tenant_id = $1",
        tenant as TenantId,
    );
    Ok(found.fetch_optional(conn).await?.unwrap_or_default())
}

/// Which events of a tenant are read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Filter {
    pub(super) instance: Option<InstanceId>,
    pub(super) kind: Option<EventType>,
}

impl Filter {
    pub(super) fn matches(&self, event: &Recorded) -> bool {
        self.instance.is_none_or(|instance| instance == event.instance_id)
            && self.kind.is_none_or(|kind| kind.as_str() == event.kind)
    }
}

/// Selects events. A macro because `query_as!` takes the text of the query only; each filter has a query of its own, so
/// that each is read from its index.
macro_rules! select_events {
    ($tail:tt $(, $parameter:expr)* $(,)?) => {
        sqlx::query_as!(
            Recorded,
            r#"select tenant_id, sequence, instance_id, type as "kind", at, payload as "payload: Json<Value>" from events "#
                + $tail
            $(, $parameter)*
        )
    };
}

/// Returns events before a sequence number, newest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    filter: Filter,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<Recorded>> {
    let before = before.unwrap_or(i64::MAX);
    match (filter.instance, filter.kind.map(EventType::as_str)) {
        (None, None) => {
            let rows = select_events!(
                "where tenant_id = $1 and sequence < $2 order by sequence desc limit $3",
                tenant as TenantId,
                before,
                limit,
            );
            rows.fetch_all(conn).await
        }
        (None, Some(kind)) => {
            let rows = select_events!(
                "where tenant_id = $1 and type = $4 and sequence < $2 order by sequence desc limit $3",
                tenant as TenantId,
                before,
                limit,
                kind,
            );
            rows.fetch_all(conn).await
        }
        (Some(instance), kind) => {
            let rows = select_events!(
                "where tenant_id = $1 and instance_id = $4 and sequence < $2 and ($5::text is null or type = $5)
                 order by sequence desc limit $3",
                tenant as TenantId,
                before,
                limit,
                instance as InstanceId,
                kind,
            );
            rows.fetch_all(conn).await
        }
    }
}

/// Returns events after `after` and up to `upto`, oldest first.
pub(super) async fn read(
    conn: &mut PgConnection,
    tenant: TenantId,
    filter: Filter,
    (after, upto): (i64, i64),
    limit: i64,
) -> sqlx::Result<Vec<Recorded>> {
    match (filter.instance, filter.kind.map(EventType::as_str)) {
        (None, None) => {
            let rows = select_events!(
                "where tenant_id = $1 and sequence > $2 and sequence <= $3 order by sequence limit $4",
                tenant as TenantId,
                after,
                upto,
                limit,
            );
            rows.fetch_all(conn).await
        }
        (None, Some(kind)) => {
            let rows = select_events!(
                "where tenant_id = $1 and type = $5 and sequence > $2 and sequence <= $3 order by sequence limit $4",
                tenant as TenantId,
                after,
                upto,
                limit,
                kind,
            );
            rows.fetch_all(conn).await
        }
        (Some(instance), kind) => {
            let rows = select_events!(
                "where tenant_id = $1 and instance_id = $5 and sequence > $2 and sequence <= $3
                     and ($6::text is null or type = $6)
                 order by sequence limit $4",
                tenant as TenantId,
                after,
                upto,
                limit,
                instance as InstanceId,
                kind,
            );
            rows.fetch_all(conn).await
        }
    }
}

/// Returns the events of several tenants, each after its own sequence number: at most `limit` of each tenant, oldest first.
pub(super) async fn read_tails(
    conn: &mut PgConnection,
    tails: &[(TenantId, i64)],
    limit: i64,
) -> sqlx::Result<Vec<Recorded>> {
    let (tenants, after): (Vec<TenantId>, Vec<i64>) = tails.iter().copied().unzip();
    sqlx::query_as!(
        Recorded,
        r#"select e.tenant_id, e.sequence, e.instance_id, e.type as "kind", e.at, e.payload as "payload: Json<Value>"
           from unnest($1::uuid[], $2::bigint[]) as tail (tenant_id, after)
           cross join lateral (
               select * from events where tenant_id = tail.tenant_id and sequence > tail.after
               order by sequence limit $3) as e
           order by e.tenant_id, e.sequence"#,
        &tenants as &[TenantId],
        &after,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns whether the tenant has or had this instance. Deleted instances are known as long as their events are kept.
pub(super) async fn is_known(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists(select from instances where id = $2 and tenant_id = $1 and state <> 'deleted')
               or exists(select from events where instance_id = $2 and tenant_id = $1) as "known!""#,
        tenant as TenantId,
        instance as InstanceId,
    )
    .fetch_one(conn)
    .await
}

/// Deletes those of the oldest `limit` events that are older than `seconds`. Returns their number; 0 while
/// another replica deletes.
pub async fn delete_old(conn: &mut PgConnection, seconds: f64, limit: i64) -> sqlx::Result<u64> {
    let own = sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtextextended('gpu.events.clean_up', 0)) as "own!""#
    );
    if !own.fetch_one(&mut *conn).await? {
        return Ok(0);
    }
    let deleted = sqlx::query_scalar!(
        r#"with gone as (
               delete from events where id in (
                   select oldest.id from (select id, at from events order by id limit $2) as oldest
                   where oldest.at < now() - make_interval(secs => $1))
               returning tenant_id, sequence),
           logs as (
               update event_logs set deleted_to = greatest(deleted_to, ends.newest)
               from (select tenant_id, max(sequence) as newest from gone group by tenant_id) as ends
               where event_logs.tenant_id = ends.tenant_id)
           select count(*) as "count!" from gone"#,
        seconds,
        limit,
    );
    deleted.fetch_one(conn).await.map(i64::unsigned_abs)
}

#[cfg(test)]
mod tests;
