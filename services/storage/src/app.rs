//! The wiring: routes, document, workers.

use std::time::Duration;

use api::openapi::{Info, OpenApiRouter, finish};
use auth::HasAuth;
use axum::Router;
use service::{Front, Metrics, Process, Round};
use utoipa::{OpenApi as _, openapi::OpenApi};

use crate::{
    NAME, attachment, audit_log, config::Config, credential, download, event, faults::Faults, object,
    object_store, operation, quota, reconcile, state::AppState, storage, storage_spec, tenant,
};

/// Period of the clean-up workers.
const CLEAN_UP_PERIOD: Duration = Duration::from_secs(600);
/// Rows that a clean-up worker deletes in one transaction, at most.
const CLEAN_UP_BATCH: u32 = 10_000;

/// The service, assembled.
pub struct App {
    state: AppState,
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

    /// As [`App::new`], with a reconciler that stops after some effects, for tests.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn with_faults(config: Config, process: Process, faults: Faults) -> anyhow::Result<Self> {
        config.check()?;
        let process = process.traced(NAME, config.telemetry.as_ref())?;
        let state = AppState::new(config, faults, &process)?;
        state.db.register(&process.metrics);
        state.report_to(&process.health);
        Ok(Self { state, process })
    }

    /// All routes, with health and metrics.
    pub fn router(&self) -> Router {
        let (routes, _) = routes().split_for_parts();
        let (db, verifier) = (self.state.db.clone(), self.state.auth().verifier.clone());
        let ready = move || {
            let (db, revocations) = (db.clone(), verifier.revocations().ready());
            async move {
                db.ping().await.map_err(|_| "waiting for the database".to_owned())?;
                revocations
            }
        };
        Front::new(&self.process, ready).serve(routes.with_state(self.state.clone()))
    }

    /// Starts the background workers. They end with the process.
    pub fn start_workers(&self) {
        self.state.auth().verifier.start(&self.process.workers, NAME);
        let makers = credential::Makers(self.state.clone());
        self.state.auth().verifier.follow_makers(&self.process.workers, NAME, makers);
        reconcile::start(&self.state, &self.process);
        object_store::answers::start(&self.state, &self.process);
        self.state.events.start(&self.process.workers, NAME);
        self.state.config.audit.start(&self.state.db, &self.process, NAME);
        let db = self.state.db.clone();
        self.process.workers.spawn_periodic("storage.idempotency_keys", CLEAN_UP_PERIOD, move || {
            let db = db.clone();
            async move {
                let mut tx = db.worker().await?;
                let deleted = api::idempotency::forget_old(&mut tx, CLEAN_UP_BATCH.into()).await?;
                tx.commit().await?;
                Ok(Round::of(deleted, CLEAN_UP_BATCH.into()))
            }
        });
        let db = self.state.db.clone();
        self.process.workers.spawn_periodic("storage.operations", CLEAN_UP_PERIOD, move || {
            let db = db.clone();
            async move {
                let mut tx = db.worker().await?;
                let deleted = operations::prune(&mut tx, CLEAN_UP_BATCH.into()).await?;
                tx.commit().await?;
                Ok(Round::of(deleted, CLEAN_UP_BATCH.into()))
            }
        });
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
        (name = "audit", description = "Who changed what, and who signed in"),
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
