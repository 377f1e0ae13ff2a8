//! Deletes challenges that were not answered in time.

use sqlx::PgConnection;

use super::store;
use crate::state::AppState;

/// Deletes at most `limit`. Needs the worker role.
pub(crate) async fn delete_expired(
    state: &AppState,
    conn: &mut PgConnection,
    limit: i64,
) -> sqlx::Result<u64> {
    store::delete_expired(conn, state.now(), limit).await
}
