//! The lease of a row.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::{Key, Table};
use crate::Db;

/// A row that this worker has leased.
#[derive(Debug, Clone, Copy)]
pub struct Leased<K> {
    /// The row.
    pub key: K,
    /// Failed reconciles in a row before this one.
    pub failures: i32,
    /// Whether the row was due; false if it was only woken.
    pub due: bool,
    pub(super) table: Table,
    pub(super) owner: Uuid,
}

/// A row whose lease has ended.
pub(super) struct Released {
    /// When it is due again; none if it is not enqueued.
    pub(super) due_in: Option<Duration>,
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

    /// Ends the lease. None if the lease is lost or the row is gone.
    pub(super) async fn end(
        &self,
        conn: &mut PgConnection,
        after: Option<Duration>,
        failures: i32,
    ) -> sqlx::Result<Option<Released>> {
        let sql = format!(
            "update {} set lease_owner = null, lease_until = null, failures = $4,
                 wake_at = least(wake_at, now() + make_interval(secs => $3))
             where id = $1 and lease_owner = $2
             returning extract(epoch from wake_at - now())::float8",
            self.table.name
        );
        let row: Option<Option<f64>> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(self.key)
            .bind(self.owner)
            .bind(after.map(|after| after.as_secs_f64()))
            .bind(failures)
            .fetch_optional(conn)
            .await?;
        let due_in = |seconds: f64| Duration::from_secs_f64(seconds.max(0.0));
        Ok(row.map(|seconds| Released { due_in: seconds.map(due_in) }))
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
            .execute(&db.0.worker)
            .await
            .map(|done| done.rows_affected() == 1)
    }
}
