//! What handlers and workers share.

use std::sync::Arc;

use auth::{AuthState, HasAuth, Verifier};
use crds::Clusters;
use db::Db;
use feed::Feed;
use service::{Health, Process, health::DependencyKind};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    NAME,
    config::{Config, StockConfig},
    metrics::StockMetrics,
    queue,
    silence::Silence,
};

/// What handlers and workers share. Clones share the parts.
#[derive(Clone)]
pub struct AppState {
    pub(crate) db: Db,
    pub(crate) clusters: Clusters,
    pub(crate) config: Arc<StockConfig>,
    pub(crate) metrics: StockMetrics,
    pub(crate) silence: Silence,
    /// Units given from the queue.
    pub(crate) grants: Feed,
    /// A datacenter may be active again: entries of the queue may have a free unit.
    pub(crate) datacenter_changed: Arc<Notify>,
    /// Cancelled when shutdown begins; ends waiting requests.
    pub(crate) shutdown: CancellationToken,
    auth: AuthState,
}

impl AppState {
    pub(crate) fn new(config: Config, process: &Process) -> anyhow::Result<Self> {
        let db = Db::connect(NAME, &config.database)?;
        db.register(&process.metrics);
        Ok(Self {
            grants: Feed::new(&db, queue::store::GRANTS),
            shutdown: process.shutdown.token(),
            db,
            clusters: Clusters::new(&config.clusters),
            config: Arc::new(config.stock),
            metrics: StockMetrics::register(&process.metrics),
            silence: Silence::default(),
            datacenter_changed: Arc::default(),
            auth: AuthState {
                verifier: Verifier::new(config.auth, service::http_client()?),
                callers: config.callers.into(),
            },
        })
    }
}

impl AppState {
    /// Adds what the service calls to the dependencies of the process.
    pub(crate) fn report_to(&self, health: &Health) {
        self.auth.verifier.report_to(health);
        for (cluster, check) in self.clusters.checks() {
            health.depends_on(format!("cluster:{cluster}"), DependencyKind::Cluster, check);
        }
    }
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}
