//! What handlers and workers share.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use auth::{AuthConfig, AuthState, HasAuth, Verifier};
use clients::Endpoint;
use db::Db;
use encryption::Cipher;
use feed::Feed;
use jiff::Timestamp;
use service::Health;
use tokio_util::sync::CancellationToken;

use crate::{
    config::Config, error::Error, keyring::Keyring, oidc::Providers, passkey::RelyingParty, password::Hasher,
    revocation::store::OUTBOX,
};

/// The shared state. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) db: Db,
    pub(crate) cipher: Cipher,
    pub(crate) hasher: Hasher,
    pub(crate) keyring: Keyring,
    /// The providers with whose accounts people sign in.
    pub(crate) oidc: Providers,
    /// None: passkeys are not configured.
    relying_party: Option<RelyingParty>,
    /// The feed of revocations.
    pub(crate) revocations: Feed,
    /// The services that own something of tenants.
    pub(crate) participants: Vec<(String, clients::tenant::Client)>,
    /// Cancelled when shutdown begins; ends waiting requests.
    pub(crate) shutdown: CancellationToken,
    auth: AuthState,
    clock: fn() -> Timestamp,
    bootstrapped: AtomicBool,
}

impl AppState {
    /// # Errors
    /// If the configuration is not valid.
    pub(crate) fn new(
        config: Config,
        clock: fn() -> Timestamp,
        shutdown: CancellationToken,
    ) -> anyhow::Result<Self> {
        config.signing.check()?;
        let jwks_url = config.auth.jwks_url.clone().unwrap_or_else(|| own_jwks_url(config.listen));
        let verified = AuthConfig { jwks_url: Some(jwks_url), ..config.auth.clone() };
        let db = Db::connect(crate::NAME, &config.database)?;
        let http = service::http_client()?;
        let client = |endpoint: &Endpoint| clients::tenant::Client::new(http.clone(), endpoint.clone());
        Ok(Self(Arc::new(Inner {
            participants: config
                .participants
                .iter()
                .map(|(service, endpoint)| (service.clone(), client(endpoint)))
                .collect(),
            oidc: Providers::new(&config, &http)?,
            relying_party: RelyingParty::new(&config)?,
            revocations: Feed::new(&db, OUTBOX),
            shutdown,
            db,
            auth: AuthState {
                verifier: Verifier::new(verified, http),
                callers: Arc::new(config.callers.clone()),
            },
            cipher: Cipher::new(crate::NAME, &config.encryption_keys)?,
            hasher: Hasher::new(config.passwords.concurrency)?,
            keyring: Keyring::default(),
            clock,
            bootstrapped: AtomicBool::new(config.bootstrap_admin.is_none()),
            config,
        })))
    }

    /// Adds what the service calls to the dependencies of the process.
    pub(crate) fn report_to(&self, health: &Health, http: &reqwest::Client) {
        for (service, endpoint) in &self.config.participants {
            health.depends_on_service(service, http, endpoint.url.as_str());
        }
    }

    /// The current time.
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The platform as authenticators know it.
    ///
    /// # Errors
    /// If passkeys are not configured.
    pub(crate) fn relying_party(&self) -> Result<&RelyingParty, Error> {
        self.0.relying_party.as_ref().ok_or(Error::PasskeysDisabled)
    }

    /// The first administrator exists, or none is configured.
    pub(crate) fn set_bootstrapped(&self) {
        self.bootstrapped.store(true, Ordering::Release);
    }

    /// Whether the service can answer requests.
    ///
    /// # Errors
    /// Names what it waits for.
    pub(crate) async fn ready(&self) -> Result<(), String> {
        self.db.ping().await.map_err(|_| "waiting for the database")?;
        if !self.keyring.can_sign(self.now()) {
            return Err("waiting for a signing key".to_owned());
        }
        if !self.bootstrapped.load(Ordering::Acquire) {
            return Err("waiting for the first administrator".to_owned());
        }
        Ok(())
    }
}

/// The service verifies tokens by its own published keys, over the loopback interface.
fn own_jwks_url(listen: SocketAddr) -> String {
    let ip = if listen.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { listen.ip() };
    format!("http://{}/.well-known/jwks.json", SocketAddr::new(ip, listen.port()))
}

impl std::ops::Deref for AppState {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.0.auth
    }
}

#[cfg(test)]
mod tests {
    use super::own_jwks_url;

    #[test]
    fn the_own_keys_are_read_from_an_address_that_can_be_connected_to() {
        for (listen, url) in [
            ("0.0.0.0:7001", "http://127.0.0.1:7001/.well-known/jwks.json"),
            ("[::]:7001", "http://127.0.0.1:7001/.well-known/jwks.json"),
            ("10.0.0.5:7001", "http://10.0.0.5:7001/.well-known/jwks.json"),
            ("[::1]:7001", "http://[::1]:7001/.well-known/jwks.json"),
        ] {
            assert_eq!(own_jwks_url(listen.parse().unwrap()), url);
        }
    }
}
