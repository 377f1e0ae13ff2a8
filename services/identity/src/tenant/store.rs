//! The table of tenants.

use ids::TenantId;
use sqlx::PgConnection;

use super::model::{NewTenant, Tenant, TenantChange, TenantState};

/// Returns the tenant.
pub(crate) async fn find(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "select id, name, state, generation, created_at, updated_at from tenants where id = $1",
        id as TenantId,
    )
    .fetch_optional(conn)
    .await
}

/// Returns the tenant, locked until the transaction ends. Changes of its members take this lock first.
pub(crate) async fn lock(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "select id, name, state, generation, created_at, updated_at from tenants where id = $1 for update",
        id as TenantId,
    )
    .fetch_optional(conn)
    .await
}

/// Returns the tenant, which does not change until the transaction ends; nor do its members.
pub(crate) async fn lock_shared(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "select id, name, state, generation, created_at, updated_at from tenants where id = $1 for share",
        id as TenantId,
    )
    .fetch_optional(conn)
    .await
}

/// Returns tenants after `after` whose names begin with `name_prefix`.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<TenantId>,
    name_prefix: Option<&str>,
    state: Option<TenantState>,
    limit: i64,
) -> sqlx::Result<Vec<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "select id, name, state, generation, created_at, updated_at from tenants
         where ($1::uuid is null or id > $1)
           and ($2::text is null or starts_with(lower(name), lower($2)))
           and ($3::text is null or state = $3)
         order by id limit $4",
        after as Option<TenantId>,
        name_prefix,
        state as Option<TenantState>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Adds a tenant. Returns none if the name is in use.
pub(super) async fn insert(
    conn: &mut PgConnection,
    id: TenantId,
    new: &NewTenant,
) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "insert into tenants (id, name) values ($1, $2) on conflict (lower(name)) do nothing
         returning id, name, state, generation, created_at, updated_at",
        id as TenantId,
        new.name,
    )
    .fetch_optional(conn)
    .await
}

/// Changes the tenant of this generation. Returns none if the tenant has changed since.
pub(super) async fn update(
    conn: &mut PgConnection,
    id: TenantId,
    generation: i64,
    change: &TenantChange,
) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "update tenants set name = coalesce($3, name), state = coalesce($4, state),
                generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2
         returning id, name, state, generation, created_at, updated_at",
        id as TenantId,
        generation,
        change.name.as_deref(),
        change.state as Option<TenantState>,
    )
    .fetch_optional(conn)
    .await
}

/// Deletes a tenant without members.
pub(super) async fn delete(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<()> {
    sqlx::query!("delete from tenants where id = $1", id as TenantId).execute(conn).await.map(drop)
}
