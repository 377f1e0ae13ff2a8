//! SQL of claims. Each statement is a transaction of its own, for a whole batch.

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use rust_decimal::Decimal;
use sqlx::PgConnection;

use stock_api::{Claim, ClaimRecall};

/// Maximum number of claims in a batch. The statements below read up to twice as many rows.
pub(crate) const MAX_BATCH: usize = 64;

/// A claim, if the statement made or found one, with the datacenter in which it searched.
struct Row {
    place: Option<DatacenterId>,
    new: Option<bool>,
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
    hold_price_fraction: Option<Decimal>,
    displaced: Option<InstanceId>,
    leave_by: Option<jiff_sqlx::Timestamp>,
}

impl Row {
    fn claim(self) -> Option<FoundClaim> {
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
            hold_price_fraction: self.hold_price_fraction.map(|fraction| fraction.normalize()),
            claimed_at: self.holder_since?.to_jiff(),
            recall: self
                .displaced
                .zip(self.leave_by)
                .map(|(instance_id, leave_by)| ClaimRecall { instance_id, leave_by: leave_by.to_jiff() }),
        };
        Some(FoundClaim { claim, new: self.new? })
    }
}

/// The claims of one statement.
pub(crate) struct Claimed {
    /// The datacenter in which it searched; none if no datacenter is left.
    pub(crate) place: Option<DatacenterId>,
    pub(crate) claims: Vec<FoundClaim>,
}

/// A claim that a statement made, or found.
pub(crate) struct FoundClaim {
    pub(crate) claim: Claim,
    /// Whether the statement made it.
    pub(crate) new: bool,
}

impl Claimed {
    fn from_rows(rows: Vec<Row>) -> Self {
        let place = rows.first().and_then(|row| row.place);
        Self { place, claims: rows.into_iter().filter_map(Row::claim).collect() }
    }
}

/// The claimants of a batch, as columns.
#[derive(Debug, Default)]
pub(crate) struct Claimants {
    pub(crate) instances: Vec<InstanceId>,
    pub(crate) tenants: Vec<TenantId>,
    pub(crate) nodes: Vec<String>,
}

/// A checked statement that claims: `$pick` picks units for claimants (`picked`: id, n; `asked`: instance_id,
/// tenant_id, n; `place`: id), the rest hands them out and returns the claims made now and those that existed. The
/// statements differ in `$pick` and `$join`, and no part of a statement's text can be a parameter.
macro_rules! claim {
    ($($pick:literal)+, join $join:literal, $($param:expr),+ $(,)?) => {
        sqlx::query_as!(
            Row,
            "with held as (
                 select id, gpu_spec_id, datacenter_id, node, holder_instance, holder_tenant, holder_since
                 from units where holder_instance = any($3))"
            + $($pick +)+
            ", taken as (
                 update units u set state = 'used', since = now(), holder_instance = a.instance_id,
                     holder_tenant = a.tenant_id, holder_since = now()
                 from picked p join asked a "
            + $join
            + " where u.id = p.id and u.state = 'available'
                 returning u.id, u.gpu_spec_id, u.datacenter_id, u.node, u.holder_instance, u.holder_tenant,
                     u.holder_since),
              served as (delete from queue_entries q using taken t where q.instance_id = t.holder_instance),
              mine as (
                 select true as new, t.* from taken t union all select false, h.* from held h),
              told as (
                 select m.new, m.id as unit_id, m.gpu_spec_id, s.name as gpu_spec_name, m.datacenter_id,
                     d.name as datacenter_name, d.cluster, m.node, m.holder_instance, m.holder_tenant,
                     m.holder_since, s.price_per_hour, s.currency, s.hold_price_fraction
                 from mine m join gpu_specs s on s.id = m.gpu_spec_id
                 join datacenters d on d.id = m.datacenter_id)
              select l.place as \"place?: DatacenterId\", told.new as \"new?\", told.unit_id as \"unit_id?: UnitId\",
                 told.gpu_spec_id as \"gpu_spec_id?: GpuSpecId\", told.gpu_spec_name as \"gpu_spec_name?\",
                 told.datacenter_id as \"datacenter_id?: DatacenterId\", told.datacenter_name as \"datacenter_name?\",
                 told.cluster as \"cluster?\", told.node as \"node?\",
                 told.holder_instance as \"holder_instance?: InstanceId\",
                 told.holder_tenant as \"holder_tenant?: TenantId\", told.holder_since as \"holder_since?\",
                 told.price_per_hour as \"price_per_hour?\", told.currency as \"currency?\",
                 told.hold_price_fraction as \"hold_price_fraction?\",
                 null::uuid as \"displaced?: InstanceId\", null::timestamptz as \"leave_by?\"
              from (select (select id from place) as place) l left join told on true",
            $($param),+
        )
    };
}

