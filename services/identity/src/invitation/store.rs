//! The table of invitations. Row-level security: a transaction sees the invitations of `atelier.tenant`, and sees and
//! declines those to the address of `atelier.user`.

use auth::{Principal, Role};
use ids::{ApiKeyId, InvitationId, TenantId, UserId};
use jiff::Timestamp;
use people::tenant::TenantRef;
use sqlx::PgConnection;

use super::model::{Invitation, NewInvitation, ReceivedInvitation};

/// Returns a tenant's open invitations after `after`.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    now: Timestamp,
    after: Option<InvitationId>,
    limit: i64,
) -> sqlx::Result<Vec<Invitation>> {
    sqlx::query_as!(
        Invitation,
        "select id, email, role, invited_by, created_at, expires_at from invitations
         where tenant_id = $1 and expires_at > $2 and ($3::uuid is null or id > $3)
         order by id limit $4",
        tenant as TenantId,
        jiff_sqlx::Timestamp::from(now),
        after as Option<InvitationId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// An open invitation to an address.
pub(super) struct Open {
    pub(super) role: Role,
    /// Whether an API key has sent it.
    pub(super) is_of_key: bool,
}

/// Returns the tenant's invitation to an address, ignoring case.
pub(super) async fn find_by_email(
    conn: &mut PgConnection,
    tenant: TenantId,
    email: &str,
) -> sqlx::Result<Option<Open>> {
    sqlx::query_as!(
        Open,
        "select role, created_by_key is not null as \"is_of_key!\" from invitations
         where tenant_id = $1 and lower(email) = lower($2)",
        tenant as TenantId,
        email,
    )
    .fetch_optional(conn)
    .await
}

/// Adds an invitation, or renews the one to the same address.
pub(super) async fn put(
    conn: &mut PgConnection,
    tenant: TenantId,
    inviter: &Principal,
    new: &NewInvitation,
    expires_at: Timestamp,
) -> sqlx::Result<Invitation> {
    sqlx::query_as!(
        Invitation,
        "insert into invitations (id, tenant_id, email, role, invited_by, created_by_key, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (tenant_id, lower(email)) do update set
             role = excluded.role, invited_by = excluded.invited_by, created_by_key = excluded.created_by_key,
             expires_at = excluded.expires_at
         returning id, email, role, invited_by, created_at, expires_at",
        InvitationId::new() as InvitationId,
        tenant as TenantId,
        new.email,
        new.role as Role,
        inviter.user as UserId,
        inviter.api_key as Option<ApiKeyId>,
        jiff_sqlx::Timestamp::from(expires_at),
    )
    .fetch_one(conn)
    .await
}

/// Returns the number of a tenant's open invitations.
pub(super) async fn count(conn: &mut PgConnection, tenant: TenantId, now: Timestamp) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        "select count(*) as \"count!\" from invitations where tenant_id = $1 and expires_at > $2",
        tenant as TenantId,
        jiff_sqlx::Timestamp::from(now),
    )
    .fetch_one(conn)
    .await
}

/// Deletes an open invitation of the tenant. Returns its role, if it existed.
pub(super) async fn withdraw(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: InvitationId,
    now: Timestamp,
) -> sqlx::Result<Option<Role>> {
    sqlx::query_scalar!(
        "delete from invitations where tenant_id = $1 and id = $2 and expires_at > $3 returning role as \"role: Role\"",
        tenant as TenantId,
        id as InvitationId,
        jiff_sqlx::Timestamp::from(now),
    )
    .fetch_optional(conn)
    .await
}

/// Deletes the tenant's expired invitations, which must not be renewed under their old ids.
pub(super) async fn delete_expired_of_tenant(
    conn: &mut PgConnection,
    tenant: TenantId,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from invitations where tenant_id = $1 and expires_at <= $2",
        tenant as TenantId,
        jiff_sqlx::Timestamp::from(now),
    )
    .execute(conn)
    .await
    .map(drop)
}

