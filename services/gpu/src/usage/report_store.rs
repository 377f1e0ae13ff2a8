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
/// A run that is cut costs the difference of what it cost until the end and until the beginning of the cut: whatever the
/// cuts, they sum up to the amount of the run.
macro_rules! query_groups {
    ($scope:literal, $report:expr, $after:expr, $limit:expr) => {
        sqlx::query_as!(
            Group,
            r#"with cuts as (
                   select case $4 when 'instance' then 'inst_' || replace(r.instance_id::text, '-', '')
                                  when 'tenant' then 'ten_' || replace(r.tenant_id::text, '-', '')
                                  when 'day' then to_char(cut.a at time zone 'UTC', 'YYYY-MM-DD')
                                  when 'spec' then r.gpu_spec
                                  else r.kind end collate "C" as key,
                       r.currency, r.kind, r.id, r.ended_at, r.price_per_hour,
                       usage_seconds(r.started_at, cut.a) as before, usage_seconds(r.started_at, cut.b) as upto
                   from runs r
                   cross join lateral (
                       select greatest(r.started_at, $2) as a,
                           least(coalesce(r.ended_at, date_trunc('second', now())), $3) as b) w
                   cross join lateral (
                       select w.a, w.b where $4 <> 'day'
                       union all
                       select greatest(w.a, d), least(w.b, d + interval '24 hours')
                       from generate_series(date_trunc('day', w.a, 'UTC'), w.b, interval '24 hours') as d
                       where $4 = 'day') as cut
                   where (r.ended_at is null or r.ended_at > $2) and r.started_at < $3 and cut.a < cut.b and "#
                + $scope
                + r#"),
               groups as (
                   select key, currency, coalesce(sum(upto - before) filter (where kind = 'running'), 0) as running,
                       coalesce(sum(upto - before) filter (where kind = 'held'), 0) as held,
                       sum(usage_amount(upto, price_per_hour) - usage_amount(before, price_per_hour)) as amount,
                       count(distinct id) filter (where ended_at is null) as open_runs
                   from cuts group by key, currency)
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
