//! The table of members. Row-level security: a transaction sees the members of `atelier.tenant`, and reads the
//! memberships of `atelier.user`. Members that were removed are remembered; an invitation to a member is deleted.

use auth::Role;
use ids::{TenantId, UserId};
use sqlx::PgConnection;

use super::model::{Member, Membership};
use crate::tenant::{TenantRef, TenantState};

/// Returns a tenant's members after `after`.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    after: Option<UserId>,
    limit: i64,
) -> sqlx::Result<Vec<Member>> {
    sqlx::query_as!(
        Member,
        "select m.user_id, u.email, u.display_name, m.role, m.generation, m.created_at, m.updated_at
         from members m join users u on u.id = m.user_id
         where m.tenant_id = $1 and ($2::uuid is null or m.user_id > $2)
         order by m.user_id limit $3",
        tenant as TenantId,
        after as Option<UserId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns a member.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
) -> sqlx::Result<Option<Member>> {
    sqlx::query_as!(
        Member,
        "select m.user_id, u.email, u.display_name, m.role, m.generation, m.created_at, m.updated_at
         from members m join users u on u.id = m.user_id
         where m.tenant_id = $1 and m.user_id = $2",
        tenant as TenantId,
        user as UserId,
    )
    .fetch_optional(conn)
    .await
}

/// Adds a member, who may have been removed before. Returns false if the user is a member already.
pub async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
    role: Role,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "insert into members (tenant_id, user_id, role) values ($1, $2, $3)
         on conflict (tenant_id, user_id) do nothing",
        tenant as TenantId,
        user as UserId,
        role as Role,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Records that the member was removed, so that no rule of a provider adds them again.
pub(super) async fn remember_removal(
    conn: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into removed_members (tenant_id, user_id) values ($1, $2) on conflict do nothing",
        tenant as TenantId,
        user as UserId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the record of a removal, once the user is a member again.
pub async fn forget_removal(conn: &mut PgConnection, tenant: TenantId, user: UserId) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from removed_members where tenant_id = $1 and user_id = $2",
        tenant as TenantId,
        user as UserId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns whether the user was removed from the tenant, and has not been added again.
pub async fn was_removed(conn: &mut PgConnection, tenant: TenantId, user: UserId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        "select exists(select from removed_members where tenant_id = $1 and user_id = $2) as \"exists!\"",
        tenant as TenantId,
        user as UserId,
    )
    .fetch_one(conn)
    .await
}

/// Deletes the invitation to the address of a user who has become a member without it. Returns its role, if it existed.
pub async fn delete_invitation(
    conn: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
) -> sqlx::Result<Option<Role>> {
    sqlx::query_scalar!(
        "delete from invitations i using users u
         where i.tenant_id = $1 and u.id = $2 and lower(u.email) = lower(i.email) returning i.role as \"role: Role\"",
        tenant as TenantId,
        user as UserId,
    )
    .fetch_optional(conn)
    .await
}

/// Changes the role of the member of this generation. Returns false if the member has changed since.
pub(super) async fn update(
    conn: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
    generation: i64,
    role: Role,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "update members set role = $4, generation = generation + 1, updated_at = now()
         where tenant_id = $1 and user_id = $2 and generation = $3",
        tenant as TenantId,
        user as UserId,
        generation,
        role as Role,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Deletes a member.
pub(super) async fn delete(conn: &mut PgConnection, tenant: TenantId, user: UserId) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from members where tenant_id = $1 and user_id = $2",
        tenant as TenantId,
        user as UserId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns whether a member of the tenant has this e-mail address, ignoring case.
pub async fn has_member_with_email(
    conn: &mut PgConnection,
    tenant: TenantId,
    email: &str,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        "select exists(select from members m join users u on u.id = m.user_id
             where m.tenant_id = $1 and lower(u.email) = lower($2)) as \"exists!\"",
        tenant as TenantId,
        email,
    )
    .fetch_one(conn)
    .await
}

/// Returns the number of a tenant's owners.
pub async fn count_owners(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        "select count(*) as \"count!\" from members where tenant_id = $1 and role = 'owner'",
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}

struct MembershipRow {
    tenant_id: TenantId,
    name: String,
    state: TenantState,
    role: Role,
}

impl From<MembershipRow> for Membership {
    fn from(row: MembershipRow) -> Self {
        Self { tenant: TenantRef { id: row.tenant_id, name: row.name }, state: row.state, role: row.role }
    }
}

/// Returns a user's memberships, oldest first.
pub async fn of_user(conn: &mut PgConnection, user: UserId) -> sqlx::Result<Vec<Membership>> {
    let rows = sqlx::query_as!(
        MembershipRow,
        "select m.tenant_id, t.name, t.state, m.role
         from members m join tenants t on t.id = m.tenant_id
         where m.user_id = $1 order by m.created_at, m.tenant_id",
        user as UserId,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}
