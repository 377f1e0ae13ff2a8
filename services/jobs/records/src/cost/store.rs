//! SQL of prices and usage records.

use std::time::Duration;

use api::FieldError;
use ids::{PoolId, TenantId};
use jobs_core::{
    cost::{Money, Rate},
    kind::Level,
};
use rust_decimal::Decimal;
use sqlx::{PgConnection, types::Json};

use super::feed::UsageRecord;

/// Returns the names of specifications of pools whose prices are missing or were read longer ago.
pub(super) async fn due_prices(conn: &mut PgConnection, age: Duration) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select distinct s.name as "name!" from pools p cross join unnest(p.gpu_specs) as s(name)
           left join pool_prices r on r.pool_id = p.id and r.gpu_spec = s.name
           where r.read_at is null or r.read_at < now() - make_interval(secs => $1) order by 1"#,
        age.as_secs_f64(),
    )
    .fetch_all(conn)
    .await
}

/// Stores the price of a specification for all pools that have it.
pub(super) async fn put_price(
    conn: &mut PgConnection,
    gpu_spec: &str,
    price_per_hour: Decimal,
    currency: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into pool_prices as r (pool_id, gpu_spec, price_per_hour, currency)
         select id, $1, $2, $3 from pools where $1 = any(gpu_specs) order by id
         on conflict (pool_id, gpu_spec) do update
         set price_per_hour = excluded.price_per_hour, currency = excluded.currency, read_at = now()",
        gpu_spec,
        price_per_hour,
        currency,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Checks that costs of jobs can be compared with a limit: each specification of the pool has a price in its currency.
pub async fn check_limit(
    conn: &mut PgConnection,
    pool: PoolId,
    limit: &Money,
) -> sqlx::Result<Result<(), FieldError>> {
    let currencies = sqlx::query_scalar!(
        r#"select distinct r.currency as "currency?" from pools p cross join unnest(p.gpu_specs) as s(name)
           left join pool_prices r on r.pool_id = p.id and r.gpu_spec = s.name where p.id = $1"#,
        pool as PoolId,
    )
    .fetch_all(conn)
    .await?;
    let other = currencies.into_iter().find(|currency| currency.as_deref() != Some(&limit.currency));
    let refused = |pointer: &str, detail| FieldError { pointer: pointer.to_owned(), detail };
    Ok(match other {
        None => Ok(()),
        Some(None) => Err(refused("/max_cost", "the prices of the pool are not known".to_owned())),
        Some(Some(currency)) => {
            Err(refused("/max_cost/currency", format!("the pool has prices in {currency}")))
        }
    })
}

/// Publishes a record when the transaction commits.
pub async fn publish(conn: &mut PgConnection, record: &UsageRecord) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into usage_records (tenant_id, run_id, version, payload) values ($1, $2, $3, $4)",
        record.tenant_id as ids::TenantId,
        record.run_id as ids::RunId,
        record.version,
        Json(record) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the hourly rates of a tenant's job with this level and number of workers on each specification of a pool, in order of
/// preference. Specifications without a known price are left out. Where all workers are instances of the tenant, which are charged
/// themselves, jobs cost nothing.
pub async fn rates(
    conn: &mut PgConnection,
    (tenant, pool): (TenantId, PoolId),
    level: Level,
    workers: u8,
) -> sqlx::Result<Vec<(String, Rate)>> {
    let rows = sqlx::query!(
        r#"select r.gpu_spec, r.currency,
                  case when p.owner_id = $4 and p.service is not null
                            and not exists (select from workers w where w.pool_id = p.id and w.stage is null)
                       then 0 else r.price_per_hour * $3::smallint end as "price_per_hour!",
                  case $2::text when 'urgent' then p.urgent_factor when 'background' then p.background_factor
                                else p.ordinary_factor end as "level_factor!"
           from pools p cross join unnest(p.gpu_specs) with ordinality as s(name, n)
           join pool_prices r on r.pool_id = p.id and r.gpu_spec = s.name
           where p.id = $1 order by s.n"#,
        pool as PoolId,
        level.as_str(),
        i16::from(workers),
        tenant as TenantId,
    );
    let rate = |price_per_hour, currency, level_factor| Rate { price_per_hour, currency, level_factor };
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows.map(|row| (row.gpu_spec, rate(row.price_per_hour, row.currency, row.level_factor))).collect())
}
