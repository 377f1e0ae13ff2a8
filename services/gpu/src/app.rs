//! The wiring: routes, document, workers.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use activity::Tracker;
use api::{
    ErrorChain,
    openapi::{Info, OpenApiRouter},
};
use auth::{AuthState, Verifier};
use axum::Router;
use cache::{Cache, Reads};
use clients::{identity, stock, storage};
use db::{
    Db,
    queue::{Queue, Settings},
};
use encryption::Cipher;
use feed::Feed;
use ids::{InstanceId, TenantId};
use jiff::Timestamp;
use service::{Front, Health, Metrics, Process, Streams, health::DependencyKind};
use utoipa::OpenApi;

use crate::{
    NAME, access, audit_log, budget, catalogue,
    cluster::Clusters,
    config::Config,
    event, housekeeping,
    idle::{self, IdleStops},
    instance::{self, QUEUE, Reconciler},
    isolation, log,
    maker::Makers,
    monitoring::{self, Monitoring},
    operation, quota, registry_credential, route, share, ssh,
    state::AppState,
    tenant, usage,
};

/// Longest delay before a failed reconcile is retried.
const MAX_DELAY: Duration = Duration::from_secs(15);

/// The service.
pub struct App {
    state: AppState,
    process: Process,
    queue: Queue<InstanceId>,
    reconciler: Reconciler,
    budgets: budget::Issuer,
    idle_stops: IdleStops,
    activity_reporter: idle::Reporter,
}

impl App {
    /// Wires the service. Nothing is called or started.
    ///
    /// # Errors
    /// If the configuration is not valid.
    #[expect(clippy::disallowed_methods, reason = "the clock of the process")]
    pub fn new(config: Config, process: Process) -> anyhow::Result<Self> {
        Self::with_clock(config, process, Timestamp::now)
    }

