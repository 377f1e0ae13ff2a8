//! Whether the object store answers, asked at intervals: buckets are changed too rarely to notice its outage soon.

use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use service::{Metrics, Process, Round};

use crate::state::AppState;

/// Time between two requests.
const PERIOD: Duration = Duration::from_secs(5);
/// How long the object store may take to answer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Starts the worker `storage.object_store`, if an object store is configured.
pub(crate) fn start(state: &AppState, process: &Process) {
    if state.object_store.is_none() {
        return;
    }
    let answers = register(&process.metrics);
    let state = state.clone();
    process.workers.spawn_periodic("storage.object_store", PERIOD, move || {
        let (state, answers) = (state.clone(), answers.clone());
        async move {
            if let Some(store) = &state.object_store {
                let answered = store.answers(TIMEOUT).await;
                if answers.set(answered.into()) != i64::from(answered) {
                    tracing::warn!(answers = answered, "object store stopped answering or answers again");
                }
            }
            Ok(Round::Done)
        }
    });
}

/// Registers the gauge.
pub(crate) fn register(metrics: &Metrics) -> Gauge {
    let answers = Gauge::default();
    // until the first answer: a start is no outage
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
