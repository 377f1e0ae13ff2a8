//! What handlers and workers share.

use std::sync::Arc;

use api::{Problem, Reply};
use auth::{AuthState, HasAuth, User, Verifier};
use cache::{Cache, Reads};
use crds::Clusters;
use db::Db;
use events::Events;
use feed::Feed;
use serde::{Serialize, de::DeserializeOwned};
use service::{Health, Process, health::DependencyKind};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    NAME,
    config::{Config, StockConfig},
    event,
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
    /// What happens to the stock, for streams.
    pub(crate) events: Events,
    /// A datacenter may be active again: entries of the queue may have a free unit.
    pub(crate) datacenter_changed: Arc<Notify>,
    /// Cancelled when shutdown begins; ends waiting requests and streams.
    pub(crate) shutdown: CancellationToken,
    cache: Cache,
    /// Answers about specifications and datacenters.
    catalogue: Reads,
    auth: AuthState,
}

impl AppState {
    pub(crate) fn new(config: Config, process: &Process) -> anyhow::Result<Self> {
        let db = Db::connect(NAME, &config.database)?;
        db.register(&process.metrics);
        let cache = Cache::new(NAME, config.cache.as_ref(), &process.metrics)?;
        Ok(Self {
            grants: Feed::new(&db, queue::store::GRANTS),
            events: Events::new(&db, event::EVENTS, event::KEPT),
            shutdown: process.shutdown.token(),
            db,
            clusters: Clusters::new(&config.clusters),
            config: Arc::new(config.stock),
            metrics: StockMetrics::register(&process.metrics),
            silence: Silence::default(),
            datacenter_changed: Arc::default(),
            catalogue: Reads::new(&cache, "catalogue"),
            cache,
            auth: AuthState {
                verifier: Verifier::new(config.auth, service::http_client()?),
                callers: config.callers.into(),
            },
        })
    }
}

impl AppState {
    /// Returns the answer to a question about specifications or datacenters: one that is remembered, or that of `read`. Administrators
    /// get that of `read`, so that they see what they have changed.
    ///
    /// # Errors
    /// That of `read`.
    pub(crate) async fn catalogue<T: Serialize + DeserializeOwned>(
        &self,
        user: &User,
        question: &impl Serialize,
        read: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        if user.0.admin { read.await } else { self.catalogue.read(question, read).await }
    }

    /// Carries out a change of specifications or datacenters, after which no remembered answer counts.
    ///
    /// # Errors
    /// That of `change`.
    pub(crate) async fn changing_catalogue(
        &self,
        change: impl Future<Output = Result<Reply, Problem>>,
    ) -> Result<Reply, Problem> {
        let reply = change.await?;
        self.catalogue.changed().await;
        Ok(reply)
    }

    /// Adds what the service calls to the dependencies of the process.
    pub(crate) fn report_to(&self, health: &Health) {
        self.auth.verifier.report_to(health);
        self.cache.report_to(health);
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
