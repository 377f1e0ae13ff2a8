//! SQL of interruptible claims: of spare units, and taken for instances that find no free unit.

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

/// Makes other interruptible claims of the specification wait until the transaction ends.
pub(crate) async fn lock(conn: &mut PgConnection, spec: GpuSpecId) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('stock.interruptible.' || $1::uuid, 0))::text as locked",
        spec as GpuSpecId,
    )
    .fetch_all(conn)
    .await
    .map(drop)
}

/// The claimants of a batch, as columns.
#[derive(Debug, Default)]
pub(crate) struct Interruptible {
    pub(crate) instances: Vec<InstanceId>,
    pub(crate) tenants: Vec<TenantId>,
    pub(crate) recall_ranks: Vec<i16>,
}

/// Claims spare units: of the datacenters that are not `avoided` and for which no instance waits, the free ones that exceed
/// the forecast and `hold_back`. Returns the instances that have got one. The membership of the queue must be locked.
pub(crate) async fn claim_spare(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    claimants: &Interruptible,
    avoided: &[DatacenterId],
    hold_back: i64,
) -> sqlx::Result<Vec<InstanceId>> {
    sqlx::query_scalar!(
        r#"with spare as (
             select d.id, sum(c.available)::bigint - greatest(h.units, $7) as units
             from datacenters d join stock_counts c on c.gpu_spec_id = $1 and c.datacenter_id = d.id
             left join hold_backs h on h.gpu_spec_id = $1 and h.datacenter_id = d.id
             where d.state = 'active' and ($2::uuid is null or d.id = $2) and d.id <> all($6::uuid[])
               and not exists (select from queue_entries q where q.gpu_spec_id = $1
                               and (q.datacenter_id is null or q.datacenter_id = d.id))
             group by d.id, h.units having sum(c.available) > greatest(h.units, $7)),
         asked as (
             select a.instance_id, a.tenant_id, a.recall_rank, row_number() over () as n
             from unnest($3::uuid[], $4::uuid[], $5::smallint[]) as a(instance_id, tenant_id, recall_rank)
             where not exists (select from units h where h.holder_instance = a.instance_id)),
         picked as (
             select f.id, row_number() over (order by s.units desc, s.id) as n
             from spare s cross join lateral (
                 select id from (
                     select u.id from units u
                     where u.gpu_spec_id = $1 and u.datacenter_id = s.id and u.state = 'available'
                     order by u.claim_key limit 128 for update of u skip locked) g
                 limit least(s.units, (select count(*) from asked))) f),
         taken as (
             update units u set state = 'used', since = now(), holder_instance = a.instance_id,
                 holder_tenant = a.tenant_id, holder_since = now()
             from picked p join asked a on a.n = p.n where u.id = p.id and u.state = 'available'
             returning u.id, u.holder_instance, u.holder_since, u.gpu_spec_id, u.datacenter_id, a.recall_rank)
         insert into interruptible_claims as c
             (unit_id, instance_id, claimed_at, gpu_spec_id, datacenter_id, recall_rank)
         select id, holder_instance, holder_since, gpu_spec_id, datacenter_id, recall_rank from taken
         on conflict (unit_id) do update set instance_id = excluded.instance_id, claimed_at = excluded.claimed_at,
             gpu_spec_id = excluded.gpu_spec_id, datacenter_id = excluded.datacenter_id,
             recall_rank = excluded.recall_rank
         returning instance_id"#,
        spec as GpuSpecId,
        datacenter as Option<DatacenterId>,
        &claimants.instances as &[InstanceId],
        &claimants.tenants as &[TenantId],
        &claimants.recall_ranks,
        avoided as &[DatacenterId],
        hold_back,
    )
    .fetch_all(conn)
    .await
}

/// Returns how many spare units interruptible claims of the specification would get now, by the rules of
/// [`claim_spare`]. None if there is no such specification.
pub(crate) async fn spare(
    conn: &mut PgConnection,
    spec_name: &str,
    avoided: &[DatacenterId],
    hold_back: i64,
) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar!(
        r#"select coalesce((
               select sum(x.units) from (
                   select sum(c.available)::bigint - greatest(h.units, $3) as units
                   from datacenters d join stock_counts c on c.gpu_spec_id = s.id and c.datacenter_id = d.id
                   left join hold_backs h on h.gpu_spec_id = s.id and h.datacenter_id = d.id
                   where d.state = 'active' and d.id <> all($2::uuid[])
                     and not exists (select from queue_entries q where q.gpu_spec_id = s.id
                                     and (q.datacenter_id is null or q.datacenter_id = d.id))
                   group by d.id, h.units having sum(c.available) > greatest(h.units, $3)) x), 0)::bigint as "units!"
           from gpu_specs s where s.name = $1"#,
        spec_name,
        avoided as &[DatacenterId],
        hold_back,
    )
    .fetch_optional(conn)
    .await
}

/// Maximum number of interruptible claims that are named for a datacenter.
const NAMED: i64 = 256;

