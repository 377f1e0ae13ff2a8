//! The listener, and each client's connection from acceptance to its end.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use api::ErrorChain;
use clients::identity;
use db::Db;
use ids::SshSessionId;
use russh::{Disconnect, MethodKind, MethodSet, SshId};
use service::{Process, Round};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    admitted::Admitted,
    ahead,
    connection::Connection,
    ends::{self, End},
    host_key::HostKey,
    limit::Connections,
    metrics::SshMetrics,
    store,
};
use crate::{config::SshConfig, state::AppState};

/// How long a client that is told the end may take to close.
const CLOSE: Duration = Duration::from_secs(2);
/// Time between probes of a silent client, and how many may stay without an answer.
const KEEPALIVE: (Duration, usize) = (Duration::from_secs(30), 3);
/// How long the rejection of a key takes, whatever its cause.
const REJECTION: Duration = Duration::from_millis(300);
/// Packets of 32 KiB that wait for a command to read them, per channel; then the connection waits.
const BUFFERED_PACKETS: usize = 32;

/// The SSH endpoint of this replica.
pub(crate) struct Server {
    pub(super) config: SshConfig,
    pub(super) identity: identity::Client,
    pub(super) host_key: HostKey,
    pub(super) tenants: Connections,
    pub(super) metrics: SshMetrics,
    connections: Arc<Semaphore>,
    open: Mutex<HashMap<SshSessionId, Arc<Admitted>>>,
    address: watch::Sender<Option<SocketAddr>>,
}

impl Server {
    pub(crate) fn new(
        config: &SshConfig,
        db: &Db,
        identity: identity::Client,
        metrics: &service::Metrics,
    ) -> Self {
        let ssh_metrics = SshMetrics::default();
        ssh_metrics.register(metrics);
        Self {
            identity,
            host_key: HostKey::new(db.clone(), config.host_key_file.as_deref()),
            tenants: Connections::new(config.connections_per_tenant),
            metrics: ssh_metrics,
            connections: Arc::new(Semaphore::new(config.connections as usize)),
            open: Mutex::default(),
            address: watch::Sender::new(None),
            config: config.clone(),
        }
    }

    /// Host and port for users.
    pub(super) fn public_address(&self) -> (String, u16) {
        let listening = self.address.borrow().unwrap_or(self.config.listen);
        (self.config.host.clone(), self.config.port.unwrap_or(listening.port()))
    }

    /// Returns the address of the listener, once there is one.
    pub(crate) async fn address(&self) -> Option<SocketAddr> {
        self.address.subscribe().wait_for(Option::is_some).await.ok().and_then(|address| *address)
    }

    /// Starts the workers `gpu.ssh` (the listener), `gpu.ssh.rights` and `gpu.ssh.record`.
    pub(crate) fn start(self: &Arc<Self>, app: &AppState, process: &Process) {
        let (ssh, state, shared) = (Arc::clone(self), app.clone(), process.clone());
        process.workers.spawn("gpu.ssh", move |stop| {
            let (ssh, app, process) = (Arc::clone(&ssh), state.clone(), shared.clone());
            async move { ssh.listen(&app, &process, &stop).await }
        });
        let (ssh, state) = (Arc::clone(self), app.clone());
        process.workers.spawn("gpu.ssh.rights", move |stop| {
            let (ssh, app) = (Arc::clone(&ssh), state.clone());
            async move { ends::watch(&app, &ssh, &stop).await }
        });
        let (ssh, state) = (Arc::clone(self), app.clone());
        process.workers.spawn_periodic("gpu.ssh.record", ends::CONFIRM, move || {
            let (ssh, app) = (Arc::clone(&ssh), state.clone());
            async move {
                ends::confirm(&app, &ssh).await?;
                Ok(Round::Done)
            }
        });
    }

