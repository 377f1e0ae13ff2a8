//! Closes the connections of credentials that open nothing any more. The broker asks about a user when a connection is made or
//! a consumer begins, not with each event that it delivers: what is open would stay open. With the credentials of a tenant that is
//! deleted, its queue is deleted.

use std::time::Duration;

use service::Workers;
use tokio::time::sleep;

use super::{management::Management, store, topology::queue_of};
use crate::{config::MqConfig, state::AppState};

/// Time between two looks, and before a call is repeated that has failed.
const PERIOD: Duration = Duration::from_secs(5);
/// Starts the worker `jobs.mq_connections`, if the management API of the broker is configured.
pub(super) fn start(state: &AppState, workers: &Workers, config: &MqConfig) {
    let Some(url) = config.management_url.clone() else {
        tracing::warn!(
            "mq.management_url is not configured: connections stay open when their credential ends"
        );
        return;
    };
    let state = state.clone();
    workers.spawn("jobs.mq_connections", move |stop| {
        let (state, url) = (state.clone(), url.clone());
        async move {
            let management = Management::new(&url)?;
            stop.run_until_cancelled(run(&state, &management)).await.unwrap_or(Ok(()))
        }
    });
}

async fn run(state: &AppState, management: &Management) -> anyhow::Result<()> {
    let mut ended = state.door.ended.subscribe();
    loop {
        ended.mark_unchanged();
        let is_idle = match close(state, management).await {
            Ok(closed) => closed == 0,
            Err(error) => {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "cannot close connections to the broker; retrying"
                );
                false
            }
        };
        let pause = async { if is_idle { state.rest.pause(PERIOD).await } else { sleep(PERIOD).await } };
        // the sender lives as long as the process
        tokio::select! {
            () = pause => {}
            _ = ended.changed() => {}
        }
    }
}

/// Returns the number of credentials whose connections were closed.
async fn close(state: &AppState, management: &Management) -> anyhow::Result<usize> {
    let mut tx = state.db.worker().await?;
    let closable = store::closable(&mut tx).await?;
    drop(tx);
    for (id, gone) in &closable {
        management.delete(&["connections", "username", &id.to_string()], "the credential has ended").await?;
        if let Some(tenant) = gone {
            management.delete(&["queues", "/", &queue_of(*tenant)], "the tenant was deleted").await?;
        }
        let mut tx = state.db.worker().await?;
        store::record_closed(&mut tx, *id).await?;
        tx.commit().await?;
    }
    Ok(closable.len())
}
