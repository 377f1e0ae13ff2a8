//! The table of users' accounts at providers: the platform's own, as users are.

use ids::{LinkedAccountId, UserId};
use jiff::Timestamp;
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

/// Links an account to a user, unless it is linked. Returns the user to whom it is linked.
pub(super) async fn put(
    conn: &mut PgConnection,
    issuer: &str,
    subject: &str,
    user: UserId,
) -> sqlx::Result<UserId> {
    // the update that changes nothing returns the row, and waits for a concurrent sign-in with the account
    sqlx::query_scalar!(
        "insert into oidc_accounts as a (id, issuer, subject, user_id) values ($1, $2, $3, $4)
         on conflict (issuer, subject) do update set last_used_at = a.last_used_at
         returning user_id as \"user_id: UserId\"",
        LinkedAccountId::new() as LinkedAccountId,
        issuer,
        subject,
        user as UserId,
    )
    .fetch_one(conn)
    .await
}

/// An account of a user.
pub(super) struct Account {
    pub(super) id: LinkedAccountId,
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) created_at: Timestamp,
    pub(super) last_used_at: Timestamp,
}

/// Returns the user's accounts after `after`.
pub(super) async fn list(
    conn: &mut PgConnection,
    user: UserId,
    after: Option<LinkedAccountId>,
    limit: i64,
) -> sqlx::Result<Vec<Account>> {
    sqlx::query_as!(
        Account,
        "select id as \"id: LinkedAccountId\", issuer, subject, created_at, last_used_at from oidc_accounts
         where user_id = $1 and ($2::uuid is null or id > $2) order by id limit $3",
        user as UserId,
        after as Option<LinkedAccountId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Deletes an account of the user. Returns whether it existed.
pub(super) async fn delete(conn: &mut PgConnection, user: UserId, id: LinkedAccountId) -> sqlx::Result<bool> {
    sqlx::query!(
        "delete from oidc_accounts where user_id = $1 and id = $2",
        user as UserId,
        id as LinkedAccountId,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}
