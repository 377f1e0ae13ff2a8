//! SQL of the units' life in the cluster: leases of the maker, what the watch saw, what a comparison found.
//! Each statement is guarded, so that two replicas that do the same change things once.

use std::collections::HashMap;

use ids::{GpuSpecId, UnitId};
use sqlx::{FromRow, PgConnection};

use super::{model::UnitState, object::Observation};
use crate::{operation, spec, spec::model::GpuSpec};

/// A unit that the maker has to itself until `until`.
#[derive(Debug)]
pub(crate) struct Leased {
    pub(crate) id: UnitId,
    pub(crate) state: UnitState,
    pub(crate) tries: i32,
    pub(crate) until: jiff_sqlx::Timestamp,
    pub(crate) spec: GpuSpec,
    pub(crate) datacenter: String,
    pub(crate) cluster: String,
}

#[derive(FromRow)]
struct LeaseRow {
    id: UnitId,
    state: UnitState,
    work_tries: i32,
    work_at: jiff_sqlx::Timestamp,
    gpu_spec_id: GpuSpecId,
    datacenter: String,
    cluster: String,
}

/// Leases up to `limit` units that want work, for `seconds`.
pub(crate) async fn lease(conn: &mut PgConnection, limit: i64, seconds: u32) -> sqlx::Result<Vec<Leased>> {
    let rows: Vec<LeaseRow> = sqlx::query_as(
        "with due as (
             select id from units where work_at <= now() order by work_at limit $1 for update skip locked)
         update units u set work_at = now() + $2 * interval '1 second'
         from due, datacenters d where u.id = due.id and d.id = u.datacenter_id
         returning u.id, u.state, u.work_tries, u.work_at, u.gpu_spec_id, d.name as datacenter, d.cluster",
    )
    .bind(limit)
    .bind(f64::from(seconds))
    .fetch_all(&mut *conn)
    .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<UnitId> = rows.iter().map(|row| row.id).collect();
    operation::store::begin(conn, &ids).await?;
    let mut wanted: Vec<GpuSpecId> = rows.iter().map(|row| row.gpu_spec_id).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let specs: HashMap<GpuSpecId, GpuSpec> =
        spec::store::find_many(conn, &wanted).await?.into_iter().map(|spec| (spec.id, spec)).collect();
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            Some(Leased {
                id: row.id,
                state: row.state,
                tries: row.work_tries,
                until: row.work_at,
                spec: specs.get(&row.gpu_spec_id)?.clone(),
                datacenter: row.datacenter,
                cluster: row.cluster,
            })
        })
        .collect())
}

/// The objects of these leased units exist now.
pub(crate) async fn made(
    conn: &mut PgConnection,
    units: &[UnitId],
    leases: &[jiff_sqlx::Timestamp],
) -> sqlx::Result<()> {
    sqlx::query(
        "update units u set work_at = null, work_tries = 0,
             reason = case when u.state = 'making' then null else u.reason end,
             message = case when u.state = 'making' then null else u.message end
         from unnest($1::uuid[], $2::timestamptz[]) as w(id, lease)
         where u.id = w.id and u.work_at = w.lease and u.state <> 'removing'",
    )
    .bind(units)
    .bind(leases)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "update operation_units p set step = 'made', reason = null, message = null
         from operations o where o.id = p.operation_id and o.kind = 'add_stock'
           and p.unit_id = any($1) and p.step = 'asked'",
    )
    .bind(units)
    .execute(conn)
    .await
    .map(drop)
}

