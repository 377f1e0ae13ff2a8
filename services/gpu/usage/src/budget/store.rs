//! SQL of budgets, of the allowances that starts are checked against, and of what tenants spend.

use db::queue::Table;
use gpu_core::budget::{Allowance, AtLimit, Month, Progress, Spending, Terms};
use ids::TenantId;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use rust_decimal::Decimal;
use sqlx::{
    PgConnection,
    types::{Json, Text},
};

/// The queue of budgets to evaluate, by tenant.
pub(super) const QUEUE: Table = Table { name: "budgets", channel: "atelier_gpu_budgets", lane: "''::text" };

/// A tenant's budget as stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Budget {
    pub(super) tenant: TenantId,
    pub(super) terms: Terms,
    pub(super) generation: i64,
    pub(super) progress: Progress,
}

struct Row {
    id: TenantId,
    amount: Decimal,
    currency: String,
    warn_percents: Vec<i32>,
    at_limit: Text<AtLimit>,
    generation: i64,
    progress: Json<Progress>,
}

impl From<Row> for Budget {
    fn from(row: Row) -> Self {
        let warn_percents =
            row.warn_percents.into_iter().filter_map(|percent| u8::try_from(percent).ok()).collect();
        Self {
            tenant: row.id,
            terms: Terms {
                amount: row.amount.normalize(),
                currency: row.currency,
                warn_percents,
                at_limit: row.at_limit.0,
            },
            generation: row.generation,
            progress: row.progress.0,
        }
    }
}

/// Returns the tenant's budget, if it has one.
pub(super) async fn find(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Option<Budget>> {
    let row = sqlx::query_as!(
        Row,
        "select id, amount, currency, warn_percents, at_limit, generation, progress from budgets where id = $1",
        tenant as TenantId,
    );
    Ok(row.fetch_optional(conn).await?.map(Budget::from))
}

/// Returns the budgets of tenants after `after`, by id.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<TenantId>,
    limit: i64,
) -> sqlx::Result<Vec<Budget>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, amount, currency, warn_percents, at_limit, generation, progress from budgets
         where $1::uuid is null or id > $1 order by id limit $2",
        after as Option<TenantId>,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Budget::from).collect())
}

/// Stores the terms of a tenant's budget, and enqueues it. `progress` is that of a new one. Returns the generation.
pub(super) async fn put(
    conn: &mut PgConnection,
    tenant: TenantId,
    terms: &Terms,
    progress: &Progress,
) -> sqlx::Result<i64> {
    let warn_percents: Vec<i32> = terms.warn_percents.iter().copied().map(i32::from).collect();
    let generation = sqlx::query_scalar!(
        "insert into budgets (id, amount, currency, warn_percents, at_limit, progress, wake_at)
         values ($1, $2, $3, $4, $5, $6, now())
         on conflict (id) do update
             set amount = excluded.amount, currency = excluded.currency, warn_percents = excluded.warn_percents,
                 at_limit = excluded.at_limit, generation = budgets.generation + 1, updated_at = now(),
                 wake_at = now()
         returning generation",
        tenant as TenantId,
        terms.amount,
        terms.currency,
        &warn_percents,
        terms.at_limit.as_str(),
        Json(progress) as _,
    )
    .fetch_one(&mut *conn)
    .await?;
    QUEUE.notify(conn).await?;
    Ok(generation)
}

/// Stores the steps that were reached.
pub(super) async fn advance(
    conn: &mut PgConnection,
    tenant: TenantId,
    progress: &Progress,
) -> sqlx::Result<()> {
    sqlx::query!("update budgets set progress = $2 where id = $1", tenant as TenantId, Json(progress) as _)
        .execute(conn)
        .await
        .map(drop)
}

