//! The tables of sessions, refresh tokens and failed sign-ins.

use ids::{SessionId, TenantId, UserId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::model::EndReason;
use crate::scope;

/// Adds a session. The transaction must be of the session's user.
pub(super) async fn insert(
    conn: &mut PgConnection,
    id: SessionId,
    user: UserId,
    tenant: Option<TenantId>,
    expires_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query("insert into sessions (id, user_id, tenant_id, expires_at) values ($1, $2, $3, $4)")
        .bind(id)
        .bind(user)
        .bind(tenant)
        .bind(expires_at.to_sqlx())
        .execute(conn)
        .await
        .map(drop)
}

/// Adds a refresh token. The transaction must be of its session.
pub(super) async fn insert_token(
    conn: &mut PgConnection,
    session: SessionId,
    hash: &[u8],
) -> sqlx::Result<()> {
    sqlx::query("insert into refresh_tokens (hash, session_id) values ($1, $2)")
        .bind(hash)
        .bind(session)
        .execute(conn)
        .await
        .map(drop)
}

/// A refresh token that was shown, with its session.
pub(super) struct Shown {
    pub(super) user: UserId,
    pub(super) tenant: Option<TenantId>,
    pub(super) expires_at: Timestamp,
    pub(super) ended: bool,
    pub(super) replaced_at: Option<Timestamp>,
}

#[derive(sqlx::FromRow)]
struct ShownRow {
    user_id: UserId,
    tenant_id: Option<TenantId>,
    expires_at: jiff_sqlx::Timestamp,
    ended: bool,
    replaced_at: Option<jiff_sqlx::Timestamp>,
}

/// The token and its session, both locked to the end of the transaction.
pub(super) async fn lock_token(
    conn: &mut PgConnection,
    session: SessionId,
    hash: &[u8],
) -> sqlx::Result<Option<Shown>> {
    let row: Option<ShownRow> = sqlx::query_as(
        "select s.user_id, s.tenant_id, s.expires_at, s.ended_at is not null as ended, t.replaced_at
         from sessions s join refresh_tokens t on t.session_id = s.id
         where s.id = $1 and t.hash = $2 for update",
    )
    .bind(session)
    .bind(hash)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Shown {
        user: row.user_id,
        tenant: row.tenant_id,
        expires_at: row.expires_at.to_jiff(),
        ended: row.ended,
        replaced_at: row.replaced_at.map(jiff_sqlx::Timestamp::to_jiff),
    }))
}

/// Marks a token as used. The time of its first use stays.
pub(super) async fn replace_token(conn: &mut PgConnection, hash: &[u8], now: Timestamp) -> sqlx::Result<()> {
    sqlx::query("update refresh_tokens set replaced_at = coalesce(replaced_at, $2) where hash = $1")
        .bind(hash)
        .bind(now.to_sqlx())
        .execute(conn)
        .await
        .map(drop)
}

/// The session was refreshed, for this tenant.
pub(super) async fn touch(
    conn: &mut PgConnection,
    id: SessionId,
    tenant: Option<TenantId>,
) -> sqlx::Result<()> {
    sqlx::query("update sessions set last_used_at = now(), tenant_id = $2 where id = $1")
        .bind(id)
        .bind(tenant)
        .execute(conn)
        .await
        .map(drop)
}

/// Ends a session that has not ended.
pub(super) async fn end(conn: &mut PgConnection, id: SessionId, reason: EndReason) -> sqlx::Result<()> {
    sqlx::query("update sessions set ended_at = now(), end_reason = $2 where id = $1 and ended_at is null")
        .bind(id)
        .bind(reason)
        .execute(conn)
        .await
        .map(drop)
}

/// Ends all sessions of a user, but `except`. The transaction becomes one of that user.
pub(crate) async fn end_all(
    conn: &mut PgConnection,
    user: UserId,
    except: Option<SessionId>,
    reason: EndReason,
) -> sqlx::Result<()> {
    scope::user(conn, user).await?;
    sqlx::query(
        "update sessions set ended_at = now(), end_reason = $3
         where user_id = $1 and ended_at is null and ($2::uuid is null or id <> $2)",
    )
    .bind(user)
    .bind(except)
    .bind(reason)
    .execute(conn)
    .await
    .map(drop)
}

/// Until when nobody may try this account's password.
pub(super) async fn blocked_until(
    conn: &mut PgConnection,
    account: &[u8],
) -> sqlx::Result<Option<Timestamp>> {
    let until: Option<jiff_sqlx::Timestamp> =
        sqlx::query_scalar("select blocked_until from sign_in_failures where account = $1")
            .bind(account)
            .fetch_optional(conn)
            .await?;
    Ok(until.map(jiff_sqlx::Timestamp::to_jiff))
}

/// Counts a failure; the count begins anew when the last one is older than `forget`. Gives the count.
pub(super) async fn count_failure(
    conn: &mut PgConnection,
    account: &[u8],
    now: Timestamp,
    forget: Timestamp,
) -> sqlx::Result<i32> {
    sqlx::query_scalar(
        "insert into sign_in_failures (account, failures, last_failed_at, blocked_until)
         values ($1, 1, $2, $2)
         on conflict (account) do update set last_failed_at = $2, failures =
             case when sign_in_failures.last_failed_at < $3 then 1 else sign_in_failures.failures + 1 end
         returning failures",
    )
    .bind(account)
    .bind(now.to_sqlx())
    .bind(forget.to_sqlx())
    .fetch_one(conn)
    .await
}

/// Blocks the account until then.
pub(super) async fn block(conn: &mut PgConnection, account: &[u8], until: Timestamp) -> sqlx::Result<()> {
    sqlx::query("update sign_in_failures set blocked_until = $2 where account = $1")
        .bind(account)
        .bind(until.to_sqlx())
        .execute(conn)
        .await
        .map(drop)
}

/// Forgets the account's failures.
pub(super) async fn clear_failures(conn: &mut PgConnection, account: &[u8]) -> sqlx::Result<()> {
    sqlx::query("delete from sign_in_failures where account = $1").bind(account).execute(conn).await.map(drop)
}

/// Removes sessions that ended more than a day ago, with their tokens; and failures as old. At most
/// `limit` of each. The worker's role only.
pub(super) async fn remove_old(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    let sessions = sqlx::query(
        "delete from sessions where id in (
             select id from sessions
             where expires_at < now() - interval '1 day' or ended_at < now() - interval '1 day' limit $1)",
    )
    .bind(limit)
    .execute(&mut *conn)
    .await?;
    let failures = sqlx::query(
        "delete from sign_in_failures where account in (
             select account from sign_in_failures where last_failed_at < now() - interval '1 day' limit $1)",
    )
    .bind(limit)
    .execute(conn)
    .await?;
    Ok(sessions.rows_affected() + failures.rows_affected())
}
