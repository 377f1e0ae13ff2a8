//! TLS of the public listener. Certificates are read from files, and read again when the files change: cert-manager and
//! others replace them long before they expire.

mod certificate;
mod reload;

use std::{fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    client::verify_server_name,
    crypto::aws_lc_rs,
    pki_types::ServerName,
    server::{ClientHello, ParsedCertificate, ResolvesServerCert},
    sign::CertifiedKey,
};
use serde::Deserialize;
use service::Metrics;
use tokio::{io, net::TcpStream, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use certificate::Certificate;
pub(crate) use reload::Gauges;

/// Protocols that clients can choose, the preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// TLS of the public listener.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// Certificates, chosen by the name that the client asks for (SNI). The first is for all other clients.
    pub certificates: Vec<CertificateFiles>,
    /// Time for a handshake, in seconds (default 10).
    #[serde(default = "default_handshake_seconds")]
    pub handshake_seconds: u32,
    /// Seconds between two checks of the files (default 5).
    #[serde(default = "default_reload_seconds")]
    pub reload_seconds: u32,
    /// A plain listener that redirects to `https`; none by default.
    #[serde(default)]
    pub redirect_listen: Option<SocketAddr>,
}

/// A certificate and its key, PEM files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateFiles {
    /// The certificate chain, the server's own first (`tls.crt` of a Kubernetes Secret).
    pub certificate: PathBuf,
    /// The private key (`tls.key`).
    pub key: PathBuf,
}

fn default_handshake_seconds() -> u32 {
    10
}

fn default_reload_seconds() -> u32 {
    5
}

/// Accepts TLS connections. Clones share the certificates.
#[derive(Clone)]
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
    certificates: Arc<Certificates>,
    handshake: Duration,
    reload: Duration,
    gauges: Gauges,
}

impl Tls {
    /// # Errors
    /// If a certificate cannot be loaded, or none is configured.
    pub(crate) fn new(config: &TlsConfig, metrics: &Metrics) -> anyhow::Result<Self> {
        let loaded = config.certificates.iter().map(Certificate::load).collect::<anyhow::Result<Vec<_>>>()?;
        anyhow::ensure!(!loaded.is_empty(), "tls: at least one certificate is needed");
        let gauges = Gauges::register(metrics);
        for certificate in &loaded {
            gauges.loaded(certificate);
        }
        let certificates = Arc::new(Certificates(loaded.into_iter().map(ArcSwap::from_pointee).collect()));
        let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(&certificates) as _;
        let mut server = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .context("tls: protocol versions")?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        server.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        server.ticketer = aws_lc_rs::Ticketer::new().context("tls: tickets")?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(server)),
            certificates,
            handshake: Duration::from_secs(config.handshake_seconds.max(1).into()),
            reload: Duration::from_secs(config.reload_seconds.max(1).into()),
            gauges,
        })
    }

    /// # Errors
    /// If the handshake fails or takes too long.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let accepted = timeout(self.handshake, self.acceptor.accept(stream)).await;
        accepted
            .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the handshake took too long")))
    }
}

/// The certificates of the configuration, in its order.
struct Certificates(Vec<ArcSwap<Certificate>>);

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|certificate| certificate.load().files.clone())).finish()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().and_then(|name| ServerName::try_from(name.to_owned()).ok());
        let is_for = |key: &CertifiedKey| {
            let parsed = key.cert.first().and_then(|der| ParsedCertificate::try_from(der).ok());
            name.as_ref().zip(parsed).is_some_and(|(name, parsed)| verify_server_name(&parsed, name).is_ok())
        };
        let keys = || self.0.iter().map(|certificate| Arc::clone(&certificate.load().key));
        keys().find(|key| is_for(key)).or_else(|| keys().next())
    }
}