struct ReceivedRow {
    id: InvitationId,
    tenant_id: TenantId,
    name: String,
    role: Role,
    inviter: String,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl From<ReceivedRow> for ReceivedInvitation {
    fn from(row: ReceivedRow) -> Self {
        Self {
            id: row.id,
            tenant: TenantRef { id: row.tenant_id, name: row.name },
            role: row.role,
            invited_by: row.inviter,
            created_at: row.created_at,
            expires_at: row.expires_at,
        }
    }
}

/// Returns the open invitations to the user's address after `after`.
pub(super) async fn received(
    conn: &mut PgConnection,
    user: UserId,
    now: Timestamp,
    after: Option<InvitationId>,
    limit: i64,
) -> sqlx::Result<Vec<ReceivedInvitation>> {
    let rows = sqlx::query_as!(
        ReceivedRow,
        "select i.id, i.tenant_id, t.name, i.role, inviter.email as inviter, i.created_at, i.expires_at
         from users u
         join invitations i on lower(i.email) = lower(u.email)
         join tenants t on t.id = i.tenant_id
         join users inviter on inviter.id = i.invited_by
         where u.id = $1 and i.expires_at > $2 and ($3::uuid is null or i.id > $3)
         order by i.id limit $4",
        user as UserId,
        jiff_sqlx::Timestamp::from(now),
        after as Option<InvitationId>,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// The tenant, role and sender of an invitation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) tenant_id: TenantId,
    pub(super) invited_by: UserId,
}

/// Returns the open invitation to the user's address.
pub(super) async fn offer(
    conn: &mut PgConnection,
    user: UserId,
    id: InvitationId,
    now: Timestamp,
) -> sqlx::Result<Option<Offer>> {
    sqlx::query_as!(
        Offer,
        "select i.tenant_id, i.invited_by
         from users u join invitations i on lower(i.email) = lower(u.email)
         where u.id = $1 and i.id = $2 and i.expires_at > $3",
        user as UserId,
        id as InvitationId,
        jiff_sqlx::Timestamp::from(now),
    )
    .fetch_optional(conn)
    .await
}

/// Deletes the invitation and returns its role; none if it has ended or changed hands since `offer` was read.
pub(super) async fn take(
    conn: &mut PgConnection,
    user: UserId,
    id: InvitationId,
    offer: Offer,
    now: Timestamp,
) -> sqlx::Result<Option<Role>> {
    sqlx::query_scalar!(
        "delete from invitations i using users u
         where u.id = $1 and i.id = $2 and i.tenant_id = $3 and i.invited_by = $4 and i.expires_at > $5
           and lower(u.email) = lower(i.email)
         returning i.role as \"role: Role\"",
        user as UserId,
        id as InvitationId,
        offer.tenant_id as TenantId,
        offer.invited_by as UserId,
        jiff_sqlx::Timestamp::from(now),
    )
    .fetch_optional(conn)
    .await
}

/// Deletes the open invitation to the user's address. Returns its role, if it existed.
pub(super) async fn decline(
    conn: &mut PgConnection,
    user: UserId,
    id: InvitationId,
    now: Timestamp,
) -> sqlx::Result<Option<Role>> {
    sqlx::query_scalar!(
        "delete from invitations i using users u
         where u.id = $1 and i.id = $2 and i.expires_at > $3 and lower(u.email) = lower(i.email)
         returning i.role as \"role: Role\"",
        user as UserId,
        id as InvitationId,
        jiff_sqlx::Timestamp::from(now),
    )
    .fetch_optional(conn)
    .await
}

/// Deletes expired invitations, at most `limit`. Needs the worker role.
pub(super) async fn delete_expired(conn: &mut PgConnection, now: Timestamp, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from invitations where id in (
             select id from invitations where expires_at <= $1 limit $2)",
        jiff_sqlx::Timestamp::from(now),
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
