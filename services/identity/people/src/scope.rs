//! The settings of row-level security beyond the tenant, which `libs/db` sets: user, session, key, challenge. The
//! policies are in the migrations.

use ids::{SessionId, TenantId, UserId};
use sqlx::PgConnection;

async fn set(conn: &mut PgConnection, name: &'static str, value: String) -> sqlx::Result<()> {
    sqlx::query_scalar!("select set_config($1, $2, true)", name, value).fetch_one(conn).await.map(drop)
}

/// From here on the transaction sees this user's memberships, sessions and API keys, and the invitations to them.
pub async fn user(conn: &mut PgConnection, user: UserId) -> sqlx::Result<()> {
    set(conn, "atelier.user", user.uuid().to_string()).await
}

/// From here on the transaction sees this session and its refresh tokens.
pub async fn session(conn: &mut PgConnection, session: SessionId) -> sqlx::Result<()> {
    set(conn, "atelier.session", session.uuid().to_string()).await
}

/// From here on the transaction sees the API key with this hash.
pub async fn api_key(conn: &mut PgConnection, hash: &[u8]) -> sqlx::Result<()> {
    set(conn, "atelier.api_key", hex::encode(hash)).await
}

/// From here on the transaction sees the challenge with this hash.
pub async fn passkey_challenge(conn: &mut PgConnection, hash: &[u8]) -> sqlx::Result<()> {
    set(conn, "atelier.passkey_challenge", hex::encode(hash)).await
}

/// From here on the transaction sees this tenant's members, invitations and API keys.
pub async fn tenant(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    set(conn, "atelier.tenant", tenant.uuid().to_string()).await
}
