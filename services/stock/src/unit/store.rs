//! SQL of units as requests see and change them.

use db::queue::Table;
use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use sqlx::{Connection, PgConnection};
use stock_api::{DatacenterRef, GpuSpecRef};

use super::model::{Holder, PastHolder, StockUnit, UnitState};
use crate::reason::UnitReason;

/// Units as a queue: those that need a reconcile with their cluster.
pub(crate) const QUEUE: Table = Table {
    name: "units",
    channel: "stock_units",
    lane: "(select d.cluster from datacenters d where d.id = q.datacenter_id)",
};

struct Row {
    id: UnitId,
    gpu_spec_id: GpuSpecId,
    gpu_spec_name: String,
    datacenter_id: DatacenterId,
    datacenter_name: String,
    state: UnitState,
    reason: Option<UnitReason>,
    message: Option<String>,
    node: Option<String>,
    gpu_uuids: Vec<String>,
    since: jiff_sqlx::Timestamp,
    created_at: jiff_sqlx::Timestamp,
    holder_instance: Option<InstanceId>,
    holder_tenant: Option<TenantId>,
    holder_since: Option<jiff_sqlx::Timestamp>,
}

impl From<Row> for StockUnit {
    fn from(row: Row) -> Self {
        let holder = match (row.holder_instance, row.holder_tenant, row.holder_since) {
            (Some(instance_id), Some(tenant_id), Some(since)) => {
                Some(Holder { instance_id, tenant_id, since: since.to_jiff() })
            }
            _ => None,
        };
        Self {
            id: row.id,
            name: row.id.k8s_name(),
            gpu_spec: GpuSpecRef { id: row.gpu_spec_id, name: row.gpu_spec_name },
            datacenter: DatacenterRef { id: row.datacenter_id, name: row.datacenter_name },
            state: row.state,
            reason: row.reason,
            message: row.message,
            node: row.node,
            gpu_uuids: row.gpu_uuids,
            since: row.since.to_jiff(),
            created_at: row.created_at.to_jiff(),
            holder,
        }
    }
}

/// A checked query for units with the names of their specification and datacenter. The queries share the columns
/// and joins.
macro_rules! query_units {
    ($($tail:literal)+ $(, $param:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            "select u.id, u.gpu_spec_id, s.name as gpu_spec_name, u.datacenter_id, d.name as datacenter_name, u.state,
                 u.reason, u.message, u.node, u.gpu_uuids, u.since, u.created_at, u.holder_instance, u.holder_tenant,
                 u.holder_since
             from units u join gpu_specs s on s.id = u.gpu_spec_id join datacenters d on d.id = u.datacenter_id "
                $(+ $tail)+
            $(, $param)*
        )
    };
}

/// Narrows a list of units.
#[derive(Debug, Default)]
pub(crate) struct UnitFilter {
    pub(crate) gpu_spec: Option<GpuSpecId>,
    pub(crate) datacenter: Option<DatacenterId>,
    pub(crate) state: Option<UnitState>,
    pub(crate) node: Option<String>,
    pub(crate) instance: Option<InstanceId>,
    pub(crate) tenant: Option<TenantId>,
}

/// Returns units after `after`, in the order of their addition. Units of a holder are read from the indexes
/// of holders, units on a node or of a specification from `unit_places`, and all units from the primary key.
pub(crate) async fn list(
    conn: &mut PgConnection,
    filter: &UnitFilter,
    after: Option<UnitId>,
    limit: i64,
) -> sqlx::Result<Vec<StockUnit>> {
    macro_rules! list_units {
        ($first:literal, after $position:literal) => {
            query_units!(
                $first
                $position
                " > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
                         and ($3::uuid is null or u.holder_instance = $3)
                         and ($4::uuid is null or u.holder_tenant = $4) and ($5::text is null or u.node = $5)
                         and ($6::uuid is null or u.gpu_spec_id = $6)
                         and ($7::uuid is null or u.datacenter_id = $7) and ($8::text is null or u.state = $8)
                       order by u.id limit $2",
                after as Option<UnitId>,
                limit,
                filter.instance as Option<InstanceId>,
                filter.tenant as Option<TenantId>,
                filter.node.as_deref(),
                filter.gpu_spec as Option<GpuSpecId>,
                filter.datacenter as Option<DatacenterId>,
                filter.state as Option<UnitState>,
            )
            .fetch_all(conn)
            .await?
        };
    }
    let rows = if filter.instance.is_some() {
        list_units!("where u.holder_instance = $3 and ", after "u.id")
    } else if filter.tenant.is_some() {
        list_units!("where u.holder_tenant = $4 and ", after "u.id")
    } else if filter.node.is_some() {
        list_units!("join unit_places p on p.unit_id = u.id where p.node = $5 and ", after "p.unit_id")
    } else if filter.gpu_spec.is_some() {
        list_units!("join unit_places p on p.unit_id = u.id where p.gpu_spec_id = $6 and ", after "p.unit_id")
    } else {
        list_units!("where ", after "u.id")
    };
    Ok(rows.into_iter().map(Into::into).collect())
}

