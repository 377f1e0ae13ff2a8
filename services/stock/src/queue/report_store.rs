//! SQL of the information about the queue: places, estimates, alternatives. Reads only.

use std::collections::HashMap;

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use stock_api::{Alternative, DatacenterRef, GpuSpecRef, QueueEntry, Quote};

use super::model::{self, Releases};

/// Units of a specification, in a datacenter or in any.
pub(crate) type Target = (GpuSpecId, Option<DatacenterId>);

struct EntryRow {
    instance_id: InstanceId,
    position: i64,
    length: i64,
    gpu_spec_id: GpuSpecId,
    gpu_spec_name: String,
    datacenter_id: Option<DatacenterId>,
    datacenter_name: Option<String>,
    draining: bool,
    priority: i32,
    since: jiff_sqlx::Timestamp,
}

/// Returns the entries of those of the instances that wait, of one tenant or of all, by three statements for any number of them. Each
/// specification's queue is read once.
pub(crate) async fn entries(
    conn: &mut PgConnection,
    instances: &[InstanceId],
    tenant: Option<TenantId>,
) -> sqlx::Result<Vec<QueueEntry>> {
    let rows = sqlx::query_as!(
        EntryRow,
        r#"with ranked as (
             select q.instance_id, q.tenant_id, q.gpu_spec_id, q.datacenter_id, q.priority, q.since,
                 row_number() over (partition by q.gpu_spec_id order by q.priority desc, q.turn, q.seq) as overall,
                 count(*) filter (where q.datacenter_id is null)
                     over (partition by q.gpu_spec_id order by q.priority desc, q.turn, q.seq) as anywhere,
                 row_number() over (
                     partition by q.gpu_spec_id, q.datacenter_id order by q.priority desc, q.turn, q.seq) as here,
                 count(*) over (partition by q.gpu_spec_id) as length
             from queue_entries q
             where q.gpu_spec_id in (select gpu_spec_id from queue_entries where instance_id = any($1)))
         select r.instance_id as "instance_id!", case when r.datacenter_id is null then r.overall else r.anywhere + r.here end as "position!",
             r.length as "length!", r.gpu_spec_id as "gpu_spec_id!", s.name as "gpu_spec_name!", r.datacenter_id,
             d.name as "datacenter_name?", coalesce(d.state = 'draining', false) as "draining!",
             r.priority as "priority!", r.since as "since!"
         from ranked r join gpu_specs s on s.id = r.gpu_spec_id left join datacenters d on d.id = r.datacenter_id
         where r.instance_id = any($1) and ($2::uuid is null or r.tenant_id = $2)"#,
        instances as &[InstanceId],
        tenant as Option<TenantId>,
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut targets: Vec<Target> = rows.iter().map(|row| (row.gpu_spec_id, row.datacenter_id)).collect();
    targets.sort_unstable();
    targets.dedup();
    let releases = recent_releases(&mut *conn, &targets).await?;
    let alternatives = alternatives(conn, &targets).await?;
    let entry = |row: EntryRow| {
        let target = (row.gpu_spec_id, row.datacenter_id);
        let datacenter = row.datacenter_id.zip(row.datacenter_name);
        QueueEntry {
            instance_id: row.instance_id,
            position: row.position,
            length: row.length,
            gpu_spec: GpuSpecRef { id: row.gpu_spec_id, name: row.gpu_spec_name },
            datacenter: datacenter.map(|(id, name)| DatacenterRef { id, name }),
            draining: row.draining,
            priority: row.priority,
            since: row.since.to_jiff(),
            estimate: releases
                .get(&target)
                .filter(|_| !row.draining)
                .and_then(|recent| model::estimate(row.position, recent)),
            alternatives: alternatives.get(&target).cloned().unwrap_or_default(),
        }
    };
    Ok(rows.into_iter().map(entry).collect())
}

/// Returns what a claim of such a unit would get now.
pub(crate) async fn quote(conn: &mut PgConnection, target: Target) -> sqlx::Result<Quote> {
    let (spec, datacenter) = target;
    let now = sqlx::query!(
        r#"select
             coalesce((select sum(c.available) from stock_counts c join datacenters d on d.id = c.datacenter_id
                       where c.gpu_spec_id = $1 and d.state = 'active' and ($2::uuid is null or d.id = $2)),
                      0)::bigint
             + (select count(*) from interruptible_claims c join datacenters d on d.id = c.datacenter_id
                where c.gpu_spec_id = $1 and d.state = 'active' and ($2::uuid is null or d.id = $2)) as "available!",
             exists (select from datacenters where id = $2 and state = 'draining') as "draining!",
             (select count(*) from queue_entries q where q.gpu_spec_id = $1
                and ($2::uuid is null or q.datacenter_id is null or q.datacenter_id = $2)) as "waiting!""#,
        spec as GpuSpecId,
        datacenter as Option<DatacenterId>,
    )
    .fetch_one(&mut *conn)
    .await?;
    let (mut estimate, mut others) = (None, Vec::new());
    if now.available <= 0 {
        if !now.draining {
            let releases = recent_releases(&mut *conn, &[target]).await?;
            estimate = releases.get(&target).and_then(|recent| model::estimate(now.waiting + 1, recent));
        }
        others = alternatives(conn, &[target]).await?.remove(&target).unwrap_or_default();
    }
    let available = now.available.max(0);
    Ok(Quote { available, draining: now.draining, waiting: now.waiting, estimate, alternatives: others })
}

