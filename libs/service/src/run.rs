//! Serving until shutdown, and the orderly end.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use anyhow::Context;
use axum::Router;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use traces::Tracer;

use crate::telemetry::LogExport;

/// Time for requests and workers to finish after the signal.
const GRACE: Duration = Duration::from_secs(20);

/// The end of a process: announces it while requests are still served, then cancels a token, then waits for the tasks
/// that are tracked, and exports the last spans.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    draining: CancellationToken,
    token: CancellationToken,
    tasks: TaskTracker,
    exports: Arc<OnceLock<(Tracer, Option<LogExport>)>>,
}

impl Shutdown {
    /// A shutdown that is announced on SIGTERM or SIGINT, and begins `drain` later, or on a second signal.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn on_signal(drain: Duration) -> anyhow::Result<Self> {
        let shutdown = Self::default();
        let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let mut signalled = async move || {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
        };
        let shutting_down = shutdown.clone();
        tokio::spawn(async move {
            signalled().await;
            shutting_down.announce();
            tracing::info!(drain_seconds = drain.as_secs(), "shutting down");
            let _ = tokio::time::timeout(drain, signalled()).await;
            shutting_down.begin();
        });
        Ok(shutdown)
    }

    /// Announces the shutdown: the process is no longer ready, and asks its clients to use other connections.
    pub fn announce(&self) {
        self.draining.cancel();
    }

    /// Whether the shutdown was announced or has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// The token that is cancelled when shutdown begins.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Runs a task that [`Self::finish`] waits for. Long-running tasks go through [`crate::Workers`], which
    /// supervises them; this is for work with an end of its own, such as one connection.
    pub fn track(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Lets [`Self::finish`] export what was recorded and logged until then. The first exports count.
    pub(crate) fn export_last(&self, tracer: Tracer, log: Option<LogExport>) {
        let _ = self.exports.set((tracer, log));
    }

    /// Begins shutdown.
    pub fn begin(&self) {
        self.draining.cancel();
        self.token.cancel();
    }

    /// Waits for the tracked tasks, at most 20 seconds, and then exports the last spans and lines.
    pub async fn finish(&self) {
        self.tasks.close();
        if tokio::time::timeout(GRACE, self.tasks.wait()).await.is_err() {
            tracing::warn!(left = self.tasks.len(), "tasks did not finish in time");
        }
        if let Some((tracer, log)) = self.exports.get().cloned() {
            // they wait for exports, which need the runtime
            let shut_down = move || {
                tracer.shut_down();
                if let Some(log) = log {
                    log.shut_down();
                }
            };
            let _ = tokio::task::spawn_blocking(shut_down).await;
        }
    }
}

/// Serves `router` at `listen` until `shutdown` begins; its handlers can extract `ConnectInfo<SocketAddr>`. Then waits
/// for open requests and tracked tasks, at most 20 seconds each.
///
/// # Errors
/// If the address cannot be bound.
pub async fn serve(listen: SocketAddr, router: Router, shutdown: &Shutdown) -> anyhow::Result<()> {
    let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    tracing::info!(%listen, "listening");
    let token = shutdown.token();
    let served = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(token.clone().cancelled_owned());
    let overtime = async {
        token.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        result = served => result?,
        () = overtime => tracing::warn!("requests did not finish in time"),
    }
    shutdown.finish().await;
    Ok(())
}
