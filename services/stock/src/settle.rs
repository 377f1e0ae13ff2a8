//! Finishes operations whose units are all done, and those whose deadline has passed. Every replica may: an operation
//! is locked while it is settled.

use std::time::Duration;

use db::Db;
use ids::OperationId;
use tokio_util::sync::CancellationToken;

use crate::{
    operation::{model::update_progress, store},
    unit,
};

/// How often operations are checked without a notification.
const POLL: Duration = Duration::from_secs(60);

/// Delay after a failure.
const RETRY: Duration = Duration::from_secs(5);

/// Settles operations until `stop`.
pub(crate) async fn run(db: Db, stop: CancellationToken) -> anyhow::Result<()> {
    let mut listener = db.listen(store::CHANNEL).await?;
    while !stop.is_cancelled() {
        let pause = settle_due(&db).await.unwrap_or_else(|error| {
            tracing::warn!(error = format!("{error:#}"), "cannot read due operations");
            RETRY
        });
        tokio::select! {
            () = stop.cancelled() => {}
            notified = listener.recv() => drop(notified?),
            () = tokio::time::sleep(pause) => {}
        }
    }
    Ok(())
}

/// Settles all due operations; one that fails does not stop the others. Returns the time until the next check.
async fn settle_due(db: &Db) -> anyhow::Result<Duration> {
    let mut tx = db.worker().await?;
    let due = store::due(&mut tx).await?;
    let until_deadline = store::until_next_deadline(&mut tx).await?;
    drop(tx);
    let mut longest = POLL.min(db.heal());
    for id in due {
        if let Err(error) = settle(db, id).await {
            tracing::warn!(operation.id = %id, error = format!("{error:#}"), "cannot settle an operation");
            longest = RETRY;
        }
    }
    Ok(until_deadline.unwrap_or(longest).min(longest))
}

async fn settle(db: &Db, id: OperationId) -> anyhow::Result<()> {
    let mut tx = db.worker().await?;
    let Some(mut operation) = store::lock(&mut tx, id).await? else { return Ok(()) };
    if operation.overdue {
        // a failed addition has ended: none of its units are created later
        let unmade = store::expire(&mut tx, id).await?;
        unit::store::withdraw(&mut tx, &unmade).await?;
    }
    let counts = store::counts(&mut tx, id).await?;
    let Some(end) = counts.end(operation.kind, operation.overdue) else { return Ok(()) };
    let failed = store::failed(&mut tx, id, &counts).await?;
    update_progress(&mut operation.progress.0, operation.kind, &counts, &failed);
    store::finish(&mut tx, id, &operation.progress.0, &end).await?;
    tx.commit().await?;
    tracing::info!(operation.id = %id, ?end, "operation finished");
    Ok(())
}
