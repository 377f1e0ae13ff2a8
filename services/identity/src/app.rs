//! The wiring: the parts that slices need, routes, workers, OpenAPI document.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use api::openapi::{CrateRoutes, Info, OpenApiRouter, documented, finish, served};
use auth::{AuthConfig, AuthState, HasAuth, Verifier};
use axum::{Router, extract::FromRef};
use db::Db;
use encryption::Cipher;
use jiff::Timestamp;
use peer::Endpoint;
use people::{
    NAME, access, authority::RecentSignIn, clock::Clock, keyring::Keyring, revocation, session, tenant,
    throttle::Throttle,
};
use service::{Duty, Front, Metrics, Process, Task};
use sign_in::{
    oidc,
    passkey::{self, RelyingParty},
    password::Hasher,
    password_sign_in,
    provider::{self, Providers},
    sign_in_method::SignInMethods,
    totp,
};
use tokio_util::sync::CancellationToken;
use utoipa::{OpenApi as _, openapi::OpenApi};

use crate::{
    account, api_key, audit_log, clean_up::clean_up, config::Config, invitation, maker, signing_key,
    token_exchange,
};

const CLEAN_UP: Duration = Duration::from_secs(600);
const CHECK_PROVIDERS: Duration = Duration::from_secs(600);

/// What the crates and the slices of this one need; each takes its part.
#[derive(Clone, FromRef)]
struct AppState {
    accounts: account::Accounts,
    api_keys: api_key::ApiKeys,
    auth: AuthState,
    clock: Clock,
    db: Db,
    people: people::State,
    sessions: session::Sessions,
    sign_in: sign_in::State,
    signing_keys: signing_key::SigningKeys,
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// The service.
#[derive(Clone)]
pub struct App {
    config: Arc<Config>,
    state: AppState,
    keyring: Keyring,
    /// None: no first administrator is configured.
    bootstrap: Option<account::Bootstrap>,
    tenants: tenant::Parts,
    process: Process,
}

impl App {
    /// Builds the service. The database need not answer yet.
    ///
    /// # Errors
    /// If the configuration is not valid.
    #[expect(clippy::disallowed_methods, reason = "the clock of the process")]
    pub fn new(config: Config, process: Process) -> anyhow::Result<Self> {
        let process = process.traced(NAME, config.telemetry.as_ref())?;
        config.signing.check()?;
        config.sessions.check()?;
        let clock = Clock(Timestamp::now);
        let http = service::http_client()?;
        let db = Db::connect(NAME, &config.database)?;
        db.register(&process.metrics);
        let keyring = Keyring::default();
        let hasher = Hasher::new(config.passwords.concurrency)?;
        let bootstrap = config.bootstrap_admin.clone();
        let bootstrap = bootstrap.map(|admin| account::Bootstrap::new(db.clone(), hasher.clone(), admin));
        let client = |endpoint: &Endpoint| tenants::Client::new(http.clone(), endpoint.clone());
        let participants = config.participants.iter();
        let participants =
            participants.map(|(service, endpoint)| (service.clone(), client(endpoint))).collect();
        let tenants = tenant::Parts { db: db.clone(), clock, participants };
        for (service, endpoint) in &config.participants {
            process.health.depends_on_service(service, &http, endpoint.url.as_str());
        }
        let stop = process.shutdown.token();
        let state = AppState::new(&config, &http, clock, db, hasher, keyring.clone(), stop)?;
        Ok(Self { config: Arc::new(config), state, keyring, bootstrap, tenants, process })
    }

    /// All routes.
    pub fn router(&self) -> Router {
        let app = self.clone();
        let ready = move || {
            let app = app.clone();
            async move { app.ready().await }
        };
        Front::new(&self.process, ready).serve(served(crates(), &self.state))
    }

    /// Whether the service can answer requests. The error names what it waits for.
    async fn ready(&self) -> Result<(), String> {
        self.state.db.ping().await.map_err(|_| "waiting for the database")?;
        if !self.keyring.can_sign(self.state.clock.now()) {
            return Err("waiting for a signing key".to_owned());
        }
        if self.bootstrap.as_ref().is_some_and(|bootstrap| !bootstrap.is_done()) {
            return Err("waiting for the first administrator".to_owned());
        }
        Ok(())
    }

    /// The background tasks. Each replica runs all of them.
    fn tasks(&self) -> Vec<Task> {
        let (state, providers) = (&self.state, &self.state.sign_in.provider_sign_in.providers);
        let timed = (state.db.clone(), state.clock);
        let mut tasks = vec![
            Task::until_stop("signing_keys", Duty::Reconcile, &state.signing_keys, signing_key::run),
            Task::until_stop("api_keys", Duty::Reconcile, &timed, api_key::run),
            Task::every("sign_in", Duty::Retention, CLEAN_UP, &timed, clean_up),
            Task::every("revocations", Duty::Retention, CLEAN_UP, &state.db, revocation::clean_up),
            Task::every("invitations", Duty::Retention, CLEAN_UP, &timed, invitation::clean_up),
            self.config.audit.task(&state.db, &self.process),
        ];
        tasks.extend(revocation::tasks(&state.people.revocations, &state.auth.verifier));
        tasks.extend(tenant::tasks(self.tenants.clone(), &self.process));
        if providers.iter().next().is_some() {
            tasks.push(Task::every(
                "providers",
                Duty::Housekeeping,
                CHECK_PROVIDERS,
                providers,
                provider::check,
            ));
        }
        tasks.extend(self.bootstrap.as_ref().map(|bootstrap| {
            Task::until_stop("bootstrap", Duty::Reconcile, bootstrap, account::Bootstrap::run)
        }));
        tasks
    }

