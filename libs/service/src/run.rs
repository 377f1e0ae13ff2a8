//! Serving until told to stop, then ending in order.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context;
use axum::Router;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long requests and workers get to finish after the signal.
const GRACE: Duration = Duration::from_secs(20);

/// Tells every part of a process to end, and waits for those that have something to finish.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
    tasks: TaskTracker,
}

impl Shutdown {
    /// Begins when the process gets SIGTERM or SIGINT.
    ///
    /// # Errors
    /// When the signals cannot be listened for.
    pub fn on_signal() -> anyhow::Result<Self> {
        let shutdown = Self::default();
        let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let token = shutdown.token.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            tracing::info!("shutting down");
            token.cancel();
        });
        Ok(shutdown)
    }

    /// Cancelled when the end begins; give it to workers.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Runs a worker for which the end waits.
    pub fn spawn(&self, worker: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(worker);
    }

    /// Begins the end.
    pub fn begin(&self) {
        self.token.cancel();
    }

    /// Waits for the workers, for as long as the grace lasts.
    pub async fn finish(&self) {
        self.tasks.close();
        if tokio::time::timeout(GRACE, self.tasks.wait()).await.is_err() {
            tracing::warn!(left = self.tasks.len(), "workers did not finish in time");
        }
    }
}

/// Serves `router` at `listen` until `shutdown` begins; then lets requests under way finish, for as long as
/// the grace lasts, and waits for the workers.
///
/// # Errors
/// When the address cannot be bound.
pub async fn serve(listen: SocketAddr, router: Router, shutdown: &Shutdown) -> anyhow::Result<()> {
    let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    tracing::info!(%listen, "listening");
    let token = shutdown.token();
    let served = axum::serve(listener, router).with_graceful_shutdown(token.clone().cancelled_owned());
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
