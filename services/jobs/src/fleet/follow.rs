//! Follows what happens to instances: those of workers are compared with them at once.

use std::time::Duration;

use api::ErrorChain;
use ids::InstanceId;
use service::Workers;
use tokio::time::sleep;

use super::store;
use crate::state::AppState;

/// How long a read waits for an event: less than a call may take.
const WAIT: Duration = Duration::from_secs(5);
/// Delay after a failure. Meanwhile workers are compared with their instances from time to time.
const RETRY: Duration = Duration::from_secs(1);

/// Starts the worker `jobs.instances`.
pub(crate) fn start(state: &AppState, workers: &Workers) {
    let state = state.clone();
    workers.spawn("jobs.instances", move |stop| {
        let state = state.clone();
        async move { stop.run_until_cancelled(follow(&state)).await.unwrap_or(Ok(())) }
    });
}

/// Reads events from now on: what came before is in the instances.
async fn follow(state: &AppState) -> anyhow::Result<()> {
    let Some(gpu) = &state.gpu else { return Ok(()) };
    let mut cursor = "latest".to_owned();
    loop {
        match gpu.events(&cursor, WAIT).await {
            Ok(read) => {
                cursor = read.next_cursor;
                let changed: Vec<InstanceId> =
                    read.items.iter().filter_map(|event| event.instance_id).collect();
                if !changed.is_empty() {
                    let mut tx = state.db.worker().await?;
                    store::check_now(&mut tx, &changed).await?;
                    tx.commit().await?;
                }
            }
            Err(error) => {
                tracing::warn!(error = %ErrorChain(&error), "cannot read events of instances; retrying");
                sleep(RETRY).await;
            }
        }
    }
}
