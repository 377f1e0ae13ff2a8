//! One client's connection: log-in, and the channels that it opens. What a channel carries runs in a task of its own.

use std::{collections::HashSet, net::SocketAddr, sync::Arc};

use api::ErrorChain;
use keys::fingerprint;
use russh::{
    Channel, ChannelId, ChannelOpenFailure, Disconnect, Pty,
    keys::PublicKey,
    server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Session, VerifiedPublicKey},
};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Parts, access, admitted::Admitted, context::Context, forward, metrics::LogIn, server::Server, session,
};

/// Channels of a connection at a time.
const MAX_CHANNELS: usize = 64;

pub(super) struct Connection {
    app: Parts,
    ssh: Arc<Server>,
    peer: SocketAddr,
    admitted: watch::Sender<Option<Arc<Admitted>>>,
    channels: TaskTracker,
    stop: CancellationToken,
    /// Whether the tenant has too many connections.
    is_limited: bool,
    /// Session channels on which something was started.
    started: HashSet<ChannelId>,
}

impl Connection {
    pub(super) fn new(
        app: Parts,
        ssh: Arc<Server>,
        peer: SocketAddr,
        admitted: watch::Sender<Option<Arc<Admitted>>>,
        channels: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self { app, ssh, peer, admitted, channels, stop, is_limited: false, started: HashSet::new() }
    }

    fn context(&self) -> Option<Context> {
        let admitted = self.admitted.borrow().clone()?;
        let (app, ssh, stop) = (self.app.clone(), Arc::clone(&self.ssh), self.stop.clone());
        Some(Context { app, ssh, admitted, stop })
    }

    /// Lets the client in, if the key opens the instance.
    async fn log_in(&mut self, user: &str, key: &PublicKey) -> LogIn {
        let right = match access::right(&self.app, &self.ssh, user, &fingerprint(key)).await {
            Ok(Some(right)) => right,
            Ok(None) => return LogIn::Refused,
            Err(error) => {
                tracing::warn!(client.address = %self.peer, error = format!("{error:#}"), "cannot check an SSH log-in");
                return LogIn::Failed;
            }
        };
        let Some(slot) = self.ssh.tenants.open(right.tenant) else { return LogIn::Limited };
        let open = self.app.activity.open(right.instance);
        let admitted = Arc::new(Admitted::new(right, slot, open));
        if let Err(error) = self.ssh.admit(&self.app, &admitted, self.peer).await {
            tracing::warn!(client.address = %self.peer, error = %ErrorChain(&error), "cannot record an SSH log-in");
            return LogIn::Failed;
        }
        tracing::info!(
            ssh_session.id = %admitted.id,
            instance.id = %admitted.right.instance,
            user.id = %admitted.right.user,
            fingerprint = admitted.right.fingerprint,
            client.address = %self.peer,
            "SSH connection opened"
        );
        self.admitted.send_replace(Some(admitted));
        LogIn::Accepted
    }

    /// Answers a request to start something: once per channel.
    fn start(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), russh::Error> {
        if self.started.insert(channel) {
            session.channel_success(channel)
        } else {
            session.channel_failure(channel)
        }
    }
}

impl Handler for Connection {
    type Error = russh::Error;

    async fn auth_publickey_offered(
        &mut self,
        _user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, Self::Error> {
        match access::is_known(&self.app, &fingerprint(offer.public_key)).await {
            Ok(true) => return Ok(Auth::Accept),
            Ok(false) => {}
            Err(error) => tracing::warn!(error = %ErrorChain(&error), "cannot look up an SSH key"),
        }
        Ok(Auth::reject())
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        let result = self.log_in(user, key.public_key).await;
        self.ssh.metrics.log_in(result);
        self.is_limited = result == LogIn::Limited;
        Ok(match result {
            LogIn::Accepted | LogIn::Limited => Auth::Accept,
            LogIn::Refused | LogIn::Failed => Auth::reject(),
        })
    }

    async fn auth_succeeded(&mut self, session: &mut Session) -> Result<(), Self::Error> {
        if self.is_limited {
            let limit = self.ssh.config.connections_per_tenant;
            let message = format!("this tenant has {limit} SSH connections open; close some of them");
            session.disconnect(Disconnect::TooManyConnections, &message, "")?;
        }
        Ok(())
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        let Some(context) = self.context() else { return Ok(()) };
        if self.channels.len() >= MAX_CHANNELS {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        reply.accept().await;
        self.channels.spawn(Box::pin(session::run(context, channel)));
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _originator: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        let Some(context) = self.context() else { return Ok(()) };
        if self.channels.len() >= MAX_CHANNELS {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        let Some(port) = forward::port(host, port, context.admitted.right.instance) else {
            reply.reject(ChannelOpenFailure::AdministrativelyProhibited).await;
            return Ok(());
        };
        self.channels.spawn(Box::pin(forward::run(context, channel, reply, port)));
        Ok(())
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _term: &str,
        _columns: u32,
        _rows: u32,
        _width: u32,
        _height: u32,
        _modes: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_success(channel)
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        _name: &str,
        _value: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_failure(channel)
    }

    async fn x11_request(
        &mut self,
        channel: ChannelId,
        _single: bool,
        _protocol: &str,
        _cookie: &str,
        _screen: u32,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_failure(channel)
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), Self::Error> {
        self.start(channel, session)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        _command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        self.start(channel, session)
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        if name == "sftp" { self.start(channel, session) } else { session.channel_failure(channel) }
    }

    async fn window_change_request(
        &mut self,
        channel: ChannelId,
        _columns: u32,
        _rows: u32,
        _width: u32,
        _height: u32,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_success(channel)
    }

    async fn channel_close(&mut self, channel: ChannelId, _session: &mut Session) -> Result<(), Self::Error> {
        self.started.remove(&channel);
        Ok(())
    }
}
