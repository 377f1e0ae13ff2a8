//! When a connection ends, and the worker that looks for connections that have lost their right.

use std::{sync::Arc, time::Duration};

use ids::SshSessionId;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Parts,
    admitted::Admitted,
    end::End,
    server::Server,
    store::{self, OpenSession},
};

/// Longest time until a connection to a stopped instance ends. Deleted keys are notified.
const CHECK: Duration = Duration::from_secs(5);
/// Time between the records that connections are open.
pub(super) const CONFIRM: Duration = Duration::from_secs(60);

/// Completes when a connection has to end, other than by the client.
pub(super) async fn ended(
    app: &Parts,
    ssh: &Server,
    mut admitted: watch::Receiver<Option<Arc<Admitted>>>,
) -> End {
    let log_in = async {
        let found = timeout(ssh.config.handshake(), admitted.wait_for(Option::is_some)).await;
        found.ok().and_then(Result::ok).and_then(|found| found.clone())
    };
    let admitted = tokio::select! {
        () = app.shutdown.cancelled() => return End::ServiceStopped,
        admitted = log_in => admitted,
    };
    let Some(admitted) = admitted else { return End::NotLoggedIn };
    let (mut end, mut active) = (admitted.end.subscribe(), admitted.activity());
    let found = async { end.wait_for(Option::is_some).await.ok().and_then(|end| *end) };
    let idled = async { while timeout(ssh.config.idle(), active.changed()).await.is_ok() {} };
    tokio::select! {
        biased;
        () = app.shutdown.cancelled() => End::ServiceStopped,
        () = app.verifier.revocations().ended(admitted.right.grant) => End::RightsEnded,
        end = found => end.unwrap_or(End::ServiceStopped),
        () = idled => End::Idle,
    }
}

/// Looks for connections that have lost their key or their running instance: soon after a key was deleted, and
/// regularly.
pub(super) async fn watch(app: &Parts, ssh: &Server, stop: &CancellationToken) -> anyhow::Result<()> {
    let mut deleted = app.db.listen(keys::CHANNEL).await?;
    while !stop.is_cancelled() {
        check(app, ssh).await?;
        tokio::select! {
            () = stop.cancelled() => {}
            notified = deleted.recv() => drop(notified?),
            () = tokio::time::sleep(CHECK) => {}
        }
    }
    Ok(())
}

async fn check(app: &Parts, ssh: &Server) -> sqlx::Result<()> {
    let admitted = ssh.admitted();
    if admitted.is_empty() {
        return Ok(());
    }
    let session = |admitted: &Arc<Admitted>| OpenSession {
        id: admitted.id,
        instance: admitted.right.instance,
        key: admitted.right.key,
    };
    let open: Vec<OpenSession> = admitted.iter().map(session).collect();
    let mut tx = app.db.worker().await?;
    let losses = store::lost(&mut tx, &open).await?;
    drop(tx);
    for lost in losses {
        let end = match lost {
            store::LostRight { has_key: false, .. } => End::KeyDeleted,
            store::LostRight { is_active: false, .. } => End::TenantNotActive,
            store::LostRight { .. } => End::InstanceNotRunning,
        };
        if let Some(admitted) = admitted.iter().find(|admitted| admitted.id == lost.id) {
            admitted.end.send_replace(Some(end));
        }
    }
    Ok(())
}

/// Records that this replica's connections are open, and ends the record of those of lost replicas.
pub(super) async fn confirm(app: &Parts, ssh: &Server) -> sqlx::Result<()> {
    let open: Vec<SshSessionId> = ssh.admitted().iter().map(|admitted| admitted.id).collect();
    let mut tx = app.db.worker().await?;
    store::confirm_sessions(&mut tx, &open).await?;
    store::end_lost_sessions(&mut tx).await?;
    tx.commit().await
}
