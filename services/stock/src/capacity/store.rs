//! SQL of capacity over time.

use ids::{DatacenterId, GpuSpecId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::model::{Counted, Period};

/// Adds what the stock is now to its hour and its day, as the list of stock counts it.
pub(super) async fn measure(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!(
        "with lent as (
             select gpu_spec_id, datacenter_id, count(*) as units from interruptible_claims group by 1, 2),
         now_there as (
             select c.gpu_spec_id, c.datacenter_id, sum(c.available) + coalesce(l.units, 0) as available,
                 sum(c.inactive) as inactive, sum(c.used) - coalesce(l.units, 0) as used
             from stock_counts c
             left join lent l on l.gpu_spec_id = c.gpu_spec_id and l.datacenter_id = c.datacenter_id
             group by c.gpu_spec_id, c.datacenter_id, l.units
             having sum(c.available + c.inactive + c.used) > 0),
         steps as (
             select step, date_trunc(step, now(), 'UTC') as begins_at from unnest(array['hour', 'day']) as s(step)),
         counted as (
             insert into capacity_rounds as r (step, begins_at, rounds) select step, begins_at, 1 from steps
             on conflict (step, begins_at) do update set rounds = r.rounds + 1)
         insert into capacity as c (gpu_spec_id, datacenter_id, step, begins_at, available, inactive, used,
             least_available)
         select n.gpu_spec_id, n.datacenter_id, s.step, s.begins_at, n.available, n.inactive, n.used, n.available
         from now_there n cross join steps s
         on conflict (gpu_spec_id, datacenter_id, step, begins_at) do update set
             available = c.available + excluded.available, inactive = c.inactive + excluded.inactive,
             used = c.used + excluded.used, least_available = least(c.least_available, excluded.least_available)",
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

/// Returns what was counted in the steps of the period, of one specification or all, in one datacenter or all. Steps in
/// which nothing was counted are left out.
pub(super) async fn read(
    conn: &mut PgConnection,
    period: Period,
    gpu_spec: Option<GpuSpecId>,
    datacenter: Option<DatacenterId>,
) -> sqlx::Result<Vec<Counted>> {
    let rows = sqlx::query!(
        r#"with counted as (
             select begins_at, sum(available)::bigint as available, sum(inactive)::bigint as inactive,
                 sum(used)::bigint as used, sum(least_available)::bigint as least_available
             from capacity
             where step = $1 and begins_at >= $2 and begins_at < $3
               and ($4::uuid is null or gpu_spec_id = $4) and ($5::uuid is null or datacenter_id = $5)
             group by begins_at)
         select r.begins_at, r.rounds, coalesce(c.available, 0) as "available!",
             coalesce(c.inactive, 0) as "inactive!", coalesce(c.used, 0) as "used!",
             coalesce(c.least_available, 0) as "least_available!"
         from capacity_rounds r left join counted c on c.begins_at = r.begins_at
         where r.step = $1 and r.begins_at >= $2 and r.begins_at < $3 order by r.begins_at"#,
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
        rounds: row.rounds,
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
    let rounds = sqlx::query!(
        "delete from capacity_rounds where (step, begins_at) in (
             select step, begins_at from capacity_rounds
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
    Ok(rounds.rows_affected().max(counts.rows_affected()))
}
