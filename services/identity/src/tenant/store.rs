//! The table of tenants.

use ids::TenantId;
use sqlx::PgConnection;

use super::model::{NewTenant, Tenant, TenantChange, TenantState};

#[derive(sqlx::FromRow)]
struct Row {
    id: TenantId,
    name: String,
    state: TenantState,
    generation: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl From<Row> for Tenant {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            state: row.state,
            generation: row.generation,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        }
    }
}

/// The tenant.
pub(crate) async fn find(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    let row: Option<Row> = sqlx::query_as(
        "select id, name, state, generation, created_at, updated_at from tenants where id = $1",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// The tenant, locked to the end of the transaction: whoever changes its members takes this first.
pub(crate) async fn lock(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    let row: Option<Row> = sqlx::query_as(
        "select id, name, state, generation, created_at, updated_at from tenants where id = $1 for update",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Tenants after `after`, whose names begin with `name_prefix`.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<TenantId>,
    name_prefix: Option<&str>,
    state: Option<TenantState>,
    limit: i64,
) -> sqlx::Result<Vec<Tenant>> {
    let rows: Vec<Row> = sqlx::query_as(
        "select id, name, state, generation, created_at, updated_at from tenants
         where ($1::uuid is null or id > $1)
           and ($2::text is null or starts_with(lower(name), lower($2)))
           and ($3::text is null or state = $3)
         order by id limit $4",
    )
    .bind(after)
    .bind(name_prefix)
    .bind(state)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Adds a tenant; none when the name is taken.
pub(super) async fn insert(
    conn: &mut PgConnection,
    id: TenantId,
    new: &NewTenant,
) -> sqlx::Result<Option<Tenant>> {
    let row: Option<Row> = sqlx::query_as(
        "insert into tenants (id, name) values ($1, $2) on conflict (lower(name)) do nothing
         returning id, name, state, generation, created_at, updated_at",
    )
    .bind(id)
    .bind(&new.name)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Changes the tenant of this generation; none when it has moved on.
pub(super) async fn update(
    conn: &mut PgConnection,
    id: TenantId,
    generation: i64,
    change: &TenantChange,
) -> sqlx::Result<Option<Tenant>> {
    let row: Option<Row> = sqlx::query_as(
        "update tenants set name = coalesce($3, name), state = coalesce($4, state),
                generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2
         returning id, name, state, generation, created_at, updated_at",
    )
    .bind(id)
    .bind(generation)
    .bind(&change.name)
    .bind(change.state)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Removes the tenant. Its members must be gone.
pub(super) async fn delete(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<()> {
    sqlx::query("delete from tenants where id = $1").bind(id).execute(conn).await.map(drop)
}
