//! SQL of capacity over time.

use ids::{DatacenterId, GpuSpecId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::model::{Counted, Period};

/// Returns whether the stock has changed since the last record, or a new hour has begun; false while another replica
/// measures.
pub(super) async fn has_changed(conn: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtext('stock.capacity')) and (
             not exists(select from capacity_since where date_trunc('hour', at, 'UTC') = date_trunc('hour', now(), 'UTC'))
             or exists(table capacity_of_stock except table capacity_now)
             or exists(table capacity_now except table capacity_of_stock)) as "changed!""#,
    )
    .fetch_one(conn)
    .await
}

/// Adds the stock since the last record to the counts, and records the current stock.
pub(super) async fn record(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!(
        "with parts as (
             select s.step, p.begins_at, p.seconds
             from capacity_since c cross join unnest(array['hour', 'day']) s(step)
             cross join lateral capacity_parts(s.step, c.at, now()) p),
         measured as (
             insert into capacity_steps as m (step, begins_at, seconds) select step, begins_at, seconds from parts
             on conflict (step, begins_at) do update set seconds = m.seconds + excluded.seconds)
         insert into capacity as c (gpu_spec_id, datacenter_id, step, begins_at, available, inactive, used,
             least_available)
         select n.gpu_spec_id, n.datacenter_id, p.step, p.begins_at, n.available * p.seconds, n.inactive * p.seconds,
             n.used * p.seconds, n.available
         from capacity_now n cross join parts p
         on conflict (gpu_spec_id, datacenter_id, step, begins_at) do update set
             available = c.available + excluded.available, inactive = c.inactive + excluded.inactive,
             used = c.used + excluded.used, least_available = least(c.least_available, excluded.least_available)",
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "delete from capacity_now n where not exists(
             select from capacity_of_stock s
             where s.gpu_spec_id = n.gpu_spec_id and s.datacenter_id = n.datacenter_id)",
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into capacity_now as n (gpu_spec_id, datacenter_id, available, inactive, used)
         select gpu_spec_id, datacenter_id, available, inactive, used from capacity_of_stock
         on conflict (gpu_spec_id, datacenter_id) do update set
             available = excluded.available, inactive = excluded.inactive, used = excluded.used
         where (n.available, n.inactive, n.used) <> (excluded.available, excluded.inactive, excluded.used)",
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "with moved as (update capacity_since set at = now() returning at)
         insert into capacity_since (at) select now() where not exists(select from capacity_since)",
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the time of the transaction.
pub(super) async fn now(conn: &mut PgConnection) -> sqlx::Result<Timestamp> {
    let now = sqlx::query_scalar!(r#"select now() as "now!""#).fetch_one(conn).await?;
    Ok(now.to_jiff())
}

/// Returns the counts in the steps of the period, of one specification or all, in one datacenter or all. Steps in which
/// nothing was counted are left out.
pub(super) async fn read(
    conn: &mut PgConnection,
    period: Period,
    gpu_spec: Option<GpuSpecId>,
    datacenter: Option<DatacenterId>,
) -> sqlx::Result<Vec<Counted>> {
    let rows = sqlx::query!(
        r#"with pending as (
             select p.begins_at, p.seconds from capacity_since c
             cross join lateral capacity_parts($1, c.at, now()) p where p.begins_at >= $2 and p.begins_at < $3),
         summed as (
             select gpu_spec_id, datacenter_id, begins_at, available, inactive, used, least_available
             from capacity where step = $1 and begins_at >= $2 and begins_at < $3
             union all
             select n.gpu_spec_id, n.datacenter_id, p.begins_at, n.available * p.seconds, n.inactive * p.seconds,
                 n.used * p.seconds, n.available
             from capacity_now n cross join pending p),
         each as (
             select begins_at, sum(available) as available, sum(inactive) as inactive, sum(used) as used,
                 min(least_available) as least_available
             from summed
             where ($4::uuid is null or gpu_spec_id = $4) and ($5::uuid is null or datacenter_id = $5)
             group by begins_at, gpu_spec_id, datacenter_id),
         counted as (
             select begins_at, sum(available)::bigint as available, sum(inactive)::bigint as inactive,
                 sum(used)::bigint as used, sum(least_available)::bigint as least_available
             from each group by begins_at),
         measured as (
             select begins_at, sum(seconds)::bigint as seconds from (
                 select begins_at, seconds from capacity_steps
                 where step = $1 and begins_at >= $2 and begins_at < $3
                 union all select begins_at, seconds from pending) m
             group by begins_at)
         select m.begins_at as "begins_at!", m.seconds as "seconds!", coalesce(c.available, 0) as "available!",
             coalesce(c.inactive, 0) as "inactive!", coalesce(c.used, 0) as "used!",
             coalesce(c.least_available, 0) as "least_available!"
         from measured m left join counted c on c.begins_at = m.begins_at
         where m.seconds > 0 order by m.begins_at"#,
        period.step as _,
        period.begins_at().to_sqlx() as _,
        period.ends_at().to_sqlx() as _,
        gpu_spec as Option<GpuSpecId>,
        datacenter as Option<DatacenterId>,
    )
    .fetch_all(conn)
    .await?;
    let counted = rows.into_iter().map(|row| Counted {
        begins_at: row.begins_at.to_jiff(),
        seconds: row.seconds,
        available: row.available,
        inactive: row.inactive,
        used: row.used,
        least_available: row.least_available,
    });
    Ok(counted.collect())
}

/// Deletes up to `limit` rows that are no longer kept: hours after 62 days, days after three years. Returns how many.
pub(crate) async fn forget(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    // first, so that a step whose counts are deleted in part is unknown
    let steps = sqlx::query!(
        "delete from capacity_steps where (step, begins_at) in (
             select step, begins_at from capacity_steps
             where step = 'hour' and begins_at < now() - interval '62 days'
                or step = 'day' and begins_at < now() - interval '3 years' limit $1)",
        limit,
    )
    .execute(&mut *conn)
    .await?;
    let counts = sqlx::query!(
        "delete from capacity where (gpu_spec_id, datacenter_id, step, begins_at) in (
             select gpu_spec_id, datacenter_id, step, begins_at from capacity
             where step = 'hour' and begins_at < now() - interval '62 days'
                or step = 'day' and begins_at < now() - interval '3 years' limit $1)",
        limit,
    )
    .execute(conn)
    .await?;
    Ok(steps.rows_affected().max(counts.rows_affected()))
}
