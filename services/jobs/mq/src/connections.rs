//! Closes the connections of credentials that are no longer valid. The broker authorizes a user when a
//! connection is made or a consumer begins, not with each event that it delivers, so open connections would
//! stay open. With the credentials of a deleted tenant, its queue is deleted.

use std::time::Duration;

use service::{Duty, Task};
use tokio::time::sleep;

use super::{Parts, management::Management, store, topology::queue_of};
use crate::MqConfig;

/// Time between two rounds, and before a failed call is repeated.
const PERIOD: Duration = Duration::from_secs(5);

/// The task of the connections, if the management API of the broker is configured.
pub(super) fn task(parts: &Parts, config: &MqConfig) -> Option<Task> {
    let Some(url) = config.management_url.clone() else {
        tracing::warn!(
            "mq.management_url is not configured: connections stay open when their credential ends"
        );
        return None;
    };
    Some(Task::new("mq_connections", Duty::Reconcile, &(parts.clone(), url), |(parts, url)| async move {
        run(&parts, &Management::new(&url)?).await
    }))
}

async fn run(parts: &Parts, management: &Management) -> anyhow::Result<()> {
    let mut ended = parts.broker.ended.subscribe();
    loop {
        ended.mark_unchanged();
        let is_idle = match close(parts, management).await {
            Ok(closed) => closed == 0,
            Err(error) => {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "cannot close connections to the broker; retrying"
                );
                false
            }
        };
        let pause = async { if is_idle { parts.rest.pause(PERIOD).await } else { sleep(PERIOD).await } };
        // the sender lives as long as the process
        tokio::select! {
            () = pause => {}
            _ = ended.changed() => {}
        }
    }
}

/// Returns the number of credentials whose connections were closed.
async fn close(parts: &Parts, management: &Management) -> anyhow::Result<usize> {
    let mut tx = parts.db.worker().await?;
    let closable = store::closable(&mut tx).await?;
    drop(tx);
    for (id, gone) in &closable {
        management.delete(&["connections", "username", &id.to_string()], "the credential has ended").await?;
        if let Some(tenant) = gone {
            management.delete(&["queues", "/", &queue_of(*tenant)], "the tenant was deleted").await?;
        }
        let mut tx = parts.db.worker().await?;
        store::record_closed(&mut tx, *id).await?;
        tx.commit().await?;
    }
    Ok(closable.len())
}
