//! SQL of the states of tenants.

use ids::TenantId;
use sqlx::PgConnection;

use super::model::{TenantFate, TenantOrder};
use crate::error::Error;

/// Requires that the tenant is active, and stays so until the transaction ends.
///
/// # Errors
/// If it is suspended or being deleted.
pub(crate) async fn check_active(conn: &mut PgConnection, tenant: TenantId) -> Result<(), Error> {
    sqlx::query!(
        "select pg_advisory_xact_lock_shared(hashtextextended('tenant ' || $1, 0))",
        tenant.to_string()
    )
    .execute(&mut *conn)
    .await?;
    match find(conn, tenant).await?.map(|order| order.state) {
        None | Some(TenantFate::Active) => Ok(()),
        Some(TenantFate::Suspended | TenantFate::Deleting) => Err(Error::TenantSuspended),
    }
}

async fn find(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Option<TenantOrder>> {
    sqlx::query_as!(
        TenantOrder,
        r#"select generation, state, stop_instances, false as "delete_storages!" from tenants where id = $1"#,
        tenant as TenantId,
    )
    .fetch_optional(conn)
    .await
}

/// Records the order unless a later one is known, and returns the latest, and whether it is this one. Waits for requests that have seen the tenant
/// active; those that follow see the new state. Whether storages are deleted is not stored: each call says it.
pub(super) async fn record(
    conn: &mut PgConnection,
    tenant: TenantId,
    order: &TenantOrder,
) -> sqlx::Result<(TenantOrder, bool)> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended('tenant ' || $1, 0))", tenant.to_string())
        .execute(&mut *conn)
        .await?;
    let recorded = sqlx::query!(
        "insert into tenants (id, generation, state, stop_instances) values ($1, $2, $3, $4)
         on conflict (id) do update set generation = excluded.generation, state = excluded.state,
             stop_instances = excluded.stop_instances, updated_at = now()
         where tenants.generation < excluded.generation",
        tenant as TenantId,
        order.generation,
        order.state as TenantFate,
        order.stop_instances,
    )
    .execute(&mut *conn)
    .await?;
    let latest = find(conn, tenant).await?.unwrap_or(*order);
    let delete_storages = order.delete_storages && order.generation == latest.generation;
    Ok((TenantOrder { delete_storages, ..latest }, recorded.rows_affected() > 0))
}
