//! The table of revocations.

use auth::Revocation;
use feed::Outbox;
use ids::{SessionId, TenantId, UserId};
use sqlx::PgConnection;

/// The outbox of revocations.
pub const OUTBOX: Outbox = Outbox { table: "revocations", channel: "identity_revocations" };

/// Revokes all tokens of the user.
pub async fn of_user(tx: &mut PgConnection, user: UserId) -> sqlx::Result<()> {
    OUTBOX.publish(tx, &Revocation { user_id: Some(user), ..Revocation::default() }).await
}

/// Revokes the tokens of the user for the tenant.
pub async fn of_member(tx: &mut PgConnection, tenant: TenantId, user: UserId) -> sqlx::Result<()> {
    let revocation = Revocation { user_id: Some(user), tenant_id: Some(tenant), ..Revocation::default() };
    OUTBOX.publish(tx, &revocation).await
}

/// Revokes all tokens for the tenant.
pub async fn of_tenant(tx: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    OUTBOX.publish(tx, &Revocation { tenant_id: Some(tenant), ..Revocation::default() }).await
}

/// Revokes the tokens of the session.
pub async fn of_session(tx: &mut PgConnection, session: SessionId) -> sqlx::Result<()> {
    OUTBOX.publish(tx, &Revocation { session_id: Some(session), ..Revocation::default() }).await
}
