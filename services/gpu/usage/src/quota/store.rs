//! SQL of quotas, and of what tenants use.

use gpu_core::quota::{Limits, Use};
use ids::{InstanceId, TenantId};
use rust_decimal::Decimal;
use sqlx::{PgConnection, types::Json};

/// The stored limits of a tenant.
#[derive(Debug)]
pub(super) struct Quota {
    pub(super) tenant_id: TenantId,
    pub(super) limits: Limits,
    pub(super) generation: i64,
}

struct Row {
    tenant_id: TenantId,
    limits: Json<Limits>,
    generation: i64,
}

impl From<Row> for Quota {
    fn from(row: Row) -> Self {
        let Row { tenant_id, limits: Json(limits), generation } = row;
        Self { tenant_id, limits, generation }
    }
}

/// Serializes transactions that add to what the tenant uses.
pub(crate) async fn lock_use(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended('quota ' || $1, 0))", tenant.to_string())
        .execute(conn)
        .await
        .map(drop)
}

/// Returns the tenant's limits, if it has any.
pub(super) async fn find(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Option<Quota>> {
    let row = sqlx::query_as!(
        Row,
        "select tenant_id, limits, generation from quotas where tenant_id = $1",
        tenant as TenantId,
    );
    Ok(row.fetch_optional(conn).await?.map(Quota::from))
}

/// Returns the limits of tenants after `after`, by id.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<TenantId>,
    limit: i64,
) -> sqlx::Result<Vec<Quota>> {
    let rows = sqlx::query_as!(
        Row,
        "select tenant_id, limits, generation from quotas
         where $1::uuid is null or tenant_id > $1 order by tenant_id limit $2",
        after as Option<TenantId>,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Quota::from).collect())
}

/// Stores the tenant's limits. Returns their generation.
pub(super) async fn put(conn: &mut PgConnection, tenant: TenantId, limits: &Limits) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        "insert into quotas (tenant_id, limits) values ($1, $2)
         on conflict (tenant_id) do update
             set limits = excluded.limits, generation = quotas.generation + 1, updated_at = now()
         returning generation",
        tenant as TenantId,
        Json(limits) as _,
    )
    .fetch_one(conn)
    .await
}

/// Deletes the tenant's limits. Returns false if it has none.
pub(super) async fn delete(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<bool> {
    sqlx::query!("delete from quotas where tenant_id = $1", tenant as TenantId)
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// Returns what the tenant's instances use, except one of them. One that stops or is being deleted counts until its unit
/// is released, one that holds its unit while it is stopped at the price of the hold.
pub(super) async fn used(
    conn: &mut PgConnection,
    tenant: TenantId,
    except: Option<InstanceId>,
) -> sqlx::Result<Use> {
    struct Row {
        model: String,
        currency: String,
        instances: i64,
        gpus: i64,
        cost_per_hour: Decimal,
    }
    let rows = sqlx::query_as!(
        Row,
        r#"select spec #>> '{gpu,model}' as "model!",
               coalesce(phase #>> '{claim,currency}', phase #>> '{held,currency}', phase #>> '{hold,claim,currency}',
                   spec ->> 'currency') as "currency!",
               count(*) as "instances!",
               coalesce(sum((spec #>> '{gpu,count}')::bigint)
                   filter (where state <> 'stopped' or phase ? 'hold'), 0)::bigint as "gpus!",
               coalesce(sum(coalesce((phase #>> '{claim,price_per_hour}')::numeric,
                       (phase #>> '{held,price_per_hour}')::numeric,
                       (phase #>> '{hold,claim,price_per_hour}')::numeric
                           * (phase #>> '{hold,claim,hold_price_fraction}')::numeric,
                       (spec ->> 'price_per_hour')::numeric))
                   filter (where state <> 'stopped' or phase ? 'hold'), 0) as "cost_per_hour!"
           from instances where tenant_id = $1 and state <> 'deleted' and id is distinct from $2
           group by 1, 2"#,
        tenant as TenantId,
        except as Option<InstanceId>,
    )
    .fetch_all(conn)
    .await?;
    let mut used = Use::default();
    for row in rows {
        used.instances += row.instances;
        if row.gpus > 0 {
            *used.gpus.entry(row.model).or_default() += row.gpus;
            *used.cost_per_hour.entry(row.currency).or_default() += row.cost_per_hour;
        }
    }
    Ok(used)
}
