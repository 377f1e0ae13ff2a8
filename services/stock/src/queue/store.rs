//! SQL of the queue: locks, entries, and units that are given to the next entry.

use std::collections::BTreeSet;

use feed::Outbox;
use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use sqlx::PgConnection;

use crate::interruptible;
use stock_api::Grant;

/// The outbox of grants.
pub(crate) const GRANTS: Outbox = Outbox { table: "queue_grants", channel: "stock_grants" };

/// Locks the membership of the queues of these instances, and of the units that they hold, before their units are
/// released. Returns those that wait, with a start of at most the number given.
pub(crate) async fn lock_for_release(
    conn: &mut PgConnection,
    instances: &[InstanceId],
    attempts: &[Option<i64>],
) -> sqlx::Result<Vec<InstanceId>> {
    let rows = sqlx::query!(
        r#"select s.waiting as "waiting: Vec<InstanceId>",
             pg_advisory_xact_lock_shared(hashtextextended('stock.queue.members.' || s.gpu_spec_id, 0))::text as locked
         from (select gpu_spec_id, array_agg(waiting) filter (where waiting is not null) as waiting from (
                   select gpu_spec_id, null::uuid as waiting from units where holder_instance = any($1)
                   union all
                   select q.gpu_spec_id, q.instance_id from queue_entries q
                   join unnest($1::uuid[], $2::bigint[]) as a(instance_id, attempt) using (instance_id)
                   where q.attempt <= coalesce(a.attempt, q.attempt)) x
               group by gpu_spec_id order by gpu_spec_id) s"#,
        instances as &[InstanceId],
        attempts as &[Option<i64>],
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().filter_map(|row| row.waiting).flatten().collect())
}

/// Locks the membership of the queues of those of the units that may become available by a report of the cluster.
pub(crate) async fn lock_for_units(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock_shared(hashtextextended('stock.queue.members.' || s.gpu_spec_id, 0))::text as locked
         from (select distinct gpu_spec_id from units
               where id = any($1) and state in ('making', 'inactive') order by gpu_spec_id) s",
        units as &[UnitId],
    )
    .fetch_all(conn)
    .await
    .map(drop)
}

/// Locks the membership of the specification's queue exclusively, before entries are inserted.
pub(crate) async fn lock_for_wait(conn: &mut PgConnection, spec: GpuSpecId) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('stock.queue.members.' || $1::uuid, 0))::text as locked",
        spec as GpuSpecId,
    )
    .fetch_all(conn)
    .await
    .map(drop)
}

/// Locks the membership of the specification's queue: no entry is inserted until the transaction ends.
pub(crate) async fn lock_for_claim(conn: &mut PgConnection, spec: GpuSpecId) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock_shared(hashtextextended('stock.queue.members.' || $1::uuid, 0))::text as locked",
        spec as GpuSpecId,
    )
    .fetch_all(conn)
    .await
    .map(drop)
}

async fn lock_order(conn: &mut PgConnection, specs: &[GpuSpecId]) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('stock.queue.order.' || s.id, 0))::text as locked
         from (select distinct id from unnest($1::uuid[]) as x(id) order by id) s",
        specs as &[GpuSpecId],
    )
    .fetch_all(conn)
    .await
    .map(drop)
}

/// Instances that enter the queue, as columns.
#[derive(Debug, Default)]
pub(crate) struct Entrants {
    pub(crate) instances: Vec<InstanceId>,
    pub(crate) tenants: Vec<TenantId>,
    pub(crate) priorities: Vec<i32>,
    pub(crate) attempts: Vec<i64>,
}

/// Returns those of the instances that wait for such a unit with this start.
pub(crate) async fn waiting(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    entrants: &Entrants,
) -> sqlx::Result<Vec<InstanceId>> {
    sqlx::query_scalar!(
        "select q.instance_id from unnest($3::uuid[], $4::bigint[]) as a(instance_id, attempt)
         join queue_entries q using (instance_id, attempt)
         where q.gpu_spec_id = $1 and q.datacenter_id is not distinct from $2",
        spec as GpuSpecId,
        datacenter as Option<DatacenterId>,
        &entrants.instances as &[InstanceId],
        &entrants.attempts,
    )
    .fetch_all(conn)
    .await
}

