//! The clock of the database.

use jiff::Timestamp;
use sqlx::PgConnection;

/// Returns the time by which tokens are dated: that of the database, as revocations are.
pub(super) async fn clock(conn: &mut PgConnection) -> sqlx::Result<Timestamp> {
    let now = sqlx::query_scalar!("select clock_timestamp() as \"now!\"").fetch_one(conn).await?;
    Ok(now.to_jiff())
}
