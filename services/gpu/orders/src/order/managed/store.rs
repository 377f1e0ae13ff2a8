//! SQL of orders of other services.

use ids::InstanceId;
use sqlx::PgConnection;

/// Makes other orders with this id wait until the transaction ends.
pub(super) async fn lock_order(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('gpu.order ' || $1::text, 0))",
        id.to_string()
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Stores the hash of the order of a new instance.
pub(super) async fn set_request_hash(
    conn: &mut PgConnection,
    id: InstanceId,
    hash: &[u8],
) -> sqlx::Result<()> {
    sqlx::query!("update instances set request_hash = $2 where id = $1", id as InstanceId, hash)
        .execute(conn)
        .await
        .map(drop)
}

/// Returns the hash of the order of an instance; none if no service ordered it.
pub(super) async fn request_hash(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<Option<Vec<u8>>> {
    let hash = sqlx::query_scalar!("select request_hash from instances where id = $1", id as InstanceId);
    Ok(hash.fetch_optional(conn).await?.flatten())
}
