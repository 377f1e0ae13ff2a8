//! The wiring: routes, document, workers.

use std::{sync::Arc, time::Duration};

use api::openapi::{CrateRoutes, Info, OpenApiRouter, documented, finish, served};
use attempts::fleet::{self, Fleets};
use auth::{AuthState, HasAuth, Verifier};
use axum::{Router, extract::FromRef};
use cache::Cache;
use db::Db;
use dispatch::DispatchMetrics;
use feed::Feed;
use jiff::Timestamp;
use listener::AttemptMetrics;
use mq::{BrokerState, MqMetrics};
use records::{
    NAME, budget, cost,
    event::{self, Hub, Watches},
    job, pool,
    progress::Reports,
    rest, share,
};
use results::{artifact, deployment, upload};
use service::{Duty, Front, Metrics, Process, Streams, Task};
use submission::{Groups, OpenJobs};
use tokio::sync::watch;
use utoipa::{OpenApi as _, openapi::OpenApi};
use views::{occupancy, view::Views};
use webhook::{WebhookMetrics, Webhooks};

use crate::{audit_log, config::Config, maker::Makers, tenant};

/// Time between two checks for results that were lost before they were delivered.
const DELIVERY_PERIOD: Duration = Duration::from_secs(2);
/// How often outputs that do not count are deleted.
const SWEEP_PERIOD: Duration = Duration::from_secs(5);
/// How often pools are compared with the workers that the platform runs.
const FLEET_PERIOD: Duration = Duration::from_secs(1);
/// How often the storage service is asked about deployments that are due.
const DEPLOYMENT_PERIOD: Duration = Duration::from_secs(1);

/// How often old rows are deleted.
const CLEAN_UP_PERIOD: Duration = Duration::from_secs(600);
/// Maximum number of rows that are deleted in one transaction.
const CLEAN_UP_BATCH: u32 = 10_000;

/// What the crates and the slices of this one need; each takes its part.
#[derive(Clone, FromRef)]
struct AppState {
    auth: AuthState,
    db: Db,
    attempts: attempts::State,
    listener: listener::State,
    mq: mq::State,
    records: records::State,
    results: results::State,
    submission: submission::State,
    tenant: tenant::Parts,
    views: views::State,
    webhook: webhook::State,
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
    process: Process,
    rest: rest::Parts,
    dispatch: dispatch::Parts,
    fleet: fleet::Parts,
}

