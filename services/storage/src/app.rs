//! The wiring: routes, document, workers.

use std::{sync::Arc, time::Duration};

use api::openapi::{Info, OpenApiRouter, finish};
use auth::{AuthState, HasAuth, Verifier};
use axum::{Router, extract::FromRef};
use crds::Clusters;
use db::Db;
use events::Events;
use service::{Front, Health, Metrics, Process, Task, health::DependencyKind};
use tokio_util::sync::CancellationToken;
use utoipa::{OpenApi as _, openapi::OpenApi};

use crate::{
    NAME, attachment, audit_log,
    budget::Budgets,
    config::{Config, LimitsConfig},
    credential, download, event,
    faults::Faults,
    object,
    object_store::{self, OptionalObjectStore},
    operation, quota, reconcile, storage, storage_spec, tenant,
};

/// How often old rows are deleted.
const CLEAN_UP_PERIOD: Duration = Duration::from_secs(600);
/// Maximum number of rows that are deleted in one transaction.
const CLEAN_UP_BATCH: u32 = 10_000;

/// The parts of the slices; each slice takes those that it needs.
#[derive(Clone, FromRef)]
struct AppState {
    auth: AuthState,
    db: Db,
    events: Events,
    limits: LimitsConfig,
    object_store: OptionalObjectStore,
    /// Cancelled when shutdown begins; ends streams.
    stop: CancellationToken,
    storages: storage::Storages,
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// The service, assembled.
pub struct App {
    config: Arc<Config>,
    state: AppState,
    reconciler: reconcile::Parts,
    process: Process,
}

impl App {
    /// The service with this configuration. Neither the database nor a cluster nor the object store needs to answer
    /// yet.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: Config, process: Process) -> anyhow::Result<Self> {
        Self::with_faults(config, process, Faults::default())
    }

    /// Like [`App::new`], with a reconciler that stops after some effects, for tests.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn with_faults(config: Config, process: Process, faults: Faults) -> anyhow::Result<Self> {
        config.check()?;
        let config = Arc::new(config);
        let process = process.traced(NAME, config.telemetry.as_ref())?;
        let http = service::http_client()?;
        let db = Db::connect(NAME, &config.database)?;
        db.register(&process.metrics);
        let clusters = Clusters::new(&config.clusters);
        let object_store = OptionalObjectStore::new(config.object_store.clone(), &http);
        let budgets = Budgets(config.gpu.clone().map(|gpu| gpu_api::Client::new(http.clone(), gpu)));
        let state = AppState {
            auth: AuthState {
                verifier: Verifier::new(config.auth.clone(), http.clone()),
                callers: Arc::new(config.callers.clone()),
            },
            db: db.clone(),
            events: Events::new(&db, event::EVENTS, event::KEPT),
            limits: config.limits,
            object_store: object_store.clone(),
            stop: process.shutdown.token(),
            storages: storage::Storages { db: db.clone(), config: config.clone(), budgets },
        };
        let reconciler =
            reconcile::Parts { db, clusters, object_store, faults, config: config.reconcile.clone() };
        let app = Self { config, state, reconciler, process };
        app.report_dependencies(&http);
        Ok(app)
    }

    fn report_dependencies(&self, http: &reqwest::Client) {
        let health: &Health = &self.process.health;
        self.state.auth.verifier.report_to(health);
        for (cluster, check) in self.reconciler.clusters.checks() {
            health.depends_on(format!("cluster:{cluster}"), DependencyKind::Cluster, check);
        }
        if let Some(store) = &self.config.object_store {
            health.depends_on_http("object_store", DependencyKind::ObjectStore, http, store.endpoint.clone());
        }
    }

    /// All routes, with health and metrics.
    pub fn router(&self) -> Router {
        let (routes, _) = routes().split_for_parts();
        let (db, verifier) = (self.state.db.clone(), self.state.auth.verifier.clone());
        let ready = move || {
            let (db, revocations) = (db.clone(), verifier.revocations().ready());
            async move {
                db.ping().await.map_err(|_| "waiting for the database".to_owned())?;
                revocations
            }
        };
        Front::new(&self.process, ready).serve(routes.with_state(self.state.clone()))
    }

    /// The background tasks. Each replica runs all of them.
    fn tasks(&self) -> Vec<Task> {
        let (state, db) = (&self.state, &self.state.db);
        let mut tasks = vec![
            db.retention("idempotency_keys", CLEAN_UP_PERIOD, CLEAN_UP_BATCH, |conn, limit| {
                Box::pin(api::idempotency::forget_old(conn, limit))
            }),
            db.retention("operations", CLEAN_UP_PERIOD, CLEAN_UP_BATCH, |conn, limit| {
                Box::pin(operations::prune(conn, limit))
            }),
            self.config.audit.task(db, &self.process),
        ];
        tasks.extend(reconcile::tasks(self.reconciler.clone(), &self.process));
        tasks.extend(state.events.tasks());
        tasks.extend(object_store::answers::task(&state.object_store, &self.process));
        tasks.extend(state.auth.verifier.task());
        tasks.extend(state.auth.verifier.makers_task(credential::Makers(db.clone())));
        tasks
    }

    /// Starts the background tasks. They end with the process.
    pub fn start_workers(&self) {
        self.process.workers.start(NAME, self.tasks());
    }

    /// Serves until the process shuts down.
    ///
    /// # Errors
    /// If the configuration is not valid or the address cannot be bound.
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
    reconcile::register(&process.metrics);
    object_store::answers::register(&process.metrics);
    process.metrics
}

fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Tags::openapi())
        .merge(storage_spec::routes())
        .merge(storage_spec::offer_routes())
        .merge(storage::routes())
        .merge(credential::routes())
        .merge(operation::routes())
        .merge(event::routes())
        .merge(quota::routes())
        .merge(attachment::routes())
        .merge(object::routes())
        .merge(download::routes())
        .merge(tenant::routes())
        .merge(audit_log::routes())
}

#[derive(utoipa::OpenApi)]
#[openapi(
    tags(
        (name = "storage specs", description = "Kinds, sizes and prices of storage"),
        (name = "storages", description = "Volumes and buckets of a tenant"),
        (name = "storage operations", description = "Long-running actions on storages"),
        (name = "platform", description = "Storages of all tenants, for administrators"),
        (name = "audit", description = "Audit log: changes and sign-ins"),
        (name = "internal", description = "For the other services of the platform"),
    )
)]
struct Tags;

/// The service's OpenAPI document.
#[must_use]
pub fn openapi() -> OpenApi {
    let info = Info { title: "Atelier storage", description: "Volumes and buckets that outlive instances." };
    finish(routes().into_openapi(), info)
}
