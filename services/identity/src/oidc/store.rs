//! The table of users' accounts at providers: the platform's own, as users are.

use ids::UserId;
use sqlx::PgConnection;

/// Returns the user of an account, and records the sign-in.
pub(super) async fn find(
    conn: &mut PgConnection,
    issuer: &str,
    subject: &str,
) -> sqlx::Result<Option<UserId>> {
    sqlx::query_scalar!(
        "update oidc_accounts set last_used_at = now() where issuer = $1 and subject = $2
         returning user_id as \"user_id: UserId\"",
        issuer,
        subject,
    )
    .fetch_optional(conn)
    .await
}

/// Links an account to a user.
pub(super) async fn insert(
    conn: &mut PgConnection,
    issuer: &str,
    subject: &str,
    user: UserId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into oidc_accounts (issuer, subject, user_id) values ($1, $2, $3)",
        issuer,
        subject,
        user as UserId,
    )
    .execute(conn)
    .await
    .map(drop)
}
