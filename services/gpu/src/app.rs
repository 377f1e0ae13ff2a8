//! The wiring: routes, document, workers.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use access::{ssh, terminal};
use activity::Tracker;
use api::openapi::{CrateRoutes, Info, OpenApiRouter, documented, finish, served};
use auth::{AuthState, HasAuth, Verifier};
use axum::Router;
use axum::extract::FromRef;
use cache::{Cache, Reads};
use clusters::Clusters;
use db::{
    Db,
    queue::{Queue, Settings},
};
use encryption::Cipher;
use feed::Feed;
use ids::{InstanceId, TenantId};
use instances::{NAME, catalogue, event, instance::QUEUE, streams::TenantStreams};
use jiff::Timestamp;
use observe::{
    idle::{self, IdleStops},
    log,
    monitoring::{self, Monitoring},
};
use orders::{
    order,
    reconcile::{self, Reconciler},
    registry_credential,
};
use routes::{route, share};
use service::{Duty, Front, Health, Metrics, Process, Streams, Task, health::DependencyKind};
use usage::{budget, metering, used};
use utoipa::OpenApi;

use crate::{audit_log, config::Config, housekeeping, maker::Makers, tenant};

/// Longest delay before a failed reconcile is retried.
const MAX_DELAY: Duration = Duration::from_secs(15);

/// What the crates and the slices of this one need; each takes its part.
#[derive(Clone, FromRef)]
struct AppState {
    auth: AuthState,
    db: Db,
    access: access::State,
    instances: instances::State,
    keys: keys::State,
    observe: observe::State,
    orders: orders::State,
    routes: routes::State,
    tenant: tenant::Parts,
    usage: usage::State,
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// The service.
pub struct App {
    config: Arc<Config>,
    state: AppState,
    clusters: Clusters,
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

