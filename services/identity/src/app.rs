//! The service put together: what its handlers share, its routes, its workers.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use auth::{AuthConfig, AuthState, HasAuth, Verifier};
use axum::Router;
use db::Db;
use service::{Front, Process, Shutdown};
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::router::OpenApiRouter;

use crate::{
    config::Config, membership, password::Hasher, session, signing_key, signing_key::Ring, tenant, user,
    vault::Vault,
};

/// What handlers and workers share. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// The parts, for the rooms of this service.
pub struct Inner {
    pub(crate) config: Config,
    pub(crate) db: Db,
    auth: AuthState,
    pub(crate) vault: Vault,
    pub(crate) hasher: Hasher,
    pub(crate) ring: Ring,
    process: Process,
    /// Whether the first administrator is there, or none is asked for.
    bootstrapped: AtomicBool,
}

impl std::ops::Deref for App {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl HasAuth for App {
    fn auth(&self) -> &AuthState {
        &self.0.auth
    }
}

impl App {
    /// Puts the service together. The database need not answer yet.
    ///
    /// # Errors
    /// When the configuration is not right.
    pub fn new(config: Config) -> anyhow::Result<Self> {
        let signing = &config.signing;
        anyhow::ensure!(
            signing.publish_before_seconds >= 2 * signing.poll_seconds,
            "signing.publish_before_seconds must be at least twice signing.poll_seconds: every replica has \
             to know a key before it signs"
        );
        let own_keys = || {
            let ip = if config.listen.ip().is_unspecified() {
                Ipv4Addr::LOCALHOST.into()
            } else {
                config.listen.ip()
            };
            let address = std::net::SocketAddr::new(ip, config.listen.port());
            format!("http://{address}/.well-known/jwks.json")
        };
        let jwks_url = config.auth.jwks_url.clone().unwrap_or_else(own_keys);
        let verified = AuthConfig { jwks_url: Some(jwks_url), ..config.auth.clone() };
        let http = reqwest::Client::builder().connect_timeout(Duration::from_secs(2)).build()?;
        Ok(Self(Arc::new(Inner {
            db: Db::connect(crate::NAME, &config.database)?,
            auth: AuthState {
                verifier: Verifier::new(verified, http),
                callers: Arc::new(config.callers.clone()),
            },
            vault: Vault::new(&config.encryption_keys)?,
            hasher: Hasher::new(config.passwords.concurrency)?,
            ring: Ring::default(),
            process: Process::default(),
            bootstrapped: AtomicBool::new(config.bootstrap_admin.is_none()),
            config,
        })))
    }

    /// The first administrator is there.
    pub(crate) fn set_bootstrapped(&self) {
        self.bootstrapped.store(true, Ordering::Release);
    }

    /// Everything it answers.
    pub fn router(&self) -> Router {
        let (routes, _) = routes().split_for_parts();
        let app = self.clone();
        let ready = move || {
            let app = app.clone();
            async move {
                app.db.ping().await.map_err(|_| "waiting for the database".to_owned())?;
                app.ring.ready().map_err(str::to_owned)?;
                if !app.bootstrapped.load(Ordering::Acquire) {
                    return Err("waiting for the first administrator".to_owned());
                }
                Ok(())
            }
        };
        Front::new(&self.process, ready).serve(routes.with_state(self.clone()))
    }

    /// Starts what runs beside the requests; it ends with `shutdown`.
    pub fn start_workers(&self, shutdown: &Shutdown) {
        shutdown.track(signing_key::keep(self.clone(), shutdown.token()));
        shutdown.track(session::clean_up(self.clone(), shutdown.token()));
        if let Some(admin) = self.config.bootstrap_admin.clone() {
            shutdown.track(user::bootstrap(self.clone(), admin, shutdown.token()));
        }
    }
}

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(session::routes())
        .merge(user::routes())
        .merge(tenant::routes())
        .merge(membership::routes())
        .merge(signing_key::routes())
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Atelier identity",
        description = "Users, tenants, members, sign-in and signing keys.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "sessions", description = "Signing in and out"),
        (name = "users", description = "People"),
        (name = "tenants", description = "Tenants and their members"),
        (name = "signing keys", description = "Keys that sign access tokens"),
    )
)]
struct Description;

/// The service's OpenAPI document.
#[must_use]
pub fn openapi() -> OpenApi {
    auth::secured(routes().into_openapi())
}
