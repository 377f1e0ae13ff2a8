//! The tables of second factors and recovery codes. Row-level security: a transaction sees those of `atelier.user`.

use encryption::Encrypted;
use ids::UserId;
use jiff::Timestamp;
use sqlx::PgConnection;

/// A second factor.
pub(super) struct Factor {
    pub(super) user: UserId,
    pub(super) secret: Encrypted,
    /// None: no code has been entered yet.
    pub(super) confirmed_at: Option<Timestamp>,
}

struct Row {
    wrapped_by: String,
    secret: Vec<u8>,
    confirmed_at: Option<jiff_sqlx::Timestamp>,
}

/// Returns the user's factor, locked until the transaction ends.
pub(super) async fn find(conn: &mut PgConnection, user: UserId) -> sqlx::Result<Option<Factor>> {
    let row = sqlx::query_as!(
        Row,
        "select wrapped_by, secret, confirmed_at from totp_factors where user_id = $1 for update",
        user as UserId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Factor {
        user,
        secret: Encrypted { key_id: row.wrapped_by, bytes: row.secret },
        confirmed_at: row.confirmed_at.map(jiff_sqlx::Timestamp::to_jiff),
    }))
}

/// Stores a factor that is not confirmed yet, in place of another such one. Returns false if the user has a
/// confirmed one.
pub(super) async fn put(conn: &mut PgConnection, user: UserId, secret: &Encrypted) -> sqlx::Result<bool> {
    sqlx::query!(
        "insert into totp_factors as f (user_id, wrapped_by, secret) values ($1, $2, $3)
         on conflict (user_id) do update set wrapped_by = $2, secret = $3, last_step = 0, created_at = now()
             where f.confirmed_at is null",
        user as UserId,
        secret.key_id,
        secret.bytes,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Marks the factor as confirmed.
pub(super) async fn confirm(conn: &mut PgConnection, user: UserId) -> sqlx::Result<()> {
    sqlx::query!("update totp_factors set confirmed_at = now() where user_id = $1", user as UserId)
        .execute(conn)
        .await
        .map(drop)
}

/// Records the time step of a code. Returns false if one of this step or a later one was used before.
pub(super) async fn use_step(conn: &mut PgConnection, user: UserId, step: i64) -> sqlx::Result<bool> {
    sqlx::query!(
        "update totp_factors set last_step = $2 where user_id = $1 and last_step < $2",
        user as UserId,
        step,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Adds recovery codes.
pub(super) async fn add_recovery_codes(
    conn: &mut PgConnection,
    user: UserId,
    hashes: &[Vec<u8>],
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into recovery_codes (user_id, hash) select $1, hash from unnest($2::bytea[]) hash",
        user as UserId,
        hashes,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes a recovery code. Returns whether it existed.
pub(super) async fn use_recovery_code(
    conn: &mut PgConnection,
    user: UserId,
    hash: &[u8],
) -> sqlx::Result<bool> {
    sqlx::query!("delete from recovery_codes where user_id = $1 and hash = $2", user as UserId, hash)
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// Returns the number of the user's recovery codes.
pub(super) async fn count_recovery_codes(conn: &mut PgConnection, user: UserId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        "select count(*) as \"count!\" from recovery_codes where user_id = $1",
        user as UserId
    )
    .fetch_one(conn)
    .await
}

/// Deletes the factor with its recovery codes. Returns whether it existed.
pub(super) async fn delete(conn: &mut PgConnection, user: UserId) -> sqlx::Result<bool> {
    sqlx::query!("delete from totp_factors where user_id = $1", user as UserId)
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// Returns up to `limit` secrets that are encrypted under another key, locked until the transaction ends.
pub(super) async fn lock_stale(
    conn: &mut PgConnection,
    current_key: &str,
    limit: i64,
) -> sqlx::Result<Vec<(UserId, Encrypted)>> {
    let rows = sqlx::query!(
        r#"select user_id as "user_id: UserId", wrapped_by, secret from totp_factors where wrapped_by <> $1
         order by user_id limit $2 for update"#,
        current_key,
        limit,
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows.map(|row| (row.user_id, Encrypted { key_id: row.wrapped_by, bytes: row.secret })).collect())
}

/// Replaces an encrypted secret by the same one under another key.
pub(super) async fn renew(conn: &mut PgConnection, user: UserId, secret: &Encrypted) -> sqlx::Result<()> {
    sqlx::query!(
        "update totp_factors set wrapped_by = $2, secret = $3 where user_id = $1",
        user as UserId,
        secret.key_id,
        secret.bytes,
    )
    .execute(conn)
    .await
    .map(drop)
}
