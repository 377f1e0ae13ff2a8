//! The cache with a Valkey or Redis over TLS. A process reads the authorities that it trusts from the file in `SSL_CERT_FILE`, so
//! each case starts this program again as a process of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail loudly")]

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use atelier_cache::{Cache, CacheConfig};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use service::Metrics;
use tempfile::TempDir;
use testkit::{Valkey, eventually, within};
use tokio::{process::Command, time::timeout};

/// The variable with the address of the store. A process that has it is a client.
const ADDRESS: &str = "CACHE_TEST_ADDRESS";
const LIFE: Duration = Duration::from_secs(60);
/// How long a health check waits for a dependency.
const ASKED: Duration = Duration::from_millis(700);

/// A certificate authority, and a folder with its certificate.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.crt"), issuer.pem()).unwrap();
        Self { issuer, folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// Starts a store with a certificate for this name, and a password.
    async fn store(&self, name: &str) -> Valkey {
        let (params, key) =
            (CertificateParams::new(vec![name.to_owned()]).unwrap(), KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let write = |file: &str, text: String| {
            let path = self.folder.path().join(file);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let (certificate, key) = (write("tls.crt", certificate.pem()), write("tls.key", key.serialize_pem()));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let tls_port = port.to_string();
        // the port for plain connections is switched off
        let options = ["--port", "0", "--tls-port", &tls_port, "--tls-auth-clients", "no", "--requirepass"];
        let files = ["sesame", "--tls-cert-file", &certificate, "--tls-key-file", &key];
        Valkey::with(port, &[&options[..], &files[..]].concat()).await
    }
}

/// Runs the test of this name as a client that trusts the certificates in a file.
async fn client(test: &str, trusted: &Path, address: &str) -> Output {
    let mut client = Command::new(std::env::current_exe().unwrap());
    client
        .args(["--exact", test])
        .env("SSL_CERT_FILE", trusted)
        .env(ADDRESS, address)
        .env_remove("SSL_CERT_DIR");
    client.kill_on_drop(true).output().await.unwrap()
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{output:?}");
}

fn cache() -> Option<Cache> {
    let url = std::env::var(ADDRESS).ok()?;
    let config = CacheConfig { url: url.into(), key: STANDARD.encode([1; 32]).into() };
    Some(Cache::new("test", Some(&config), &Metrics::default()).unwrap())
}

#[tokio::test]
async fn a_store_with_tls_is_used() {
    if let Some(cache) = cache() {
        let area = cache.area("things");
        eventually("a value is stored", async || area.put("a", &"1", LIFE).await.then_some(())).await;
        let found = eventually("it is found", async || area.get::<String>("a").await).await;
        assert_eq!(found, "1");
        return;
    }
    let authority = Authority::new();
    let store = authority.store("localhost").await;
    let address = format!("rediss://:sesame@localhost:{}", store.port());
    succeeded(&client("a_store_with_tls_is_used", &authority.file(), &address).await);
}

#[tokio::test]
async fn a_store_with_a_wrong_certificate_is_told_nothing() {
    const TEST: &str = "a_store_with_a_wrong_certificate_is_told_nothing";
    if let Some(cache) = cache() {
        // with the short timeout of a health check
        within(Duration::from_secs(3), "the reason is named", async || {
            let why = timeout(ASKED, cache.check()).await.ok()?.expect_err("it is used");
            why.contains("certificate").then_some(())
        })
        .await;
        let area = cache.area("things");
        for _ in 0..3 {
            assert!(!area.put("a", &"1", LIFE).await);
            assert_eq!(area.get::<String>("a").await, None);
        }
        return;
    }
    let (authority, another) = (Authority::new(), Authority::new());
    let store = authority.store("localhost").await;
    let of_another_name = authority.store("valkey.example").await;
    for (trusted, store) in [(&another, &store), (&authority, &of_another_name)] {
        let address = format!("rediss://:sesame@localhost:{}", store.port());
        succeeded(&client(TEST, &trusted.file(), &address).await);
    }
}
