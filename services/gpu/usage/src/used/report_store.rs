//! SQL of usage reports: all runs in a window, summed up by group.

use ids::TenantId;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use rust_decimal::Decimal;
use sqlx::PgConnection;

/// The sum of a group's runs in one currency.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) key: String,
    pub(super) currency: String,
    pub(super) running_seconds: i64,
    pub(super) held_seconds: i64,
    pub(super) amount: Decimal,
    pub(super) open_runs: i64,
}

/// What is summed up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report<'a> {
    pub(super) tenant: Option<TenantId>,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// `instance`, `day`, `spec`, `kind` or `tenant`.
    pub(super) group_by: &'a str,
}

/// A checked query for groups. The scopes differ in `$scope`, so that a tenant's report reads that tenant's runs only.
///
/// Closed runs count by their days (`usage_days`); on days that are only partly in the window, the runs
/// themselves are read, like open runs. A part of a run costs the difference between the run's cost up to the
/// end and up to the beginning of the part, so that the parts of a run add up to its amount.
macro_rules! query_groups {
    ($scope:literal, $report:expr, $after:expr, $limit:expr) => {
        sqlx::query_as!(
            Group,
            r#"with whole as (
                   select date_trunc('day', $2::timestamptz + interval '24 hours' - interval '1 microsecond', 'UTC') as a,
                       date_trunc('day', $3::timestamptz, 'UTC') as b),
               edges as (
                   select $2::timestamptz as a, case when w.a < w.b then w.a else $3 end as b from whole w
                   union all
                   select w.b, $3 from whole w where w.a < w.b),
               cuts as (
                   select r.*, e.a as from_at, least(r.ended_at, e.b) as to_at from edges e
                   join runs r on r.started_at > e.a - interval '24 hours' and r.started_at < e.b and r.ended_at > e.a
                   where "#
                + $scope
                + r#"
                   union all
                   select r.*, e.a, least(r.ended_at, e.b) from edges e
                   join runs r on r.ended_at - r.started_at > interval '24 hours' and r.ended_at > e.a
                       and r.started_at <= e.a - interval '24 hours' and e.a < e.b
                   where "#
                + $scope
                + r#"
                   union all
                   select r.*, $2, least(date_trunc('second', now()), $3) from runs r
                   where r.ended_at is null and r.started_at < $3 and "#
                + $scope
                + r#"),
               parts as (
                   select r.tenant_id, r.instance_id, r.day, r.gpu_spec, r.kind, r.currency, r.seconds, r.amount,
                       null::uuid as open_run
                   from usage_days r, whole w
                   where r.day >= (w.a at time zone 'UTC')::date and r.day < (w.b at time zone 'UTC')::date
                     and r.seconds > 0 and "#
                + $scope
                + r#"
                   union all
                   select c.tenant_id, c.instance_id, part.day, coalesce(c.gpu_spec, ''), c.kind, c.currency, part.seconds, part.amount,
                       case when c.ended_at is null then c.id end
                   from cuts c cross join lateral usage_parts(
                       c.started_at, greatest(c.started_at, c.from_at), c.to_at, c.price_per_hour) as part),
               groups as (
                   select case $4 when 'instance' then 'inst_' || replace(instance_id::text, '-', '')
                                  when 'tenant' then 'ten_' || replace(tenant_id::text, '-', '')
                                  when 'day' then to_char(day, 'YYYY-MM-DD')
                                  when 'spec' then gpu_spec
                                  else kind end collate "C" as key,
                       currency, coalesce(sum(seconds) filter (where kind = 'running'), 0) as running,
                       coalesce(sum(seconds) filter (where kind = 'held'), 0) as held, sum(amount) as amount,
                       count(distinct open_run) as open_runs
                   from parts group by 1, 2)
               select key as "key!", currency as "currency!", running::bigint as "running_seconds!",
                   held::bigint as "held_seconds!", amount as "amount!", open_runs as "open_runs!"
               from groups where $5::text is null or (key, currency) > ($5, $6)
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
