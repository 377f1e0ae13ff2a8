//! The reconciler of signing keys: makes the first and the next, removes the ended, and tells this
//! replica's ring. Every replica runs it; the database's lock lets one at a time decide.

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{
    model::{Rules, Stage},
    ring, store,
};
use crate::app::App;

/// Runs until `end`.
pub(crate) async fn keep(app: App, end: CancellationToken) {
    let poll = app.config.signing.poll();
    loop {
        let wait = match once(&app).await {
            Ok(()) => poll,
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "signing keys could not be looked after");
                poll.min(std::time::Duration::from_secs(1))
            }
        };
        tokio::select! {
            () = end.cancelled() => return,
            () = app.ring.nudged() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn once(app: &App) -> anyhow::Result<()> {
    let rules = Rules::new(&app.config);
    let due = |keys: &[store::Public]| {
        let times: Vec<_> = keys.iter().map(|key| key.active_from).collect();
        rules.next(&times, Timestamp::now(), false)
    };
    let mut tx = app.db.worker().await?;
    let keys = store::public(&mut tx).await?;
    tx.commit().await?;
    if let Some(active_from) = due(&keys) {
        // made before the lock is taken: it takes time
        let made = {
            let app = app.clone();
            tokio::task::spawn_blocking(move || ring::generate(&app.vault, active_from)).await??
        };
        let mut tx = app.db.worker().await?;
        store::lock(&mut tx).await?;
        if due(&store::public(&mut tx).await?).is_some() {
            store::insert(&mut tx, &made).await?;
            tracing::info!(key.id = %made.id, active_from = %made.active_from, "signing key made");
        }
        tx.commit().await?;
    }
    let mut tx = app.db.worker().await?;
    store::lock(&mut tx).await?;
    let keys = store::public(&mut tx).await?;
    let times: Vec<_> = keys.iter().map(|key| key.active_from).collect();
    for (key, stage) in keys.iter().zip(rules.stages(&times, Timestamp::now())) {
        if stage == Stage::Ended {
            store::delete(&mut tx, key.id).await?;
            tracing::info!(key.id = %key.id, "signing key removed");
        }
    }
    let stored = store::all(&mut tx).await?;
    tx.commit().await?;
    app.ring.hold(stored, &app.vault)
}
