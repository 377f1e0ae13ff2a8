//! SQL of stock as requests see it: the list, the units' pages, additions and removals.

use ids::{DatacenterId, GpuSpecId, InstanceId, OperationId, TenantId, UnitId};
use sqlx::{Connection, FromRow, PgConnection, Postgres, QueryBuilder, Row as _, postgres::PgRow};

use super::model::{DatacenterRef, GpuSpecRef, Holder, PastHolder, Repair, StockRow, StockUnit, UnitState};
use crate::{datacenter::model::DatacenterState, spec};

/// Lines of the page of stock, by specification's and datacenter's name, after `after`. The numbers are
/// kept, not counted: a line costs the same with ten units and with a hundred thousand.
pub(crate) async fn list_stock(
    conn: &mut PgConnection,
    name_prefix: &str,
    datacenter: Option<&str>,
    after: &(String, String),
    limit: i64,
) -> sqlx::Result<Vec<StockRow>> {
    let rows: Vec<PgRow> = sqlx::query(
        "select s.*, d.id as datacenter_id, d.name as datacenter_name, d.state as datacenter_state,
             c.available, c.inactive, c.used
         from gpu_specs s
         cross join lateral (
             select datacenter_id, sum(available)::bigint as available, sum(inactive)::bigint as inactive,
                    sum(used)::bigint as used
             from stock_counts where gpu_spec_id = s.id group by datacenter_id
             having sum(available + inactive + used) > 0) c
         join datacenters d on d.id = c.datacenter_id
         where s.name >= $1 and s.name < $1 || '~' and s.name >= $2 and (s.name, d.name) > ($2, $3)
           and ($4::text is null or d.name = $4 or d.id = $5)
         order by s.name, d.name limit $6",
    )
    .bind(name_prefix)
    .bind(&after.0)
    .bind(&after.1)
    .bind(datacenter)
    .bind(datacenter.and_then(|text| text.parse::<DatacenterId>().ok()))
    .bind(limit)
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(|row| stock_row(&row)).collect()
}

fn stock_row(row: &PgRow) -> sqlx::Result<StockRow> {
    let gpu_spec: spec::model::GpuSpec = spec::store::Row::from_row(row)?.into();
    let (available, inactive, used): (i64, i64, i64) =
        (row.try_get("available")?, row.try_get("inactive")?, row.try_get("used")?);
    Ok(StockRow {
        datacenter: DatacenterRef {
            id: row.try_get("datacenter_id")?,
            name: row.try_get("datacenter_name")?,
        },
        datacenter_state: row.try_get::<DatacenterState, _>("datacenter_state")?,
        available,
        inactive,
        used,
        total: available + inactive + used,
        price_per_hour: gpu_spec.price_per_hour,
        currency: gpu_spec.currency.clone(),
        gpu_spec,
    })
}

#[derive(FromRow)]
struct UnitRow {
    id: UnitId,
    gpu_spec_id: GpuSpecId,
    gpu_spec_name: String,
    datacenter_id: DatacenterId,
    datacenter_name: String,
    state: UnitState,
    reason: Option<String>,
    message: Option<String>,
    node: Option<String>,
    gpu_uuids: Vec<String>,
    since: jiff_sqlx::Timestamp,
    created_at: jiff_sqlx::Timestamp,
    holder_instance: Option<InstanceId>,
    holder_tenant: Option<TenantId>,
    holder_since: Option<jiff_sqlx::Timestamp>,
}

