//! How long jobs of a class take, learned from those that have ended.

use std::collections::HashMap;

use schedule::{Estimate, Histogram, Millis};
use sqlx::PgConnection;

use super::store;

/// The estimate for a class with too few ended jobs.
const UNKNOWN: Estimate = Estimate { p50: 15_000, p90: 45_000 };

/// Number of durations that are read for a single class: about as many as a histogram counts.
const LATEST: i64 = 512;

/// Durations by class.
#[derive(Debug, Default)]
pub struct Estimates(HashMap<String, Histogram>);

impl Estimates {
    pub fn of(durations: Vec<(String, f64)>) -> Self {
        let mut estimates = Self::default();
        for (class, seconds) in durations {
            estimates.record(&class, seconds);
        }
        estimates
    }

    pub fn record(&mut self, class: &str, seconds: f64) {
        let duration = std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let millis = Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX);
        self.0.entry(class.to_owned()).or_default().record(millis);
    }

    /// The estimate of a class alone, from the latest durations.
    pub async fn of_class(conn: &mut PgConnection, class: &str) -> sqlx::Result<Estimate> {
        let durations = store::durations_of(conn, class, LATEST).await?;
        let all = durations.into_iter().map(|seconds| (class.to_owned(), seconds));
        Ok(Self::of(all.collect()).get(class))
    }

    pub fn get(&self, class: &str) -> Estimate {
        self.0.get(class).and_then(Histogram::estimate).unwrap_or(UNKNOWN)
    }
}

/// Returns how long a job of a class takes, once its model is loaded.
///
/// # Errors
/// If the database fails.
pub async fn estimate(conn: &mut PgConnection, class: &str) -> sqlx::Result<Estimate> {
    Estimates::of_class(conn, class).await
}
