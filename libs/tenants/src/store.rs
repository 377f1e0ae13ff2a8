//! SQL of the table `tenants`.

use ids::TenantId;
use sqlx::PgConnection;

use crate::{Error, TenantOrder, TenantState};

/// Requires that the tenant is active, and stays so until the transaction ends.
///
/// # Errors
/// If it is suspended or being deleted.
pub async fn check_active(conn: &mut PgConnection, tenant: TenantId) -> Result<(), Error> {
    sqlx::query!(
        "select pg_advisory_xact_lock_shared(hashtextextended('tenant ' || $1, 0))",
        tenant.to_string()
    )
    .execute(&mut *conn)
    .await?;
    match find(conn, tenant).await?.map(|order| order.state) {
        None | Some(TenantState::Active) => Ok(()),
        Some(TenantState::Suspended | TenantState::Deleting) => Err(Error::Suspended),
    }
}

/// Returns the last order for the tenant; none for one that has always been active.
///
/// # Errors
/// If the database fails.
pub async fn find(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Option<TenantOrder>> {
    sqlx::query_as!(
        TenantOrder,
        "select generation, state, stop_instances, delete_storages from tenants where id = $1",
        tenant as TenantId,
    )
    .fetch_optional(conn)
    .await
}

/// Records the order unless a later one is known, and returns the latest, and whether it is this one. Waits
/// for requests that have read the tenant as active; later ones read the new state. After the grace period,
/// the order to delete a tenant becomes one to delete its storages.
///
/// # Errors
/// If the database fails.
pub async fn record(
    conn: &mut PgConnection,
    tenant: TenantId,
    order: &TenantOrder,
) -> sqlx::Result<(TenantOrder, bool)> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended('tenant ' || $1, 0))", tenant.to_string())
        .execute(&mut *conn)
        .await?;
    let recorded = sqlx::query!(
        "insert into tenants (id, generation, state, stop_instances, delete_storages) values ($1, $2, $3, $4, $5)
         on conflict (id) do update set generation = excluded.generation, state = excluded.state,
             stop_instances = excluded.stop_instances, delete_storages = excluded.delete_storages, updated_at = now()
         where tenants.generation < excluded.generation
            or (tenants.generation = excluded.generation and excluded.delete_storages
                and not tenants.delete_storages)",
        tenant as TenantId,
        order.generation,
        order.state as TenantState,
        order.stop_instances,
        order.delete_storages,
    )
    .execute(&mut *conn)
    .await?;
    Ok((find(conn, tenant).await?.unwrap_or(*order), recorded.rows_affected() > 0))
}
