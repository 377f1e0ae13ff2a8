//! The tables of sessions and refresh tokens.

use auth::Principal;
use ids::{SessionId, TenantId, UserId};
use jiff::Timestamp;
use sqlx::PgConnection;

use super::{
    client::Client,
    model::{EndReason, Session},
};
use crate::{revocation, scope};

/// A session to add.
pub(super) struct NewSession<'a> {
    pub(super) id: SessionId,
    pub(super) user: UserId,
    pub(super) tenant: Option<TenantId>,
    pub(super) expires_at: Timestamp,
    /// None for a session with refresh tokens.
    pub(super) cookie_hash: Option<Vec<u8>>,
    pub(super) client: &'a Client,
}

/// Adds a session. The transaction must be in the scope of its user.
pub(super) async fn insert(conn: &mut PgConnection, new: &NewSession<'_>) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into sessions (id, user_id, tenant_id, expires_at, cookie_hash, user_agent, address)
         values ($1, $2, $3, $4, $5, $6, $7)",
        new.id as SessionId,
        new.user as UserId,
        new.tenant as Option<TenantId>,
        jiff_sqlx::Timestamp::from(new.expires_at),
        new.cookie_hash,
        new.client.user_agent,
        new.client.ip(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the owner of the session with this cookie. The transaction must be in the scope of the session.
pub(super) async fn owner(
    conn: &mut PgConnection,
    id: SessionId,
    cookie_hash: &[u8],
) -> sqlx::Result<Option<UserId>> {
    sqlx::query_scalar!(
        "select user_id as \"user_id: UserId\" from sessions where id = $1 and cookie_hash = $2",
        id as SessionId,
        cookie_hash,
    )
    .fetch_optional(conn)
    .await
}

/// A session with a cookie.
pub(super) struct CookieSession {
    pub(super) tenant: Option<TenantId>,
    pub(super) expires_at: Timestamp,
    pub(super) last_used_at: Timestamp,
    pub(super) ended: bool,
}

/// Returns the session with this cookie, locked until the transaction ends.
pub(super) async fn lock_session(
    conn: &mut PgConnection,
    id: SessionId,
    cookie_hash: &[u8],
) -> sqlx::Result<Option<CookieSession>> {
    sqlx::query_as!(
        CookieSession,
        "select tenant_id as \"tenant: TenantId\", expires_at, last_used_at, ended_at is not null as \"ended!\"
         from sessions where id = $1 and cookie_hash = $2 for update",
        id as SessionId,
        cookie_hash,
    )
    .fetch_optional(conn)
    .await
}

/// Records a use of the session.
pub(super) async fn record_use(conn: &mut PgConnection, id: SessionId, address: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update sessions set last_used_at = now(), address = $2 where id = $1",
        id as SessionId,
        address,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Lets the session act for this tenant, and revokes its tokens if it acted for another.
pub(super) async fn act_for(conn: &mut PgConnection, id: SessionId, tenant: TenantId) -> sqlx::Result<()> {
    let changed = sqlx::query!(
        "update sessions set tenant_id = $2
         where id = $1 and ended_at is null and tenant_id is distinct from $2",
        id as SessionId,
        tenant as TenantId,
    )
    .execute(&mut *conn)
    .await?;
    if changed.rows_affected() > 0 {
        revocation::of_session(conn, id).await?;
    }
    Ok(())
}

/// Returns the sessions of the caller that have not ended, after `after`.
pub(super) async fn list(
    conn: &mut PgConnection,
    caller: &Principal,
    now: Timestamp,
    after: Option<SessionId>,
    limit: i64,
) -> sqlx::Result<Vec<Session>> {
    sqlx::query_as!(
        Session,
        "select id as \"id: SessionId\", id is not distinct from $2 as \"current!\",
                cookie_hash is not null as \"cookie!\", tenant_id, user_agent, address, created_at, last_used_at,
                expires_at
         from sessions
         where user_id = $1 and ended_at is null and expires_at > $3 and ($4::uuid is null or id > $4)
         order by id limit $5",
        caller.user as UserId,
        caller.session as Option<SessionId>,
        jiff_sqlx::Timestamp::from(now),
        after as Option<SessionId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns whether the user has this session and it has not ended.
pub(super) async fn exists(conn: &mut PgConnection, user: UserId, id: SessionId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        "select exists(select from sessions where id = $1 and user_id = $2 and ended_at is null) as \"exists!\"",
        id as SessionId,
        user as UserId,
    )
    .fetch_one(conn)
    .await
}

/// Returns whether the user has this session, and it has neither ended nor expired.
pub async fn is_open(
    conn: &mut PgConnection,
    user: UserId,
    id: SessionId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        "select exists(select from sessions
             where id = $1 and user_id = $2 and ended_at is null and expires_at > $3) as \"exists!\"",
        id as SessionId,
        user as UserId,
        jiff_sqlx::Timestamp::from(now),
    )
    .fetch_one(conn)
    .await
}

/// Adds a refresh token. The transaction must be in the scope of its session.
pub(super) async fn insert_token(
    conn: &mut PgConnection,
    session: SessionId,
    hash: &[u8],
) -> sqlx::Result<()> {
    sqlx::query!("insert into refresh_tokens (hash, session_id) values ($1, $2)", hash, session as SessionId,)
        .execute(conn)
        .await
        .map(drop)
}

/// A refresh token with its session.
pub(super) struct StoredToken {
    pub(super) user: UserId,
    pub(super) tenant: Option<TenantId>,
    pub(super) expires_at: Timestamp,
    pub(super) ended: bool,
    /// When the token was first used.
    pub(super) replaced_at: Option<Timestamp>,
}

struct StoredTokenRow {
    user_id: UserId,
    tenant_id: Option<TenantId>,
    expires_at: Timestamp,
    ended: bool,
    replaced_at: Option<jiff_sqlx::Timestamp>,
}

impl From<StoredTokenRow> for StoredToken {
    fn from(row: StoredTokenRow) -> Self {
        Self {
            user: row.user_id,
            tenant: row.tenant_id,
            expires_at: row.expires_at,
            ended: row.ended,
            replaced_at: row.replaced_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

/// Returns the token and its session, both locked until the transaction ends.
pub(super) async fn lock_token(
    conn: &mut PgConnection,
    session: SessionId,
    hash: &[u8],
) -> sqlx::Result<Option<StoredToken>> {
    let row = sqlx::query_as!(
        StoredTokenRow,
        "select s.user_id, s.tenant_id, s.expires_at, s.ended_at is not null as \"ended!\", t.replaced_at
         from sessions s join refresh_tokens t on t.session_id = s.id
         where s.id = $1 and t.hash = $2 for update",
        session as SessionId,
        hash,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Marks a token as used. The time of its first use stays.
pub(super) async fn replace_token(conn: &mut PgConnection, hash: &[u8], now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update refresh_tokens set replaced_at = coalesce(replaced_at, $2) where hash = $1",
        hash,
        jiff_sqlx::Timestamp::from(now),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records a refresh of the session for this tenant.
pub(super) async fn touch(
    conn: &mut PgConnection,
    id: SessionId,
    tenant: Option<TenantId>,
    address: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update sessions set last_used_at = now(), tenant_id = $2, address = $3 where id = $1",
        id as SessionId,
        tenant as Option<TenantId>,
        address,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Ends a session, unless it has ended, and revokes its tokens.
pub(super) async fn end(conn: &mut PgConnection, id: SessionId, reason: EndReason) -> sqlx::Result<()> {
    let ended = sqlx::query!(
        "update sessions set ended_at = now(), end_reason = $2 where id = $1 and ended_at is null",
        id as SessionId,
        reason as EndReason,
    )
    .execute(&mut *conn)
    .await?;
    if ended.rows_affected() > 0 {
        revocation::of_session(conn, id).await?;
    }
    Ok(())
}

/// Ends open sessions of the user beyond the `most` that were used last, but not the new one. Sessions that
/// another sign-in is ending are skipped.
pub(super) async fn end_beyond(
    conn: &mut PgConnection,
    new: &NewSession<'_>,
    now: Timestamp,
    most: u32,
) -> sqlx::Result<()> {
    let ended = sqlx::query_scalar!(
        "update sessions set ended_at = now(), end_reason = $5
         where id in (
             select id from sessions where id in (
                 select id from sessions
                 where user_id = $1 and id <> $2 and ended_at is null and expires_at > $3
                 order by last_used_at desc, id desc offset $4)
             order by id for update skip locked)
         returning id as \"id: SessionId\"",
        new.user as UserId,
        new.id as SessionId,
        jiff_sqlx::Timestamp::from(now),
        i64::from(most.max(1)) - 1,
        EndReason::Displaced as EndReason,
    )
    .fetch_all(&mut *conn)
    .await?;
    for session in ended {
        revocation::of_session(conn, session).await?;
    }
    Ok(())
}

/// Ends all sessions of a user except one, and revokes their tokens. Sets the transaction's scope to the user.
pub async fn end_all(
    conn: &mut PgConnection,
    user: UserId,
    except: Option<SessionId>,
    reason: EndReason,
) -> sqlx::Result<()> {
    scope::user(conn, user).await?;
    let ended = sqlx::query_scalar!(
        "update sessions set ended_at = now(), end_reason = $3
         where user_id = $1 and ended_at is null and ($2::uuid is null or id <> $2)
         returning id as \"id: SessionId\"",
        user as UserId,
        except as Option<SessionId>,
        reason as EndReason,
    )
    .fetch_all(&mut *conn)
    .await?;
    if except.is_none() {
        return revocation::of_user(conn, user).await;
    }
    for session in ended {
        revocation::of_session(conn, session).await?;
    }
    Ok(())
}

/// Deletes sessions that ended more than a day ago, with their tokens, at most `limit`. Needs the worker role.
pub async fn delete_old(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from sessions where id in (
             select id from sessions
             where expires_at < now() - interval '1 day' or ended_at < now() - interval '1 day' limit $1)",
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
