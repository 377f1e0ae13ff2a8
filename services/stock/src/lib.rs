//! The stock service: which GPU specifications there are, at which price, in which datacenters; how many
//! units of each are really held in the clusters; and which instance has which unit.
//!
//! Sliced by aggregate: [`datacenter`], [`spec`], [`unit`] (stock and its life in the cluster), [`claim`]
//! (the hand-out), [`operation`] (long actions). Nothing of what runs in a unit is decided here: that is
//! the gpu service's.

pub mod claim;
pub mod datacenter;
pub mod operation;
pub mod spec;
pub mod unit;

mod cluster;
mod config;
mod housekeeping;
mod telemetry;

use std::sync::Arc;

use auth::{AuthState, HasAuth, Verifier};
use axum::Router;
use db::Db;
use service::{Front, Process, Shutdown};
use sqlx::migrate::Migrator;
use tokio::sync::Notify;
use utoipa::openapi::{InfoBuilder, OpenApi};
use utoipa_axum::router::OpenApiRouter;

pub use cluster::Clusters;
pub use config::{Config, Tuning};

/// The service's name: its schema, its roles, its document.
pub const SERVICE: &str = "stock";

/// The schema's migrations.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/stock");

/// Everything that handlers and workers share. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    db: Db,
    auth: AuthState,
    clusters: Clusters,
    claims: claim::Desk,
    tuning: Tuning,
    process: Process,
    counters: telemetry::Counters,
    /// Rings when units want work in the cluster.
    work: Notify,
    /// Rings when an operation may have ended.
    settle: Notify,
}

impl HasAuth for App {
    fn auth(&self) -> &AuthState {
        &self.0.auth
    }
}

impl App {
    /// The service by its configuration. Reaches for nothing yet.
    ///
    /// # Errors
    /// When the database's address is not one.
    pub fn new(config: Config) -> anyhow::Result<Self> {
        let db = Db::connect(SERVICE, &config.database)?;
        let auth = AuthState {
            verifier: Verifier::new(config.auth, reqwest::Client::new()),
            callers: config.callers.into(),
        };
        let process = Process::default();
        let counters = telemetry::Counters::register(&process.metrics);
        let claims = claim::Desk::new(db.clone(), counters.clone());
        Ok(Self(Arc::new(Inner {
            db,
            auth,
            clusters: Clusters::new(config.clusters),
            claims,
            tuning: config.stock,
            process,
            counters,
            work: Notify::new(),
            settle: Notify::new(),
        })))
    }

    /// The service's whole HTTP front.
    pub fn router(&self) -> Router {
        let app = self.clone();
        let front = Front::new(&self.0.process, move || {
            let app = app.clone();
            async move { app.0.db.ping().await.map_err(|_| "waits for the database".to_owned()) }
        });
        front.serve(routes().split_for_parts().0.with_state(self.clone()))
    }

    /// Starts the workers: making and removing units, watching the clusters, comparing, settling
    /// operations. Any number of replicas may run them.
    pub fn spawn_workers(&self, shutdown: &Shutdown) {
        shutdown.track(unit::maker::run(self.clone(), shutdown.token()));
        shutdown.track(operation::settle::run(self.clone(), shutdown.token()));
        shutdown.track(housekeeping::run(self.clone(), shutdown.token()));
        for name in self.0.clusters.names() {
            shutdown.track(unit::watch::run(self.clone(), name.to_owned(), shutdown.token()));
            shutdown.track(unit::compare::run(self.clone(), name.to_owned(), shutdown.token()));
        }
    }

    pub(crate) fn db(&self) -> &Db {
        &self.0.db
    }

    pub(crate) fn clusters(&self) -> &Clusters {
        &self.0.clusters
    }

    pub(crate) fn tuning(&self) -> &Tuning {
        &self.0.tuning
    }

    pub(crate) fn counters(&self) -> &telemetry::Counters {
        &self.0.counters
    }

    pub(crate) fn desk(&self) -> &claim::Desk {
        &self.0.claims
    }

    pub(crate) fn work(&self) -> &Notify {
        &self.0.work
    }

    pub(crate) fn settle(&self) -> &Notify {
        &self.0.settle
    }
}

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(datacenter::http::routes())
        .merge(spec::http::routes())
        .merge(unit::http::routes())
        .merge(operation::http::routes())
        .merge(claim::http::routes())
}

/// The OpenAPI document of the service.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut document = routes().split_for_parts().1;
    document.info = InfoBuilder::new()
        .title("Atelier stock")
        .version("1")
        .description(Some("GPU specifications, datacenters, stock and its hand-out."))
        .build();
    auth::secured(document)
}

/// Serves until `shutdown` begins.
///
/// # Errors
/// When the configuration is not usable or the address is taken.
pub async fn serve(config: Config, process: Process) -> anyhow::Result<()> {
    let shutdown = process.shutdown;
    let listen = config.listen;
    let app = App::new(config)?;
    app.spawn_workers(&shutdown);
    service::serve(listen, app.router(), &shutdown).await?;
    app.db().close().await;
    Ok(())
}
