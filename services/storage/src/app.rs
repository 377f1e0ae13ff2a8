//! The service put together: what its handlers share, its routes, its workers.

use std::{sync::Arc, time::Duration};

use auth::{AuthState, HasAuth, Verifier};
use axum::Router;
use db::Db;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use service::{Front, Process, Shutdown};
use tokio::sync::Notify;
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::router::OpenApiRouter;

use crate::{
    attachment, cluster::Clusters, config::Config, credential, faults::Faults, object_store::ObjectStore,
    operation, storage, storage_spec,
};

/// What handlers and workers share. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// Reconciler passes, by how they ended.
pub(crate) type Passes = Family<PassLabels, Counter>;

/// How a pass of the reconciler ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct PassLabels {
    /// `volume` or `bucket`.
    pub(crate) kind: &'static str,
    /// `unchanged`, `changed`, `removed` or `hindered`.
    pub(crate) result: &'static str,
}

/// The parts, for the rooms of this service.
pub struct Inner {
    pub(crate) config: Config,
    pub(crate) db: Db,
    pub(crate) clusters: Clusters,
    pub(crate) object_store: Option<ObjectStore>,
    pub(crate) faults: Faults,
    /// Calls this process' reconciler.
    pub(crate) nudge: Notify,
    auth: AuthState,
    process: Process,
    pub(crate) passes: Passes,
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
    /// Puts the service together. Neither the database nor a cluster nor the object store need answer yet.
    ///
    /// # Errors
    /// When the configuration is not right.
    pub fn new(config: Config, faults: Faults) -> anyhow::Result<Self> {
        for (datacenter, cluster) in &config.datacenters {
            anyhow::ensure!(
                config.clusters.contains_key(cluster),
                "datacenters.{datacenter} names the cluster {cluster:?}, which is not among `clusters`"
            );
        }
        let (process, passes) = (Process::default(), Passes::default());
        process.metrics.register(|registry| {
            let help = "Passes of the reconciler over a storage";
            registry.register("storage_reconcile_passes", help, passes.clone());
        });
        let http = reqwest::Client::builder().connect_timeout(Duration::from_secs(2)).build()?;
        Ok(Self(Arc::new(Inner {
            db: Db::connect(crate::NAME, &config.database)?,
            clusters: Clusters::new(&config.clusters),
            object_store: config.object_store.clone().map(|c| ObjectStore::new(c, http.clone())),
            faults,
            nudge: Notify::new(),
            auth: AuthState {
                verifier: Verifier::new(config.auth.clone(), http),
                callers: Arc::new(config.callers.clone()),
            },
            process,
            passes,
            config,
        })))
    }

    /// Everything it answers.
    pub fn router(&self) -> Router {
        let (routes, _) = routes().split_for_parts();
        let app = self.clone();
        let ready = move || {
            let app = app.clone();
            async move { app.db.ping().await.map_err(|_| "waiting for the database".to_owned()) }
        };
        Front::new(&self.process, ready).serve(routes.with_state(self.clone()))
    }

    /// Starts what runs beside the requests; it ends with `shutdown`.
    pub fn start_workers(&self, shutdown: &Shutdown) {
        for cluster in self.clusters.names() {
            shutdown.track(storage::follow_cluster(self.clone(), cluster, shutdown.token()));
        }
        shutdown.track(storage::listen(self.clone(), shutdown.token()));
        shutdown.track(storage::reconcile(self.clone(), shutdown.token()));
        shutdown.track(operation::clean_up(self.clone(), shutdown.token()));
    }
}

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(storage_spec::routes())
        .merge(storage::routes())
        .merge(credential::routes())
        .merge(operation::routes())
        .merge(attachment::routes())
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Atelier storage",
        description = "Volumes and buckets that outlive instances.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "storage specs", description = "Kinds of storage and what they cost"),
        (name = "storages", description = "Volumes and buckets of a tenant"),
        (name = "storage operations", description = "Long actions on storages"),
        (name = "internal", description = "For the other services of the platform"),
    )
)]
struct Description;

/// The service's OpenAPI document.
#[must_use]
pub fn openapi() -> OpenApi {
    auth::secured(routes().into_openapi())
}
