//! TLS and plain HTTP on one port: kubectl sends tokens over TLS only, other clients may use plain HTTP on loopback. The
//! first byte of a connection tells the two apart. The certificate authority is created once per data folder.

use crate::faults::Part;
use crate::hub::Hub;
use anyhow::Context;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Cx, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The TLS acceptor, and the certificate of the authority (PEM) for the kubeconfig.
pub(crate) fn acceptor(data_dir: &Path) -> anyhow::Result<(TlsAcceptor, String)> {
    let (cert_file, key_file) = (data_dir.join("ca.crt"), data_dir.join("ca.key"));
    let mut ca = CertificateParams::new(Vec::<String>::new())?;
    ca.distinguished_name.push(DnType::CommonName, "devcluster");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let (ca_pem, ca_key) = match (std::fs::read_to_string(&cert_file), std::fs::read_to_string(&key_file)) {
        (Ok(cert), Ok(key)) => (cert, KeyPair::from_pem(&key).context("ca.key")?),
        _ => {
            let key = KeyPair::generate()?;
            let cert = ca.self_signed(&key)?.pem();
            super::write_private(&key_file, &key.serialize_pem())?;
            super::write_private(&cert_file, &cert)?;
            (cert, key)
        }
    };
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate()?;
    let names = vec!["127.0.0.1".to_owned(), "::1".to_owned(), "localhost".to_owned()];
    let leaf = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], private)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), ca_pem))
}

/// A connection has this long to begin and to complete its TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that breaks when the API server is stopped.
struct Breakable {
    stream: Box<dyn Stream>,
    broken: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Breakable {
    fn check(&mut self, cx: &mut Cx<'_>) -> std::io::Result<()> {
        match self.broken.as_mut().poll(cx) {
            Poll::Ready(()) => Err(std::io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Breakable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Cx<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Breakable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Cx<'_>, data: &[u8]) -> Poll<std::io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<std::io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<std::io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Accepts connections of both kinds. While the API server is stopped, it closes them at once and keeps the port.
pub(crate) struct Listener {
    listener: TcpListener,
    tls: TlsAcceptor,
    hub: Arc<Hub>,
    opening: JoinSet<Option<(Box<dyn Stream>, SocketAddr)>>,
}

impl Listener {
    pub(crate) fn new(listener: TcpListener, tls: TlsAcceptor, hub: Arc<Hub>) -> Self {
        Self { listener, tls, hub, opening: JoinSet::new() }
    }
}

impl axum::serve::Listener for Listener {
    type Io = Box<dyn Stream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            tokio::select! {
                Some(opened) = self.opening.join_next() => match opened {
                    Ok(Some(connection)) => return connection,
                    Ok(None) => {}
                    Err(error) => tracing::error!(%error, "connection lost while it was opened"),
                },
                accepted = self.listener.accept() => match accepted {
                    Ok(_) if !self.hub.faults.reaches(&Part::ApiServer) => {}
                    Ok((stream, peer)) => {
                        let broken = self.hub.faults.connection();
                        let opened = tokio::time::timeout(HANDSHAKE, open(stream, self.tls.clone(), broken));
                        self.opening.spawn(async move { Some((opened.await.ok()??, peer)) });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

async fn open(stream: TcpStream, tls: TlsAcceptor, broken: CancellationToken) -> Option<Box<dyn Stream>> {
    let stream = secure(stream, tls).await?;
    Some(Box::new(Breakable { stream, broken: Box::pin(broken.cancelled_owned()) }))
}

async fn secure(stream: TcpStream, tls: TlsAcceptor) -> Option<Box<dyn Stream>> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set nodelay");
    }
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? == 0 {
        return None;
    }
    // 0x16 begins a TLS handshake, but no HTTP request
    if first[0] != 0x16 {
        return Some(Box::new(stream));
    }
    match tls.accept(stream).await {
        Ok(stream) => Some(Box::new(stream)),
        Err(error) => {
            tracing::debug!(%error, "TLS handshake failed");
            None
        }
    }
}