    /// Like [`App::new`], with another clock.
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
        let stock = stock_api::Client::new(http.clone(), config.stock.clone());
        let storage = storage_api::Client::new(http.clone(), config.storage.clone());
        let identity = config.identity.clone().map(|at| identity_api::Client::new(http.clone(), at));
        let queue = Queue::new(
            &db,
            QUEUE,
            Settings { max_delay: MAX_DELAY, ..Settings::default() },
            &process.metrics,
        );
        let orders = config.orders();
        let reconciler = Reconciler::new(
            db.clone(),
            clusters.clone(),
            stock.clone(),
            storage.clone(),
            Arc::clone(&cipher),
            &orders,
            clock,
        )
        .with_tracer(process.tracer.clone())
        .with_metrics(&process.metrics);
        let ssh = config.ssh.as_ref().map(|config| {
            let identity = identity_api::Client::new(http.clone(), config.identity.clone());
            Arc::new(ssh::Server::new(config, &db, identity, &process.metrics))
        });
        let monitoring = Monitoring::new(&config.prometheus, &clusters, &http, &process.metrics)?;
        let auth = AuthState {
            verifier: Verifier::new(config.auth.clone(), http.clone()),
            callers: Arc::new(config.callers.clone()),
        };
        let log_archive = config.log_archive.as_ref().map(|config| Arc::new(log::Archive::new(config, &db)));
        let cache = Cache::new(NAME, config.cache.as_ref(), &process.metrics)?;
        cache.report_to(&process.health);
        let config = Arc::new(config);
        let shutdown = process.shutdown.token();
        let activity = Tracker::default();
        let apps = Arc::new(config.apps.clone());
        let streams = TenantStreams {
            config: config.streams,
            verifier: auth.verifier.clone(),
            shutdown: shutdown.clone(),
            clock,
            open: Streams::default(),
        };
        let state = AppState {
            access: access::State {
                auth: auth.clone(),
                terminal: terminal::Parts {
                    db: db.clone(),
                    clusters: clusters.clone(),
                    config: Arc::new(config.terminal.clone()),
                    streams: streams.clone(),
                    activity: activity.clone(),
                    sessions: terminal::Sessions::new(&process.shutdown),
                    clock,
                },
                ssh: ssh::Parts {
                    db: db.clone(),
                    clusters: clusters.clone(),
                    activity: activity.clone(),
                    verifier: auth.verifier.clone(),
                    server: ssh,
                    shutdown: shutdown.clone(),
                },
            },
            instances: instances::State {
                auth: auth.clone(),
                db: db.clone(),
                catalogue: catalogue::Parts { db: db.clone(), reads: Reads::new(&cache, "catalogue"), clock },
                event: event::Parts {
                    db: db.clone(),
                    hub: event::Hub::new(&db),
                    streams: streams.clone(),
                    shutdown: shutdown.clone(),
                },
            },
            keys: keys::State { auth: auth.clone(), db: db.clone() },
            observe: observe::State {
                auth: auth.clone(),
                idle: idle::Parts { db: db.clone(), apps: apps.clone(), clock },
                log: log::Parts {
                    db: db.clone(),
                    clusters: clusters.clone(),
                    archive: log_archive.clone(),
                    streams,
                    clock,
                },
                monitoring: monitoring::Parts { db: db.clone(), monitoring, clock },
            },
            orders: orders::State {
                auth: auth.clone(),
                clusters: clusters.clone(),
                order: order::Parts {
                    config: Arc::new(orders),
                    db: db.clone(),
                    cipher: Arc::clone(&cipher),
                    stock: stock.clone(),
                    storage,
                    clusters: clusters.clone(),
                    clock,
                },
                registry_credential: registry_credential::Parts { db: db.clone(), cipher },
            },
            routes: routes::State {
                auth: auth.clone(),
                route: route::Parts {
                    db: db.clone(),
                    stock,
                    changes: Feed::new(&db, route::OUTBOX),
                    apps: apps.clone(),
                    clock,
                    shutdown: shutdown.clone(),
                },
                share: share::Parts {
                    db: db.clone(),
                    apps,
                    identity,
                    verifier: auth.verifier.clone(),
                    clock,
                },
            },
            tenant: tenant::Parts { db: db.clone(), archive: log_archive, clock },
            usage: usage::State {
                auth: auth.clone(),
                db: db.clone(),
                budget: budget::Parts { db: db.clone(), config: config.budgets, clock },
                used: used::Parts {
                    db: db.clone(),
                    feed: Feed::new(&db, used::feed::OUTBOX),
                    clock,
                    shutdown,
                },
            },
            auth,
            db,
        };
        report_dependencies(&config, &state, &clusters, &process.health, &http);
        let budgets = budget::Issuer::new(&state.db, config.budgets, clock, &process.metrics);
        let (db, monitoring) = (&state.db, &state.observe.monitoring.monitoring);
        let idle_stops = IdleStops::new(db, &clusters, monitoring, config.idle, clock, &process.metrics);
        let activity_reporter = idle::Reporter::new(db, &activity, config.idle, clock);
        Ok(Self {
            config,
            state,
            clusters,
            process,
            queue,
            reconciler,
            budgets,
            idle_stops,
            activity_reporter,
        })
    }

    /// Returns the routes, with health, metrics and the front's layers.
    pub fn router(&self) -> Router {
        let (db, verifier) = (self.state.db.clone(), self.state.auth.verifier.clone());
        // an unreachable cluster does not make the service unready, as it still serves everything else
        let ready = move || {
            let (db, revocations) = (db.clone(), verifier.revocations().ready());
            async move {
                db.ping().await.map_err(|error| format!("database: {error}"))?;
                revocations
            }
        };
        Front::new(&self.process, ready).serve(served(crates(), &self.state))
    }

    /// The background tasks. Each replica runs all of them.
    fn tasks(&self) -> Vec<Task> {
        let (state, clusters, process) = (&self.state, &self.clusters, &self.process);
        let (db, verifier) = (&state.db, &state.auth.verifier);
        let kept = self.config.events.retention_seconds();
        let mut tasks = vec![
            Task::every("records", Duty::Retention, housekeeping::PERIOD, db, housekeeping::clean_up),
            db.retention("events", housekeeping::PERIOD, housekeeping::EVENTS, move |conn, limit| {
                Box::pin(event::store::delete_old(conn, kept, limit))
            }),
            self.activity_reporter.task(),
            order::queue::task(db, &state.routes.route.stock),
            state.usage.used.feed.task("usage"),
            state.routes.route.changes.task("routes"),
            share::task(&state.routes.share),
            self.config.audit.task(db, process),
        ];
        tasks.extend(self.reconciler.tasks(&self.queue));
        tasks.extend(self.reconciler.watches(&self.queue));
        tasks.extend(self.budgets.tasks());
        tasks.extend(self.idle_stops.tasks());
        tasks.extend(state.instances.event.hub.tasks());
        tasks.extend(metering::tasks(process, db, clusters, &self.queue));
        tasks.extend(state.observe.log.archive.iter().flat_map(|archive| archive.tasks(clusters)));
        let monitoring::Parts { monitoring, clock, .. } = &state.observe.monitoring;
        tasks.extend(monitoring.tasks(self.config.monitoring, db, clusters, *clock));
        tasks.extend(state.access.ssh.server.iter().flat_map(|ssh| ssh.tasks(&state.access.ssh, process)));
        tasks.extend(verifier.task());
        tasks.extend(verifier.makers_task(Makers(db.clone())));
        tasks
    }