/// Counts the instances that wait for the specification.
pub(crate) async fn count(conn: &mut PgConnection, spec: GpuSpecId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from queue_entries where gpu_spec_id = $1"#,
        spec as GpuSpecId,
    )
    .fetch_one(conn)
    .await
}

fn columns(targets: &[Target]) -> (Vec<GpuSpecId>, Vec<Option<DatacenterId>>) {
    targets.iter().copied().unzip()
}

/// Returns the newest releases of each target within a day, at most a hundred.
async fn recent_releases(
    conn: &mut PgConnection,
    targets: &[Target],
) -> sqlx::Result<HashMap<Target, Releases>> {
    let (specs, datacenters) = columns(targets);
    let rows = sqlx::query!(
        r#"select t.spec as "spec!: GpuSpecId", t.datacenter as "datacenter?: DatacenterId", r.count as "count!",
             r.oldest, now() as "now!"
         from unnest($1::uuid[], $2::uuid[]) as t(spec, datacenter)
         cross join lateral (
             select count(*) as count, min(released_at) as oldest from (
                 select h.released_at from unit_holders h
                 where h.gpu_spec_id = t.spec and (t.datacenter is null or h.datacenter_id = t.datacenter)
                   and h.released_at > now() - interval '24 hours'
                 order by h.released_at desc limit 100) x) r"#,
        &specs as &[GpuSpecId],
        &datacenters as &[Option<DatacenterId>],
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let oldest = row.oldest.map(jiff_sqlx::Timestamp::to_jiff);
            let releases = Releases { count: row.count, oldest, now: row.now.to_jiff() };
            ((row.spec, row.datacenter), releases)
        })
        .collect())
}

struct AlternativeRow {
    wanted: GpuSpecId,
    place: Option<DatacenterId>,
    gpu_spec_id: GpuSpecId,
    gpu_spec_name: String,
    datacenter_id: DatacenterId,
    datacenter_name: String,
    available: i64,
    price_per_hour: Decimal,
    currency: String,
}

/// Returns up to ten alternatives to each target: first the same specification elsewhere, then the same GPU model, then
/// the nearest prices.
pub(crate) async fn alternatives(
    conn: &mut PgConnection,
    targets: &[Target],
) -> sqlx::Result<HashMap<Target, Vec<Alternative>>> {
    let (specs, datacenters) = columns(targets);
    let rows = sqlx::query_as!(
        AlternativeRow,
        r#"with free as materialized (
             select gpu_spec_id, datacenter_id, sum(available)::bigint as available from (
                 select gpu_spec_id, datacenter_id, available from stock_counts
                 union all select gpu_spec_id, datacenter_id, count(*) from interruptible_claims group by 1, 2) x
             group by 1, 2 having sum(available) > 0)
         select t.spec as "wanted!: GpuSpecId", t.datacenter as "place?: DatacenterId",
             o.gpu_spec_id as "gpu_spec_id!: GpuSpecId", o.gpu_spec_name as "gpu_spec_name!",
             o.datacenter_id as "datacenter_id!: DatacenterId", o.datacenter_name as "datacenter_name!",
             o.available as "available!", o.price_per_hour as "price_per_hour!", o.currency as "currency!"
         from unnest($1::uuid[], $2::uuid[]) with ordinality as t(spec, datacenter, n)
         cross join lateral (
             select s.id as gpu_spec_id, s.name as gpu_spec_name, d.id as datacenter_id, d.name as datacenter_name,
                 c.available, s.price_per_hour, s.currency,
                 row_number() over (order by s.id = wanted.id desc, s.gpu_model = wanted.gpu_model desc,
                     s.currency = wanted.currency desc, abs(s.price_per_hour - wanted.price_per_hour),
                     s.name, d.name) as n
             from free c join gpu_specs s on s.id = c.gpu_spec_id join datacenters d on d.id = c.datacenter_id
             join gpu_specs wanted on wanted.id = t.spec
             where d.state = 'active' and (s.state = 'active' or s.id = wanted.id)
               and (s.id <> wanted.id or (t.datacenter is not null and d.id <> t.datacenter))
             order by n limit 10) o
         order by t.n, o.n"#,
        &specs as &[GpuSpecId],
        &datacenters as &[Option<DatacenterId>],
    )
    .fetch_all(conn)
    .await?;
    let mut found: HashMap<Target, Vec<Alternative>> = HashMap::new();
    for row in rows {
        found.entry((row.wanted, row.place)).or_default().push(Alternative {
            gpu_spec: GpuSpecRef { id: row.gpu_spec_id, name: row.gpu_spec_name },
            datacenter: DatacenterRef { id: row.datacenter_id, name: row.datacenter_name },
            available: row.available,
            price_per_hour: row.price_per_hour.normalize(),
            currency: row.currency,
        });
    }
    Ok(found)
}
