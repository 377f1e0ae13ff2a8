//! SQL of claims. Each statement is a transaction of its own, of a whole batch.

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use rust_decimal::Decimal;
use sqlx::{FromRow, PgConnection};

use super::model::{Alternative, Claim};
use crate::unit::model::{DatacenterRef, GpuSpecRef};

/// Claims in a batch, at most. The statements below look at up to twice as many rows.
pub(crate) const MOST: usize = 64;

#[derive(FromRow)]
struct Row {
    place: Option<DatacenterId>,
    fresh: Option<bool>,
    unit_id: Option<UnitId>,
    gpu_spec_id: Option<GpuSpecId>,
    gpu_spec_name: Option<String>,
    datacenter_id: Option<DatacenterId>,
    datacenter_name: Option<String>,
    cluster: Option<String>,
    node: Option<String>,
    holder_instance: Option<InstanceId>,
    holder_tenant: Option<TenantId>,
    holder_since: Option<jiff_sqlx::Timestamp>,
    price_per_hour: Option<Decimal>,
    currency: Option<String>,
}

impl Row {
    fn claim(self) -> Option<(Claim, bool)> {
        let unit_id = self.unit_id?;
        let claim = Claim {
            instance_id: self.holder_instance?,
            tenant_id: self.holder_tenant?,
            unit_id,
            unit_name: unit_id.k8s_name(),
            gpu_spec_id: self.gpu_spec_id?,
            gpu_spec_name: self.gpu_spec_name?,
            datacenter_id: self.datacenter_id?,
            datacenter_name: self.datacenter_name?,
            cluster: self.cluster?,
            node: self.node,
            price_per_hour: self.price_per_hour?.normalize(),
            currency: self.currency?,
            claimed_at: self.holder_since?.to_jiff(),
        };
        Some((claim, self.fresh?))
    }
}

/// What one statement claimed.
pub(crate) struct Claimed {
    /// Where it looked; none: there is nowhere (left) to look.
    pub(crate) place: Option<DatacenterId>,
    /// The claims, and whether each is new.
    pub(crate) claims: Vec<(Claim, bool)>,
}

impl Claimed {
    fn from_rows(rows: Vec<Row>) -> Self {
        let place = rows.first().and_then(|row| row.place);
        Self { place, claims: rows.into_iter().filter_map(Row::claim).collect() }
    }
}

/// Requests of a batch.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    pub(crate) instances: Vec<InstanceId>,
    pub(crate) tenants: Vec<TenantId>,
    pub(crate) nodes: Vec<String>,
}

/// What the instances of a batch hold already.
macro_rules! held {
    () => {
        "with held as (
             select id, gpu_spec_id, datacenter_id, node, holder_instance, holder_tenant, holder_since
             from units where holder_instance = any($3))"
    };
}

/// From the picked units (`picked`: id, n) and the requests (`asked`: instance_id, tenant_id, n) to the
/// answer, for the claims made now and those that existed.
macro_rules! hand_out {
    ($join:literal) => {
        concat!(
            ", taken as (
                 update units u set state = 'used', since = now(), holder_instance = a.instance_id,
                     holder_tenant = a.tenant_id, holder_since = now()
                 from picked p join asked a ",
            $join,
            " where u.id = p.id and u.state = 'available'
                 returning u.id, u.gpu_spec_id, u.datacenter_id, u.node, u.holder_instance, u.holder_tenant,
                     u.holder_since),
              served as (delete from claim_waits w using taken t where w.instance_id = t.holder_instance),
              mine as (
                 select true as fresh, t.* from taken t union all select false, h.* from held h),
              told as (
                 select m.fresh, m.id as unit_id, m.gpu_spec_id, s.name as gpu_spec_name, m.datacenter_id,
                     d.name as datacenter_name, d.cluster, m.node, m.holder_instance, m.holder_tenant,
                     m.holder_since, s.price_per_hour, s.currency
                 from mine m join gpu_specs s on s.id = m.gpu_spec_id
                 join datacenters d on d.id = m.datacenter_id)
              select l.place, told.* from (select (select id from place) as place) l left join told on true"
        )
    };
}