/// A leased unit that could not be worked on.
#[derive(Debug)]
pub(crate) struct Setback {
    pub(crate) unit: UnitId,
    pub(crate) until: jiff_sqlx::Timestamp,
    pub(crate) again_in: f64,
    /// None: nothing is wrong, it only takes time.
    pub(crate) trouble: Option<(&'static str, String)>,
}

/// These leased units are to be tried again later.
pub(crate) async fn put_off(conn: &mut PgConnection, setbacks: &[Setback]) -> sqlx::Result<()> {
    let units: Vec<UnitId> = setbacks.iter().map(|s| s.unit).collect();
    let leases: Vec<jiff_sqlx::Timestamp> = setbacks.iter().map(|s| s.until).collect();
    let delays: Vec<f64> = setbacks.iter().map(|s| s.again_in).collect();
    let reasons: Vec<Option<&str>> = setbacks.iter().map(|s| s.trouble.as_ref().map(|t| t.0)).collect();
    let messages: Vec<Option<&str>> =
        setbacks.iter().map(|s| s.trouble.as_ref().map(|t| t.1.as_str())).collect();
    sqlx::query(
        "with w as (
             select * from unnest($1::uuid[], $2::timestamptz[], $3::float8[], $4::text[], $5::text[])
                 as w(id, lease, delay, reason, message)),
         told as (
             update operation_units p set reason = w.reason, message = w.message from w
             where p.unit_id = w.id and p.step in ('asked', 'made') and w.reason is not null)
         update units u set work_at = now() + w.delay * interval '1 second',
             work_tries = u.work_tries + case when w.reason is null then 0 else 1 end,
             reason = case when u.state in ('making', 'removing') then w.reason else u.reason end,
             message = case when u.state in ('making', 'removing') then w.message else u.message end
         from w where u.id = w.id and u.work_at = w.lease",
    )
    .bind(units)
    .bind(leases)
    .bind(delays)
    .bind(reasons)
    .bind(messages)
    .execute(conn)
    .await
    .map(drop)
}

/// The objects of these units are gone from the cluster: units that were to be removed are removed.
pub(crate) async fn removed(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<u64> {
    let gone: Vec<UnitId> =
        sqlx::query_scalar("delete from units where id = any($1) and state = 'removing' returning id")
            .bind(units)
            .fetch_all(&mut *conn)
            .await?;
    sqlx::query(
        "update operation_units p set step = 'removed', reason = null, message = null
         from operations o where o.id = p.operation_id and o.kind = 'remove_stock'
           and p.unit_id = any($1) and p.step in ('asked', 'made')",
    )
    .bind(&gone)
    .execute(conn)
    .await?;
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}

/// Writes up what the cluster says, where that is newer than what is known and says something else. Gives
/// the units that changed.
///
/// The state follows [`UnitState::seen`]. The rows are locked in the order in which claims lock them.
pub(crate) async fn seen(conn: &mut PgConnection, sights: &[Observation]) -> sqlx::Result<Vec<UnitId>> {
    if sights.is_empty() {
        return Ok(Vec::new());
    }
    let column = |f: fn(&Observation) -> Option<&str>| -> Vec<Option<String>> {
        sights.iter().map(|s| f(s).map(str::to_owned)).collect()
    };
    sqlx::query_scalar(
        "with s as (
             select id, uid, version, held, occupied, undecided, reason, message, node,
                    string_to_array(gpus, ',') as gpu_uuids
             from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bool[], $5::bool[], $6::bool[],
                         $7::text[], $8::text[], $9::text[], $10::text[])
                 as s(id, uid, version, held, occupied, undecided, reason, message, node, gpus)),
         n as (
             select s.*,
                 case when u.state in ('used', 'removing') then u.state
                      when u.state = 'making' and not s.held and s.undecided then 'making'
                      when s.held and not s.occupied then 'available'
                      else 'inactive' end as state,
                 s.held and s.occupied and u.state not in ('used', 'removing') as squatted
             from s join units u on u.id = s.id
             where (u.object_uid is distinct from s.uid or u.object_version <= s.version)
               and (u.object_uid is distinct from s.uid
                    or (u.held, u.occupied, u.node, u.gpu_uuids) is distinct from (s.held, s.occupied, s.node, s.gpu_uuids)
                    or (not s.held and (u.reason, u.message) is distinct from (s.reason, s.message))
                    or (u.state = 'making' and not s.undecided)
                    or (u.state = 'available') is distinct from (s.held and not s.occupied and u.state not in ('used', 'removing')))
             order by u.claim_key for update of u),
         w as (
             update units u set held = n.held, occupied = n.occupied, node = n.node, gpu_uuids = n.gpu_uuids,
                 object_uid = n.uid, object_version = n.version, state = n.state,
                 reason = case when n.squatted then 'Occupied' else n.reason end,
                 message = case when n.squatted then 'an instance stands in the unit that has not claimed it'
                                else n.message end,
                 since = case when u.state = n.state then u.since else now() end
             from n where u.id = n.id
             returning u.id, u.held, n.undecided, u.reason, u.message),
         p as (
             update operation_units p set step = case when w.held then 'held' else 'made' end,
                 reason = case when w.held or w.undecided then null else w.reason end,
                 message = case when w.held or w.undecided then null else w.message end
             from w, operations o
             where p.unit_id = w.id and p.step in ('asked', 'made')
               and o.id = p.operation_id and o.kind = 'add_stock')
         select id from w",
    )
    .bind(sights.iter().map(|s| s.unit).collect::<Vec<_>>())
    .bind(column(|s| Some(&s.uid)))
    .bind(sights.iter().map(|s| s.version).collect::<Vec<_>>())
    .bind(sights.iter().map(|s| s.sight.held).collect::<Vec<_>>())
    .bind(sights.iter().map(|s| s.sight.occupied).collect::<Vec<_>>())
    .bind(sights.iter().map(|s| s.sight.undecided).collect::<Vec<_>>())
    .bind(column(|s| s.reason.as_deref()))
    .bind(column(|s| s.message.as_deref()))
    .bind(column(|s| s.node.as_deref()))
    .bind(sights.iter().map(|s| s.gpu_uuids.join(",")).collect::<Vec<_>>())
    .fetch_all(conn)
    .await
}

