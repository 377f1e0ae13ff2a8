//! The tables of passkeys and challenges. Row-level security: a transaction sees those of `atelier.user`, and the challenge
//! whose hash is `atelier.passkey_challenge`.

use ids::{PasskeyId, SessionId, UserId};
use jiff::Timestamp;
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use super::{model::Passkey, relying_party::Challenge};

struct Row {
    id: PasskeyId,
    name: String,
    generation: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
    last_used_at: Option<jiff_sqlx::Timestamp>,
}

impl From<Row> for Passkey {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            generation: row.generation,
            created_at: row.created_at,
            updated_at: row.updated_at,
            last_used_at: row.last_used_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

/// Adds a passkey. Returns none if its credential belongs to a user already.
pub(super) async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    name: &str,
    credential: &webauthn_rs::prelude::Passkey,
) -> sqlx::Result<Option<Passkey>> {
    let row = sqlx::query_as!(
        Row,
        "insert into passkeys (id, user_id, credential_id, credential, name) values ($1, $2, $3, $4, $5)
         on conflict (credential_id) do nothing
         returning id, name, generation, created_at, updated_at, last_used_at",
        PasskeyId::new() as PasskeyId,
        user as UserId,
        credential.cred_id().as_slice(),
        Json(credential) as _,
        name,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Returns the user's passkeys after `after`.
pub(super) async fn list(
    conn: &mut PgConnection,
    user: UserId,
    after: Option<PasskeyId>,
    limit: i64,
) -> sqlx::Result<Vec<Passkey>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, name, generation, created_at, updated_at, last_used_at from passkeys
         where user_id = $1 and ($2::uuid is null or id > $2) order by id limit $3",
        user as UserId,
        after as Option<PasskeyId>,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Returns a passkey of the user.
pub(super) async fn find(
    conn: &mut PgConnection,
    user: UserId,
    id: PasskeyId,
) -> sqlx::Result<Option<Passkey>> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, generation, created_at, updated_at, last_used_at from passkeys
         where user_id = $1 and id = $2",
        user as UserId,
        id as PasskeyId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Returns the credential ids of the user's passkeys.
pub(super) async fn credential_ids(conn: &mut PgConnection, user: UserId) -> sqlx::Result<Vec<Vec<u8>>> {
    sqlx::query_scalar!("select credential_id from passkeys where user_id = $1", user as UserId)
        .fetch_all(conn)
        .await
}

/// Renames the passkey of this generation. Returns none if it has changed since.
pub(super) async fn rename(
    conn: &mut PgConnection,
    user: UserId,
    id: PasskeyId,
    generation: i64,
    name: &str,
) -> sqlx::Result<Option<Passkey>> {
    let row = sqlx::query_as!(
        Row,
        "update passkeys set name = $4, generation = generation + 1, updated_at = now()
         where user_id = $1 and id = $2 and generation = $3
         returning id, name, generation, created_at, updated_at, last_used_at",
        user as UserId,
        id as PasskeyId,
        generation,
        name,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Deletes a passkey of the user. Returns whether it existed.
pub(super) async fn delete(conn: &mut PgConnection, user: UserId, id: PasskeyId) -> sqlx::Result<bool> {
    sqlx::query!("delete from passkeys where user_id = $1 and id = $2", user as UserId, id as PasskeyId)
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// Deletes all passkeys of the user.
pub(super) async fn delete_all(conn: &mut PgConnection, user: UserId) -> sqlx::Result<()> {
    sqlx::query!("delete from passkeys where user_id = $1", user as UserId).execute(conn).await.map(drop)
}

/// A passkey with its key, to be checked.
pub(super) struct Stored {
    pub(super) id: PasskeyId,
    pub(super) credential: Json<webauthn_rs::prelude::Passkey>,
}

/// Returns the user's passkey with this credential id, locked until the transaction ends: its counter is used by one
/// sign-in at a time.
pub(super) async fn lock(
    conn: &mut PgConnection,
    user: UserId,
    credential_id: &[u8],
) -> sqlx::Result<Option<Stored>> {
    sqlx::query_as!(
        Stored,
        "select id as \"id: PasskeyId\", credential as \"credential: Json<webauthn_rs::prelude::Passkey>\"
         from passkeys where user_id = $1 and credential_id = $2 for update",
        user as UserId,
        credential_id,
    )
    .fetch_optional(conn)
    .await
}

/// Records a use of the passkey. `changed` has its new counter and flags.
pub(super) async fn record_use(
    conn: &mut PgConnection,
    id: PasskeyId,
    changed: Option<&webauthn_rs::prelude::Passkey>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update passkeys set last_used_at = now(), credential = coalesce($2, credential) where id = $1",
        id as PasskeyId,
        changed.map(Json) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Stores the challenge of a registration, in place of an earlier one of the session.
pub(super) async fn put_registration(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    challenge: &Challenge,
    expires_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into passkey_challenges (hash, user_id, session_id, state, expires_at) values ($1, $2, $3, $4, $5)
         on conflict (session_id) do update set hash = $1, state = $4, expires_at = $5",
        challenge.hash,
        user as UserId,
        session as SessionId,
        challenge.state,
        jiff_sqlx::Timestamp::from(expires_at),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the challenge of the session's registration and returns its state; none if it has expired, or is of another
/// session.
pub(super) async fn take_registration(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    hash: &[u8],
    now: Timestamp,
) -> sqlx::Result<Option<Value>> {
    sqlx::query_scalar!(
        "delete from passkey_challenges where hash = $1 and user_id = $2 and session_id = $3 and expires_at > $4
         returning state",
        hash,
        user as UserId,
        session as SessionId,
        jiff_sqlx::Timestamp::from(now),
    )
    .fetch_optional(conn)
    .await
}

/// Stores the challenge of a sign-in. The transaction must be in the scope of the challenge.
pub(super) async fn insert_sign_in(
    conn: &mut PgConnection,
    challenge: &Challenge,
    expires_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into passkey_challenges (hash, state, expires_at) values ($1, $2, $3)",
        challenge.hash,
        challenge.state,
        jiff_sqlx::Timestamp::from(expires_at),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the challenge of a sign-in and returns its state; none if it has expired. The transaction must be in the scope of
/// the challenge.
pub(super) async fn take_sign_in(
    conn: &mut PgConnection,
    hash: &[u8],
    now: Timestamp,
) -> sqlx::Result<Option<Value>> {
    sqlx::query_scalar!(
        "delete from passkey_challenges where hash = $1 and user_id is null and expires_at > $2 returning state",
        hash,
        jiff_sqlx::Timestamp::from(now),
    )
    .fetch_optional(conn)
    .await
}

/// Deletes expired challenges, at most `limit`. Needs the worker role.
pub async fn delete_expired(conn: &mut PgConnection, now: Timestamp, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from passkey_challenges where hash in (
             select hash from passkey_challenges where expires_at <= $1 limit $2)",
        jiff_sqlx::Timestamp::from(now),
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
