//! The table of credentials.

use ids::{StorageId, TenantId};
use sqlx::PgConnection;

use super::model::{Credential, CredentialState};

#[derive(sqlx::FromRow)]
struct Row {
    access_key_id: String,
    state: CredentialState,
    created_at: jiff_sqlx::Timestamp,
}

impl From<Row> for Credential {
    fn from(row: Row) -> Self {
        Self { access_key_id: row.access_key_id, state: row.state, created_at: row.created_at.to_jiff() }
    }
}

/// Records that a key is about to be made.
pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    access: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into credentials (access_key_id, storage_id, tenant_id, state) values ($1, $2, $3, 'making')",
    )
    .bind(access)
    .bind(storage)
    .bind(tenant)
    .execute(conn)
    .await
    .map(drop)
}

/// The key is in the object store. False when it was ordered away meanwhile.
pub(super) async fn activate(conn: &mut PgConnection, tenant: TenantId, access: &str) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update credentials set state = 'active'
         where tenant_id = $1 and access_key_id = $2 and state = 'making'",
    )
    .bind(tenant)
    .bind(access)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Orders a key away. False when there is none of this storage.
pub(super) async fn order_away(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    access: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update credentials set state = 'removing'
         where tenant_id = $1 and storage_id = $2 and access_key_id = $3",
    )
    .bind(tenant)
    .bind(storage)
    .bind(access)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The request that ordered a key has failed, and leaves its idempotency key free.
pub(super) async fn free_key(conn: &mut PgConnection, scope: &str, key: &str) -> sqlx::Result<()> {
    sqlx::query("delete from idempotency_keys where scope = $1 and key = $2")
        .bind(scope)
        .bind(key)
        .execute(conn)
        .await
        .map(drop)
}

/// The storage's keys, oldest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    after: Option<(jiff::Timestamp, String)>,
    limit: i64,
) -> sqlx::Result<Vec<Credential>> {
    use jiff_sqlx::ToSqlx as _;
    let (since, access) = after.unzip();
    let rows: Vec<Row> = sqlx::query_as(
        "select access_key_id, state, created_at from credentials
         where tenant_id = $1 and storage_id = $2
           and ($3::timestamptz is null or (created_at, access_key_id) > ($3, $4))
         order by created_at, access_key_id limit $5",
    )
    .bind(tenant)
    .bind(storage)
    .bind(since.map(|at| at.to_sqlx()))
    .bind(access)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// How many keys the storage has.
pub(super) async fn count(conn: &mut PgConnection, storage: StorageId) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from credentials where storage_id = $1")
        .bind(storage)
        .fetch_one(conn)
        .await
}

/// Keys of a storage that are to go: ordered away, or cut short in the making.
pub(crate) async fn strays(conn: &mut PgConnection, storage: StorageId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "select access_key_id from credentials
         where storage_id = $1
           and (state = 'removing' or state = 'making' and created_at < now() - interval '2 minutes')",
    )
    .bind(storage)
    .fetch_all(conn)
    .await
}

/// All keys of a storage.
pub(crate) async fn all_of(conn: &mut PgConnection, storage: StorageId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("select access_key_id from credentials where storage_id = $1")
        .bind(storage)
        .fetch_all(conn)
        .await
}

/// All keys of a tenant.
pub(crate) async fn all_of_tenant(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("select access_key_id from credentials where tenant_id = $1")
        .bind(tenant)
        .fetch_all(conn)
        .await
}

/// The key is gone from the object store.
pub(crate) async fn forget(conn: &mut PgConnection, access: &str) -> sqlx::Result<()> {
    sqlx::query("delete from credentials where access_key_id = $1").bind(access).execute(conn).await.map(drop)
}