/// A datacenter with fewer free units than are held back, and with interruptible claims.
pub(crate) struct LackRow {
    /// How many units are missing.
    pub(crate) units: i64,
    /// Instances of the claims, in the order in which they would be recalled.
    pub(crate) instances: Vec<InstanceId>,
}

/// Returns where the hold-back of the specification lacks units that interruptible claims have.
pub(crate) async fn lacks(
    conn: &mut PgConnection,
    spec_name: &str,
    avoided: &[DatacenterId],
    hold_back: i64,
) -> sqlx::Result<Vec<LackRow>> {
    sqlx::query_as!(
        LackRow,
        r#"with lacks as (
             select s.id as spec, d.id, greatest(h.units, $3) - sum(c.available)::bigint as units
             from gpu_specs s cross join datacenters d
             join stock_counts c on c.gpu_spec_id = s.id and c.datacenter_id = d.id
             left join hold_backs h on h.gpu_spec_id = s.id and h.datacenter_id = d.id
             where s.name = $1 and d.state = 'active' and d.id <> all($2::uuid[])
             group by s.id, d.id, h.units having sum(c.available) < greatest(h.units, $3)),
         named as (
             select l.units, array(
                 select i.instance_id from interruptible_claims i
                 where i.gpu_spec_id = l.spec and i.datacenter_id = l.id
                 order by i.recall_rank, i.claimed_at desc limit $4) as instances
             from lacks l)
         select units as "units!", instances as "instances!: Vec<InstanceId>" from named where instances <> '{}'"#,
        spec_name,
        avoided as &[DatacenterId],
        hold_back,
        NAMED,
    )
    .fetch_all(conn)
    .await
}

/// Gives units of interruptible claims to those of these instances that hold none: first those of the lowest rank, of these
/// the newest claims. Their instances have to leave within `leave_seconds`. Returns the instances that have got one.
///
/// # Errors
/// A unique violation if one of the instances is claiming elsewhere at this moment, or a deadlock: repeat it.
pub(crate) async fn recall(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    (instances, tenants): (&[InstanceId], &[TenantId]),
    avoided: &[DatacenterId],
    leave_seconds: f64,
) -> sqlx::Result<Vec<InstanceId>> {
    // the history of a unit without its specification: a recall is not a release, from which the queue is
    // estimated
    sqlx::query_scalar!(
        r#"with asked as (
             select a.instance_id, a.tenant_id, row_number() over () as n
             from unnest($3::uuid[], $4::uuid[]) as a(instance_id, tenant_id)
             where not exists (select from units h where h.holder_instance = a.instance_id)),
         found as (
             select u.id, u.holder_instance, u.holder_tenant, u.holder_since
             from interruptible_claims c
             join datacenters d on d.id = c.datacenter_id and d.state = 'active'
             join units u on u.id = c.unit_id and u.holder_instance = c.instance_id and u.holder_since = c.claimed_at
                 and u.held
             where c.gpu_spec_id = $1 and ($2::uuid is null or d.id = $2) and d.id <> all($5::uuid[])
             order by c.recall_rank, c.claimed_at desc, c.unit_id
             limit (select count(*) from asked) for update of u),
         picked as (select found.*, row_number() over () as n from found),
         taken as (
             update units u set since = now(), holder_instance = a.instance_id, holder_tenant = a.tenant_id,
                 holder_since = now()
             from picked p join asked a on a.n = p.n where u.id = p.id
             returning u.id, a.instance_id as by_instance_id, p.holder_instance, p.holder_tenant, p.holder_since),
         ended as (
             insert into unit_holders (unit_id, instance_id, tenant_id, claimed_at)
             select id, holder_instance, holder_tenant, holder_since from taken),
         gone as (delete from interruptible_claims c using taken t where c.unit_id = t.id),
         served as (delete from queue_entries q using taken t where q.instance_id = t.by_instance_id)
         insert into recalls (unit_id, instance_id, by_instance_id, recalled_at, leave_by)
         select id, holder_instance, by_instance_id, now(), now() + make_interval(secs => $6) from taken
         returning by_instance_id as "id!: InstanceId""#,
        spec as GpuSpecId,
        datacenter as Option<DatacenterId>,
        instances as &[InstanceId],
        tenants as &[TenantId],
        avoided as &[DatacenterId],
        leave_seconds,
    )
    .fetch_all(conn)
    .await
}

/// Sets the rank of the interruptible claim that the instance made at this time. Returns false if there is none.
pub(crate) async fn set_rank(
    conn: &mut PgConnection,
    instance: InstanceId,
    claimed_at: Timestamp,
    rank: i16,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "update interruptible_claims c set recall_rank = $3 from units u
         where c.instance_id = $1 and c.claimed_at = $2 and u.id = c.unit_id and u.holder_instance = c.instance_id",
        instance as InstanceId,
        claimed_at.to_sqlx() as _,
        rank,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Deletes up to `limit` recalls that are older than a day; returns how many.
pub(crate) async fn forget(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from recalls where id in (
             select id from recalls where recalled_at < now() - interval '1 day' limit $1)",
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
