//! TLS in the gateway: protocols, certificates by name, files that change, the redirect of plain requests.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use atelier_gateway::{CertificateFiles, Config, TlsConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reqwest::{Certificate, StatusCode, Version};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tempfile::TempDir;
use testkit::{Client, eventually};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{listener::raw, platform::Platform};

/// A certificate authority, and a folder with what it has signed.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer, folder: tempfile::tempdir().unwrap() }
    }

    /// Writes `tls.crt` and `tls.key` for these names into a folder of this name.
    pub(crate) fn sign(&self, folder: &str, names: &[&str]) -> CertificateFiles {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let (params, key) = (CertificateParams::new(names).unwrap(), KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let folder = self.folder.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let files = files(&folder);
        fs::write(&files.certificate, certificate.pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }

    /// A client that trusts the authority and does not follow redirects.
    pub(crate) fn builder(&self, platform: &Platform) -> reqwest::ClientBuilder {
        let root = Certificate::from_pem(self.issuer.pem().as_bytes()).unwrap();
        reqwest::Client::builder()
            .tls_certs_only([root])
            .redirect(reqwest::redirect::Policy::none())
            .resolve("localhost", platform.address)
            .resolve("atelier.test", platform.address)
    }

    fn client(&self, platform: &Platform, version: Version) -> reqwest::Client {
        let builder = self.builder(platform);
        let builder = if version == Version::HTTP_11 { builder.http1_only() } else { builder };
        builder.build().unwrap()
    }

    /// A connection by hand, with the certificate that the gateway shows.
    pub(crate) async fn connect(&self, address: SocketAddr, name: &str) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(address).await.unwrap();
        self.handshake(stream, name).await.unwrap()
    }

    /// TLS on an open connection.
    pub(crate) async fn handshake(&self, stream: TcpStream, name: &str) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        let config =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }
}

fn files(folder: &Path) -> CertificateFiles {
    CertificateFiles { certificate: folder.join("tls.crt"), key: folder.join("tls.key") }
}

pub(crate) fn with_tls(certificates: Vec<CertificateFiles>) -> impl FnOnce(&mut Config) {
    |config| {
        config.public_url = format!("https://localhost:{}", config.listen.port()).parse().unwrap();
        config.tls =
            Some(TlsConfig { certificates, handshake_seconds: 1, reload_seconds: 1, redirect_listen: None });
    }
}