impl From<UnitRow> for StockUnit {
    fn from(row: UnitRow) -> Self {
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

const UNITS: &str =
    "select u.id, u.gpu_spec_id, s.name as gpu_spec_name, u.datacenter_id, d.name as datacenter_name,
    u.state, u.reason, u.message, u.node, u.gpu_uuids, u.since, u.created_at,
    u.holder_instance, u.holder_tenant, u.holder_since
  from units u join gpu_specs s on s.id = u.gpu_spec_id join datacenters d on d.id = u.datacenter_id
";

/// What a list of units is narrowed to.
#[derive(Debug, Default)]
pub(crate) struct UnitFilter {
    pub(crate) gpu_spec: Option<GpuSpecId>,
    pub(crate) datacenter: Option<DatacenterId>,
    pub(crate) state: Option<UnitState>,
}

/// In the order they were added, after `after`.
pub(crate) async fn list_units(
    conn: &mut PgConnection,
    filter: &UnitFilter,
    after: Option<UnitId>,
    limit: i64,
) -> sqlx::Result<Vec<StockUnit>> {
    let mut query = QueryBuilder::<Postgres>::new(UNITS);
    let mut order = "u.id";
    match filter.gpu_spec {
        Some(id) => {
            order = "p.unit_id";
            query.push(" join unit_places p on p.unit_id = u.id where p.gpu_spec_id = ").push_bind(id);
        }
        None => {
            query.push(" where true");
        }
    }
    if let Some(id) = filter.datacenter {
        query.push(" and u.datacenter_id = ").push_bind(id);
    }
    if let Some(state) = filter.state {
        query.push(" and u.state = ").push_bind(state);
    }
    if let Some(id) = after {
        query.push(" and ").push(order).push(" > ").push_bind(id);
    }
    query.push(" order by ").push(order).push(" limit ").push_bind(limit);
    let rows: Vec<UnitRow> = query.build_query_as().fetch_all(conn).await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

pub(crate) async fn find_unit(conn: &mut PgConnection, id: UnitId) -> sqlx::Result<Option<StockUnit>> {
    let mut query = QueryBuilder::<Postgres>::new(UNITS);
    query.push(" where u.id = ").push_bind(id);
    let row: Option<UnitRow> = query.build_query_as().fetch_optional(conn).await?;
    Ok(row.map(Into::into))
}

#[derive(FromRow)]
struct PastRow {
    instance_id: InstanceId,
    tenant_id: TenantId,
    claimed_at: jiff_sqlx::Timestamp,
    released_at: jiff_sqlx::Timestamp,
}

/// Who had the unit, the newest first.
pub(crate) async fn history(conn: &mut PgConnection, id: UnitId) -> sqlx::Result<Vec<PastHolder>> {
    let rows: Vec<PastRow> = sqlx::query_as(
        "select instance_id, tenant_id, claimed_at, released_at from unit_holders
         where unit_id = $1 order by id desc limit 100",
    )
    .bind(id)
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| PastHolder {
            instance_id: row.instance_id,
            tenant_id: row.tenant_id,
            claimed_at: row.claimed_at.to_jiff(),
            released_at: row.released_at.to_jiff(),
        })
        .collect())
}

/// Records new units that the maker shall make.
pub(crate) async fn insert_units(
    conn: &mut PgConnection,
    units: &[UnitId],
    spec: GpuSpecId,
    datacenter: DatacenterId,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into units (id, gpu_spec_id, datacenter_id, state, work_at)
         select u, $2, $3, 'making', now() from unnest($1::uuid[]) u",
    )
    .bind(units)
    .bind(spec)
    .bind(datacenter)
    .execute(conn)
    .await
    .map(drop)
}

/// Takes up to `count` units that nobody has and no instance stands in out of stock, those of the least worth
/// first, and gives them. They are removed from the cluster by the maker. When there are fewer, none is taken,
/// and those are given that could be. A unit that something else is writing at the moment is waited for only
/// when the others do not suffice.
pub(crate) async fn take_out(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: DatacenterId,
    count: i64,
) -> sqlx::Result<Vec<UnitId>> {
    macro_rules! take_out {
        ($wait:literal) => {
            concat!(
                "with idle as (
                     select id from units
                     where gpu_spec_id = $1 and datacenter_id = $2 and state in ('making', 'inactive')
                       and not occupied
                     order by state desc, id limit $3 for update ",
                $wait,
                "), free as (
                     select id from (
                         select id from units
                         where gpu_spec_id = $1 and datacenter_id = $2 and state = 'available'
                         order by claim_key limit 10000 for update ",
                $wait,
                ") f limit $3 - (select count(*) from idle))
                 update units u set state = 'removing', since = now(), work_at = now(), work_tries = 0,
                     reason = null, message = null
                 from (select id from idle union all select id from free) picked
                 where u.id = picked.id returning u.id"
            )
        };
    }
    let mut taken = Vec::new();
    // the last look is for a unit that became available while it was waited for
    for statement in [take_out!("skip locked"), take_out!(""), take_out!("")] {
        let mut look = conn.begin().await?;
        taken = sqlx::query_scalar(statement)
            .bind(spec)
            .bind(datacenter)
            .bind(count)
            .fetch_all(&mut *look)
            .await?;
        if i64::try_from(taken.len()).is_ok_and(|n| n >= count) {
            look.commit().await?;
            break;
        }
        // given back before others are waited for, who may be waiting for these
        look.rollback().await?;
    }
    Ok(taken)
}

/// Ends what other operations still waited for from units that are being removed now.
pub(crate) async fn give_up_additions(
    conn: &mut PgConnection,
    units: &[UnitId],
    removal: OperationId,
) -> sqlx::Result<()> {
    sqlx::query(
        "update operation_units set step = 'failed', reason = 'Removed', message = 'removed from stock meanwhile'
         where unit_id = any($1) and operation_id <> $2 and step in ('asked', 'made')",
    )
    .bind(units)
    .bind(removal)
    .execute(conn)
    .await
    .map(drop)
}

#[derive(FromRow)]
struct RepairRow {
    id: i64,
    at: jiff_sqlx::Timestamp,
    cluster: Option<String>,
    kind: String,
    unit_id: Option<UnitId>,
    detail: String,
}

/// The newest first, before `before`.
pub(crate) async fn repairs(
    conn: &mut PgConnection,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<Repair>> {
    let rows: Vec<RepairRow> = sqlx::query_as(
        "select id, at, cluster, kind, unit_id, detail from repairs
         where $1::bigint is null or id < $1 order by id desc limit $2",
    )
    .bind(before)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Repair {
            id: row.id,
            at: row.at.to_jiff(),
            cluster: row.cluster,
            kind: row.kind,
            unit_id: row.unit_id,
            detail: row.detail,
        })
        .collect())
}
