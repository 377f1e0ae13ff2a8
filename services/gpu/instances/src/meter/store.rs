//! SQL of metered runs.

use gpu_core::{
    claim::Claim,
    ends::{EndReason, HoldEnd},
    meter::{Correction, EndedHold, EndedRun, Metering, RunKey, UsageKind, Watermark},
    unit::PodRef,
};
use ids::{InstanceId, RunId, TenantId, UnitId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use rust_decimal::Decimal;
use sqlx::{PgConnection, types::Text};

/// The tenant, the unit and the unit's price, to which a run is billed.
#[derive(Debug, Clone)]
pub(crate) struct Billing {
    pub tenant: TenantId,
    pub unit: UnitId,
    /// Where the unit is.
    pub cluster: String,
    pub datacenter: String,
    pub price_per_hour: Decimal,
    /// None if the unit cannot be held.
    pub hold_price_per_hour: Option<Decimal>,
    pub currency: String,
}

impl Billing {
    pub(crate) fn new(tenant: TenantId, claim: &Claim) -> Self {
        Self {
            tenant,
            unit: claim.unit_id,
            cluster: claim.unit.cluster.clone(),
            datacenter: claim.place.datacenter_name.clone(),
            price_per_hour: claim.price_per_hour,
            hold_price_per_hour: claim.hold_price_per_hour(),
            currency: claim.currency.clone(),
        }
    }
}

/// A metered run.
#[derive(Debug)]
pub struct Run {
    pub id: RunId,
    pub kind: UsageKind,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub end_reason: Option<EndReason>,
    pub hold_end: Option<HoldEnd>,
    pub correction: Option<Correction>,
    /// Whole seconds; of an open run, until now.
    pub seconds: i64,
    pub price_per_hour: Decimal,
    pub currency: String,
}

/// All runs of an instance of one kind, in one currency.
#[derive(Debug)]
pub struct Total {
    pub kind: UsageKind,
    pub currency: String,
    pub seconds: i64,
    pub amount: Decimal,
}

/// Records a change of the meter. Repeatable.
pub(crate) async fn record(
    conn: &mut PgConnection,
    instance: InstanceId,
    billing: Option<&Billing>,
    metering: &Metering,
) -> sqlx::Result<()> {
    match metering {
        Metering::Open(key) => upsert(conn, instance, billing, key, None).await,
        Metering::Close(run) => upsert(conn, instance, billing, &run.key, Some(run)).await,
        Metering::CloseUnseen(key) => sqlx::query!(
            "update runs set ended_at = confirmed_at, end_reason = $4
             where instance_id = $1 and attempt = $2 and started_at = $3 and kind = 'running' and ended_at is null",
            instance as InstanceId,
            key.attempt,
            key.since.to_sqlx() as _,
            EndReason::Unseen.as_str(),
        )
        .execute(conn)
        .await
        .map(drop),
        Metering::OpenHold(key) => open_hold(conn, instance, billing, key).await,
        Metering::CloseHold(EndedHold { key, ended_at, cause }) => sqlx::query!(
            "update runs set hold_end = $5,
                 ended_at = case when $6 then least(confirmed_at, $4) else $4::timestamptz end,
                 confirmed_at = case when $6 then confirmed_at else greatest(confirmed_at, $4) end
             where instance_id = $1 and attempt = $2 and started_at = $3 and kind = 'held' and ended_at is null",
            instance as InstanceId,
            key.attempt,
            key.since.to_sqlx() as _,
            ended_at.to_sqlx() as _,
            cause.as_str(),
            *cause == HoldEnd::UnitLost,
        )
        .execute(conn)
        .await
        .map(drop),
    }
}

/// Opens a run, or closes it with `ended`. A second run within the same second has the same key: it is one
/// run with the later end. An unobserved end lies between the last confirmation and the time of the report.
async fn upsert(
    conn: &mut PgConnection,
    instance: InstanceId,
    billing: Option<&Billing>,
    key: &RunKey,
    ended: Option<&EndedRun>,
) -> sqlx::Result<()> {
    let billing = billing.ok_or_else(without_unit)?;
    sqlx::query!(
        "insert into runs (id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at,
             confirmed_at, ended_at, end_reason, cluster, datacenter)
         values ($1, $2, $3, $4, $5, $6, $7, $8::timestamptz,
             case when $11 then $8 else greatest($8::timestamptz, coalesce($9::timestamptz, $8)) end,
             case when $11 then $8 else $9::timestamptz end, $10, $12, $13)
         on conflict (instance_id, attempt, started_at) do update
             set ended_at = case when $11 then greatest(runs.ended_at, least(runs.confirmed_at, $9::timestamptz))
                                 else greatest(runs.ended_at, excluded.ended_at) end,
                 confirmed_at = greatest(runs.confirmed_at, excluded.confirmed_at),
                 end_reason = coalesce(excluded.end_reason, runs.end_reason)
             where runs.kind = 'running'",
        key.id(instance) as RunId,
        billing.tenant as TenantId,
        instance as InstanceId,
        key.attempt,
        billing.unit as UnitId,
        billing.price_per_hour,
        billing.currency,
        key.since.to_sqlx() as _,
        ended.map(|ended| ended.ended_at.to_sqlx()) as Option<jiff_sqlx::Timestamp>,
        ended.map(|ended| ended.reason.as_str()),
        ended.is_some_and(|ended| ended.unseen),
        billing.cluster,
        billing.datacenter,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records the pod of a run, by which its metrics are found.
pub(crate) async fn set_pod(
    conn: &mut PgConnection,
    instance: InstanceId,
    key: &RunKey,
    pod: &PodRef,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update runs set pod_namespace = $4, pod_name = $5
         where instance_id = $1 and attempt = $2 and started_at = $3 and kind = 'running'
           and (pod_namespace, pod_name) is distinct from ($4, $5)",
        instance as InstanceId,
        key.attempt,
        key.since.to_sqlx() as _,
        pod.namespace(),
        pod.name(),
    )
    .execute(conn)
    .await
    .map(drop)
}

async fn open_hold(
    conn: &mut PgConnection,
    instance: InstanceId,
    billing: Option<&Billing>,
    key: &RunKey,
) -> sqlx::Result<()> {
    let billing = billing.ok_or_else(without_unit)?;
    let price_per_hour = billing.hold_price_per_hour.ok_or_else(without_unit)?;
    sqlx::query!(
        "insert into runs (id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at,
             confirmed_at, cluster, datacenter, kind)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, 'held')
         on conflict (instance_id, attempt, started_at) do nothing",
        key.id(instance) as RunId,
        billing.tenant as TenantId,
        instance as InstanceId,
        key.attempt,
        billing.unit as UnitId,
        price_per_hour,
        billing.currency,
        key.since.to_sqlx() as _,
        billing.cluster,
        billing.datacenter,
    )
    .execute(conn)
    .await
    .map(drop)
}

