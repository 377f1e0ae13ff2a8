//! The lease of a row.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::{Key, Table};
use crate::Db;

/// A row that this worker has to itself.
#[derive(Debug, Clone, Copy)]
pub struct Leased<K> {
    /// The row.
    pub key: K,
    /// Failed reconciles in a row before this one.
    pub failures: i32,
    /// Whether the row was due; false if it was only poked.
    pub due: bool,
    pub(super) table: Table,
    pub(super) owner: Uuid,
}

impl<K: Key> Leased<K> {
    /// Ends the lease after a success, in the transaction that records the result. False if the lease is lost or
    /// the row is gone.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn release(&self, conn: &mut PgConnection, after: Option<Duration>) -> sqlx::Result<bool> {
        self.end(conn, after, 0).await.map(|row| row.is_some())
    }

    /// Ends the lease; returns whether the row is due already, none if the lease is lost or the row is gone.
    pub(super) async fn end(
        &self,
        conn: &mut PgConnection,
        after: Option<Duration>,
        failures: i32,
    ) -> sqlx::Result<Option<bool>> {
        let sql = format!(
            "update {} set lease_owner = null, lease_until = null, failures = $4,
                 wake_at = least(wake_at, now() + make_interval(secs => $3))
             where id = $1 and lease_owner = $2
             returning coalesce(wake_at <= now(), false)",
            self.table.name
        );
        sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(self.key)
            .bind(self.owner)
            .bind(after.map(|after| after.as_secs_f64()))
            .bind(failures)
            .fetch_optional(conn)
            .await
    }

    pub(super) async fn renew(&self, db: &Db, lease: Duration) -> sqlx::Result<bool> {
        let sql = format!(
            "update {} set lease_until = now() + make_interval(secs => $3) where id = $1 and lease_owner = $2",
            self.table.name
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(self.key)
            .bind(self.owner)
            .bind(lease.as_secs_f64())
            .execute(&db.worker)
            .await
            .map(|done| done.rows_affected() == 1)
    }
}
