//! SQL of metered runs.

use ids::{InstanceId, RunId, TenantId};
use jiff_sqlx::{Timestamp, ToSqlx};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::instance::{Instance, Metering};

/// One metered run.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) end_reason: Option<String>,
    /// Whole seconds; of a run that goes on, until now.
    pub(crate) seconds: i64,
    pub(crate) price_per_hour: Decimal,
    pub(crate) currency: String,
}

/// Writes one line of the meter; the same line again changes nothing. `instance` is as it was when the
/// run was: it holds the unit and the price.
pub(crate) async fn meter(
    conn: &mut PgConnection,
    instance: &Instance,
    metering: &Metering,
) -> sqlx::Result<()> {
    let (key, ended) = match metering {
        Metering::Open(key) => (key, None),
        Metering::Close(run) => (&run.key, Some((run.ended_at, run.reason.as_str()))),
        Metering::CloseUnseen(key) => {
            return sqlx::query(
                "update runs set ended_at = confirmed_at, end_reason = 'unseen'
                 where instance_id = $1 and attempt = $2 and started_at = $3 and ended_at is null",
            )
            .bind(instance.id)
            .bind(key.attempt)
            .bind(key.since.to_sqlx())
            .execute(conn)
            .await
            .map(drop);
        }
    };
    let Some(claim) = instance.state.claim() else {
        return Err(sqlx::Error::Protocol("a run without a unit cannot be metered".to_owned()));
    };
    // a run that began again within its second is one run with the later end
    sqlx::query(
        "insert into runs (id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at,
             confirmed_at, ended_at, end_reason)
         values ($1, $2, $3, $4, $5, $6, $7, $8, greatest($8, coalesce($9, $8)), $9, $10)
         on conflict (instance_id, attempt, started_at) do update
             set ended_at = greatest(runs.ended_at, excluded.ended_at),
                 confirmed_at = greatest(runs.confirmed_at, excluded.confirmed_at),
                 end_reason = coalesce(excluded.end_reason, runs.end_reason)",
    )
    .bind(RunId::new())
    .bind(instance.tenant)
    .bind(instance.id)
    .bind(key.attempt)
    .bind(claim.unit_id)
    .bind(claim.price_per_hour)
    .bind(&claim.currency)
    .bind(key.since.to_sqlx())
    .bind(ended.map(|(at, _)| at.to_sqlx()))
    .bind(ended.map(|(_, reason)| reason))
    .execute(conn)
    .await
    .map(drop)
}

/// Notes that the open runs of these instances go on: their clusters say so now.
pub(crate) async fn confirm(conn: &mut PgConnection, running: &[InstanceId]) -> sqlx::Result<u64> {
    let ids: Vec<Uuid> = running.iter().map(|id| id.uuid()).collect();
    sqlx::query(
        "update runs set confirmed_at = date_trunc('second', now())
         where instance_id = any($1) and ended_at is null and confirmed_at < date_trunc('second', now())",
    )
    .bind(ids)
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}

/// A page of an instance's runs, the newest first.
pub(crate) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
    after: Option<RunId>,
    limit: i64,
) -> sqlx::Result<Vec<Run>> {
    sqlx::query_as(
        "select id, started_at, ended_at, end_reason, price_per_hour, currency,
             greatest(0, floor(extract(epoch from coalesce(ended_at, now()) - started_at)))::bigint as seconds
         from runs
         where tenant_id = $1 and instance_id = $2 and ($3::uuid is null or id < $3)
         order by id desc limit $4",
    )
    .bind(tenant)
    .bind(instance)
    .bind(after)
    .bind(limit)
    .fetch_all(conn)
    .await
}

/// The seconds of an instance at each price it ran at: currency, price, seconds, in the runs' own rounding.
pub(crate) async fn totals(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
) -> sqlx::Result<Vec<(String, i64, Decimal)>> {
    // each run is rounded as `model::amount` rounds it: half to even
    sqlx::query_as(
        "with lines as (
             select currency,
                 greatest(0, floor(extract(epoch from coalesce(ended_at, now()) - started_at)))::bigint as seconds,
                 price_per_hour
             from runs where tenant_id = $1 and instance_id = $2),
         exact as (
             select currency, seconds, seconds * price_per_hour * 1000000 / 3600 as micros from lines),
         rounded as (
             select currency, seconds,
                 case when micros - floor(micros) = 0.5 and mod(floor(micros), 2) = 0 then floor(micros)
                      else round(micros) end as micros
             from exact)
         select currency, sum(seconds)::bigint, (sum(micros) / 1000000)::numeric
         from rounded group by currency order by currency",
    )
    .bind(tenant)
    .bind(instance)
    .fetch_all(conn)
    .await
}
