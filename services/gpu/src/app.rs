//! The service put together: its state, its routes, its document, its process.

use std::sync::Arc;

use anyhow::Context;
use auth::{AuthState, HasAuth, Verifier};
use axum::Router;
use clients::{stock, storage};
use db::Db;
use service::{Front, Metrics, Process};
use sqlx::migrate::Migrator;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    access, catalogue,
    cluster::Clusters,
    config::Config,
    instance::{self, Reconciler, Wakes, Worker},
    operation, route, usage,
};

/// The schema's migrations.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/gpu");

/// What handlers work with. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) config: Arc<Config>,
    pub(crate) db: Db,
    pub(crate) stock: stock::Client,
    pub(crate) storage: storage::Client,
    pub(crate) clusters: Clusters,
    pub(crate) wakes: Wakes,
    pub(crate) ending: CancellationToken,
    auth: AuthState,
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

#[derive(OpenApi)]
#[openapi(
    info(title = "Atelier gpu service", description = "GPU instances: the catalogue, life cycle, log, terminal, usage."),
    tags(
        (name = "services", description = "The catalogue users pick from"),
        (name = "instances", description = "Tenants' instances"),
        (name = "operations", description = "Long actions on instances"),
        (name = "internal", description = "For other parts of the platform, with a service token")
    )
)]
struct Document;

fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(catalogue::routes())
        .merge(instance::routes())
        .merge(access::routes())
        .merge(usage::routes())
        .merge(operation::routes())
        .merge(route::routes())
}

/// The service's OpenAPI document.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    routes().into_openapi()
}

/// The service, before anything of it runs.
pub struct App {
    /// Its routes, with health, metrics and the front's layers.
    pub router: Router,
    /// Makes instances be as they should; [`Worker::run`] starts it.
    pub worker: Worker,
    /// The worker's wakes.
    pub woken: mpsc::UnboundedReceiver<ids::InstanceId>,
    /// One look at one instance, for tests.
    pub reconciler: Reconciler,
    /// The clusters it reaches.
    pub clusters: Clusters,
}

/// Puts the service together. Nothing is called yet, and nothing runs.
///
/// # Errors
/// When the configuration names what is not there.
pub async fn app(config: Config, metrics: Metrics, ending: CancellationToken) -> anyhow::Result<App> {
    let db = Db::connect("gpu", &config.database).context("database")?;
    let http = reqwest::Client::builder().build().context("HTTP client")?;
    let clusters = Clusters::connect(&config.clusters).await?;
    let (wakes, woken) = Wakes::channel();
    let (stock, storage) = (
        stock::Client::new(http.clone(), config.stock.clone()),
        storage::Client::new(http.clone(), config.storage.clone()),
    );
    let reconciler = Reconciler::new(
        db.clone(),
        clusters.clone(),
        stock.clone(),
        storage.clone(),
        Arc::new(config.apps.clone()),
    );
    let worker = Worker::new(db.clone(), clusters.clone(), reconciler.clone(), wakes.clone(), &metrics);
    let auth = AuthState {
        verifier: Verifier::new(config.auth.clone(), http),
        callers: Arc::new(config.callers.clone()),
    };
    let state = AppState {
        config: Arc::new(config),
        db: db.clone(),
        stock,
        storage,
        clusters: clusters.clone(),
        wakes,
        ending,
        auth,
    };
    // a cluster that is away does not make this service unready: everything else is still answered
    let ready = move || {
        let db = db.clone();
        async move { db.ping().await.map_err(|error| format!("the database does not answer: {error}")) }
    };
    let (router, _) = routes().with_state(state).split_for_parts();
    let router = Front::new(&Process { metrics, ..Process::default() }, ready).serve(router);
    Ok(App { router, worker, woken, reconciler, clusters })
}

/// Serves until `shutdown` begins.
///
/// # Errors
/// When the configuration names what is not there, or the address cannot be bound.
pub async fn serve(config: Config, process: Process) -> anyhow::Result<()> {
    let shutdown = process.shutdown;
    let listen = config.listen;
    let app = app(config, process.metrics, shutdown.token()).await?;
    app.worker.run(app.woken, &shutdown);
    service::serve(listen, app.router, &shutdown).await
}
