//! Results of requests.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The answers and failures that were counted.
#[derive(Default)]
pub struct Seen(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    requests: u64,
    failed: u64,
    /// Reason and number.
    failures: BTreeMap<String, u64>,
    /// Requests by milliseconds.
    took: BTreeMap<u64, u64>,
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets the counts from before the measurement.
    pub fn begin(&self) {
        *self.lock() = Counts::default();
    }

    pub fn answered(&self, took: Duration) {
        let mut counts = self.lock();
        counts.requests += 1;
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        *counts.took.entry(milliseconds).or_default() += 1;
    }

    pub fn failed_with(&self, reason: &anyhow::Error) {
        let mut counts = self.lock();
        counts.requests += 1;
        counts.failed += 1;
        *counts.failures.entry(format!("{reason:#}")).or_default() += 1;
    }

    pub fn requests(&self) -> u64 {
        self.lock().requests
    }

    pub fn failed(&self) -> u64 {
        self.lock().failed
    }

    pub fn failures(&self) -> String {
        let lines = |(reason, count): (&String, &u64)| format!("{count} × {reason}\n");
        self.lock().failures.iter().map(lines).collect()
    }

    /// The milliseconds in which this part of the requests was answered.
    #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
    pub fn at(&self, part: f64) -> f64 {
        let counts = self.lock();
        let all: u64 = counts.took.values().sum();
        let mut seen = 0;
        for (milliseconds, count) in &counts.took {
            seen += count;
            if seen as f64 >= all as f64 * part {
                return *milliseconds as f64;
            }
        }
        0.0
    }
}