fn without_unit() -> sqlx::Error {
    sqlx::Error::Decode("a run without a unit and its price cannot be metered".into())
}

/// Confirms the open runs of this kind of these instances, which their clusters report as running now.
pub async fn confirm(
    conn: &mut PgConnection,
    kind: UsageKind,
    instances: &[InstanceId],
) -> sqlx::Result<u64> {
    sqlx::query!(
        "update runs set confirmed_at = date_trunc('second', now())
         where instance_id = any($1) and kind = $2 and ended_at is null
           and confirmed_at < date_trunc('second', now())",
        instances as &[InstanceId],
        kind.as_str(),
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}

/// An open hold.
#[derive(Debug)]
pub struct OpenHold {
    pub instance_id: InstanceId,
    pub unit_id: UnitId,
    pub cluster: String,
}

/// Returns open holds of instances after `after`, in order.
pub async fn open_holds(
    conn: &mut PgConnection,
    after: Option<InstanceId>,
    limit: i64,
) -> sqlx::Result<Vec<OpenHold>> {
    sqlx::query_as!(
        OpenHold,
        "select instance_id, unit_id, cluster from runs
           where kind = 'held' and ended_at is null
             and ($1::uuid is null or instance_id > $1)
           order by instance_id limit $2",
        after as Option<InstanceId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Advances the watermarks of clusters that answer, up to the oldest confirmation of their open runs.
pub async fn advance_watermarks(conn: &mut PgConnection, clusters: &[String]) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into usage_watermarks as w (cluster, confirmed_through)
         select c, coalesce((select min(r.confirmed_at) from runs r where r.ended_at is null and r.cluster = c),
                            date_trunc('second', now()))
         from unnest($1::text[]) as c order by c
         on conflict (cluster) do update set confirmed_through = excluded.confirmed_through
             where w.confirmed_through < excluded.confirmed_through",
        clusters,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the watermarks.
pub async fn watermarks(conn: &mut PgConnection) -> sqlx::Result<Vec<Watermark>> {
    sqlx::query_as!(Watermark, "select cluster, confirmed_through from usage_watermarks order by cluster")
        .fetch_all(conn)
        .await
}

/// Returns whether the tenant has this instance.
pub async fn instance_exists(
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
pub async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
    before: Option<RunId>,
    limit: i64,
) -> sqlx::Result<Vec<Run>> {
    let rows = sqlx::query!(
        r#"select id, kind, started_at, ended_at, end_reason, hold_end, correction, price_per_hour, currency,
               greatest(0, floor(extract(epoch from coalesce(ended_at, now()) - started_at)))::bigint as "seconds!"
           from runs
           where tenant_id = $1 and instance_id = $2 and ($3::uuid is null or id < $3)
           order by id desc limit $4"#,
        tenant as TenantId,
        instance as InstanceId,
        before as Option<RunId>,
        limit,
    );
    let runs = rows.fetch_all(conn).await?.into_iter().map(|row| Run {
        id: row.id,
        kind: row.kind.0,
        started_at: row.started_at.to_jiff(),
        ended_at: row.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
        end_reason: row.end_reason.map(|reason| reason.0),
        hold_end: row.hold_end.map(|end| end.0),
        correction: row.correction.map(|correction| correction.0),
        seconds: row.seconds,
        price_per_hour: row.price_per_hour,
        currency: row.currency,
    });
    Ok(runs.collect())
}

/// Returns the totals of an instance's runs, by kind and currency: those of closed runs, and the open ones until now.
pub async fn totals(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
) -> sqlx::Result<Vec<Total>> {
    let rows = sqlx::query!(
        r#"with parts as (
               select kind, currency, seconds, amount from usage_totals where tenant_id = $1 and instance_id = $2
               union all
               select kind, currency, usage_seconds(started_at, now()),
                   usage_amount(usage_seconds(started_at, now()), price_per_hour)
               from runs where tenant_id = $1 and instance_id = $2 and ended_at is null)
           select kind as "kind!: Text<UsageKind>", currency as "currency!", sum(seconds)::bigint as "seconds!",
               sum(amount) as "amount!"
           from parts group by kind, currency order by currency, kind desc"#,
        tenant as TenantId,
        instance as InstanceId,
    );
    let totals = rows.fetch_all(conn).await?.into_iter().map(|row| Total {
        kind: row.kind.0,
        currency: row.currency,
        seconds: row.seconds,
        amount: row.amount,
    });
    Ok(totals.collect())
}
