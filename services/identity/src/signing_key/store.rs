//! The tables of signing keys and of requests for them.

use encryption::Encrypted;
use ids::SigningKeyId;
use jiff::Timestamp;
use serde_json::Value;
use sqlx::PgConnection;

use super::model::SigningKeyRequest;

/// The public part of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublicKey {
    pub(super) id: SigningKeyId,
    pub(super) active_from: Timestamp,
    pub(super) created_at: Timestamp,
}

/// A key with its encrypted private part.
pub(super) struct StoredKey {
    pub(super) id: SigningKeyId,
    pub(super) public_jwk: Value,
    pub(super) private_key: Encrypted,
    pub(super) active_from: Timestamp,
}

struct Row {
    id: SigningKeyId,
    public_jwk: Value,
    wrapped_by: String,
    private_key: Vec<u8>,
    active_from: Timestamp,
}

impl From<Row> for StoredKey {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            public_jwk: row.public_jwk,
            private_key: Encrypted { key_id: row.wrapped_by, bytes: row.private_key },
            active_from: row.active_from,
        }
    }
}

/// Serializes decisions about keys. Held until the transaction ends.
pub(super) async fn lock(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended(current_schema() || ' signing keys', 0))")
        .execute(conn)
        .await
        .map(drop)
}

/// Returns the public parts of all keys, in the order in which they sign.
pub(super) async fn public(conn: &mut PgConnection) -> sqlx::Result<Vec<PublicKey>> {
    sqlx::query_as!(
        PublicKey,
        "select id, active_from, created_at from signing_keys order by active_from, id",
    )
    .fetch_all(conn)
    .await
}

/// Returns all keys, in the order in which they sign. The app role may not read private keys; use the worker role.
pub(super) async fn all(conn: &mut PgConnection) -> sqlx::Result<Vec<StoredKey>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, public_jwk, wrapped_by, private_key, active_from from signing_keys
         order by active_from, id",
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Returns the id of the key that was requested.
pub(super) async fn requested(conn: &mut PgConnection) -> sqlx::Result<Option<SigningKeyId>> {
    sqlx::query_scalar!("select key_id from signing_key_requests order by requested_at, key_id limit 1")
        .fetch_optional(conn)
        .await
}

/// Requests a key with this id.
pub(super) async fn request(conn: &mut PgConnection, id: SigningKeyId) -> sqlx::Result<SigningKeyRequest> {
    sqlx::query_as!(
        SigningKeyRequest,
        "insert into signing_key_requests (key_id) values ($1) returning key_id as id, requested_at",
        id as SigningKeyId,
    )
    .fetch_one(conn)
    .await
}

/// Deletes the request of a key that exists. The app role may not; use the worker role.
pub(super) async fn end_request(conn: &mut PgConnection, id: SigningKeyId) -> sqlx::Result<()> {
    sqlx::query!("delete from signing_key_requests where key_id = $1", id as SigningKeyId)
        .execute(conn)
        .await
        .map(drop)
}

/// Adds a key. The app role may not; use the worker role.
pub(super) async fn insert(conn: &mut PgConnection, key: &StoredKey) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into signing_keys (id, public_jwk, wrapped_by, private_key, active_from)
         values ($1, $2, $3, $4, $5)",
        key.id as SigningKeyId,
        key.public_jwk,
        key.private_key.key_id,
        key.private_key.bytes,
        jiff_sqlx::Timestamp::from(key.active_from),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes a key. The app role may not; use the worker role.
pub(super) async fn delete(conn: &mut PgConnection, id: SigningKeyId) -> sqlx::Result<()> {
    sqlx::query!("delete from signing_keys where id = $1", id as SigningKeyId).execute(conn).await.map(drop)
}

/// Returns up to `limit` private keys that are encrypted under another key, locked until the transaction ends.
pub(super) async fn lock_stale(
    conn: &mut PgConnection,
    current_key: &str,
    limit: i64,
) -> sqlx::Result<Vec<(SigningKeyId, Encrypted)>> {
    let rows = sqlx::query!(
        "select id, wrapped_by, private_key from signing_keys where wrapped_by <> $1
         order by id limit $2 for update",
        current_key,
        limit,
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows.map(|row| (row.id, Encrypted { key_id: row.wrapped_by, bytes: row.private_key })).collect())
}

/// Replaces an encrypted private key by the same one under another key.
pub(super) async fn renew(
    conn: &mut PgConnection,
    id: SigningKeyId,
    private_key: &Encrypted,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update signing_keys set wrapped_by = $2, private_key = $3 where id = $1",
        id as SigningKeyId,
        private_key.key_id,
        private_key.bytes,
    )
    .execute(conn)
    .await
    .map(drop)
}