/// Inserts entries at the end of the queue, in the order given. The membership must be locked exclusively.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    entrants: &Entrants,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into queue_entries (instance_id, tenant_id, gpu_spec_id, datacenter_id, priority, attempt, turn)
         select a.i, a.t, $1, $2, a.p, a.a,
             greatest(
                 coalesce((select r.round from queue_rounds r where r.gpu_spec_id = $1 and r.priority = a.p), 0),
                 coalesce((select max(q.turn) from queue_entries q
                           where q.gpu_spec_id = $1 and q.tenant_id = a.t and q.priority = a.p), 0))
             + row_number() over (partition by a.t, a.p order by a.n)
         from unnest($3::uuid[], $4::uuid[], $5::int[], $6::bigint[]) with ordinality as a(i, t, p, a, n)
         where not exists (select from units u where u.holder_instance = a.i)
         order by a.n",
        spec as GpuSpecId,
        datacenter as Option<DatacenterId>,
        &entrants.instances as &[InstanceId],
        &entrants.tenants as &[TenantId],
        &entrants.priorities,
        &entrants.attempts,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Removes these instances from the queue, unless a start with a higher number than the one given waits. The tenant's
/// later entries each move up one round. Returns those removed. The membership must be locked exclusively.
pub(crate) async fn remove(
    conn: &mut PgConnection,
    instances: &[InstanceId],
    attempts: &[Option<i64>],
) -> sqlx::Result<Vec<InstanceId>> {
    sqlx::query_scalar!(
        "with gone as (
             delete from queue_entries q using unnest($1::uuid[], $2::bigint[]) as a(instance_id, attempt)
             where q.instance_id = a.instance_id and q.attempt <= coalesce(a.attempt, q.attempt)
             returning q.instance_id, q.gpu_spec_id, q.tenant_id, q.priority, q.turn),
         moved as (
             update queue_entries q set turn = least(q.turn, greatest(
                 q.turn - (select count(*) from gone g where g.gpu_spec_id = q.gpu_spec_id
                             and g.tenant_id = q.tenant_id and g.priority = q.priority and g.turn < q.turn),
                 1 + coalesce((select r.round from queue_rounds r
                               where r.gpu_spec_id = q.gpu_spec_id and r.priority = q.priority), 0)))
         from (select gpu_spec_id, tenant_id, priority, min(turn) as turn from gone group by 1, 2, 3) l
         where q.gpu_spec_id = l.gpu_spec_id and q.tenant_id = l.tenant_id and q.priority = l.priority
           and q.turn > l.turn and q.instance_id not in (select instance_id from gone))
         select instance_id from gone",
        instances as &[InstanceId],
        attempts as &[Option<i64>],
    )
    .fetch_all(conn)
    .await
}

/// Like [`remove`], under the shared lock of the membership. `units` are those that the transaction serves afterwards.
pub(crate) async fn leave(
    conn: &mut PgConnection,
    instances: &[InstanceId],
    attempts: &[Option<i64>],
    units: &[UnitId],
) -> sqlx::Result<Vec<InstanceId>> {
    // locks the order of all queues at once: two transactions that lock one after the other could wait for
    // each other
    let specs = sqlx::query_scalar!(
        r#"select gpu_spec_id as "id!: GpuSpecId" from queue_entries where instance_id = any($1)
         union select gpu_spec_id from units where id = any($2)"#,
        instances as &[InstanceId],
        units as &[UnitId],
    )
    .fetch_all(&mut *conn)
    .await?;
    lock_order(&mut *conn, &specs).await?;
    remove(conn, instances, attempts).await
}