/// One statement claims a whole batch in the datacenter that has most.
///
/// The candidates come in the order of `claim_key`, which only the partial index of free units covers, from
/// a random start, around the end. The inner limit is a constant so that the planner walks that index; the
/// outer one is what is asked for, and no more rows than that are locked, since rows are locked as they are
/// drawn.
macro_rules! claim {
    ($lock:literal) => {
        concat!(
            held!(),
            ", asked as (
                 select a.instance_id, a.tenant_id, row_number() over () as n
                 from unnest($3::uuid[], $4::uuid[]) as a(instance_id, tenant_id)
                 where not exists (select from held h where h.holder_instance = a.instance_id)),
             place as (
                 select d.id from datacenters d
                 cross join lateral (
                     select sum(c.available) as available from stock_counts c
                     where c.gpu_spec_id = $1 and c.datacenter_id = d.id) c
                 where d.state = 'active' and ($2::uuid is null or d.id = $2) and d.id <> all($5::uuid[])
                   and c.available is not null
                 order by c.available desc limit 1),
             near as (
                 select id from (
                     select id from units
                     where gpu_spec_id = $1 and datacenter_id = (select id from place) and state = 'available'
                       and claim_key >= $6
                     order by claim_key limit 128 for update ",
            $lock,
            ") f limit (select count(*) from asked)),
             wrapped as (
                 select id from (
                     select id from units
                     where gpu_spec_id = $1 and datacenter_id = (select id from place) and state = 'available'
                       and claim_key < $6
                     order by claim_key limit 128 for update ",
            $lock,
            ") f limit (select count(*) from asked) - (select count(*) from near)),
             picked as (
                 select id, row_number() over () as n
                 from (select id from near union all select id from wrapped) f)",
            hand_out!("on a.n = p.n")
        )
    };
}

/// Claims for a batch, in the datacenter that has most among those not `tried`, from `start` in the ring of
/// free units, passing over rows that others are writing. Without a start those are waited for, from the
/// front, so that all who wait lock in the same order.
///
/// # Errors
/// A unique violation when one of the instances is claiming elsewhere at this moment, a deadlock; both are
/// to be tried again.
pub(crate) async fn claim(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    asks: &Asks,
    tried: &[DatacenterId],
    start: Option<i32>,
) -> sqlx::Result<Claimed> {
    let statement = if start.is_some() { claim!("skip locked") } else { claim!("") };
    let rows: Vec<Row> = sqlx::query_as(statement)
        .bind(spec)
        .bind(datacenter)
        .bind(&asks.instances)
        .bind(&asks.tenants)
        .bind(tried)
        .bind(start.unwrap_or(0))
        .fetch_all(conn)
        .await?;
    Ok(Claimed::from_rows(rows))
}

/// Claims for those of a batch that prefer a node, on their nodes only.
///
/// # Errors
/// As [`claim`].
pub(crate) async fn claim_on_nodes(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    asks: &Asks,
) -> sqlx::Result<Claimed> {
    let rows: Vec<Row> = sqlx::query_as(concat!(
        held!(),
        ", asked as (
             select a.instance_id, a.tenant_id, a.node, row_number() over (partition by a.node) as n
             from unnest($3::uuid[], $4::uuid[], $5::text[]) as a(instance_id, tenant_id, node)
             where not exists (select from held h where h.holder_instance = a.instance_id)),
         place as (select $2::uuid as id),
         nodes as (select node, count(*) as n from asked group by node),
         picked as (
             select w.node, f.id, row_number() over (partition by w.node) as n
             from nodes w cross join lateral (
                 select id from (
                     select u.id from units u
                     where u.gpu_spec_id = $1 and u.node = w.node and u.state = 'available'
                       and u.datacenter_id in (
                           select d.id from datacenters d
                           where d.state = 'active' and ($2::uuid is null or d.id = $2))
                     limit 128 for update of u skip locked) g
                 limit w.n) f)",
        hand_out!("on a.n = p.n and a.node = p.node")
    ))
    .bind(spec)
    .bind(datacenter)
    .bind(&asks.instances)
    .bind(&asks.tenants)
    .bind(&asks.nodes)
    .fetch_all(conn)
    .await?;
    Ok(Claimed::from_rows(rows))
}

/// The claim of an instance.
pub(crate) async fn find(conn: &mut PgConnection, instance: InstanceId) -> sqlx::Result<Option<Claim>> {
    let row: Option<Row> = sqlx::query_as(
        "select null::uuid as place, false as fresh, u.id as unit_id, u.gpu_spec_id, s.name as gpu_spec_name,
             u.datacenter_id, d.name as datacenter_name, d.cluster, u.node, u.holder_instance, u.holder_tenant,
             u.holder_since, s.price_per_hour, s.currency
         from units u join gpu_specs s on s.id = u.gpu_spec_id join datacenters d on d.id = u.datacenter_id
         where u.holder_instance = $1",
    )
    .bind(instance)
    .fetch_optional(conn)
    .await?;
    Ok(row.and_then(Row::claim).map(|(claim, _)| claim))
}

/// What is given back.
pub(crate) struct Release {
    /// What this instance holds.
    pub(crate) instance: InstanceId,
    /// Only if it was claimed then.
    pub(crate) claimed_at: Option<Timestamp>,
}

/// Takes the units of these instances back, into stock if they are held. Who releases has seen that the
/// instance has left the unit; the cluster's word on it may come later here. Those who wait no more are
/// forgotten.
pub(crate) async fn release(conn: &mut PgConnection, releases: &[Release]) -> sqlx::Result<()> {
    let instances: Vec<_> = releases.iter().map(|release| release.instance).collect();
    let times: Vec<_> = releases.iter().map(|release| release.claimed_at.map(ToSqlx::to_sqlx)).collect();
    sqlx::query(
        "with old as (
             select id, holder_instance, holder_tenant, holder_since from units u
             where holder_instance = any($1) and exists (
                 select from unnest($1::uuid[], $2::timestamptz[]) as r(instance_id, claimed_at)
                 where r.instance_id = u.holder_instance
                   and (r.claimed_at is null or r.claimed_at = u.holder_since))
             order by claim_key for update),
         freed as (
             update units u set state = case when u.held then 'available' else 'inactive' end, since = now(),
                 holder_instance = null, holder_tenant = null, holder_since = null
             from old where u.id = old.id
             returning u.id),
         waits as (delete from claim_waits where instance_id = any($1))
         insert into unit_holders (unit_id, instance_id, tenant_id, claimed_at)
         select old.id, old.holder_instance, old.holder_tenant, old.holder_since
         from old join freed using (id)",
    )
    .bind(instances)
    .bind(times)
    .execute(conn)
    .await
    .map(drop)
}

/// Hands the unit of `from` over to `to`. False when `from` holds none.
///
/// # Errors
/// The unique violation when `to` holds another.
pub(crate) async fn transfer(
    conn: &mut PgConnection,
    from: InstanceId,
    to: InstanceId,
    tenant: TenantId,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "with old as (
             select id, holder_instance, holder_tenant, holder_since from units
             where holder_instance = $1 for update),
         given as (
             update units u set holder_instance = $2, holder_tenant = $3, holder_since = now()
             from old where u.id = old.id returning u.id),
         served as (delete from claim_waits w using given where w.instance_id = $2)
         insert into unit_holders (unit_id, instance_id, tenant_id, claimed_at)
         select old.id, old.holder_instance, old.holder_tenant, old.holder_since
         from old join given using (id)",
    )
    .bind(from)
    .bind(to)
    .bind(tenant)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether the instance had the unit before.