pub(crate) async fn find(conn: &mut PgConnection, id: UnitId) -> sqlx::Result<Option<StockUnit>> {
    let row = query_units!("where u.id = $1", id as UnitId).fetch_optional(conn).await?;
    Ok(row.map(Into::into))
}

/// Returns the previous holders of a unit, newest first, at most 100.
pub(crate) async fn history(conn: &mut PgConnection, id: UnitId) -> sqlx::Result<Vec<PastHolder>> {
    sqlx::query_as!(
        PastHolder,
        "select instance_id, tenant_id, claimed_at, released_at from unit_holders
         where unit_id = $1 order by id desc limit 100",
        id as UnitId,
    )
    .fetch_all(conn)
    .await
}

/// Inserts new units and enqueues them.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    units: &[UnitId],
    spec: GpuSpecId,
    datacenter: DatacenterId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into units (id, gpu_spec_id, datacenter_id, state, wake_at)
         select u, $2, $3, 'making', now() from unnest($1::uuid[]) u",
        units as &[UnitId],
        spec as GpuSpecId,
        datacenter as DatacenterId,
    )
    .execute(&mut *conn)
    .await?;
    QUEUE.notify(conn).await
}

/// Withdraws those of these units that are not in the cluster, and enqueues them for deletion: objects that are being
/// created at the same time are deleted again.
pub(crate) async fn withdraw(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<()> {
    let withdrawn = sqlx::query!(
        "update units set state = 'removing', since = now(), wake_at = now(), failures = 0, reason = null, message = null
         where id = any($1) and state = 'making' and object_uid is null",
        units as &[UnitId],
    )
    .execute(&mut *conn)
    .await?;
    if withdrawn.rows_affected() > 0 { QUEUE.notify(conn).await } else { Ok(()) }
}

/// Takes up to `count` unclaimed, unoccupied units out of stock, inactive ones first, enqueues them for deletion and
/// returns them. If there are fewer, takes none and returns those that could be taken. Waits for a unit that another
/// transaction is writing only if the others are not enough.
pub(crate) async fn take_out(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: DatacenterId,
    count: i64,
) -> sqlx::Result<Vec<UnitId>> {
    let mut taken = Vec::new();
    // the third attempt is for a unit that became available while the second waited for it
    for wait in [false, true, true] {
        let mut attempt = conn.begin().await?;
        taken = try_take_out(&mut attempt, spec, datacenter, count, wait).await?;
        if i64::try_from(taken.len()).is_ok_and(|n| n >= count) {
            QUEUE.notify(&mut attempt).await?;
            attempt.commit().await?;
            break;
        }
        // releases these units before waiting for others, whose writers may be waiting for these
        attempt.rollback().await?;
    }
    Ok(taken)
}

/// Takes a unit out of stock that no instance has claimed or occupies, or that is being removed already, and enqueues it
/// for deletion. Returns false if there is no such unit. Waits for a transaction that is writing the unit.
pub(crate) async fn take_out_one(conn: &mut PgConnection, id: UnitId) -> sqlx::Result<bool> {
    let taken = sqlx::query!(
        "update units set state = 'removing', since = case when state = 'removing' then since else now() end,
             wake_at = now(), failures = 0, reason = null, message = null
         where id = $1 and (state in ('making', 'inactive', 'available') and not occupied or state = 'removing')",
        id as UnitId,
    )
    .execute(&mut *conn)
    .await?;
    if taken.rows_affected() == 0 {
        return Ok(false);
    }
    QUEUE.notify(conn).await?;
    Ok(true)
}

async fn try_take_out(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: DatacenterId,
    count: i64,
    wait: bool,
) -> sqlx::Result<Vec<UnitId>> {
    // the two statements differ in one clause, which cannot be a parameter
    macro_rules! take_out {
        ($lock:literal) => {
            sqlx::query_scalar!(
                "with idle as (
                     select id from units
                     where gpu_spec_id = $1 and datacenter_id = $2 and state in ('making', 'inactive')
                       and not occupied
                     order by state desc, id limit $3 "
                    + $lock
                    + "), free as (
                     select id from (
                         select id from units
                         where gpu_spec_id = $1 and datacenter_id = $2 and state = 'available'
                         order by claim_key limit 10000 "
                    + $lock
                    + ") f limit $3 - (select count(*) from idle))
                 update units u set state = 'removing', since = now(), wake_at = now(), failures = 0,
                     reason = null, message = null
                 from (select id from idle union all select id from free) picked
                 where u.id = picked.id returning u.id",
                spec as GpuSpecId,
                datacenter as DatacenterId,
                count,
            )
            .fetch_all(conn)
            .await
        };
    }
    if wait { take_out!("for update") } else { take_out!("for update skip locked") }
}
