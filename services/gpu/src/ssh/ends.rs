//! When and why a connection ends, and the worker that looks for connections that have lost their right.

use std::{sync::Arc, time::Duration};

use ids::SshSessionId;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    admitted::Admitted,
    server::Server,
    store::{self, OpenSession},
};
use crate::state::AppState;

/// Longest time until a connection ends whose instance has stopped. Deleted keys are notified.
const CHECK: Duration = Duration::from_secs(5);
/// Time between the records that connections are open.
pub(super) const CONFIRM: Duration = Duration::from_secs(60);

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The client is gone.
    Disconnected,
    /// The client did not log in in time.
    NotLoggedIn,
    /// The user's rights were revoked.
    RightsEnded,
    KeyDeleted,
    InstanceNotRunning,
    TenantNotActive,
    Idle,
    /// This replica is shutting down.
    ServiceStopped,
}

impl End {
    /// The code in the record.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::NotLoggedIn => "not_logged_in",
            Self::RightsEnded => "rights_ended",
            Self::KeyDeleted => "key_deleted",
            Self::InstanceNotRunning => "instance_not_running",
            Self::TenantNotActive => "tenant_not_active",
            Self::Idle => "idle",
            Self::ServiceStopped => "service_stopped",
        }
    }

    /// What the client is told.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Disconnected => "",
            Self::NotLoggedIn => "log-in took too long",
            Self::RightsEnded => "your rights have ended",
            Self::KeyDeleted => "the key was deleted",
            Self::InstanceNotRunning => "the instance is no longer running",
            Self::TenantNotActive => "the tenant is suspended",
            Self::Idle => "idle for too long",
            Self::ServiceStopped => "the service is restarting; connect again",
        }
    }
}

/// Completes when a connection has to end, other than by the client.
pub(super) async fn ended(
    app: &AppState,
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
        () = app.auth.verifier.revocations().ended(admitted.right.grant) => End::RightsEnded,
        end = found => end.unwrap_or(End::ServiceStopped),
        () = idled => End::Idle,
    }
}

/// Looks for connections that have lost their key or their running instance: soon after a key was deleted, and
/// regularly.
pub(super) async fn watch(app: &AppState, ssh: &Server, stop: &CancellationToken) -> anyhow::Result<()> {
    let mut deleted = app.db.listen(store::CHANNEL).await?;
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

async fn check(app: &AppState, ssh: &Server) -> sqlx::Result<()> {
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
    let lost = store::lost(&mut tx, &open).await?;
    drop(tx);
    for standing in lost {
        let end = match standing {
            store::Standing { has_key: false, .. } => End::KeyDeleted,
            store::Standing { is_active: false, .. } => End::TenantNotActive,
            store::Standing { .. } => End::InstanceNotRunning,
        };
        if let Some(admitted) = admitted.iter().find(|admitted| admitted.id == standing.id) {
            admitted.end.send_replace(Some(end));
        }
    }
    Ok(())
}

/// Records that this replica's connections are open, and ends the record of those whose replica was lost.
pub(super) async fn confirm(app: &AppState, ssh: &Server) -> sqlx::Result<()> {
    let open: Vec<SshSessionId> = ssh.admitted().iter().map(|admitted| admitted.id).collect();
    let mut tx = app.db.worker().await?;
    store::confirm_sessions(&mut tx, &open).await?;
    store::end_lost_sessions(&mut tx).await?;
    tx.commit().await
}
