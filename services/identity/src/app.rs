//! The wiring: state, routes, workers, OpenAPI document.

use api::openapi::OpenApiRouter;
use std::time::Duration;

use axum::Router;
use jiff::Timestamp;
use service::{Front, Metrics, Process};
use utoipa::{OpenApi as _, openapi::OpenApi};

use crate::{
    NAME, api_key, audit_log, config::Config, invitation, maker, membership, oidc, passkey, revocation,
    session, signing_key, state::AppState, tenant, token_exchange, totp, user,
};

const CLEAN_UP: Duration = Duration::from_secs(600);
const CHECK_PROVIDERS: Duration = Duration::from_secs(600);

/// The service.
#[derive(Clone)]
pub struct App {
    state: AppState,
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
        let state = AppState::new(config, Timestamp::now, process.shutdown.token())?;
        state.db.register(&process.metrics);
        state.report_to(&process.health, &service::http_client()?);
        Ok(Self { state, process })
    }

    /// All routes.
    pub fn router(&self) -> Router {
        let (routes, _) = routes().split_for_parts();
        let state = self.state.clone();
        let ready = move || {
            let state = state.clone();
            async move { state.ready().await }
        };
        Front::new(&self.process, ready).serve(routes.with_state(self.state.clone()))
    }

    /// Starts the background workers: `identity.signing_keys` creates, rotates and loads signing keys,
    /// `identity.api_keys` ends API keys that expire, `identity.oidc_providers` says with which providers nobody can sign in,
    /// `identity.clean_up`, `identity.invitations.clean_up` and `identity.revocations.clean_up` delete old rows,
    /// `identity.audit` deletes old entries of the audit log, `identity.bootstrap` creates the first administrator; and those of revocations and tenants.
    pub fn start_workers(&self) {
        let workers = &self.process.workers;
        let state = self.state.clone();
        workers.spawn(format!("{NAME}.signing_keys"), move |token| {
            let state = state.clone();
            async move { signing_key::run(&state, &token).await }
        });
        let state = self.state.clone();
        workers.spawn_periodic(format!("{NAME}.clean_up"), CLEAN_UP, move || {
            let state = state.clone();
            async move { session::clean_up(&state).await }
        });
        let state = self.state.clone();
        workers.spawn_periodic(format!("{NAME}.revocations.clean_up"), CLEAN_UP, move || {
            let state = state.clone();
            async move { revocation::clean_up(&state).await }
        });
        let state = self.state.clone();
        workers.spawn_periodic(format!("{NAME}.invitations.clean_up"), CLEAN_UP, move || {
            let state = state.clone();
            async move { invitation::clean_up(&state).await }
        });
        let state = self.state.clone();
        workers.spawn(format!("{NAME}.api_keys"), move |token| {
            let state = state.clone();
            async move { api_key::run(&state, &token).await }
        });
        self.state.config.audit.start(&self.state.db, &self.process, NAME);
        revocation::start(&self.state, workers);
        tenant::start(&self.state, &self.process);
        if self.state.oidc.iter().next().is_some() {
            let state = self.state.clone();
            workers.spawn_periodic(format!("{NAME}.oidc_providers"), CHECK_PROVIDERS, move || {
                let state = state.clone();
                async move { Ok(oidc::check(&state).await) }
            });
        }
        if let Some(admin) = self.state.config.bootstrap_admin.clone() {
            let state = self.state.clone();
            workers.spawn(format!("{NAME}.bootstrap"), move |token| {
                let (state, admin) = (state.clone(), admin.clone());
                async move { user::bootstrap(&state, &admin, &token).await }
            });
        }
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

/// The metrics of the process, for their description.
#[must_use]
pub fn metrics() -> Metrics {
    let process = Process::default();
    db::describe_metrics(&process.metrics);
    audit::register_metrics(&process.metrics);
    process.metrics
}

fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(session::routes())
        .merge(user::routes())
        .merge(tenant::routes())
        .merge(membership::routes())
        .merge(invitation::routes())
        .merge(api_key::routes())
        .merge(oidc::routes())
        .merge(passkey::routes())
        .merge(token_exchange::routes())
        .merge(totp::routes())
        .merge(signing_key::routes())
        .merge(revocation::routes())
        .merge(maker::routes())
        .merge(audit_log::routes())
}

#[derive(utoipa::OpenApi)]
#[openapi(
    tags(
        (name = "sessions", description = "Signing in and out"),
        (name = "passkeys", description = "Keys of devices and password managers, for signing in"),
        (name = "linked accounts", description = "Accounts of OpenID providers with which the caller signs in"),
        (name = "API keys", description = "Credentials of scripts"),
        (name = "users", description = "People"),
        (name = "tenants", description = "Tenants, their members and invitations"),
        (name = "signing keys", description = "Keys that sign access tokens"),
        (name = "audit", description = "Who changed what, and who signed in"),
        (name = "internal", description = "For the other services of the platform"),
    )
)]
struct Description;

/// The service's OpenAPI document.
#[must_use]
pub fn openapi() -> OpenApi {
    api::openapi::finish(
        routes().into_openapi(),
        api::openapi::Info {
            title: "Atelier identity",
            description: "Users, tenants, members, sign-in and signing keys.",
        },
    )
}