/// The objects of these units, known by these uids, are gone though the units should be: they are not held
/// any more, and the maker makes the objects again. Gives the units that this concerned.
pub(crate) async fn lost(
    conn: &mut PgConnection,
    units: &[UnitId],
    uids: &[Option<String>],
) -> sqlx::Result<Vec<UnitId>> {
    sqlx::query_scalar(
        "update units u set held = false, occupied = false, object_uid = null, object_version = 0,
             reason = 'ObjectMissing', message = 'its object was deleted in the cluster and is being made again',
             work_at = now(), work_tries = 0,
             since = case when u.state = 'available' then now() else u.since end,
             state = case when u.state = 'available' then 'inactive' else u.state end
         from unnest($1::uuid[], $2::text[]) as g(id, uid)
         where u.id = g.id and u.object_uid is not distinct from g.uid
           and u.state <> 'removing' and u.work_at is null
         returning u.id",
    )
    .bind(units)
    .bind(uids)
    .fetch_all(conn)
    .await
}

/// Has the maker apply these units' objects again.
pub(crate) async fn apply_again(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<Vec<UnitId>> {
    sqlx::query_scalar(
        "update units set work_at = now(), work_tries = 0
         where id = any($1) and work_at is null and state <> 'removing' returning id",
    )
    .bind(units)
    .fetch_all(conn)
    .await
}

/// Begins a comparison of the cluster, if none was begun within `seconds`.
pub(crate) async fn begin_comparison(
    conn: &mut PgConnection,
    cluster: &str,
    seconds: f64,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into comparisons as c (cluster, started_at) values ($1, now())
         on conflict (cluster) do update set started_at = now()
         where c.started_at <= now() - $2 * interval '1 second'",
    )
    .bind(cluster)
    .bind(seconds)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(crate) async fn end_comparison(conn: &mut PgConnection, cluster: &str) -> sqlx::Result<()> {
    sqlx::query("update comparisons set finished_at = now() where cluster = $1")
        .bind(cluster)
        .execute(conn)
        .await
        .map(drop)
}

/// A unit as a comparison needs it.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct Known {
    pub(crate) id: UnitId,
    pub(crate) state: UnitState,
    pub(crate) gpu_spec_id: GpuSpecId,
    pub(crate) datacenter: String,
    pub(crate) object_uid: Option<String>,
    /// The maker has nothing to do for it.
    pub(crate) settled: bool,
}

