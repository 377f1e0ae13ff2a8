//! Whether the object store answers, asked at intervals: buckets are changed too rarely to notice its outage soon.

use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use service::{Duty, Metrics, Process, Round, Task};

use super::OptionalObjectStore;

/// Time between two requests.
const PERIOD: Duration = Duration::from_secs(5);
/// How long the object store may take to answer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The task that polls it, if an object store is configured.
pub(crate) fn task(store: &OptionalObjectStore, process: &Process) -> Option<Task> {
    store.get().ok()?;
    let parts = (store.clone(), register(&process.metrics));
    Some(Task::every("object_store", Duty::Housekeeping, PERIOD, &parts, |(store, answers)| async move {
        let answered = store.get()?.answers(TIMEOUT).await;
        if answers.set(answered.into()) != i64::from(answered) {
            tracing::warn!(answers = answered, "object store stopped answering or answers again");
        }
        Ok(Round::Done)
    }))
}

/// Registers the gauge.
pub(crate) fn register(metrics: &Metrics) -> Gauge {
    let answers = Gauge::default();
    // until the first answer: a start is not an outage
    answers.set(1);
    metrics.register(|registry| {
        registry.register(
            "storage_object_store_answers",
            "1 if the object store answered the last request of this replica, else 0",
            &[],
            answers.clone(),
        );
    });
    answers
}