pub(crate) async fn held_before(
    conn: &mut PgConnection,
    unit: UnitId,
    instance: InstanceId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists (select from unit_holders where unit_id = $1 and instance_id = $2)")
        .bind(unit)
        .bind(instance)
        .fetch_one(conn)
        .await
}

/// Whether the specification exists, whether the datacenter does, whether it drains.
pub(crate) async fn grounds(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
) -> sqlx::Result<(bool, bool, bool)> {
    sqlx::query_as(
        "select exists (select from gpu_specs where id = $1),
             $2::uuid is null or exists (select from datacenters where id = $2),
             exists (select from datacenters where id = $2 and state = 'draining')",
    )
    .bind(spec)
    .bind(datacenter)
    .fetch_one(conn)
    .await
}

/// Notes that these instances asked in vain, and gives how many wait for the specification now: those that
/// asked within the last ten minutes and have got nothing since.
pub(crate) async fn wait(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    asks: &Asks,
) -> sqlx::Result<i64> {
    sqlx::query(
        "insert into claim_waits (instance_id, tenant_id, gpu_spec_id, datacenter_id)
         select a.i, a.t, $1, $2 from unnest($3::uuid[], $4::uuid[]) as a(i, t) order by a.i
         on conflict (instance_id) do update set asked_at = now(), gpu_spec_id = excluded.gpu_spec_id,
             datacenter_id = excluded.datacenter_id, tenant_id = excluded.tenant_id,
             since = case when claim_waits.gpu_spec_id = excluded.gpu_spec_id then claim_waits.since else now() end",
    )
    .bind(spec)
    .bind(datacenter)
    .bind(&asks.instances)
    .bind(&asks.tenants)
    .execute(&mut *conn)
    .await?;
    sqlx::query_scalar(
        "select count(*) from claim_waits where gpu_spec_id = $1 and asked_at > now() - interval '10 minutes'",
    )
    .bind(spec)
    .fetch_one(conn)
    .await
}

