//! The table of the bucket for objects to deliver.

use sqlx::PgConnection;

/// Returns the name of the user and of the bucket for objects to deliver. The first call chooses it.
pub(super) async fn staging(conn: &mut PgConnection) -> sqlx::Result<String> {
    sqlx::query!("insert into staging default values on conflict do nothing").execute(&mut *conn).await?;
    sqlx::query_scalar!("select name from staging").fetch_one(conn).await
}
