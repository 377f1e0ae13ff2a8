//! TLS beside plain HTTP on one port: kubectl sends credentials over TLS only, everything else may stay plain on
//! loopback. The first byte of a connection tells which it is. The authority is made once per data folder.

use anyhow::Context;
use axum::serve::Listener;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The server's side of TLS, and the authority's certificate (PEM) for the kubeconfig.
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

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Accepts both kinds of connections.
pub(crate) struct Mixed {
    ready: mpsc::Receiver<(Box<dyn Stream>, SocketAddr)>,
    address: SocketAddr,
}

impl Mixed {
    pub(crate) fn new(
        listener: TcpListener,
        tls: TlsAcceptor,
        stop: CancellationToken,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let (tx, ready) = mpsc::channel(64);
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    () = stop.cancelled() => return,
                    accepted = listener.accept() => accepted,
                };
                match accepted {
                    Ok((stream, peer)) => {
                        let (tls, tx) = (tls.clone(), tx.clone());
                        tokio::spawn(async move {
                            let opened =
                                tokio::time::timeout(Duration::from_secs(10), open(stream, tls)).await;
                            if let Ok(Some(stream)) = opened {
                                // the server that would take it may have stopped
                                let _ = tx.send((stream, peer)).await;
                            }
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "accept failed");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        });
        Ok(Self { ready, address })
    }
}

async fn open(stream: TcpStream, tls: TlsAcceptor) -> Option<Box<dyn Stream>> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "nodelay not set");
    }
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? == 0 {
        return None;
    }
    // 0x16 is a TLS handshake record; no HTTP request begins with it
    if first[0] != 0x16 {
        return Some(Box::new(stream));
    }
    match tls.accept(stream).await {
        Ok(stream) => Some(Box::new(stream)),
        Err(error) => {
            tracing::debug!(%error, "tls handshake failed");
            None
        }
    }
}

impl Listener for Mixed {
    type Io = Box<dyn Stream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(next) => next,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        Ok(self.address)
    }
}
