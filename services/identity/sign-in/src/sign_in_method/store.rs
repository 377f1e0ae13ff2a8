//! SQL of sign-in methods: the password is in the table of users, passkeys and accounts of providers in those of other slices.

use ids::UserId;
use sqlx::PgConnection;

use super::Methods;

/// Serializes transactions that change the sign-in methods of a user. Held until the transaction ends.
pub async fn lock(conn: &mut PgConnection, user: UserId) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended(current_schema() || ' sign-in ways ' || $1::uuid::text, 0))",
        user as UserId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the user's sign-in methods. The transaction must be in the scope of the user.
pub(super) async fn find(conn: &mut PgConnection, user: UserId) -> sqlx::Result<Option<Methods>> {
    sqlx::query_as!(
        Methods,
        "select u.has_password,
                (select count(*) from passkeys p where p.user_id = u.id) as \"passkeys!\",
                array(select a.issuer from oidc_accounts a where a.user_id = u.id) as \"issuers!\"
         from users u where u.id = $1",
        user as UserId,
    )
    .fetch_optional(conn)
    .await
}