    /// As [`App::new`], with another clock.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn with_clock(config: Config, process: Process, clock: fn() -> Timestamp) -> anyhow::Result<Self> {
        let process = process.traced(NAME, config.telemetry.as_ref())?;
        let http = service::http_client()?;
        let db = Db::connect(NAME, &config.database)?;
        db.register(&process.metrics);
        let cipher = Arc::new(Cipher::new(NAME, &config.encryption_keys)?);
        let clusters = Clusters::new(&config.clusters);
        let stock = stock::Client::new(http.clone(), config.stock.clone());
        let storage = storage::Client::new(http.clone(), config.storage.clone());
        let identity = config.identity.clone().map(|at| identity::Client::new(http.clone(), at));
        let queue = Queue::new(
            &db,
            QUEUE,
            Settings { max_delay: MAX_DELAY, ..Settings::default() },
            &process.metrics,
        );
        let reconciler = Reconciler::new(
            db.clone(),
            clusters.clone(),
            stock.clone(),
            storage.clone(),
            Arc::clone(&cipher),
            &config,
            clock,
        )
        .with_tracer(process.tracer.clone())
        .with_metrics(&process.metrics);
        let ssh = config.ssh.as_ref().map(|config| {
            let identity = identity::Client::new(http.clone(), config.identity.clone());
            Arc::new(ssh::Server::new(config, &db, identity, &process.metrics))
        });
        let monitoring = Monitoring::new(&config, &http, &process.metrics)?;
        let auth = AuthState {
            verifier: Verifier::new(config.auth.clone(), http.clone()),
            callers: Arc::new(config.callers.clone()),
        };
        let log_archive = config.log_archive.as_ref().map(|config| Arc::new(log::Archive::new(config, &db)));
        let cache = Cache::new(NAME, config.cache.as_ref(), &process.metrics)?;
        cache.report_to(&process.health);
        let state = AppState {
            catalogue: Reads::new(&cache, "catalogue"),
            streams: Streams::default(),
            activity: Tracker::default(),
            events: event::Hub::new(&db),
            usage: Feed::new(&db, usage::feed::OUTBOX),
            routes: Feed::new(&db, route::OUTBOX),
            terminals: access::terminal::Sessions::new(&process.shutdown),
            config: Arc::new(config),
            db,
            cipher,
            stock,
            storage,
            identity,
            clusters,
            clock,
            shutdown: process.shutdown.token(),
            auth,
            log_archive,
            monitoring,
            ssh,
        };
        report_dependencies(&state, &process.health, &http);
        let budgets = budget::Issuer::new(&state.db, state.config.budgets, clock, &process.metrics);
        let AppState { db, clusters, monitoring, config, activity, .. } = &state;
        let idle_stops = IdleStops::new(db, clusters, monitoring, config.idle, clock, &process.metrics);
        let activity_reporter = idle::Reporter::new(db, activity, config.idle, clock);
        Ok(Self { state, process, queue, reconciler, budgets, idle_stops, activity_reporter })
    }

    /// Returns the routes, with health, metrics and the front's layers.
    pub fn router(&self) -> Router {
        let (db, verifier) = (self.state.db.clone(), self.state.auth.verifier.clone());
        // a cluster that does not answer does not make the service unready: it still serves everything else
        let ready = move || {
            let (db, revocations) = (db.clone(), verifier.revocations().ready());
            async move {
                db.ping().await.map_err(|error| format!("database: {error}"))?;
                revocations
            }
        };
        let (router, _) = routes().with_state(self.state.clone()).split_for_parts();
        Front::new(&self.process, ready).serve(router)
    }

    /// Starts the workers. They end with the process.
    pub fn start_workers(&self) {
        self.start_watches();
        self.state.auth.verifier.start(&self.process.workers, NAME);
        self.state.auth.verifier.follow_makers(&self.process.workers, NAME, Makers(self.state.clone()));
        let reconciler = self.reconciler.clone();
        self.queue.start(&self.process.workers, "gpu.instances", move |leased| {
            let reconciler = reconciler.clone();
            async move { Box::pin(reconciler.reconcile(leased)).await }
        });
        self.budgets.start(&self.process.workers);
        self.idle_stops.start(&self.process.workers);
        self.activity_reporter.start(&self.process.workers);
        instance::queue::start(&self.state.db, &self.state.stock, &self.process.workers);
        self.state.events.start(&self.process.workers);
        self.state.usage.start(&self.process.workers, "gpu.usage");
        self.state.routes.start(&self.process.workers, "gpu.routes");
        share::start(&self.state, &self.process.workers);
        self.state.config.audit.start(&self.state.db, &self.process, NAME);
        housekeeping::start(
            &self.process,
            &self.state.db,
            &self.state.clusters,
            &self.queue,
            self.state.config.events.retention_seconds(),
        );
        if let Some(archive) = &self.state.log_archive {
            archive.start(&self.state.clusters, &self.process);
        }
        let AppState { monitoring, config, db, clusters, clock, .. } = &self.state;
        monitoring.start(config, db, clusters, *clock, &self.process);
        if let Some(ssh) = &self.state.ssh {
            ssh.start(&self.state, &self.process);
        }
    }

    /// Starts the workers `gpu.watch.<cluster>`, which observe the clusters and poke the queue. For tests that
    /// reconcile by themselves; otherwise part of [`App::start_workers`].
    pub fn start_watches(&self) {
        for cluster in self.state.clusters.iter() {
            let (cluster, reconciler, queue) =
                (Arc::clone(cluster), self.reconciler.clone(), self.queue.clone());
            self.process.workers.spawn(format!("gpu.watch.{}", cluster.name()), move |stop| {
                let (cluster, reconciler, queue) = (Arc::clone(&cluster), reconciler.clone(), queue.clone());
                async move {
                    let watch = cluster.watch(|instances| poke_affected(&reconciler, &queue, instances));
                    stop.run_until_cancelled(watch).await;
                    Ok(())
                }
            });
        }
    }

    /// Compares the meter with the histories of the clusters, as a worker does from time to time. Returns the number of
    /// corrections.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn compare_usage(&self) -> anyhow::Result<u64> {
        usage::comparison::run(&self.state.db, &self.state.clusters, &self.queue).await
    }

    /// Judges the budget of a tenant once, as its queue does when it is due. Returns false if another worker has leased it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn reconcile_budget(&self, tenant: TenantId) -> anyhow::Result<bool> {
        self.budgets.reconcile_once(tenant).await
    }

    /// Judges once whether an instance is idle, as its queue does when it is due. Returns false if another worker has leased
    /// it, or it has no idle stop.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn reconcile_idle_stop(&self, instance: InstanceId) -> anyhow::Result<bool> {
        self.idle_stops.reconcile_once(instance).await
    }

    /// Reports the terminals and SSH connections of this replica once, as a worker does from time to time.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn report_activity(&self) -> sqlx::Result<()> {
        self.activity_reporter.report(false).await
    }

    /// Returns the queue of instances.
    #[must_use]
    pub fn queue(&self) -> &Queue<InstanceId> {
        &self.queue
    }

    /// Returns the reconciler of instances.
    #[must_use]
    pub fn reconciler(&self) -> &Reconciler {
        &self.reconciler
    }

    /// Returns the address of the SSH listener, once it listens; none without an SSH endpoint.
    pub async fn ssh_address(&self) -> Option<SocketAddr> {
        self.state.ssh.as_ref()?.address().await
    }

    /// Returns the clusters.
    #[must_use]
    pub fn clusters(&self) -> &Clusters {
        &self.state.clusters
    }

    /// Serves until shutdown begins.
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

