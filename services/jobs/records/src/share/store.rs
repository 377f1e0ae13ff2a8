//! The table of shares.

use ids::{PoolId, TenantId};
use sqlx::PgConnection;

use super::model::Share;

struct Row {
    tenant_id: TenantId,
    weight: i32,
    guarantee: i32,
    max_workers: Option<i32>,
    urgent: i32,
    generation: i64,
}

/// The share of a tenant, as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct Stored {
    pub tenant: TenantId,
    pub share: Share,
    pub(super) generation: i64,
}

impl From<Row> for Stored {
    fn from(row: Row) -> Self {
        let number = |stored: i32| u32::try_from(stored).unwrap_or_default();
        let share = Share {
            weight: number(row.weight),
            guarantee: number(row.guarantee),
            limit: row.max_workers.map(number),
            urgent: number(row.urgent),
        };
        Self { tenant: row.tenant_id, share, generation: row.generation }
    }
}

/// Returns the share of a tenant, if it was set.
pub async fn find(conn: &mut PgConnection, pool: PoolId, tenant: TenantId) -> sqlx::Result<Option<Stored>> {
    let row = sqlx::query_as!(
        Row,
        "select tenant_id, weight, guarantee, max_workers, urgent, generation from pool_shares
         where pool_id = $1 and tenant_id = $2",
        pool as PoolId,
        tenant as TenantId,
    );
    Ok(row.fetch_optional(conn).await?.map(Stored::from))
}

/// Returns all shares of a pool.
pub async fn of_pool(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<Stored>> {
    let rows = sqlx::query_as!(
        Row,
        "select tenant_id, weight, guarantee, max_workers, urgent, generation from pool_shares where pool_id = $1",
        pool as PoolId,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Stored::from).collect())
}

/// Returns the shares of tenants after `after`, by id.
pub(super) async fn list(
    conn: &mut PgConnection,
    pool: PoolId,
    after: Option<TenantId>,
    limit: i64,
) -> sqlx::Result<Vec<Stored>> {
    let rows = sqlx::query_as!(
        Row,
        "select tenant_id, weight, guarantee, max_workers, urgent, generation from pool_shares
         where pool_id = $1 and ($2::uuid is null or tenant_id > $2) order by tenant_id limit $3",
        pool as PoolId,
        after as Option<TenantId>,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Stored::from).collect())
}

/// Stores a share. Returns its generation.
pub(super) async fn put(
    conn: &mut PgConnection,
    pool: PoolId,
    tenant: TenantId,
    share: &Share,
) -> sqlx::Result<i64> {
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    sqlx::query_scalar!(
        "insert into pool_shares (pool_id, tenant_id, weight, guarantee, max_workers, urgent) values ($1, $2, $3, $4, $5, $6)
         on conflict (pool_id, tenant_id) do update
             set weight = excluded.weight, guarantee = excluded.guarantee, max_workers = excluded.max_workers,
                 urgent = excluded.urgent, generation = pool_shares.generation + 1, updated_at = now()
         returning generation",
        pool as PoolId,
        tenant as TenantId,
        number(share.weight),
        number(share.guarantee),
        share.limit.map(number),
        number(share.urgent),
    )
    .fetch_one(conn)
    .await
}

/// Deletes a share. Returns whether there was one.
pub(super) async fn delete(conn: &mut PgConnection, pool: PoolId, tenant: TenantId) -> sqlx::Result<bool> {
    let deleted = sqlx::query!(
        "delete from pool_shares where pool_id = $1 and tenant_id = $2",
        pool as PoolId,
        tenant as TenantId
    );
    Ok(deleted.execute(conn).await?.rows_affected() == 1)
}

/// Deletes the shares of a tenant.
pub async fn delete_of_tenant(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!("delete from pool_shares where tenant_id = $1", tenant as TenantId)
        .execute(conn)
        .await
        .map(drop)
}