/// Gives those of these units that are available to the next entries. The transaction must have locked the membership
/// before it changed the units, and the units themselves. Returns the number of grants.
pub(crate) async fn serve(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<usize> {
    if units.is_empty() {
        return Ok(0);
    }
    let places = sqlx::query!(
        r#"select u.gpu_spec_id, u.datacenter_id, array_agg(u.id order by u.claim_key) as "units!: Vec<UnitId>"
         from units u join datacenters d on d.id = u.datacenter_id
         where u.id = any($1) and u.state = 'available' and d.state = 'active'
           and exists (select from queue_entries q where q.gpu_spec_id = u.gpu_spec_id)
         group by u.gpu_spec_id, u.datacenter_id order by 1, 2"#,
        units as &[UnitId],
    )
    .fetch_all(&mut *conn)
    .await?;
    if places.is_empty() {
        return Ok(0);
    }
    let specs: BTreeSet<GpuSpecId> = places.iter().map(|place| place.gpu_spec_id).collect();
    lock_order(&mut *conn, &specs.into_iter().collect::<Vec<_>>()).await?;
    let mut grants = Vec::new();
    for place in &places {
        grants.extend(grant(&mut *conn, place.gpu_spec_id, place.datacenter_id, &place.units).await?);
    }
    GRANTS.publish_all(conn, &grants).await?;
    Ok(grants.len())
}

/// Gives these units of one specification in one datacenter to the next entries, if there are any.
///
/// The entries for this datacenter and those for any are each read from the front of their part of the index, so the
/// cost does not depend on how many wait. The inner limits are constants so that the planner walks the indexes; they
/// are at most as many as the units that a transaction makes available.
async fn grant(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: DatacenterId,
    units: &[UnitId],
) -> sqlx::Result<Vec<Grant>> {
    sqlx::query_as!(
        Grant,
        r#"with free as (
             select id, row_number() over (order by claim_key) as n from units
             where id = any($3) and state = 'available'),
         next as (
             select x.*, row_number() over (order by priority desc, turn, seq) as n from (
                 (select * from (
                      select q.instance_id, q.tenant_id, q.priority, q.turn, q.seq from queue_entries q
                      where q.gpu_spec_id = $1 and q.datacenter_id is null
                        and not exists (select from units h where h.holder_instance = q.instance_id)
                      order by q.priority desc, q.turn, q.seq limit 500) a limit $4)
                 union all
                 (select * from (
                      select q.instance_id, q.tenant_id, q.priority, q.turn, q.seq from queue_entries q
                      where q.gpu_spec_id = $1 and q.datacenter_id = $2
                        and not exists (select from units h where h.holder_instance = q.instance_id)
                      order by q.priority desc, q.turn, q.seq limit 500) b limit $4)) x),
         taken as (
             update units u set state = 'used', since = now(), holder_instance = e.instance_id,
                 holder_tenant = e.tenant_id, holder_since = now()
             from free f join next e on e.n = f.n where u.id = f.id
             returning u.id, e.instance_id, e.priority, e.turn, e.n),
         served as (delete from queue_entries q using taken t where q.instance_id = t.instance_id),
         rounds as (
             insert into queue_rounds as r (gpu_spec_id, priority, round)
             select $1, priority, max(turn) from taken group by priority order by priority
             on conflict (gpu_spec_id, priority) do update set round = greatest(r.round, excluded.round))
         select t.instance_id as "instance_id!: InstanceId", t.id as "unit_id!: UnitId" from taken t order by t.n"#,
        spec as GpuSpecId,
        datacenter as DatacenterId,
        units as &[UnitId],
        i64::try_from(units.len()).unwrap_or(i64::MAX),
    )
    .fetch_all(conn)
    .await
}

/// Maximum number of units of one datacenter that are given in one statement.
const MAX_UNITS: i64 = 500;

