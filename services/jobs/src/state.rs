//! What handlers and workers share.

use std::{ops::Deref, sync::Arc};

use auth::{AuthState, HasAuth, Verifier};
use cache::Cache;
use clients::{gpu, stock, storage};
use db::Db;
use feed::Feed;
use ids::TenantId;
use jiff::Timestamp;
use service::{Health, Metrics, Streams};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::Reports,
    config::Config,
    cost,
    dispatch::Views,
    event::{Hub, Watches},
    job::{OpenJobs, Submissions},
    metrics::JobMetrics,
    mq::Door,
    rest::Rest,
    webhook::Webhooks,
};

/// The parts that handlers and workers share. Clones share them.
#[derive(Clone)]
pub(crate) struct AppState(Arc<Inner>);

/// The fields of [`AppState`].
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) db: Db,
    pub(crate) clock: fn() -> Timestamp,
    /// Wakes the schedulers of this process before they look by themselves.
    pub(crate) submitted: watch::Sender<()>,
    /// Wakes the open polls of workers in this process.
    pub(crate) assigned: watch::Sender<()>,
    /// Ends open polls: the shutdown of the process.
    pub(crate) stop: CancellationToken,
    pub(crate) views: Views,
    pub(crate) open_jobs: OpenJobs,
    pub(crate) submissions: Submissions,
    /// Jobs whose events are followed.
    pub(crate) watches: Watches,
    /// Tenants whose events are followed, and the feed of all events.
    pub(crate) hub: Hub,
    /// Streams of events.
    pub(crate) streams: Streams<TenantId>,
    pub(crate) webhooks: Webhooks,
    pub(crate) storage: storage::Client,
    /// None if the platform runs no workers.
    pub(crate) gpu: Option<gpu::Client>,
    /// None if the configuration does not name it.
    pub(crate) stock: Option<stock::Client>,
    /// What attempts cost, for other services.
    pub(crate) usage: Feed,
    pub(crate) metrics: JobMetrics,
    /// The message broker.
    pub(crate) door: Door,
    /// Whether this replica rests.
    pub(crate) rest: Arc<Rest>,
    cache: Cache,
    /// How far attempts are.
    pub(crate) reports: Reports,
    auth: AuthState,
}

impl AppState {
    /// Opens pools and clients. The database need not answer yet.
    pub(crate) fn new(
        config: Config,
        clock: fn() -> Timestamp,
        stop: CancellationToken,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let http = service::http_client()?;
        let db = Db::connect(crate::NAME, &config.database)?;
        let counters = JobMetrics::register(metrics);
        let rest = Arc::<Rest>::default();
        let cache = Cache::new(crate::NAME, config.cache.as_ref(), metrics)?;
        let reports = Reports::new(&cache, &config);
        Ok(Self(Arc::new(Inner {
            views: Views::new(&db, config.scheduler, clock),
            open_jobs: OpenJobs::new(config.limits.open_jobs_per_tenant),
            submissions: Submissions::default(),
            watches: Watches::new(&db, &rest, &reports),
            hub: Hub::new(&db, &rest),
            streams: Streams::default(),
            webhooks: Webhooks::new(&db, &config, clock, metrics, &counters)?,
            storage: storage::Client::new(http.clone(), config.storage.clone()),
            gpu: config.fleet.as_ref().map(|fleet| gpu::Client::new(http.clone(), fleet.gpu.clone())),
            stock: config.stock.clone().map(|stock| stock::Client::new(http.clone(), stock)),
            usage: Feed::new(&db, cost::OUTBOX),
            metrics: counters,
            door: Door::default(),
            rest,
            cache,
            reports,
            db,
            clock,
            stop,
            submitted: watch::Sender::new(()),
            assigned: watch::Sender::new(()),
            auth: AuthState {
                verifier: Verifier::new(config.auth.clone(), http),
                callers: Arc::new(config.callers.clone()),
            },
            config,
        })))
    }

    /// Adds what the service calls to the dependencies of the process.
    pub(crate) fn report_to(&self, health: &Health) {
        self.auth.verifier.report_to(health);
        self.cache.report_to(health);
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
