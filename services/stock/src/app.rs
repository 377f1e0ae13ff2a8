//! The service put together: its parts, routes, OpenAPI document, workers.

use std::{net::SocketAddr, sync::Arc};

use api::openapi::{Info, OpenApiRouter};
use auth::{AuthState, HasAuth, Verifier};
use axum::{Router, extract::FromRef};
use cache::Cache;
use crds::Clusters;
use db::Db;
use events::Events;
use feed::Feed;
use service::{Duty, Front, Metrics, Process, Task, health::DependencyKind};
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi;

use crate::{
    NAME, audit_log, capacity,
    catalogue::Catalogue,
    claim, clean_up, comparison,
    config::{Config, StockConfig},
    datacenter, event, gpu_spec, hold_back,
    metrics::StockMetrics,
    offer, operation, queue, repair, settle,
    silence::{self, Silence},
    stock, unit,
};

/// The parts of the slices; each slice takes those that it needs.
#[derive(Clone, FromRef)]
struct AppState {
    auth: AuthState,
    catalogue: Catalogue,
    claims: claim::ClaimService,
    config: Arc<StockConfig>,
    datacenters: datacenter::Datacenters,
    db: Db,
    events: Events,
    /// Units given from the queue.
    grants: Feed,
    /// Cancelled when shutdown begins; ends waiting requests and streams.
    stop: CancellationToken,
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// The service in one process.
pub struct App {
    state: AppState,
    units: unit::Parts,
    silence: Silence,
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
        let db = Db::connect(NAME, &config.database)?;
        db.register(&process.metrics);
        let cache = Cache::new(NAME, config.cache.as_ref(), &process.metrics)?;
        let units = unit::Parts {
            db: db.clone(),
            clusters: Clusters::new(&config.clusters),
            config: Arc::new(config.stock),
            metrics: StockMetrics::register(&process.metrics),
        };
        let (silence, catalogue) = (Silence::default(), Catalogue::new(&cache));
        let state = AppState {
            auth: AuthState {
                verifier: Verifier::new(config.auth, service::http_client()?),
                callers: config.callers.into(),
            },
            claims: claim::ClaimService::new(
                db.clone(),
                units.metrics.clone(),
                silence.clone(),
                Arc::clone(&units.config),
            ),
            config: Arc::clone(&units.config),
            datacenters: datacenter::Datacenters {
                db: db.clone(),
                clusters: units.clusters.clone(),
                catalogue: catalogue.clone(),
                changed: Arc::default(),
            },
            catalogue,
            events: Events::new(&db, event::EVENTS, event::KEPT),
            grants: Feed::new(&db, queue::store::GRANTS),
            stop: process.shutdown.token(),
            db,
        };
        let app = Self { state, units, silence, process, listen: config.listen, audit: config.audit };
        app.report_dependencies(&cache);
        Ok(app)
    }

    fn report_dependencies(&self, cache: &Cache) {
        let health = &self.process.health;
        self.state.auth.verifier.report_to(health);
        cache.report_to(health);
        for (cluster, check) in self.units.clusters.checks() {
            health.depends_on(format!("cluster:{cluster}"), DependencyKind::Cluster, check);
        }
    }

    /// Returns all routes, with health and metrics.
    pub fn router(&self) -> Router {
        let (db, verifier) = (self.state.db.clone(), self.state.auth.verifier.clone());
        let front = Front::new(&self.process, move || {
            let (db, revocations) = (db.clone(), verifier.revocations().ready());
            async move {
                db.ping().await.map_err(|_| "waiting for the database".to_owned())?;
                revocations
            }
        });
        let (routes, _) = routes().split_for_parts();
        front.serve(routes.with_state(self.state.clone()))
    }

    /// The background tasks. Each replica runs all of them.
    fn tasks(&self) -> Vec<Task> {
        let (state, units) = (&self.state, &self.units);
        let (db, config, metrics) = (&units.db, &units.config, &units.metrics);
        let cleaned =
            clean_up::Parts { db: db.clone(), config: Arc::clone(config), metrics: metrics.clone() };
        let healed = queue::heal::Parts {
            db: db.clone(),
            metrics: metrics.clone(),
            datacenter_changed: Arc::clone(&state.datacenters.changed),
            recall_seconds: config.recall_seconds,
        };
        let silence = silence::Parts {
            clusters: units.clusters.clone(),
            metrics: metrics.clone(),
            silence: self.silence.clone(),
        };
        let forecast = (db.clone(), config.recall_seconds);
        let (hold_back, compare) = (hold_back::PERIOD, config.compare_every());
        let mut tasks = vec![
            Task::until_stop("operations", Duty::Reconcile, db, settle::run),
            Task::every("counts", Duty::Reconcile, compare, &cleaned, clean_up::correct_counts),
            Task::every("hold_back", Duty::Reconcile, hold_back, &forecast, hold_back::reconcile::round),
            Task::every("capacity", Duty::Housekeeping, config.measure_every(), db, capacity::measure::round),
            Task::every("records", Duty::Retention, clean_up::PERIOD, &cleaned, clean_up::clean_up),
            queue::heal::task(&healed),
            state.grants.task("grants"),
            self.audit.task(db, &self.process),
        ];
        tasks.extend(unit::reconcile::tasks(units, &self.process));
        tasks.extend(state.events.tasks());
        tasks.extend(state.auth.verifier.task());
        for cluster in units.clusters.names() {
            tasks.push(unit::watch::task(units, cluster));
            tasks.push(comparison::reconcile::task(units, cluster));
            tasks.push(silence::task(&silence, cluster));
        }
        tasks
    }

    /// Starts the background tasks. They end with the process.
    pub fn start_workers(&self) {
        self.process.workers.start(NAME, self.tasks());
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
        .merge(claim::http::routes())
        .merge(audit_log::routes())
}

/// Returns the OpenAPI document of the service.
#[must_use]
pub fn openapi() -> OpenApi {
    api::openapi::finish(
        routes().into_openapi(),
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
