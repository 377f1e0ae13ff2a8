//! The worker `gpu.idle.report`: the terminals and SSH connections that this replica carries.

use std::time::Duration;

use activity::Tracker;
use db::Db;
use gpu_core::instance::IdleConfig;
use jiff::Timestamp;
use service::{Duty, Task};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::store::{self, ReporterId};

/// Reports for this replica. Clones share it.
#[derive(Clone)]
pub struct Reporter {
    db: Db,
    tracker: Tracker,
    clock: fn() -> Timestamp,
    period: Duration,
    id: String,
}

impl Reporter {
    /// Returns the reporter of the connections that `tracker` counts.
    pub fn new(db: &Db, tracker: &Tracker, config: IdleConfig, clock: fn() -> Timestamp) -> Self {
        let period = Duration::from_secs(config.report_seconds.max(1).into());
        let id = format!("{:032x}", rand::random::<u128>());
        Self { db: db.clone(), tracker: tracker.clone(), clock, period, id }
    }

    /// The task that reports from time to time.
    pub fn task(&self) -> Task {
        Task::until_stop("activity", Duty::Housekeeping, self, Self::run)
    }

    async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        while !stop.is_cancelled() {
            self.report(false).await?;
            stop.run_until_cancelled(sleep(self.period)).await;
        }
        Ok(self.report(true).await?)
    }

    /// Reports once; the last time when this replica shuts down.
    pub async fn report(&self, has_ended: bool) -> sqlx::Result<()> {
        let now = (self.clock)();
        let activities = self.tracker.activities();
        let mut tx = self.db.worker().await?;
        let reporter = ReporterId { kind: "gpu", id: &self.id };
        if store::report(&mut tx, reporter, Some(now), has_ended, &store::uses(&activities, now)).await? {
            store::delete_old_reporters(&mut tx, now).await?;
            tx.commit().await?;
        }
        self.tracker.reported(&activities);
        Ok(())
    }
}
