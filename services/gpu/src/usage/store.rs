//! SQL of metered runs.

use ids::{InstanceId, RunId, TenantId, UnitId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use rust_decimal::Decimal;
use sqlx::PgConnection;

use super::{EndReason, Metering};

/// What a run is billed to: the tenant, the unit, and the unit's price.
#[derive(Debug, Clone)]
pub(crate) struct Billing {
    pub(crate) tenant: TenantId,
    pub(crate) unit: UnitId,
    pub(crate) price_per_hour: Decimal,
    pub(crate) currency: String,
}

/// A metered run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) end_reason: Option<EndReason>,
    /// Whole seconds; of an open run, until now.
    pub(crate) seconds: i64,
    pub(crate) price_per_hour: Decimal,
    pub(crate) currency: String,
}

/// All runs of an instance in one currency.
#[derive(Debug)]
pub(crate) struct Total {
    pub(crate) currency: String,
    pub(crate) seconds: i64,
    pub(crate) amount: Decimal,
}

/// Records a change of the meter. Repeatable.
pub(crate) async fn record(
    conn: &mut PgConnection,
    instance: InstanceId,
    billing: Option<&Billing>,
    metering: &Metering,
) -> sqlx::Result<()> {
    let (key, ended_at, unseen, end_reason) = match metering {
        Metering::Open(key) => (key, None, false, None),
        Metering::Close(run) => (&run.key, Some(run.ended_at), run.unseen, Some(run.reason)),
        Metering::CloseUnseen(key) => {
            return sqlx::query!(
                "update runs set ended_at = confirmed_at, end_reason = $4
                 where instance_id = $1 and attempt = $2 and started_at = $3 and ended_at is null",
                instance as InstanceId,
                key.attempt,
                key.since.to_sqlx() as _,
                EndReason::Unseen as EndReason,
            )
            .execute(conn)
            .await
            .map(drop);
        }
    };
    let Some(billing) = billing else {
        return Err(sqlx::Error::Protocol("a run without a unit cannot be metered".to_owned()));
    };
    // a second run within the same second has the same key: it is one run with the later end. An end that was not
    // observed lies between the last confirmation and the time of the report.
    sqlx::query!(
        "insert into runs (id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at,
             confirmed_at, ended_at, end_reason)
         values ($1, $2, $3, $4, $5, $6, $7, $8::timestamptz,
             case when $11 then $8 else greatest($8::timestamptz, coalesce($9::timestamptz, $8)) end,
             case when $11 then $8 else $9::timestamptz end, $10)
         on conflict (instance_id, attempt, started_at) do update
             set ended_at = case when $11 then greatest(runs.ended_at, least(runs.confirmed_at, $9::timestamptz))
                                 else greatest(runs.ended_at, excluded.ended_at) end,
                 confirmed_at = greatest(runs.confirmed_at, excluded.confirmed_at),
                 end_reason = coalesce(excluded.end_reason, runs.end_reason)",
        RunId::new() as RunId,
        billing.tenant as TenantId,
        instance as InstanceId,
        key.attempt,
        billing.unit as UnitId,
        billing.price_per_hour,
        billing.currency,
        key.since.to_sqlx() as _,
        ended_at.map(ToSqlx::to_sqlx) as Option<jiff_sqlx::Timestamp>,
        end_reason as Option<EndReason>,
        unseen,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Confirms the open runs of these instances: their clusters report them as running now.
pub(crate) async fn confirm(conn: &mut PgConnection, running: &[InstanceId]) -> sqlx::Result<u64> {
    sqlx::query!(
        "update runs set confirmed_at = date_trunc('second', now())
         where instance_id = any($1) and ended_at is null and confirmed_at < date_trunc('second', now())",
        running as &[InstanceId],
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}

/// Returns whether the tenant has this instance.
pub(crate) async fn instance_exists(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists(
               select from instances where id = $1 and tenant_id = $2 and state <> 'deleted') as "exists!""#,
        instance as InstanceId,
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}

/// Returns an instance's runs before `before`, newest first.
pub(crate) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
    before: Option<RunId>,
    limit: i64,
) -> sqlx::Result<Vec<Run>> {
    sqlx::query_as!(
        Run,
        r#"select id, started_at, ended_at, end_reason, price_per_hour, currency,
               greatest(0, floor(extract(epoch from coalesce(ended_at, now()) - started_at)))::bigint as "seconds!"
           from runs
           where tenant_id = $1 and instance_id = $2 and ($3::uuid is null or id < $3)
           order by id desc limit $4"#,
        tenant as TenantId,
        instance as InstanceId,
        before as Option<RunId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns the totals of an instance's runs, by currency. Each run is rounded as in [`super::amount`].
pub(crate) async fn totals(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
) -> sqlx::Result<Vec<Total>> {
    sqlx::query_as!(
        Total,
        r#"with lines as (
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
           select currency, sum(seconds)::bigint as "seconds!", (sum(micros) / 1000000)::numeric as "amount!"
           from rounded group by currency order by currency"#,
        tenant as TenantId,
        instance as InstanceId,
    )
    .fetch_all(conn)
    .await
}