    /// Starts the background tasks. They end with the process.
    pub fn start_workers(&self) {
        self.process.workers.start(NAME, self.tasks());
    }

    /// Serves until shutdown.
    ///
    /// # Errors
    /// If the configuration is not valid, or the address cannot be bound.
    pub async fn serve(config: Config, process: Process) -> anyhow::Result<()> {
        let (listen, shutdown) = (config.listen, process.shutdown.clone());
        let app = Self::new(config, process)?;
        app.start_workers();
        service::serve(listen, app.router(), &shutdown).await
    }
}

impl AppState {
    fn new(
        config: &Config,
        http: &reqwest::Client,
        clock: Clock,
        db: Db,
        hasher: Hasher,
        keyring: Keyring,
        stop: CancellationToken,
    ) -> anyhow::Result<Self> {
        let cipher = Arc::new(Cipher::new(NAME, &config.encryption_keys)?);
        let jwks_url = config.auth.jwks_url.clone().unwrap_or_else(|| own_jwks_url(config.listen));
        let verified = AuthConfig { jwks_url: Some(jwks_url), ..config.auth.clone() };
        let signer = access::Signer {
            issuer: config.auth.issuer.clone(),
            audience: config.auth.audience.clone(),
            keyring: keyring.clone(),
            clock,
        };
        let throttle = Throttle { db: db.clone(), clock };
        let sessions = session::Sessions {
            db: db.clone(),
            clock,
            cipher: Arc::clone(&cipher),
            signer: signer.clone(),
            config: config.sessions.clone(),
        };
        let second_factors = totp::SecondFactors { db: db.clone(), clock, cipher: Arc::clone(&cipher) };
        let public_url = config.public_url.as_ref();
        let relying_party =
            config.passkeys.as_ref().map(|passkeys| RelyingParty::new(passkeys, public_url)).transpose()?;
        let passkeys =
            passkey::Passkeys { db: db.clone(), clock, relying_party: relying_party.map(Arc::new) };
        let providers = Arc::new(Providers::new(&config.oidc_providers, public_url, http)?);
        let auth = AuthState {
            verifier: Verifier::new(verified, http.clone()),
            callers: Arc::new(config.callers.clone()),
        };
        Ok(Self {
            accounts: account::Accounts {
                db: db.clone(),
                cipher: Arc::clone(&cipher),
                hasher: hasher.clone(),
                throttle: throttle.clone(),
            },
            api_keys: api_key::ApiKeys { db: db.clone(), clock, signer },
            people: people::State {
                auth: auth.clone(),
                clock,
                db: db.clone(),
                revocations: revocation::feed(&db),
                sessions: sessions.clone(),
                stop,
            },
            sign_in: sign_in::State {
                auth: auth.clone(),
                cipher: Arc::clone(&cipher),
                clock,
                db: db.clone(),
                sign_in_methods: SignInMethods {
                    providers: Arc::clone(&providers),
                    has_passkeys: passkeys.relying_party.is_some(),
                },
                passkey_sign_in: passkey::SignIn {
                    passkeys: passkeys.clone(),
                    sessions: sessions.clone(),
                    throttle: throttle.clone(),
                },
                password_sign_in: password_sign_in::SignIn {
                    hasher: hasher.clone(),
                    passkeys: passkeys.clone(),
                    second_factors: second_factors.clone(),
                    sessions: sessions.clone(),
                    throttle: throttle.clone(),
                },
                provider_sign_in: oidc::ProviderSignIn {
                    providers,
                    hasher,
                    sessions: sessions.clone(),
                    throttle: throttle.clone(),
                },
                recent_sign_in: RecentSignIn { within_seconds: config.sessions.recent_seconds, clock },
                passkeys,
                second_factors,
                throttle,
            },
            signing_keys: signing_key::SigningKeys::new(config, db.clone(), clock, cipher, keyring),
            auth,
            clock,
            db,
            sessions,
        })
    }
}

/// The service verifies tokens by its own published keys, over the loopback interface.
fn own_jwks_url(listen: SocketAddr) -> String {
    let ip = if listen.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { listen.ip() };
    format!("http://{}/.well-known/jwks.json", SocketAddr::new(ip, listen.port()))
}

/// The metrics of the process, for their description.
#[must_use]
pub fn metrics() -> Metrics {
    let process = Process::default();
    db::describe_metrics(&process.metrics);
    audit::register_metrics(&process.metrics);
    process.metrics
}

/// The routes of this crate.
fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(account::routes())
        .merge(invitation::routes())
        .merge(api_key::routes())
        .merge(token_exchange::routes())
        .merge(signing_key::routes())
        .merge(maker::routes())
        .merge(audit_log::routes())
}

fn crates() -> [CrateRoutes<AppState>; 3] {
    [CrateRoutes::new(routes()), CrateRoutes::new(people::routes()), CrateRoutes::new(sign_in::routes())]
}

#[derive(utoipa::OpenApi)]
#[openapi(
    tags(
        (name = "sessions", description = "Signing in and out"),
        (name = "passkeys", description = "Keys of devices and password managers, for signing in"),
        (name = "linked accounts", description = "Accounts of OpenID providers with which the caller signs in"),
        (name = "API keys", description = "Credentials for scripts"),
        (name = "users", description = "People"),
        (name = "tenants", description = "Tenants, their members and invitations"),
        (name = "signing keys", description = "Keys that sign access tokens"),
        (name = "audit", description = "Audit log: changes and sign-ins"),
        (name = "internal", description = "For the other services of the platform"),
    )
)]
struct Description;

/// The service's OpenAPI document.
#[must_use]
pub fn openapi() -> OpenApi {
    let info =
        Info { title: "Atelier identity", description: "Users, tenants, members, sign-in and signing keys." };
    finish(documented(crates(), Description::openapi()), info)
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