/// Adds what the service calls to the dependencies of the process.
fn report_dependencies(state: &AppState, health: &Health, http: &reqwest::Client) {
    let AppState { config, clusters, auth, .. } = state;
    auth.verifier.report_to(health);
    health.depends_on_service("stock", http, config.stock.url.as_str());
    health.depends_on_service("storage", http, config.storage.url.as_str());
    if let Some(identity) = &config.identity {
        health.depends_on_service("identity", http, identity.url.as_str());
    }
    if let Some(archive) = &config.log_archive {
        health.depends_on_http("object_store", DependencyKind::ObjectStore, http, archive.endpoint.clone());
    }
    clusters.report_to(health);
}

/// Pokes the instances that have something to do. Every replica observes every event, and most events need no
/// reconcile: these cost one read and no write.
async fn poke_affected(reconciler: &Reconciler, queue: &Queue<InstanceId>, instances: Vec<InstanceId>) {
    let affected = reconciler.affected(&instances).await.unwrap_or_else(|error| {
        tracing::warn!(error = %ErrorChain(&error), "cannot read observed instances, all are reconciled");
        instances
    });
    affected.into_iter().for_each(|instance| queue.poke(instance));
}

#[derive(OpenApi)]
#[openapi(tags(
    (name = "services", description = "The catalogue of services"),
    (name = "instances", description = "Tenants' instances"),
    (name = "registry credentials", description = "With which tenants pull images from private registries"),
    (name = "ssh", description = "SSH to instances: endpoint, keys, connections"),
    (name = "usage", description = "What was used in a window of time"),
    (name = "operations", description = "Long-running actions on instances"),
    (name = "events", description = "What happened to instances"),
    (name = "audit", description = "Who changed what, and who signed in"),
    (name = "platform", description = "Instances of all tenants, for administrators"),
    (name = "internal", description = "For other services of the platform, with a service token")
))]
struct Document;

fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(budget::routes())
        .merge(catalogue::routes())
        .merge(instance::routes())
        .merge(event::routes())
        .merge(idle::routes())
        .merge(isolation::routes())
        .merge(registry_credential::routes())
        .merge(access::routes())
        .merge(log::routes())
        .merge(monitoring::routes())
        .merge(usage::routes())
        .merge(operation::routes())
        .merge(quota::routes())
        .merge(route::routes())
        .merge(share::routes())
        .merge(ssh::routes())
        .merge(tenant::routes())
        .merge(audit_log::routes())
}

/// Returns the service's OpenAPI document.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let info = Info {
        title: "Atelier gpu service",
        description: "GPU instances: catalogue, life cycle, log, terminal, SSH and usage.",
    };
    api::openapi::finish(routes().into_openapi(), info)
}

/// The metrics of the process, for their description.
#[must_use]
pub fn metrics() -> Metrics {
    let process = Process::default();
    db::describe_metrics(&process.metrics);
    audit::register_metrics(&process.metrics);
    cache::describe_metrics(&process.metrics);
    instance::starts::Starts::register(&process.metrics);
    housekeeping::Measures::register(&process.metrics);
    budget::BudgetMetrics::default().register(&process.metrics);
    monitoring::MonitoringMetrics::default().register(&process.metrics);
    ssh::SshMetrics::default().register(&process.metrics);
    process.metrics
}