    async fn listen(
        self: &Arc<Self>,
        app: &AppState,
        process: &Process,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let protocol = Arc::new(self.protocol().await?);
        let address = self.config.listen;
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let local = listener.local_addr()?;
        tracing::info!(listen = %local, "listening for SSH");
        self.address.send_replace(Some(local));
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                accepted = listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // out of file descriptors, or the client is gone
                    tracing::warn!(%error, "cannot accept SSH connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() else {
                self.metrics.turned_away.inc();
                continue;
            };
            let (ssh, app, protocol) = (Arc::clone(self), app.clone(), Arc::clone(&protocol));
            process.shutdown.track(async move {
                if let Err(error) = Box::pin(ssh.serve(&app, protocol, stream, peer, permit)).await {
                    tracing::debug!(client.address = %peer, %error, "SSH connection failed");
                }
            });
        }
    }

    async fn protocol(&self) -> anyhow::Result<russh::server::Config> {
        Ok(russh::server::Config {
            server_id: SshId::Standard("SSH-2.0-Atelier".into()),
            methods: MethodSet::from(&[MethodKind::PublicKey][..]),
            auth_rejection_time: REJECTION,
            auth_rejection_time_initial: Some(Duration::ZERO),
            keys: vec![self.host_key.private().await?.clone()],
            max_auth_attempts: self.config.auth_attempts as usize,
            // idle connections are ended by `ends`: answers to probes are no activity
            inactivity_timeout: None,
            keepalive_interval: Some(KEEPALIVE.0),
            keepalive_max: KEEPALIVE.1,
            channel_buffer_size: BUFFERED_PACKETS,
            nodelay: true,
            ..russh::server::Config::default()
        })
    }

    async fn serve(
        self: &Arc<Self>,
        app: &AppState,
        protocol: Arc<russh::server::Config>,
        stream: TcpStream,
        peer: SocketAddr,
        _permit: OwnedSemaphorePermit,
    ) -> Result<(), russh::Error> {
        stream.set_nodelay(true)?;
        // closes the connection of a client that does not
        let stream = stream.into_std()?;
        let closer = stream.try_clone()?;
        let (stream, lost) = ahead::of(TcpStream::from_std(stream)?);
        let (admitted, channels, stop) =
            (watch::Sender::new(None), TaskTracker::new(), CancellationToken::new());
        let _channels_end = stop.clone().drop_guard();
        let handler = Connection::new(
            app.clone(),
            Arc::clone(self),
            peer,
            admitted.clone(),
            channels.clone(),
            stop.clone(),
        );
        let opened = timeout(self.config.handshake(), russh::server::run_stream(protocol, stream, handler));
        let Ok(running) = opened.await else { return Ok(()) };
        let mut running = running?;
        let handle = running.handle();
        let _counted = Counted::new(&self.metrics);
        let end = tokio::select! {
            end = ends::ended(app, self, admitted.subscribe()) => end,
            result = &mut running => {
                if let Err(error) = result {
                    tracing::debug!(client.address = %peer, %error, "SSH connection broken");
                }
                End::Disconnected
            }
            // `russh` does not see the end while a command does not read
            () = async { lost.noticed().await; sleep(CLOSE).await } => End::Disconnected,
        };
        stop.cancel();
        channels.close();
        if end != End::Disconnected {
            let told = handle.disconnect(Disconnect::ByApplication, end.message().to_owned(), String::new());
            let _ = timeout(CLOSE, told).await;
            let _ = timeout(CLOSE, &mut running).await;
            let _ = closer.shutdown(std::net::Shutdown::Both);
        }
        let _ = timeout(CLOSE, channels.wait()).await;
        let admitted = admitted.borrow().clone();
        if let Some(admitted) = admitted {
            self.forget(app, &admitted, end).await;
        }
        Ok(())
    }

    /// Records a connection that is let in.
    pub(super) async fn admit(
        &self,
        app: &AppState,
        admitted: &Arc<Admitted>,
        peer: SocketAddr,
    ) -> sqlx::Result<()> {
        let mut tx = app.db.worker().await?;
        store::begin_session(&mut tx, admitted.id, &admitted.right, &peer.to_string()).await?;
        tx.commit().await?;
        self.lock().insert(admitted.id, Arc::clone(admitted));
        Ok(())
    }

    async fn forget(&self, app: &AppState, admitted: &Admitted, end: End) {
        self.lock().remove(&admitted.id);
        tracing::info!(ssh_session.id = %admitted.id, reason = end.code(), "SSH connection ended");
        let recorded = async {
            let mut tx = app.db.worker().await?;
            store::end_session(&mut tx, admitted.id, end.code(), admitted.counts()).await?;
            tx.commit().await
        };
        if let Err(error) = recorded.await {
            // it is ended by another replica, as a connection that nobody confirms
            tracing::warn!(ssh_session.id = %admitted.id, error = %ErrorChain(&error), "cannot record the end");
        }
    }

    /// Returns the connections that were let in.
    pub(super) fn admitted(&self) -> Vec<Arc<Admitted>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SshSessionId, Arc<Admitted>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in the metrics.
struct Counted<'a>(&'a SshMetrics);

impl<'a> Counted<'a> {
    fn new(metrics: &'a SshMetrics) -> Self {
        metrics.connections.inc();
        Self(metrics)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.connections.dec();
    }
}