/// All units whose datacenters are in the cluster.
pub(crate) async fn known(conn: &mut PgConnection, cluster: &str) -> sqlx::Result<Vec<Known>> {
    sqlx::query_as(
        "select u.id, u.state, u.gpu_spec_id, d.name as datacenter, u.object_uid, u.work_at is null as settled
         from units u join datacenters d on d.id = u.datacenter_id where d.cluster = $1",
    )
    .bind(cluster)
    .fetch_all(conn)
    .await
}

/// Those of `units` that are recorded.
pub(crate) async fn recorded(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<Vec<UnitId>> {
    sqlx::query_scalar("select id from units where id = any($1)").bind(units).fetch_all(conn).await
}

/// Records a unit for an object that has none, if its specification and datacenter are known.
pub(crate) async fn adopt(
    conn: &mut PgConnection,
    unit: UnitId,
    gpu_spec: &str,
    datacenter: &str,
    cluster: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into units (id, gpu_spec_id, datacenter_id, state, reason, message)
         select $1, s.id, d.id, 'inactive', 'Adopted', 'its object was found in the cluster'
         from gpu_specs s, datacenters d where s.name = $2 and d.name = $3 and d.cluster = $4
         on conflict (id) do nothing",
    )
    .bind(unit)
    .bind(gpu_spec)
    .bind(datacenter)
    .bind(cluster)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Records what was put right.
pub(crate) async fn record_repair(
    conn: &mut PgConnection,
    cluster: Option<&str>,
    kind: &str,
    unit: Option<UnitId>,
    detail: &str,
) -> sqlx::Result<()> {
    sqlx::query("insert into repairs (cluster, kind, unit_id, detail) values ($1, $2, $3, $4)")
        .bind(cluster)
        .bind(kind)
        .bind(unit)
        .bind(detail)
        .execute(conn)
        .await
        .map(drop)
}

#[derive(FromRow)]
pub(crate) struct CountRepair {
    pub(crate) gpu_spec: String,
    pub(crate) datacenter: String,
    pub(crate) available: i64,
    pub(crate) inactive: i64,
    pub(crate) used: i64,
    pub(crate) changing: i64,
}

/// Compares the kept counts with the units, in one snapshot, and adds what is missing. Gives what was off.
/// Changes that commit meanwhile change both alike, so the difference stays right. Not for two at once: both
/// would add it.
pub(crate) async fn repair_counts(conn: &mut PgConnection) -> sqlx::Result<Vec<CountRepair>> {
    sqlx::query_as(
        "with d as (
             select gpu_spec_id, datacenter_id, sum(available)::bigint as available,
                    sum(inactive)::bigint as inactive, sum(used)::bigint as used, sum(changing)::bigint as changing
             from (select gpu_spec_id, datacenter_id, (state = 'available')::int as available,
                          (state = 'inactive')::int as inactive, (state = 'used')::int as used,
                          (state in ('making', 'removing'))::int as changing
                   from units
                   union all
                   select gpu_spec_id, datacenter_id, -available, -inactive, -used, -changing from stock_counts) x
             group by 1, 2
             having sum(available) <> 0 or sum(inactive) <> 0 or sum(used) <> 0 or sum(changing) <> 0),
         r as (
             insert into stock_counts as c (gpu_spec_id, datacenter_id, shard, available, inactive, used, changing)
             select gpu_spec_id, datacenter_id, 0, available, inactive, used, changing from d
             on conflict (gpu_spec_id, datacenter_id, shard) do update set
                 available = c.available + excluded.available, inactive = c.inactive + excluded.inactive,
                 used = c.used + excluded.used, changing = c.changing + excluded.changing)
         select s.name as gpu_spec, dc.name as datacenter, d.available, d.inactive, d.used, d.changing
         from d join gpu_specs s on s.id = d.gpu_spec_id join datacenters dc on dc.id = d.datacenter_id",
    )
    .fetch_all(conn)
    .await
}