/// Sends a request on an open connection. Returns the status line.
async fn ask(stream: &mut TlsStream<TcpStream>) -> String {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    while !answer.ends_with("ok\n") {
        let mut bytes = [0; 1024];
        let read = stream.read(&mut bytes).await.unwrap();
        assert_ne!(read, 0, "{answer}");
        answer.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    answer.lines().next().unwrap().to_owned()
}

/// What identifies the certificate of a connection.
fn shown(stream: &TlsStream<TcpStream>) -> Vec<u8> {
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

#[tokio::test]
async fn both_versions_of_http_are_served_over_tls() {
    let authority = Authority::new();
    let files = authority.sign("one", &["localhost", "*.localhost"]);
    let platform = Platform::with(with_tls(vec![files])).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let client = authority.client(&platform, version);
        let url = |host: &str| format!("https://{host}:{}/", platform.address.port());
        let answer = client.get(url("localhost") + "healthz").send().await.unwrap();
        assert_eq!((answer.status(), answer.version()), (StatusCode::OK, version));
        assert_eq!(answer.headers()["strict-transport-security"], "max-age=3600");
        // an instance, whose cookie is secure now
        let instance = platform.instance();
        let ticket = platform.ticket(&instance);
        let at = url("localhost") + ".atelier/session?ticket=" + &ticket;
        let opened = client.get(at).header("host", &instance.host);
        if version == Version::HTTP_11 {
            let opened = opened.send().await.unwrap();
            let cookie =
                opened.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
            assert!(cookie.starts_with("__Host-"), "{cookie}");
            let request =
                client.get(url("localhost")).header("host", &instance.host).header("cookie", cookie);
            let seen: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
            assert_eq!(seen["headers"]["x-forwarded-proto"], "https");
        }
    }
    // plain HTTP on this port is not answered
    let answer = raw(platform.address, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(!answer.contains("HTTP/1.1"), "{answer}");
}

#[tokio::test]
async fn the_certificate_is_chosen_by_name() {
    let authority = Authority::new();
    let (one, two) =
        (authority.sign("one", &["localhost"]), authority.sign("two", &["*.apps.test", "127.0.0.1"]));
    let platform = Platform::with(with_tls(vec![one, two])).await;
    let by_name = authority.connect(platform.address, "localhost").await;
    let by_wildcard = authority.connect(platform.address, "inst-1.apps.test").await;
    assert_ne!(shown(&by_name), shown(&by_wildcard));
    // a client that names no host, or an unknown one, gets the first certificate
    let root = Certificate::from_pem(authority.issuer.pem().as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only([root]).build().unwrap();
    assert!(client.get(format!("https://{}/healthz", platform.address)).send().await.is_err());
}

#[tokio::test]
async fn a_replaced_certificate_is_used_while_connections_stay_open() {
    let authority = Authority::new();
    authority.sign("first", &["localhost"]);
    authority.sign("second", &["localhost"]);
    // as Kubernetes mounts a Secret: the files are links through a link that is replaced
    let mount = authority.folder.path().join("mount");
    fs::create_dir(&mount).unwrap();
    let point = |to: &str| {
        let (new, data) = (mount.join("..tmp"), mount.join("..data"));
        symlink(PathBuf::from("..").join(to), &new).unwrap();
        fs::rename(new, data).unwrap();
    };
    point("first");
    for file in ["tls.crt", "tls.key"] {
        symlink(Path::new("..data").join(file), mount.join(file)).unwrap();
    }
    let platform = Platform::with(with_tls(vec![files(&mount)])).await;
    let mut open = authority.connect(platform.address, "localhost").await;
    let before = shown(&open);
    point("second");
    eventually("the new certificate is used", async || {
        (shown(&authority.connect(platform.address, "localhost").await) != before).then_some(())
    })
    .await;
    assert_eq!(ask(&mut open).await, "HTTP/1.1 200 OK");

    // files that cannot be loaded: the certificate stays
    let current = shown(&authority.connect(platform.address, "localhost").await);
    let metrics = Client::new(&format!("http://{}", platform.metrics));
    let file = mount.join("tls.crt");
    let gauge = |name: &str, value: &str| format!("{name}{{file=\"{}\"}} {value}", file.display());
    let outdated = async |value: &'static str| {
        eventually("the metric tells it", async || {
            let text = metrics.get("/metrics").await.expect(200).text;
            text.contains(&gauge("tls_certificate_outdated", value)).then_some(text)
        })
        .await
    };
    let _ = outdated("0").await;
    fs::write(authority.folder.path().join("second/tls.key"), "no key").unwrap();
    let text = outdated("1").await;
    assert!(text.contains(&gauge("tls_certificate_expiry_timestamp_seconds", "")), "{text}");
    assert_eq!(shown(&authority.connect(platform.address, "localhost").await), current);
    // a key of another certificate
    fs::copy(authority.folder.path().join("first/tls.key"), authority.folder.path().join("second/tls.key"))
        .unwrap();
    let _ = outdated("1").await;
    assert_eq!(shown(&authority.connect(platform.address, "localhost").await), current);
    point("first");
    let _ = outdated("0").await;
    assert_eq!(shown(&authority.connect(platform.address, "localhost").await), before);
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_closed() {
    let authority = Authority::new();
    let platform = Platform::with(with_tls(vec![authority.sign("one", &["localhost"])])).await;
    for said in ["", "\x16\x03\x01"] {
        let closed = tokio::time::timeout(Duration::from_secs(20), raw(platform.address, said)).await;
        assert!(closed.is_ok(), "still open after {said:?}");
    }
}

#[tokio::test]
async fn plain_requests_are_redirected() {
    let authority = Authority::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tls = with_tls(vec![authority.sign("one", &["localhost"])]);
    let platform = Platform::with(|config| {
        tls(config);
        config.tls.as_mut().unwrap().redirect_listen = Some(free);
    })
    .await;
    let port = platform.address.port();
    let plain = Client::new(&format!("http://{free}"));
    eventually("it listens", async || TcpStream::connect(free).await.ok()).await;
    for (host, to) in
        [("localhost", "localhost"), ("inst-1.localhost", "inst-1.localhost"), ("evil.test", "localhost")]
    {
        let answer = plain.header("host", host).post("/v1/x?y=z", serde_json::json!({})).await.expect(308);
        assert_eq!(answer.header("location"), Some(format!("https://{to}:{port}/v1/x?y=z").as_str()));
    }
}

#[tokio::test]
async fn what_cannot_work_is_refused_at_the_start() {
    let authority = Authority::new();
    let (one, two) = (authority.sign("one", &["localhost"]), authority.sign("two", &["localhost"]));
    let mixed = CertificateFiles { certificate: one.certificate.clone(), key: two.key };
    let missing = CertificateFiles { certificate: one.certificate.clone(), key: "/nowhere".into() };
    let swapped = CertificateFiles { certificate: one.key, key: one.certificate };
    for certificates in [vec![mixed], vec![missing], vec![swapped], vec![]] {
        let refused = tokio::spawn(Platform::with(with_tls(certificates.clone()))).await;
        assert!(refused.is_err(), "{certificates:?}");
    }
}