/// Deletes the tenant's budget. Returns false if it has none.
pub(super) async fn delete(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<bool> {
    sqlx::query!("delete from budgets where id = $1", tenant as TenantId)
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// Returns what the tenant has spent in a month until `at`, in one currency: the days of closed runs, and the open runs.
pub(super) async fn spending(
    conn: &mut PgConnection,
    tenant: TenantId,
    currency: &str,
    month: Month,
    at: Timestamp,
) -> sqlx::Result<Spending> {
    let row = sqlx::query!(
        r#"with parts as (
               select kind, sum(amount) as amount, 0 as rate from usage_days
               where tenant_id = $1 and currency = $2
                 and day >= ($3 at time zone 'UTC')::date and day < ($4 at time zone 'UTC')::date
               group by kind
               union all
               select kind,
                   usage_amount(usage_seconds(started_at, $5), price_per_hour)
                       - usage_amount(usage_seconds(started_at, least($3, $5)), price_per_hour),
                   price_per_hour
               from runs where tenant_id = $1 and currency = $2 and ended_at is null)
           select coalesce(sum(amount) filter (where kind = 'running'), 0) as "running!",
               coalesce(sum(amount) filter (where kind = 'held'), 0) as "held!",
               coalesce(sum(rate), 0) as "rate!"
           from parts"#,
        tenant as TenantId,
        currency,
        month.from.to_sqlx() as _,
        month.to.to_sqlx() as _,
        at.to_sqlx() as _,
    )
    .fetch_one(conn)
    .await?;
    Ok(Spending {
        running: row.running.normalize(),
        held: row.held.normalize(),
        rate_per_hour: row.rate.normalize(),
        at,
    })
}

struct AllowanceRow {
    tenant_id: TenantId,
    issuer: String,
    version: i64,
    currency: String,
    max_rate_per_hour: Option<Decimal>,
    valid_until: Option<jiff_sqlx::Timestamp>,
    runs_out_at: Option<jiff_sqlx::Timestamp>,
    renews_at: Option<jiff_sqlx::Timestamp>,
}

impl From<AllowanceRow> for Allowance {
    fn from(row: AllowanceRow) -> Self {
        Self {
            issuer: row.issuer,
            version: row.version,
            currency: row.currency,
            max_rate_per_hour: row.max_rate_per_hour,
            valid_until: row.valid_until.map(jiff_sqlx::Timestamp::to_jiff),
            runs_out_at: row.runs_out_at.map(jiff_sqlx::Timestamp::to_jiff),
            renews_at: row.renews_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

/// Returns what the tenant may start, by all issuers.
pub(super) async fn allowances(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Vec<Allowance>> {
    let rows = sqlx::query_as!(
        AllowanceRow,
        r#"select tenant_id as "tenant_id: TenantId", issuer, version, currency, max_rate_per_hour, valid_until, runs_out_at,
                  renews_at
           from allowances where tenant_id = $1 order by issuer"#,
        tenant as TenantId,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Allowance::from).collect())
}

/// Returns the allowances, of a tenant or of all, that have run out or were not renewed, by tenant.
pub(super) async fn spent_allowances(
    conn: &mut PgConnection,
    tenant: Option<TenantId>,
    now: Timestamp,
) -> sqlx::Result<Vec<(TenantId, Allowance)>> {
    let rows = sqlx::query_as!(
        AllowanceRow,
        r#"select tenant_id as "tenant_id: TenantId", issuer, version, currency, max_rate_per_hour, valid_until, runs_out_at,
                  renews_at
           from allowances where ($1::uuid is null or tenant_id = $1) and least(runs_out_at, valid_until) <= $2
           order by tenant_id, issuer"#,
        tenant as Option<TenantId>,
        now.to_sqlx() as _,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.tenant_id, row.into())).collect())
}

/// Stores an allowance, unless one of the same issuer with this version or a later one is known.
pub(super) async fn issue(conn: &mut PgConnection, tenant: TenantId, new: &Allowance) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into allowances as a (tenant_id, issuer, version, currency, max_rate_per_hour, valid_until,
             runs_out_at, renews_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (tenant_id, issuer) do update
             set version = excluded.version, currency = excluded.currency,
                 max_rate_per_hour = excluded.max_rate_per_hour, valid_until = excluded.valid_until,
                 runs_out_at = excluded.runs_out_at, renews_at = excluded.renews_at
             where a.version < excluded.version",
        tenant as TenantId,
        new.issuer,
        new.version,
        new.currency,
        new.max_rate_per_hour,
        new.valid_until.map(ToSqlx::to_sqlx) as Option<jiff_sqlx::Timestamp>,
        new.runs_out_at.map(ToSqlx::to_sqlx) as Option<jiff_sqlx::Timestamp>,
        new.renews_at.map(ToSqlx::to_sqlx) as Option<jiff_sqlx::Timestamp>,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Removes the allowance of an issuer.
pub(super) async fn withdraw(conn: &mut PgConnection, tenant: TenantId, issuer: &str) -> sqlx::Result<()> {
    sqlx::query!("delete from allowances where tenant_id = $1 and issuer = $2", tenant as TenantId, issuer)
        .execute(conn)
        .await
        .map(drop)
}

/// Returns whether an instance of the tenant runs, by the meter.
pub(super) async fn has_running(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists(
               select from runs where tenant_id = $1 and kind = 'running' and ended_at is null) as "exists!""#,
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}
