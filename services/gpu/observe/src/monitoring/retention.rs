//! Averages samples over five minutes, and deletes what is too old.

use db::Db;
use service::{Duty, Round, Task};

use super::config::MonitoringConfig;
use super::store;

/// Time between two rounds.
const PERIOD: std::time::Duration = std::time::Duration::from_secs(60);
/// Rows of one kind deleted in one round.
const DELETED: i64 = 10_000;

/// The task that does it.
pub(super) fn task(db: &Db, config: MonitoringConfig) -> Task {
    Task::every("samples", Duty::Retention, PERIOD, db, move |db| average(db, config.days.max(1)))
}

async fn average(db: Db, days: u32) -> anyhow::Result<Round> {
    loop {
        let mut tx = db.worker().await?;
        let averaged = store::average(&mut tx).await?;
        tx.commit().await?;
        if !averaged {
            break;
        }
    }
    let mut tx = db.worker().await?;
    let deleted = store::delete_old(&mut tx, i32::try_from(days).unwrap_or(i32::MAX), DELETED).await?;
    tx.commit().await?;
    Ok(Round::of(deleted, DELETED.unsigned_abs()))
}