impl App {
    /// The service with this configuration. The database need not answer yet.
    ///
    /// # Errors
    /// If the configuration is not valid.
    #[expect(clippy::disallowed_methods, reason = "the clock of the process")]
    pub fn new(config: Config, process: Process) -> anyhow::Result<Self> {
        let process = process.traced(NAME, config.telemetry.as_ref())?;
        let clock: fn() -> Timestamp = Timestamp::now;
        let stop = process.shutdown.token();
        let http = service::http_client()?;
        let db = Db::connect(NAME, &config.database)?;
        db.register(&process.metrics);
        let cache = Cache::new(NAME, config.cache.as_ref(), &process.metrics)?;
        cache.report_to(&process.health);
        let auth = AuthState {
            verifier: Verifier::new(config.auth.clone(), http.clone()),
            callers: Arc::new(config.callers.clone()),
        };
        auth.verifier.report_to(&process.health);
        let gpu = config.fleet.as_ref().map(|fleet| gpu_api::Client::new(http.clone(), fleet.gpu.clone()));
        let stock = config.stock.clone().map(|stock| stock_api::Client::new(http.clone(), stock));
        let artifact = artifact::Parts {
            db: db.clone(),
            storage: storage_api::Client::new(http, config.storage.clone()),
        };
        let (submitted, assigned) = (watch::Sender::new(()), watch::Sender::new(()));
        let fleet = config.fleet.clone().map(Arc::new);
        let rest = rest::Parts { db: db.clone(), rest: Arc::default(), silent: config.scheduler.silent() };
        let reports = Reports::new(&cache, config.progress, config.scheduler.silent());
        let views = Views::new(&db, config.scheduler, clock);
        let open_jobs = Arc::new(OpenJobs::new(config.limits.open_jobs_per_tenant));
        let submissions =
            Groups { db: db.clone(), open_jobs: Arc::clone(&open_jobs), clock, submitted: submitted.clone() };
        let submissions = submissions.gathered();
        let broker = Arc::<BrokerState>::default();
        let mq = config.mq.clone().map(Arc::new);
        let dispatch = dispatch::Parts {
            db: db.clone(),
            scheduler: config.scheduler,
            fleet: fleet.clone(),
            budget: budget::Parts {
                db: db.clone(),
                gpu: gpu.clone(),
                rest: Arc::clone(&rest.rest),
                submitted: submitted.clone(),
            },
            stock: stock.clone(),
            views: views.clone(),
            metrics: DispatchMetrics::register(&process.metrics),
            rest: Arc::clone(&rest.rest),
            clock,
            submitted: submitted.clone(),
            assigned: assigned.clone(),
        };
        let pool = pool::Parts { db: db.clone(), runs_workers: gpu.is_some(), lends: stock.is_some() };
        let fleet = fleet::Parts {
            db: db.clone(),
            config: fleet,
            gpu,
            stock: stock.clone(),
            scheduler: config.scheduler,
            clock,
        };
        let state = AppState {
            attempts: attempts::State { auth: auth.clone(), db: db.clone() },
            listener: listener::State {
                db: db.clone(),
                listener: listener::Parts {
                    db: db.clone(),
                    artifact: artifact.clone(),
                    scheduler: config.scheduler,
                    reports: reports.clone(),
                    metrics: AttemptMetrics::register(&process.metrics),
                    rest: Arc::clone(&rest.rest),
                    clock,
                    submitted: submitted.clone(),
                    assigned: assigned.clone(),
                    stop: stop.clone(),
                },
            },
            records: records::State {
                auth: auth.clone(),
                db: db.clone(),
                cost: cost::Parts {
                    db: db.clone(),
                    usage: Feed::new(&db, cost::OUTBOX),
                    stock,
                    rest: Arc::clone(&rest.rest),
                    clock,
                    stop: stop.clone(),
                },
                event: event::Parts {
                    db: db.clone(),
                    hub: Hub::new(&db, &rest.rest),
                    watches: Watches::new(&db, &rest.rest, &reports),
                    streams: Streams::default(),
                    config: config.streams,
                    verifier: auth.verifier.clone(),
                    clock,
                    stop,
                },
                pool,
                share: share::Parts { db: db.clone(), submitted: submitted.clone() },
            },
            submission: submission::State {
                auth: auth.clone(),
                submission: submission::Parts {
                    db: db.clone(),
                    artifact: artifact.clone(),
                    open_jobs: Arc::clone(&open_jobs),
                    submissions,
                    reports,
                    views: views.clone(),
                    clock,
                    submitted: submitted.clone(),
                    assigned,
                },
            },
            tenant: tenant::Parts {
                db: db.clone(),
                closes_connections: mq.as_ref().is_some_and(|mq| mq.management_url.is_some()),
                broker: Arc::clone(&broker),
                submitted: submitted.clone(),
            },
            views: views::State { auth: auth.clone(), occupancy: occupancy::Parts { db: db.clone(), views } },
            webhook: webhook::State {
                auth: auth.clone(),
                webhook: webhook::Parts {
                    db: db.clone(),
                    webhooks: Webhooks::new(
                        &db,
                        (&config.encryption_keys, config.webhooks),
                        clock,
                        &process.metrics,
                    )?,
                    clock,
                },
            },
            mq: mq::State {
                auth: auth.clone(),
                mq: mq::Parts {
                    db: db.clone(),
                    config: mq,
                    broker,
                    artifact: artifact.clone(),
                    open_jobs,
                    metrics: MqMetrics::register(&process.metrics),
                    rest: Arc::clone(&rest.rest),
                    clock,
                    submitted,
                },
            },
            results: results::State { auth: auth.clone(), db: db.clone(), artifact },
            auth,
            db,
        };
        Ok(Self { config: Arc::new(config), state, process, rest, dispatch, fleet })
    }

    /// All routes, with health and metrics.
    pub fn router(&self) -> Router {
        self.front().serve(served(crates(), &self.state))
    }

    /// The routes of the listener for workers.
    pub fn worker_router(&self) -> Router {
        let routes = listener::routes()
            .with_state(self.state.listener.clone())
            .merge(results::worker_routes().with_state(self.state.results.clone()))
            .fallback(api::problem::no_such_route)
            .method_not_allowed_fallback(api::problem::no_such_method);
        let front = self.front();
        front.wrap(routes).merge(front.health_routes())
    }

    /// The routes of the listener for the message broker.
    pub fn broker_router(&self) -> Router {
        let front = self.front();
        front.wrap(mq::broker_routes().with_state(self.state.mq.clone())).merge(front.health_routes())
    }

    fn front(&self) -> Front {
        let (db, verifier) = (self.state.db.clone(), self.state.auth.verifier.clone());
        let ready = move || {
            let (db, revocations) = (db.clone(), verifier.revocations().ready());
            async move {
                db.ping().await.map_err(|_| "waiting for the database".to_owned())?;
                revocations
            }
        };
        Front::new(&self.process, ready)
    }

