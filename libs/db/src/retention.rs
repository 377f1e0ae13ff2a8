//! Tasks that delete old rows.

use std::time::Duration;

use futures::future::BoxFuture;
use service::{Duty, Round, Task};
use sqlx::PgConnection;

use crate::Db;

impl Db {
    /// A task that deletes old rows every `period`: at most `limit` in one transaction, and at once the next
    /// batch while one is full. `delete` gets the limit, and returns how many rows it has deleted.
    pub fn retention(
        &self,
        owner: &str,
        period: Duration,
        limit: u32,
        delete: impl for<'a> Fn(&'a mut PgConnection, i64) -> BoxFuture<'a, sqlx::Result<u64>>
        + Clone
        + Send
        + Sync
        + 'static,
    ) -> Task {
        Task::every(owner, Duty::Retention, period, self, move |db| {
            let delete = delete.clone();
            async move {
                let mut tx = db.worker().await?;
                let deleted = delete(&mut tx, limit.into()).await?;
                tx.commit().await?;
                Ok(Round::of(deleted, limit.into()))
            }
        })
    }
}