#[derive(FromRow)]
struct AlternativeRow {
    spec_id: GpuSpecId,
    spec_name: String,
    datacenter_id: DatacenterId,
    datacenter_name: String,
    available: i64,
    price_per_hour: Decimal,
    currency: String,
}

/// What has room instead: the same specification elsewhere first, then the same GPU model, then the nearest
/// in price. At most ten.
pub(crate) async fn alternatives(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
) -> sqlx::Result<Vec<Alternative>> {
    let rows: Vec<AlternativeRow> = sqlx::query_as(
        "select s.id as spec_id, s.name as spec_name, d.id as datacenter_id, d.name as datacenter_name,
             c.available, s.price_per_hour, s.currency
         from (select gpu_spec_id, datacenter_id, sum(available)::bigint as available from stock_counts
               group by 1, 2 having sum(available) > 0) c
         join gpu_specs s on s.id = c.gpu_spec_id join datacenters d on d.id = c.datacenter_id
         join gpu_specs wanted on wanted.id = $1
         where d.state = 'active' and (s.state = 'active' or s.id = wanted.id)
           and (s.id <> wanted.id or ($2::uuid is not null and d.id <> $2))
         order by s.id = wanted.id desc, s.gpu_model = wanted.gpu_model desc,
             s.currency = wanted.currency desc, abs(s.price_per_hour - wanted.price_per_hour), s.name, d.name
         limit 10",
    )
    .bind(spec)
    .bind(datacenter)
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Alternative {
            gpu_spec: GpuSpecRef { id: row.spec_id, name: row.spec_name },
            datacenter: DatacenterRef { id: row.datacenter_id, name: row.datacenter_name },
            available: row.available,
            price_per_hour: row.price_per_hour.normalize(),
            currency: row.currency,
        })
        .collect())
}

/// Forgets who asked long ago and never again, at most `limit`.
pub(crate) async fn forget_waits(conn: &mut PgConnection, limit: i64) -> sqlx::Result<()> {
    sqlx::query(
        "delete from claim_waits where instance_id in (
             select instance_id from claim_waits where asked_at < now() - interval '1 hour' limit $1)",
    )
    .bind(limit)
    .execute(conn)
    .await
    .map(drop)
}