/// Gives all free units of the specification to the next entries. The membership must be locked exclusively. Waits for
/// units that others are writing.
pub(crate) async fn serve_all(conn: &mut PgConnection, spec: GpuSpecId) -> sqlx::Result<usize> {
    let places = sqlx::query_scalar!(
        r#"select c.datacenter_id as "id: DatacenterId" from stock_counts c
         join datacenters d on d.id = c.datacenter_id
         where c.gpu_spec_id = $1 and d.state = 'active'
           and exists (select from units u where u.gpu_spec_id = $1 and u.datacenter_id = d.id
                       and u.state = 'available')
         group by 1 order by 1"#,
        spec as GpuSpecId,
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut grants = 0;
    for place in places {
        let units = sqlx::query_scalar!(
            "select id from units where gpu_spec_id = $1 and datacenter_id = $2 and state = 'available'
             order by claim_key limit least($3, (select count(*) from queue_entries where gpu_spec_id = $1)) for update",
            spec as GpuSpecId,
            place as DatacenterId,
            MAX_UNITS,
        )
        .fetch_all(&mut *conn)
        .await?;
        grants += serve(&mut *conn, &units).await?;
    }
    Ok(grants)
}

/// Gives units of interruptible claims to the next entries, once no unit is free for them. The membership must be locked
/// exclusively.
pub(crate) async fn serve_by_recall(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    leave_seconds: f64,
) -> sqlx::Result<usize> {
    let places = sqlx::query!(
        r#"select c.datacenter_id as "id!: DatacenterId", count(*) as "units!" from interruptible_claims c
         join datacenters d on d.id = c.datacenter_id
         where c.gpu_spec_id = $1 and d.state = 'active' group by 1 order by 1"#,
        spec as GpuSpecId,
    )
    .fetch_all(&mut *conn)
    .await?;
    if places.is_empty() {
        return Ok(0);
    }
    lock_order(&mut *conn, &[spec]).await?;
    let mut grants = Vec::new();
    for place in places {
        let next = sqlx::query!(
            "select instance_id, tenant_id, priority, turn from queue_entries q
             where gpu_spec_id = $1 and (datacenter_id is null or datacenter_id = $2)
               and not exists (select from units h where h.holder_instance = q.instance_id)
             order by priority desc, turn, seq limit least($3::bigint, $4)",
            spec as GpuSpecId,
            place.id as DatacenterId,
            place.units,
            MAX_UNITS,
        )
        .fetch_all(&mut *conn)
        .await?;
        let instances: Vec<InstanceId> = next.iter().map(|entry| entry.instance_id).collect();
        let tenants: Vec<TenantId> = next.iter().map(|entry| entry.tenant_id).collect();
        let (who, at) = ((&instances[..], &tenants[..]), Some(place.id));
        let served = interruptible::store::recall(&mut *conn, spec, at, who, &[], leave_seconds).await?;
        let of_served = next.iter().filter(|entry| served.contains(&entry.instance_id));
        let (priorities, turns): (Vec<i32>, Vec<i64>) =
            of_served.map(|entry| (entry.priority, entry.turn)).unzip();
        sqlx::query!(
            "insert into queue_rounds as r (gpu_spec_id, priority, round)
             select $1, priority, max(turn) from unnest($2::int[], $3::bigint[]) as t(priority, turn)
             group by priority order by priority
             on conflict (gpu_spec_id, priority) do update set round = greatest(r.round, excluded.round)",
            spec as GpuSpecId,
            &priorities,
            &turns,
        )
        .execute(&mut *conn)
        .await?;
        grants.extend(served);
    }
    let grants = granted(&mut *conn, &grants).await?;
    GRANTS.publish_all(conn, &grants).await?;
    Ok(grants.len())
}

/// The grants of the units that these instances hold.
async fn granted(conn: &mut PgConnection, instances: &[InstanceId]) -> sqlx::Result<Vec<Grant>> {
    sqlx::query_as!(
        Grant,
        r#"select holder_instance as "instance_id!: InstanceId", id as "unit_id" from units
         where holder_instance = any($1) order by array_position($1, holder_instance)"#,
        instances as &[InstanceId],
    )
    .fetch_all(conn)
    .await
}

/// Removes entries of instances that hold a unit because of a manual change. The membership must be locked
/// exclusively.
pub(crate) async fn remove_holders(conn: &mut PgConnection, spec: GpuSpecId) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from queue_entries q using units u
         where q.gpu_spec_id = $1 and u.holder_instance = q.instance_id",
        spec as GpuSpecId,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}

/// Returns the specifications for which instances wait although a unit is free in an active datacenter, or an interruptible
/// claim has one.
pub(crate) async fn unserved(conn: &mut PgConnection) -> sqlx::Result<Vec<GpuSpecId>> {
    sqlx::query_scalar!(
        r#"select s.id from gpu_specs s
         where exists (
             select from datacenters d where d.state = 'active'
               and exists (select from queue_entries q
                           where q.gpu_spec_id = s.id and (q.datacenter_id is null or q.datacenter_id = d.id))
               and (exists (select from units u
                            where u.gpu_spec_id = s.id and u.datacenter_id = d.id and u.state = 'available')
                    or exists (select from interruptible_claims c
                               join units u on u.id = c.unit_id and u.holder_instance = c.instance_id and u.held
                               where c.gpu_spec_id = s.id and c.datacenter_id = d.id)))"#,
    )
    .fetch_all(conn)
    .await
}
