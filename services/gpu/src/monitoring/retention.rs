//! Averages samples over five minutes, and deletes what is too old.

use db::Db;
use service::{Process, Round};

use super::store;
use crate::config::MonitoringConfig;

/// Time between two rounds.
const PERIOD: std::time::Duration = std::time::Duration::from_secs(60);
/// Rows of one kind deleted in one round.
const DELETED: i64 = 10_000;

/// Starts the worker `gpu.samples.average`.
pub(super) fn start(db: &Db, config: MonitoringConfig, process: &Process) {
    let db = db.clone();
    process
        .workers
        .spawn_periodic("gpu.samples.average", PERIOD, move || average(db.clone(), config.days.max(1)));
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
