//! The listener, and each client's connection from acceptance to its end.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use russh::{Disconnect, MethodKind, MethodSet, SshId};
use service::{Duty, Process, Round, Task};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, watch},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Parts, ahead, connection::Connection, end::End, ends, metrics::SshMetrics, server::Server};

/// How long a client may take to close the connection after it was told why it ends.
const CLOSE: Duration = Duration::from_secs(2);
/// Time between probes of a silent client, and how many may stay without an answer.
const KEEPALIVE: (Duration, usize) = (Duration::from_secs(30), 3);
/// How long the rejection of a key takes, whatever its cause.
const REJECTION: Duration = Duration::from_millis(300);
/// Packets of 32 KiB that wait for a command to read them, per channel; then the connection waits.
const BUFFERED_PACKETS: usize = 32;

impl Server {
    /// The tasks: the listener, and those that end connections without rights, and record the others.
    pub fn tasks(self: &Arc<Self>, app: &Parts, process: &Process) -> [Task; 3] {
        let parts = (Arc::clone(self), app.clone());
        let listen = (parts.clone(), process.clone());
        [
            Task::until_stop("ssh", Duty::Serve, &listen, |((ssh, app), process), stop| async move {
                ssh.listen(&app, &process, &stop).await
            }),
            Task::until_stop("ssh", Duty::Follow, &parts, |(ssh, app), stop| async move {
                ends::watch(&app, &ssh, &stop).await
            }),
            Task::every("ssh", Duty::Housekeeping, ends::CONFIRM, &parts, |(ssh, app)| async move {
                ends::confirm(&app, &ssh).await?;
                Ok(Round::Done)
            }),
        ]
    }

    async fn listen(
        self: &Arc<Self>,
        app: &Parts,
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
        app: &Parts,
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
