//! Ends operations whose units are all held or gone, and those whose time is over. Any replica may: an
//! operation is judged under its row's lock.

use std::time::Duration;

use api::Problem;
use tokio_util::sync::CancellationToken;

use super::{model::verdict, store};
use crate::App;

/// How often it looks without being told, for deadlines and for the work of other replicas.
const TICK: Duration = Duration::from_secs(1);

pub(crate) async fn run(app: App, stop: CancellationToken) {
    loop {
        match settle_one(&app).await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "operations could not be settled"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = app.settle().notified() => {}
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

/// Whether there was one to judge.
async fn settle_one(app: &App) -> Result<bool, Problem> {
    let mut tx = app.db().worker().await?;
    let Some((record, overdue)) = store::lease_ripe(&mut tx).await? else {
        return Ok(false);
    };
    let Some((state, problem)) = verdict(record.kind, &record.progress, overdue) else {
        return Ok(false);
    };
    let ended = store::finish(&mut tx, record.id, state, problem.as_ref(), &record.progress).await?;
    tx.commit().await?;
    tracing::info!(operation.id = %record.id, ?state, "operation ended");
    Ok(ended)
}
