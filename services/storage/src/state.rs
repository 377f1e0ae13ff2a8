//! What handlers and workers share.

use std::{ops::Deref, sync::Arc};

use auth::{AuthState, HasAuth, Verifier};
use clients::gpu;
use crds::Clusters;
use db::Db;
use events::Events;
use service::{Health, Process, health::DependencyKind};
use tokio_util::sync::CancellationToken;

use crate::{config::Config, event, faults::Faults, object_store::ObjectStore};

/// The parts that handlers and workers share. Clones share them.
#[derive(Clone)]
pub(crate) struct AppState(Arc<Inner>);

/// The fields of [`AppState`].
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) db: Db,
    pub(crate) clusters: Clusters,
    pub(crate) object_store: Option<ObjectStore>,
    /// None if the configuration does not name it.
    pub(crate) gpu: Option<gpu::Client>,
    pub(crate) faults: Faults,
    /// What happens to storages, for streams.
    pub(crate) events: Events,
    /// Cancelled when shutdown begins; ends streams.
    pub(crate) stop: CancellationToken,
    http: reqwest::Client,
    auth: AuthState,
}

impl AppState {
    /// Opens pools and clients. Neither the database nor a cluster nor the object store needs to answer yet.
    pub(crate) fn new(config: Config, faults: Faults, process: &Process) -> anyhow::Result<Self> {
        let http = service::http_client()?;
        let db = Db::connect(crate::NAME, &config.database)?;
        Ok(Self(Arc::new(Inner {
            events: Events::new(&db, event::EVENTS, event::KEPT),
            stop: process.shutdown.token(),
            db,
            clusters: Clusters::new(&config.clusters),
            object_store: config.object_store.clone().map(|config| ObjectStore::new(config, http.clone())),
            gpu: config.gpu.clone().map(|gpu| gpu::Client::new(http.clone(), gpu)),
            faults,
            auth: AuthState {
                verifier: Verifier::new(config.auth.clone(), http.clone()),
                callers: Arc::new(config.callers.clone()),
            },
            http,
            config,
        })))
    }
}

impl AppState {
    /// Adds what the service calls to the dependencies of the process.
    pub(crate) fn report_to(&self, health: &Health) {
        self.auth.verifier.report_to(health);
        for (cluster, check) in self.clusters.checks() {
            health.depends_on(format!("cluster:{cluster}"), DependencyKind::Cluster, check);
        }
        if let Some(store) = &self.config.object_store {
            let kind = DependencyKind::ObjectStore;
            health.depends_on_http("object_store", kind, &self.http, store.endpoint.clone());
        }
    }
}

impl Deref for AppState {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}
