//! SQL of the forecast.

use sqlx::PgConnection;

/// Which window decides, in descending order of the claims in it.
pub(super) struct Ranks {
    /// From windows around the same time in the weeks before.
    pub(super) weeks: i64,
    /// From windows of the last hour.
    pub(super) hour: i64,
}

/// Stores how many units were claimed in windows of `window` seconds, by specification and datacenter: the greater of the
/// deciding windows of the weeks before and of the last hour. Interruptible claims do not count. Returns the number of changes.
pub(super) async fn forecast(
    conn: &mut PgConnection,
    weeks: i32,
    window: i64,
    ranks: Ranks,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "with periods as (
             select true as recent, now() - interval '1 hour' as since, now() as until
             union all
             select false, now() - n * interval '7 days' - interval '30 minutes',
                 now() - n * interval '7 days' + interval '30 minutes'
             from generate_series(1, $1::int) n),
         claimed as (
             select gpu_spec_id, datacenter_id, claimed_at from unit_holders
             where gpu_spec_id is not null and not interruptible and claimed_at > now() - ($1 + 1) * interval '7 days'
             union all
             select u.gpu_spec_id, u.datacenter_id, u.holder_since from units u
             where u.state = 'used' and not exists (
                 select from interruptible_claims i
                 where i.unit_id = u.id and i.instance_id = u.holder_instance and i.claimed_at = u.holder_since)),
         windows as (
             select c.gpu_spec_id, c.datacenter_id, p.recent, count(*) as units
             from claimed c join periods p on c.claimed_at >= p.since and c.claimed_at < p.until
             group by 1, 2, 3, floor(extract(epoch from c.claimed_at) / $2::bigint)),
         ranked as (
             select *, row_number() over (partition by gpu_spec_id, datacenter_id, recent order by units desc) as n
             from windows),
         forecast as (
             select gpu_spec_id, datacenter_id, max(units) as units from ranked
             where n = case when recent then $4::bigint else $3::bigint end group by 1, 2),
         gone as (
             delete from hold_backs h where not exists (
                 select from forecast f where f.gpu_spec_id = h.gpu_spec_id and f.datacenter_id = h.datacenter_id)
             returning 1),
         stored as (
             insert into hold_backs as h (gpu_spec_id, datacenter_id, units)
             select f.gpu_spec_id, f.datacenter_id, f.units from forecast f
             join gpu_specs s on s.id = f.gpu_spec_id join datacenters d on d.id = f.datacenter_id
             on conflict (gpu_spec_id, datacenter_id) do update set units = excluded.units, updated_at = now()
                 where h.units <> excluded.units
             returning 1)
         select from gone union all select from stored",
        weeks,
        window,
        ranks.weeks,
        ranks.hour,
    );
    done.execute(conn).await.map(|done| done.rows_affected())
}
