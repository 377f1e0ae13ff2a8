//! SQL of quotas, and of the storages of tenants.

use ids::TenantId;
use sqlx::PgConnection;

use super::model::{Limits, Usage};

/// The stored limits of a tenant.
#[derive(Debug)]
pub(super) struct Quota {
    pub(super) tenant: TenantId,
    pub(super) limits: Limits,
    pub(super) generation: i64,
}

struct Row {
    tenant_id: TenantId,
    storages: Option<i32>,
    gib: Option<i32>,
    generation: i64,
}

impl From<Row> for Quota {
    fn from(row: Row) -> Self {
        let limits = Limits { storages: row.storages.map(i64::from), gib: row.gib.map(i64::from) };
        Self { tenant: row.tenant_id, limits, generation: row.generation }
    }
}

/// Returns the tenant's limits, if it has any of its own.
pub(super) async fn find(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Option<Quota>> {
    let row = sqlx::query_as!(
        Row,
        "select tenant_id, storages, gib, generation from quotas where tenant_id = $1",
        tenant as TenantId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Quota::from))
}

/// Returns the limits of tenants after `after`, by id.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<TenantId>,
    limit: i64,
) -> sqlx::Result<Vec<Quota>> {
    let rows = sqlx::query_as!(
        Row,
        "select tenant_id, storages, gib, generation from quotas
         where $1::uuid is null or tenant_id > $1 order by tenant_id limit $2",
        after as Option<TenantId>,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Quota::from).collect())
}

/// Stores the tenant's limits. Returns their generation.
pub(super) async fn put(conn: &mut PgConnection, tenant: TenantId, limits: Limits) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        "insert into quotas (tenant_id, storages, gib) values ($1, $2::bigint::int, $3::bigint::int)
         on conflict (tenant_id) do update
             set storages = excluded.storages, gib = excluded.gib, generation = quotas.generation + 1,
                 updated_at = now()
         returning generation",
        tenant as TenantId,
        limits.storages,
        limits.gib,
    )
    .fetch_one(conn)
    .await
}

/// Deletes the tenant's limits. Returns false if it has none of its own.
pub(super) async fn delete(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<bool> {
    sqlx::query!("delete from quotas where tenant_id = $1", tenant as TenantId)
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// Makes other transactions that call this for the tenant wait until this one ends.
pub(super) async fn lock_usage(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('storages of ' || $1::uuid::text, 0)) as "locked: ()""#,
        tenant as TenantId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns what the tenant has, storages that are being deleted included.
pub(super) async fn usage(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Usage> {
    sqlx::query_as!(
        Usage,
        r#"select count(*) as "storages!", coalesce(sum(size_gib), 0)::bigint as "gib!"
           from storages where tenant_id = $1"#,
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}
