//! The table of members. Row-level security: a transaction sees the members of `atelier.tenant`, and the
//! memberships of `atelier.user` to read.

use auth::Role;
use ids::{TenantId, UserId};
use sqlx::PgConnection;

use super::model::{Member, Membership};
use crate::tenant::{TenantRef, TenantState};

#[derive(sqlx::FromRow)]
struct Row {
    user_id: UserId,
    email: String,
    display_name: String,
    role: Role,
    generation: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl From<Row> for Member {
    fn from(row: Row) -> Self {
        Self {
            user_id: row.user_id,
            email: row.email,
            display_name: row.display_name,
            role: row.role,
            generation: row.generation,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        }
    }
}

/// A tenant's members after `after`.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    after: Option<UserId>,
    limit: i64,
) -> sqlx::Result<Vec<Member>> {
    let rows: Vec<Row> = sqlx::query_as(
        "select m.user_id, u.email, u.display_name, m.role, m.generation, m.created_at, m.updated_at
         from members m join users u on u.id = m.user_id
         where m.tenant_id = $1 and ($2::uuid is null or m.user_id > $2)
         order by m.user_id limit $3",
    )
    .bind(tenant)
    .bind(after)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// A member.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
) -> sqlx::Result<Option<Member>> {
    let row: Option<Row> = sqlx::query_as(
        "select m.user_id, u.email, u.display_name, m.role, m.generation, m.created_at, m.updated_at
         from members m join users u on u.id = m.user_id
         where m.tenant_id = $1 and m.user_id = $2",
    )
    .bind(tenant)
    .bind(user)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Adds a member. Whether it was none before.
pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
    role: Role,
) -> sqlx::Result<bool> {
    sqlx::query(
        "insert into members (tenant_id, user_id, role) values ($1, $2, $3)
         on conflict (tenant_id, user_id) do nothing",
    )
    .bind(tenant)
    .bind(user)
    .bind(role)
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Changes the role of the member of this generation. Whether it was still so.
pub(super) async fn update(
    conn: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
    generation: i64,
    role: Role,
) -> sqlx::Result<bool> {
    sqlx::query(
        "update members set role = $4, generation = generation + 1, updated_at = now()
         where tenant_id = $1 and user_id = $2 and generation = $3",
    )
    .bind(tenant)
    .bind(user)
    .bind(generation)
    .bind(role)
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Removes a member.
pub(super) async fn delete(conn: &mut PgConnection, tenant: TenantId, user: UserId) -> sqlx::Result<()> {
    sqlx::query("delete from members where tenant_id = $1 and user_id = $2")
        .bind(tenant)
        .bind(user)
        .execute(conn)
        .await
        .map(drop)
}

/// Removes all members of a tenant.
pub(crate) async fn remove_all(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query("delete from members where tenant_id = $1").bind(tenant).execute(conn).await.map(drop)
}

/// How many owners the tenant has.
pub(crate) async fn owners(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from members where tenant_id = $1 and role = 'owner'")
        .bind(tenant)
        .fetch_one(conn)
        .await
}

/// Whether the tenant has members who are not owners.
pub(crate) async fn has_more_than_owners(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists(select from members where tenant_id = $1 and role <> 'owner')")
        .bind(tenant)
        .fetch_one(conn)
        .await
}

#[derive(sqlx::FromRow)]
struct OfUserRow {
    tenant_id: TenantId,
    name: String,
    state: TenantState,
    role: Role,
}

/// A user's memberships, the oldest first.
pub(crate) async fn of_user(conn: &mut PgConnection, user: UserId) -> sqlx::Result<Vec<Membership>> {
    let rows: Vec<OfUserRow> = sqlx::query_as(
        "select m.tenant_id, t.name, t.state, m.role
         from members m join tenants t on t.id = m.tenant_id
         where m.user_id = $1 order by m.created_at, m.tenant_id",
    )
    .bind(user)
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Membership {
            tenant: TenantRef { id: row.tenant_id, name: row.name },
            state: row.state,
            role: row.role,
        })
        .collect())
}
