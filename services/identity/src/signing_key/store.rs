//! The table of signing keys.

use ids::SigningKeyId;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use serde_json::Value;
use sqlx::PgConnection;

use crate::vault::Sealed;

/// What anyone may know of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Public {
    pub(super) id: SigningKeyId,
    pub(super) active_from: Timestamp,
    pub(super) created_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct PublicRow {
    id: SigningKeyId,
    active_from: jiff_sqlx::Timestamp,
    created_at: jiff_sqlx::Timestamp,
}

impl From<PublicRow> for Public {
    fn from(row: PublicRow) -> Self {
        Self { id: row.id, active_from: row.active_from.to_jiff(), created_at: row.created_at.to_jiff() }
    }
}

/// A key as it is stored.
pub(super) struct Stored {
    pub(super) id: SigningKeyId,
    pub(super) public_jwk: Value,
    pub(super) private: Sealed,
    pub(super) active_from: Timestamp,
}

#[derive(sqlx::FromRow)]
struct StoredRow {
    id: SigningKeyId,
    public_jwk: Value,
    wrapped_by: String,
    private_key: Vec<u8>,
    active_from: jiff_sqlx::Timestamp,
}

impl From<StoredRow> for Stored {
    fn from(row: StoredRow) -> Self {
        Self {
            id: row.id,
            public_jwk: row.public_jwk,
            private: Sealed { key_id: row.wrapped_by, bytes: row.private_key },
            active_from: row.active_from.to_jiff(),
        }
    }
}

/// One replica at a time decides about keys; held to the end of the transaction.
pub(super) async fn lock(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("select pg_advisory_xact_lock(hashtextextended(current_schema() || ' signing keys', 0))")
        .execute(conn)
        .await
        .map(drop)
}

/// All keys, in the order in which they sign.
pub(super) async fn public(conn: &mut PgConnection) -> sqlx::Result<Vec<Public>> {
    let rows: Vec<PublicRow> =
        sqlx::query_as("select id, active_from, created_at from signing_keys order by active_from, id")
            .fetch_all(conn)
            .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// All keys with their private halves, in the order in which they sign. The worker's role only.
pub(super) async fn all(conn: &mut PgConnection) -> sqlx::Result<Vec<Stored>> {
    let rows: Vec<StoredRow> = sqlx::query_as(
        "select id, public_jwk, wrapped_by, private_key, active_from from signing_keys
         order by active_from, id",
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Adds a key.
pub(super) async fn insert(conn: &mut PgConnection, key: &Stored) -> sqlx::Result<()> {
    sqlx::query(
        "insert into signing_keys (id, public_jwk, wrapped_by, private_key, active_from)
         values ($1, $2, $3, $4, $5)",
    )
    .bind(key.id)
    .bind(&key.public_jwk)
    .bind(&key.private.key_id)
    .bind(&key.private.bytes)
    .bind(key.active_from.to_sqlx())
    .execute(conn)
    .await
    .map(drop)
}

/// Removes a key of which no token lives. The worker's role only.
pub(super) async fn delete(conn: &mut PgConnection, id: SigningKeyId) -> sqlx::Result<()> {
    sqlx::query("delete from signing_keys where id = $1").bind(id).execute(conn).await.map(drop)
}
