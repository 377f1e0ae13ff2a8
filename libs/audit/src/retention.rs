//! The task that deletes old entries from the beginnings of their chains, and compares the newest ones with each other.

use std::{num::NonZeroU16, time::Duration};

use db::Db;
use prometheus_client::metrics::gauge::Gauge;
use serde::Deserialize;
use service::{Duty, Metrics, Process, Round, Task};

use crate::log::{broken_of_newest, delete_old};

const PERIOD: Duration = Duration::from_secs(600);
/// Entries that are deleted in one transaction: their chains are locked meanwhile.
const BATCH: i32 = 1000;
/// Entries that are compared.
const COMPARED: i64 = 1000;

/// How long entries of the audit log are kept.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionConfig {
    /// Days for which entries are kept (default 400).
    pub days: NonZeroU16,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { days: NonZeroU16::new(400).unwrap_or(NonZeroU16::MAX) }
    }
}

impl RetentionConfig {
    /// The task of the audit log.
    #[must_use]
    pub fn task(self, db: &Db, process: &Process) -> Task {
        let (parts, days) = ((db.clone(), register(&process.metrics)), i32::from(self.days.get()));
        Task::every("audit", Duty::Retention, PERIOD, &parts, move |(db, broken)| async move {
            let mut tx = db.worker().await?;
            let deleted = delete_old(&mut tx, days, BATCH).await?;
            tx.commit().await?;
            let mut tx = db.admin().await?;
            broken.set(broken_of_newest(&mut tx, COMPARED).await?);
            tx.commit().await?;
            Ok(Round::of(deleted.unsigned_abs(), BATCH.unsigned_abs().into()))
        })
    }
}

/// Registers the metrics of the audit log.
pub fn register(metrics: &Metrics) -> Gauge {
    let broken = Gauge::default();
    metrics.register(|registry| {
        registry.register(
            "audit_broken_entries",
            "Entries among the newest 1000 of the audit log that do not fit the entry before",
            &[],
            broken.clone(),
        );
    });
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_for_more_than_a_year_unless_configured() {
        let days = |text: &str| serde_json::from_str::<RetentionConfig>(text).map(|config| config.days.get());
        assert_eq!(days("{}").unwrap(), 400);
        assert_eq!(days(r#"{ "days": 30 }"#).unwrap(), 30);
        assert!(days(r#"{ "days": 0 }"#).is_err());
    }
}
