//! The service put together: routes, OpenAPI document, workers.

use std::net::SocketAddr;

use api::openapi::{Info, OpenApiRouter};
use auth::HasAuth;
use axum::Router;
use service::{Front, Metrics, Process};
use utoipa::openapi::OpenApi;

use crate::{
    AppState, NAME, audit_log, capacity, claim, clean_up, comparison, config::Config, datacenter, event,
    gpu_spec, hold_back, metrics::StockMetrics, offer, operation, queue, repair, silence, stock, unit,
};

/// The service in one process.
pub struct App {
    state: AppState,
    claims: claim::ClaimService,
    process: Process,
    listen: SocketAddr,
    audit: audit::RetentionConfig,
}

impl App {
    /// Puts the service together. Neither the database nor a cluster is contacted.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: Config, process: Process) -> anyhow::Result<Self> {
        let process = process.traced(NAME, config.telemetry.as_ref())?;
        let (listen, audit) = (config.listen, config.audit);
        let state = AppState::new(config, &process)?;
        state.report_to(&process.health);
        let claims = claim::ClaimService::new(state.clone());
        Ok(Self { state, claims, process, listen, audit })
    }

    /// Returns all routes, with health and metrics.
    pub fn router(&self) -> Router {
        let (db, verifier) = (self.state.db.clone(), self.state.auth().verifier.clone());
        let front = Front::new(&self.process, move || {
            let (db, revocations) = (db.clone(), verifier.revocations().ready());
            async move {
                db.ping().await.map_err(|_| "waiting for the database".to_owned())?;
                revocations
            }
        });
        let (routes, _) = routes().split_for_parts();
        let (claims, _) = claim::http::routes().split_for_parts();
        front.serve(routes.with_state(self.state.clone()).merge(claims.with_state(self.claims.clone())))
    }

    /// Starts the workers. Each replica runs all of them.
    pub fn start_workers(&self) {
        let (state, workers) = (&self.state, &self.process.workers);
        unit::reconcile::start(state, &self.process);
        operation::settle::start(state, workers);
        for cluster in state.clusters.names() {
            unit::watch::start(state, workers, cluster);
            comparison::reconcile::start(state, workers, cluster);
            silence::start(state, workers, cluster);
        }
        state.grants.start(workers, "stock.grants");
        state.events.start(workers, NAME);
        queue::heal::start(state, workers);
        hold_back::reconcile::start(state, workers);
        capacity::measure::start(state, workers);
        clean_up::start(state, workers);
        self.audit.start(&state.db, &self.process, NAME);
        state.auth().verifier.start(workers, NAME);
    }

    /// Serves until shutdown.
    ///
    /// # Errors
    /// If the configuration is not valid or the address is in use.
    pub async fn serve(config: Config, process: Process) -> anyhow::Result<()> {
        let app = Self::new(config, process)?;
        app.start_workers();
        service::serve(app.listen, app.router(), &app.process.shutdown).await?;
        app.state.db.close().await;
        Ok(())
    }
}

fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(datacenter::http::routes())
        .merge(gpu_spec::http::routes())
        .merge(offer::http::routes())
        .merge(stock::http::routes())
        .merge(unit::http::routes())
        .merge(capacity::http::routes())
        .merge(repair::http::routes())
        .merge(operation::http::routes())
        .merge(event::http::routes())
        .merge(queue::http::routes())
        .merge(audit_log::routes())
}

/// Returns the OpenAPI document of the service.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut document = routes().into_openapi();
    api::openapi::merge(&mut document, claim::http::routes().into_openapi());
    api::openapi::finish(
        document,
        Info {
            title: "Atelier stock",
            description: "GPU specifications, datacenters, the units of stock in their clusters, and claims.",
        },
    )
}

/// The metrics of the process, for their description.
#[must_use]
pub fn metrics() -> Metrics {
    let process = Process::default();
    db::describe_metrics(&process.metrics);
    audit::register_metrics(&process.metrics);
    cache::describe_metrics(&process.metrics);
    StockMetrics::register(&process.metrics);
    process.metrics
}
