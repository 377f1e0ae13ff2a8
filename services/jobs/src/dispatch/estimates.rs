//! How long jobs of a class take, learned from those that have ended.

use std::collections::HashMap;

use sqlx::PgConnection;

use super::store;
use crate::schedule::{Estimate, Histogram, Millis};

/// Of a class of which too few jobs have ended.
const UNKNOWN: Estimate = Estimate { p50: 15_000, p90: 45_000 };

/// Durations of a class that are read where only it is asked for: a histogram counts about as many.
const LATEST: i64 = 512;

/// Durations by class.
#[derive(Debug, Default)]
pub(super) struct Estimates(HashMap<String, Histogram>);

impl Estimates {
    pub(super) fn of(durations: Vec<(String, f64)>) -> Self {
        let mut estimates = Self::default();
        for (class, seconds) in durations {
            estimates.record(&class, seconds);
        }
        estimates
    }

    pub(super) fn record(&mut self, class: &str, seconds: f64) {
        let duration = std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let millis = Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX);
        self.0.entry(class.to_owned()).or_default().record(millis);
    }

    /// The estimate of a class alone, from the latest durations.
    pub(super) async fn of_class(conn: &mut PgConnection, class: &str) -> sqlx::Result<Estimate> {
        let durations = store::durations_of(conn, class, LATEST).await?;
        let all = durations.into_iter().map(|seconds| (class.to_owned(), seconds));
        Ok(Self::of(all.collect()).get(class))
    }

    pub(super) fn get(&self, class: &str) -> Estimate {
        self.0.get(class).and_then(Histogram::estimate).unwrap_or(UNKNOWN)
    }
}
