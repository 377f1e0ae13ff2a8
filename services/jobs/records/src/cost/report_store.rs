//! SQL of usage reports: cost of attempts in a window, summed up by group; and of the sums by day that they
//! read.

use ids::TenantId;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use rust_decimal::Decimal;
use sqlx::PgConnection;

/// The sum of a group in one currency.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) key: String,
    /// Empty without a price.
    pub(super) currency: String,
    pub(super) seconds: i64,
    pub(super) amount: Decimal,
    pub(super) uncharged_seconds: i64,
    pub(super) attempts: i64,
    pub(super) open_attempts: i64,
}

/// The parameters of a report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report<'a> {
    pub(super) tenant: Option<TenantId>,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// `day`, `kind`, `application`, `pool`, `spec`, `charge` or `tenant`.
    pub(super) group_by: &'a str,
}

/// A checked query for groups. The scopes differ in `$scope`, so that a tenant's report reads that tenant's rows only.
///
/// `offset 0` keeps the planner from joining all charges with the two edges. Whole days are read from their
/// sums, and from the changes that are not added to these yet. On days that are only partly in the window,
/// the charges are read: a part of a charge is the difference between its amounts up to the end and up to the
/// beginning of the part, so that the parts add up to the whole.
macro_rules! query_groups {
    ($scope:literal, $report:expr, $after:expr, $limit:expr) => {
        sqlx::query_as!(
            Group,
            r#"with whole as (
                   select date_trunc('day', $2::timestamptz + interval '24 hours' - interval '1 microsecond', 'UTC') as a,
                       date_trunc('day', $3::timestamptz, 'UTC') as b),
               edges as (
                   select e.*, e.a - interval '1 hour' as since, (e.a at time zone 'UTC')::date as day from (
                       select $2::timestamptz as a, least(w.a, $3) as b from whole w
                       union all
                       select w.b, $3 from whole w where w.a <= w.b) as e
                   where e.a < e.b),
               cuts as (
                   select r.*, e.day, e.a, e.b from edges e cross join lateral (
                       select * from charges r where r.assigned_at > e.since and r.assigned_at < e.b and "#
                + $scope
                + r#" offset 0) as r
                   union all
                   select r.*, e.day, e.a, e.b from edges e cross join lateral (
                       select * from charges r
                       where r.ended_at - r.assigned_at > interval '1 hour' and r.ended_at > e.a and "#
                + $scope
                + r#" offset 0) as r
                   where r.assigned_at <= e.since),
               parts as (
                   select r.tenant_id, r.day, r.pool_id, r.kind, r.application, r.gpu_spec, r.charge, r.currency, r.seconds, r.amount,
                       r.attempts, 0::bigint as open_attempts
                   from usage_days r
                   where r.day >= (select (a at time zone 'UTC')::date from whole)
                       and r.day < (select (b at time zone 'UTC')::date from whole) and "#
                + $scope
                + r#"
                   union all
                   select r.tenant_id, r.day, r.pool_id, r.kind, r.application, r.gpu_spec, r.charge, r.currency, r.seconds, r.amount,
                       r.attempts, 0
                   from usage_changes r
                   where r.day >= (select (a at time zone 'UTC')::date from whole)
                       and r.day < (select (b at time zone 'UTC')::date from whole) and "#
                + $scope
                + r#"
                   union all
                   select c.tenant_id, c.day, c.pool_id, c.kind, c.application, c.gpu_spec, 'charged', c.currency, upto - before,
                       usage_amount(upto, c.price_per_hour) - usage_amount(before, c.price_per_hour), 0, 0
                   from cuts c cross join lateral (
                       select usage_seconds(c.started_at, greatest(c.started_at, c.a)) as before,
                           usage_seconds(c.started_at, least(c.ended_at, c.b)) as upto) as part
                   where upto > before
                   union all
                   select c.tenant_id, c.day, c.pool_id, c.kind, c.application, c.gpu_spec, c.uncharged_reason, c.currency,
                       c.uncharged_seconds, 0, 0, 0
                   from cuts c where c.assigned_at >= c.a and c.assigned_at < c.b and c.uncharged_seconds > 0
                   union all
                   select c.tenant_id, c.day, c.pool_id, c.kind, c.application, c.gpu_spec, c.counts_as, c.currency, 0, 0, 1, 0
                   from cuts c where c.assigned_at >= c.a and c.assigned_at < c.b
                   union all
                   select r.tenant_id, (r.assigned_at at time zone 'UTC')::date, r.pool_id, r.kind, r.application, r.gpu_spec, 'open',
                       r.currency, 0, 0, 0, 1
                   from open_attempts($1) r where r.assigned_at >= $2 and r.assigned_at < $3),
               groups as (
                   select case $4 when 'pool' then 'pool_' || replace(pool_id::text, '-', '')
                                  when 'tenant' then 'ten_' || replace(tenant_id::text, '-', '')
                                  when 'day' then to_char(day, 'YYYY-MM-DD')
                                  when 'kind' then kind
                                  when 'application' then application
                                  when 'spec' then gpu_spec
                                  else charge end collate "C" as key,
                       currency, coalesce(sum(seconds) filter (where charge = 'charged'), 0) as seconds, sum(amount) as amount,
                       coalesce(sum(seconds) filter (where charge <> 'charged'), 0) as uncharged, sum(attempts) as attempts,
                       sum(open_attempts) as open_attempts
                   from parts group by 1, 2)
               select key as "key!", currency as "currency!", seconds::bigint as "seconds!", amount as "amount!",
                   uncharged::bigint as "uncharged_seconds!", attempts::bigint as "attempts!", open_attempts::bigint as "open_attempts!"
               from groups
               where (seconds, amount, uncharged, attempts, open_attempts) <> (0, 0, 0, 0, 0)
                   and ($5::text is null or (key, currency) > ($5, $6))
               order by key, currency limit $7"#,
            $report.tenant as Option<TenantId>,
            $report.from.to_sqlx() as _,
            $report.to.to_sqlx() as _,
            $report.group_by,
            $after.map(|(key, _)| key),
            $after.map(|(_, currency)| currency),
            $limit,
        )
    };
}

/// Returns the groups after `after`, by key and currency.
pub(super) async fn groups(
    conn: &mut PgConnection,
    report: Report<'_>,
    after: Option<(&str, &str)>,
    limit: i64,
) -> sqlx::Result<Vec<Group>> {
    if report.tenant.is_some() {
        query_groups!("r.tenant_id = $1", report, after, limit).fetch_all(conn).await
    } else {
        query_groups!("$1::uuid is null", report, after, limit).fetch_all(conn).await
    }
}

/// Adds up to `most` changes to the sums by day. Returns how many.
pub(super) async fn add_changes(conn: &mut PgConnection, most: i64) -> sqlx::Result<u64> {
    let added = sqlx::query_scalar!(
        r#"with gone as (
               delete from usage_changes where id in (select id from usage_changes limit $1 for update skip locked)
               returning tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency, seconds, amount, attempts),
           added as (
               insert into usage_days as t
                   (tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency, seconds, amount, attempts)
               select tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency, sum(seconds), sum(amount), sum(attempts)
               from gone group by 1, 2, 3, 4, 5, 6, 7, 8
               order by 1, 2, 3, 4, 5, 6, 7, 8
               on conflict (tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency) do update
                   set seconds = t.seconds + excluded.seconds, amount = t.amount + excluded.amount,
                       attempts = t.attempts + excluded.attempts)
           select count(*) as "count!" from gone"#,
        most,
    );
    Ok(added.fetch_one(conn).await?.unsigned_abs())
}