    /// The background tasks. Each replica runs all of them.
    fn tasks(&self) -> Vec<Task> {
        let (state, files, db) = (&self.state, &self.state.results.artifact, &self.state.db);
        let (event, listener, mq) = (&state.records.event, &state.listener.listener, &state.mq.mq);
        let (rest, days) = (&self.rest.rest, self.config.ended.days.get().into());
        let fleet = ("fleet", Duty::Reconcile, FLEET_PERIOD);
        let results = ("results", Duty::Reconcile, DELIVERY_PERIOD);
        let deployments = ("deployments", Duty::Reconcile, DEPLOYMENT_PERIOD);
        let (outputs, uploads) =
            (("outputs", Duty::Retention, SWEEP_PERIOD), ("uploads", Duty::Retention, SWEEP_PERIOD));
        let mut tasks = vec![
            Task::until_stop("rest", Duty::Housekeeping, &self.rest, rest::decide),
            rest::task(rest, fleet, &Fleets::new(&self.fleet), |fleets| async move { fleets.round().await }),
            rest::task(rest, results, listener, |it| async move { listener::sweep(&it).await }),
            rest::task(rest, deployments, files, |files| async move { deployment::round(&files).await }),
            rest::task(rest, outputs, files, |files| async move { artifact::sweep(&files).await }),
            rest::task(rest, uploads, files, |files| async move { upload::sweep(&files).await }),
            db.retention("deliveries", CLEAN_UP_PERIOD, CLEAN_UP_BATCH, |conn, limit| {
                Box::pin(webhook::delete_ended(conn, limit))
            }),
            db.retention("jobs", CLEAN_UP_PERIOD, CLEAN_UP_BATCH, move |conn, limit| {
                Box::pin(job::delete_ended(conn, days, limit))
            }),
            db.retention("idempotency_keys", CLEAN_UP_PERIOD, CLEAN_UP_BATCH, |conn, limit| {
                Box::pin(api::idempotency::forget_old(conn, limit))
            }),
            event.watches.task(),
            event.hub.task(),
            self.config.audit.task(db, &self.process),
        ];
        tasks.extend(dispatch::tasks(&self.dispatch, &self.process));
        tasks.extend(state.webhook.webhook.webhooks.tasks(&event.hub));
        tasks.extend(cost::tasks(&state.records.cost));
        tasks.extend(budget::task(&self.dispatch.budget));
        tasks.extend(listener.reports.task(db));
        tasks.extend(mq.config.iter().flat_map(|config| mq::tasks(mq, config)));
        if self.fleet.gpu.is_some() {
            tasks.push(Task::new("instances", Duty::Follow, &self.fleet, fleet::follow));
        }
        let makers = Makers { db: db.clone(), broker: Arc::clone(&mq.broker) };
        tasks.extend(state.auth.verifier.task());
        tasks.extend(state.auth.verifier.makers_task(makers));
        tasks
    }

    /// Starts the background tasks. They end with the process.
    pub fn start_workers(&self) {
        self.process.workers.start(NAME, self.tasks());
    }

    /// Serves until the process shuts down.
    ///
    /// # Errors
    /// If the configuration is not valid or an address cannot be bound.
    pub async fn serve(config: Config, process: Process) -> anyhow::Result<()> {
        let (listen, worker_listen) = (config.listen, config.worker_listen);
        let broker_listen = config.mq.as_ref().map(|mq| mq.auth_listen);
        let shutdown = process.shutdown.clone();
        let app = Self::new(config, process)?;
        app.start_workers();
        let (public, workers) = (app.router(), app.worker_router());
        let broker = async {
            match broker_listen {
                Some(listen) => service::serve(listen, app.broker_router(), &shutdown).await,
                None => Ok(()),
            }
        };
        tokio::try_join!(
            service::serve(listen, public, &shutdown),
            service::serve(worker_listen, workers, &shutdown),
            broker,
        )?;
        Ok(())
    }
}

/// The metrics of the process, for their description.
#[must_use]
pub fn metrics() -> Metrics {
    let process = Process::default();
    db::describe_metrics(&process.metrics);
    audit::register_metrics(&process.metrics);
    cache::describe_metrics(&process.metrics);
    DispatchMetrics::register(&process.metrics);
    AttemptMetrics::register(&process.metrics);
    MqMetrics::register(&process.metrics);
    WebhookMetrics::register(&process.metrics);
    process.metrics
}

fn crates() -> [CrateRoutes<AppState>; 8] {
    [
        CrateRoutes::new(routes()),
        CrateRoutes::new(attempts::routes()),
        CrateRoutes::new(mq::routes()),
        CrateRoutes::new(records::routes()),
        CrateRoutes::new(results::routes()),
        CrateRoutes::new(submission::routes()),
        CrateRoutes::new(views::routes()),
        CrateRoutes::new(webhook::routes()),
    ]
}

/// The routes of this crate.
fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().merge(tenant::routes()).merge(audit_log::routes())
}

#[derive(utoipa::OpenApi)]
#[openapi(
    tags(
        (name = "jobs", description = "Jobs: generation and training on GPUs"),
        (name = "models", description = "Models: results of trainings, and the base models of trainings and generations"),
        (name = "message queue", description = "Jobs over RabbitMQ"),
        (name = "webhooks", description = "Events of jobs as signed requests to endpoints of the tenant"),
        (name = "pools", description = "GPUs that run jobs, for administrators"),
        (name = "usage", description = "Usage in a window of time"),
        (name = "platform", description = "Jobs of all tenants, for administrators"),
        (name = "audit", description = "Audit log: changes and sign-ins"),
        (name = "internal", description = "For the other services of the platform"),
    )
)]
struct Tags;

/// The service's OpenAPI document.
#[must_use]
pub fn openapi() -> OpenApi {
    let info =
        Info { title: "Atelier jobs", description: "Jobs for generation and training on the GPUs of pools." };
    finish(documented(crates(), Tags::openapi()), info)
}