/// Claims for a batch, in the datacenter with the most free units that was not `tried`, from `start` in the ring of
/// free units, skipping rows that others are writing. Without a start it waits for those, from the front, so that all
/// who wait lock in the same order.
///
/// The candidates come in the order of `claim_key`, which only the partial index of free units covers, around the
/// end of the ring. The inner limit is a constant so that the planner walks that index; the outer one is the number of
/// claimants, and no more rows than that are locked, since rows are locked as they are drawn.
///
/// # Errors
/// A unique violation if one of the instances is claiming elsewhere at this moment, or a deadlock: repeat it.
pub(crate) async fn claim(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    claimants: &Claimants,
    tried: &[DatacenterId],
    start: Option<i32>,
) -> sqlx::Result<Claimed> {
    macro_rules! claim_in_ring {
        ($lock:literal) => {
            claim!(
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
                         order by claim_key limit 128 "
                $lock
                ") f limit (select count(*) from asked)),
                 wrapped as (
                     select id from (
                         select id from units
                         where gpu_spec_id = $1 and datacenter_id = (select id from place) and state = 'available'
                           and claim_key < $6
                         order by claim_key limit 128 "
                $lock
                ") f limit (select count(*) from asked) - (select count(*) from near)),
                 picked as (
                     select id, row_number() over () as n
                     from (select id from near union all select id from wrapped) f)",
                join "on a.n = p.n",
                spec as GpuSpecId,
                datacenter as Option<DatacenterId>,
                &claimants.instances as &[InstanceId],
                &claimants.tenants as &[TenantId],
                tried as &[DatacenterId],
                start.unwrap_or(0),
            )
            .fetch_all(conn)
            .await?
        };
    }
    let rows =
        if start.is_some() { claim_in_ring!("for update skip locked") } else { claim_in_ring!("for update") };
    Ok(Claimed::from_rows(rows))
}

/// Claims for those of a batch that prefer a node, on their nodes only.
///
/// # Errors
/// As [`claim()`].
pub(crate) async fn claim_on_nodes(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    claimants: &Claimants,
) -> sqlx::Result<Claimed> {
    let rows = claim!(
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
        join "on a.n = p.n and a.node = p.node",
        spec as GpuSpecId,
        datacenter as Option<DatacenterId>,
        &claimants.instances as &[InstanceId],
        &claimants.tenants as &[TenantId],
        &claimants.nodes,
    )
    .fetch_all(conn)
    .await?;
    Ok(Claimed::from_rows(rows))
}

/// Returns the claim of an instance.
pub(crate) async fn find(conn: &mut PgConnection, instance: InstanceId) -> sqlx::Result<Option<Claim>> {
    Ok(find_all(conn, &[instance]).await?.pop())
}

/// Returns the claims of those of the instances that hold a unit.
pub(crate) async fn find_all(conn: &mut PgConnection, instances: &[InstanceId]) -> sqlx::Result<Vec<Claim>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select null::uuid as "place?: DatacenterId", false as "new?", u.id as "unit_id?", u.gpu_spec_id as "gpu_spec_id?",
             s.name as "gpu_spec_name?", u.datacenter_id as "datacenter_id?", d.name as "datacenter_name?",
             d.cluster as "cluster?", u.node, u.holder_instance, u.holder_tenant, u.holder_since,
             s.price_per_hour as "price_per_hour?", s.currency as "currency?", s.hold_price_fraction,
             r.instance_id as "displaced?: InstanceId", r.leave_by as "leave_by?"
         from units u join gpu_specs s on s.id = u.gpu_spec_id join datacenters d on d.id = u.datacenter_id
         left join recalls r on r.by_instance_id = u.holder_instance and r.recalled_at = u.holder_since
             and r.unit_id = u.id
         where u.holder_instance = any($1)"#,
        instances as &[InstanceId],
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().filter_map(Row::claim).map(|found| found.claim).collect())
}

/// A release of the unit of an instance.
pub(crate) struct Release {
    pub(crate) instance: InstanceId,
    /// Only a claim made at this time.
    pub(crate) claimed_at: Option<Timestamp>,
    /// Only the place in the queue of this start or an earlier one.
    pub(crate) attempt: Option<i64>,
}

/// Returns the units of these instances to stock, as available if they are held. The caller has seen that the instance
/// has left the unit; the cluster may report it here later. Returns the units that became available and for which
/// instances wait.
pub(crate) async fn release(conn: &mut PgConnection, releases: &[Release]) -> sqlx::Result<Vec<UnitId>> {
    let instances: Vec<InstanceId> = releases.iter().map(|release| release.instance).collect();
    let times: Vec<Option<jiff_sqlx::Timestamp>> =
        releases.iter().map(|release| release.claimed_at.map(ToSqlx::to_sqlx)).collect();
    sqlx::query_scalar!(
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
             returning u.id, u.gpu_spec_id, u.datacenter_id, u.state),
         recorded as (
             insert into unit_holders (unit_id, instance_id, tenant_id, claimed_at, gpu_spec_id, datacenter_id,
                 interruptible)
             select old.id, old.holder_instance, old.holder_tenant, old.holder_since, freed.gpu_spec_id,
                 freed.datacenter_id, exists (
                     select from interruptible_claims c where c.unit_id = old.id
                         and c.instance_id = old.holder_instance and c.claimed_at = old.holder_since)
             from old join freed using (id)),
         ended as (delete from interruptible_claims c using freed where c.unit_id = freed.id)
         select f.id from freed f
         where f.state = 'available' and exists (select from queue_entries q where q.gpu_spec_id = f.gpu_spec_id)",
        &instances as &[InstanceId],
        &times as &[Option<jiff_sqlx::Timestamp>],
    )
    .fetch_all(conn)
    .await
}

/// Whether the specification and datacenter of a claim exist.
pub(crate) struct Target {
    pub(crate) spec_exists: bool,
    pub(crate) datacenter_exists: bool,
    pub(crate) draining: bool,
}

pub(crate) async fn find_target(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
) -> sqlx::Result<Target> {
    sqlx::query_as!(
        Target,
        r#"select exists (select from gpu_specs where id = $1) as "spec_exists!",
             $2::uuid is null or exists (select from datacenters where id = $2) as "datacenter_exists!",
             exists (select from datacenters where id = $2 and state = 'draining') as "draining!""#,
        spec as GpuSpecId,
        datacenter as Option<DatacenterId>,
    )
    .fetch_one(conn)
    .await
}