    /// Starts the background tasks. They end with the process.
    pub fn start_workers(&self) {
        self.process.workers.start(NAME, self.tasks());
    }

    /// Starts the tasks `gpu.units.follow.<cluster>`, which observe the clusters and wake the queue. For tests that
    /// reconcile by themselves; otherwise part of [`App::start_workers`].
    pub fn start_watches(&self) {
        self.process.workers.start(NAME, self.reconciler.watches(&self.queue));
    }

    /// Compares the meter with the histories of the clusters, as a worker does from time to time. Returns the number of
    /// corrections.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn compare_usage(&self) -> anyhow::Result<u64> {
        used::comparison::run(&self.state.db, &self.clusters, &self.queue).await
    }

    /// Evaluates the budget of a tenant once, as its queue does when it is due. Returns false if another worker has leased it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn reconcile_budget(&self, tenant: TenantId) -> anyhow::Result<bool> {
        self.budgets.reconcile_once(tenant).await
    }

    /// Evaluates once whether an instance is idle, as its queue does when it is due. Returns false if another worker has leased
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
        self.state.access.ssh.server.as_ref()?.address().await
    }

    /// Returns the clusters.
    #[must_use]
    pub fn clusters(&self) -> &Clusters {
        &self.clusters
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
fn report_dependencies(
    config: &Config,
    state: &AppState,
    clusters: &Clusters,
    health: &Health,
    http: &reqwest::Client,
) {
    state.auth.verifier.report_to(health);
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

#[derive(OpenApi)]
#[openapi(tags(
    (name = "services", description = "The catalogue of services"),
    (name = "instances", description = "Tenants' instances"),
    (name = "registry credentials", description = "Credentials for pulling images from private registries"),
    (name = "ssh", description = "SSH to instances: endpoint, keys, connections"),
    (name = "usage", description = "Usage in a window of time"),
    (name = "operations", description = "Long-running actions on instances"),
    (name = "events", description = "Events of instances"),
    (name = "audit", description = "Audit log: changes and sign-ins"),
    (name = "platform", description = "Instances of all tenants, for administrators"),
    (name = "internal", description = "For other services of the platform, with a service token")
))]
struct Document;

fn crates() -> [CrateRoutes<AppState>; 8] {
    [
        CrateRoutes::new(routes()),
        CrateRoutes::new(access::routes()),
        CrateRoutes::new(instances::routes()),
        CrateRoutes::new(keys::routes()),
        CrateRoutes::new(observe::routes()),
        CrateRoutes::new(orders::routes()),
        CrateRoutes::new(routes::routes()),
        CrateRoutes::new(usage::routes()),
    ]
}

/// The routes of this crate.
fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().merge(tenant::routes()).merge(audit_log::routes())
}

/// Returns the service's OpenAPI document.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let info = Info {
        title: "Atelier gpu service",
        description: "GPU instances: catalogue, life cycle, log, terminal, SSH and usage.",
    };
    finish(documented(crates(), Document::openapi()), info)
}

/// The metrics of the process, for their description.
#[must_use]
pub fn metrics() -> Metrics {
    let process = Process::default();
    db::describe_metrics(&process.metrics);
    audit::register_metrics(&process.metrics);
    cache::describe_metrics(&process.metrics);
    reconcile::starts::Starts::register(&process.metrics);
    metering::Measures::register(&process.metrics);
    budget::BudgetMetrics::default().register(&process.metrics);
    monitoring::MonitoringMetrics::default().register(&process.metrics);
    ssh::SshMetrics::default().register(&process.metrics);
    process.metrics
}
