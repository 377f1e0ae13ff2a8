//! The wiring: routes, document, workers.

use std::time::Duration;

use api::openapi::{Info, OpenApiRouter, finish};
use auth::HasAuth;
use axum::Router;
use jiff::Timestamp;
use service::{Front, Metrics, Process, Round};
use utoipa::{OpenApi as _, openapi::OpenApi};

use crate::{
    NAME, artifact, attempt, audit_log, base_model, budget,
    config::Config,
    cost, deployment, dispatch, event,
    fleet::{self, Fleets},
    job,
    maker::Makers,
    metrics::JobMetrics,
    model, mq, pool, rest, share,
    state::AppState,
    tenant, upload, webhook, worker,
};

/// Period of the clean-up workers.
const CLEAN_UP_PERIOD: Duration = Duration::from_secs(600);
/// How often it is looked for results that were lost before they were delivered.
const DELIVERY_PERIOD: Duration = Duration::from_secs(2);
/// How often outputs are deleted that do not count.
const SWEEP_PERIOD: Duration = Duration::from_secs(5);
/// How often pools are compared with the workers that the platform runs.
const FLEET_PERIOD: Duration = Duration::from_secs(1);
/// How often the storage service is asked about deployments that are due.
const DEPLOYMENT_PERIOD: Duration = Duration::from_secs(1);
/// Rows that a clean-up worker deletes in one transaction, at most.
const CLEAN_UP_BATCH: u32 = 10_000;

/// The service, assembled.
pub struct App {
    state: AppState,
    process: Process,
}

impl App {
    /// The service with this configuration. The database need not answer yet.
    ///
    /// # Errors
    /// If the configuration is not valid.
    #[expect(clippy::disallowed_methods, reason = "the clock of the process")]
    pub fn new(config: Config, process: Process) -> anyhow::Result<Self> {
        let process = process.traced(NAME, config.telemetry.as_ref())?;
        let state = AppState::new(config, Timestamp::now, process.shutdown.token(), &process.metrics)?;
        state.db.register(&process.metrics);
        state.report_to(&process.health);
        Ok(Self { state, process })
    }

    /// All routes, with health and metrics.
    pub fn router(&self) -> Router {
        let (routes, _) = routes().split_for_parts();
        self.front().serve(routes.with_state(self.state.clone()))
    }

    /// The routes of the listener for workers.
    pub fn worker_router(&self) -> Router {
        let routes = worker::door_routes().merge(attempt::routes()).merge(artifact::door_routes());
        let routes = routes
            .fallback(api::problem::no_such_route)
            .method_not_allowed_fallback(api::problem::no_such_method);
        let front = self.front();
        front.wrap(routes.with_state(self.state.clone())).merge(front.health_routes())
    }

    /// The routes of the listener for the message broker.
    pub fn broker_router(&self) -> Router {
        let front = self.front();
        front.wrap(mq::broker_routes().with_state(self.state.clone())).merge(front.health_routes())
    }

    fn front(&self) -> Front {
        let (db, verifier) = (self.state.db.clone(), self.state.auth().verifier.clone());
        let ready = move || {
            let (db, revocations) = (db.clone(), verifier.revocations().ready());
            async move {
                db.ping().await.map_err(|_| "waiting for the database".to_owned())?;
                revocations
            }
        };
        Front::new(&self.process, ready)
    }

    /// Starts the background workers. They end with the process.
    pub fn start_workers(&self) {
        self.state.auth().verifier.start(&self.process.workers, NAME);
        self.state.auth().verifier.follow_makers(&self.process.workers, NAME, Makers(self.state.clone()));
        self.state.config.audit.start(&self.state.db, &self.process, NAME);
        dispatch::start(&self.state, &self.process);
        self.state.watches.start(&self.process.workers);
        self.state.reports.start(&self.state.db, &self.process.workers);
        self.state.hub.start(&self.process.workers);
        self.state.webhooks.start(&self.state.hub, &self.process.workers);
        let db = self.state.db.clone();
        self.process.workers.spawn_periodic("jobs.webhooks.ended", CLEAN_UP_PERIOD, move || {
            let db = db.clone();
            async move {
                let mut tx = db.worker().await?;
                let deleted = webhook::delete_ended(&mut tx, CLEAN_UP_BATCH.into()).await?;
                tx.commit().await?;
                Ok(Round::of(deleted, CLEAN_UP_BATCH.into()))
            }
        });
        let (db, days) = (self.state.db.clone(), self.state.config.ended.days.get().into());
        self.process.workers.spawn_periodic("jobs.ended", CLEAN_UP_PERIOD, move || {
            let db = db.clone();
            async move {
                let mut tx = db.worker().await?;
                let deleted = job::delete_ended(&mut tx, days, CLEAN_UP_BATCH.into()).await?;
                tx.commit().await?;
                Ok(Round::of(deleted, CLEAN_UP_BATCH.into()))
            }
        });
        if let Some(config) = &self.state.config.mq {
            mq::start(&self.state, &self.process, config);
        }
        if self.state.gpu.is_some() {
            fleet::follow(&self.state, &self.process.workers);
        }
        cost::start(&self.state, &self.process.workers);
        budget::start(&self.state, &self.process.workers);
        let (state, workers) = (&self.state, &self.process.workers);
        rest::start(state, workers);
        let fleets = Fleets::new(state);
        rest::spawn_periodic(state, workers, "jobs.fleet", FLEET_PERIOD, move |_| {
            let fleets = fleets.clone();
            async move { fleets.round().await }
        });
        let sweep = |state| async move { artifact::sweep(&state).await };
        rest::spawn_periodic(state, workers, "jobs.outputs", SWEEP_PERIOD, sweep);
        let sweep = |state| async move { attempt::sweep(&state).await };
        rest::spawn_periodic(state, workers, "jobs.deliveries", DELIVERY_PERIOD, sweep);
        let round = |state| async move { deployment::round(&state).await };
        rest::spawn_periodic(state, workers, "jobs.deployments", DEPLOYMENT_PERIOD, round);
        let sweep = |state| async move { upload::sweep(&state).await };
        rest::spawn_periodic(state, workers, "jobs.uploads", SWEEP_PERIOD, sweep);
        let db = self.state.db.clone();
        self.process.workers.spawn_periodic("jobs.idempotency_keys", CLEAN_UP_PERIOD, move || {
            let db = db.clone();
            async move {
                let mut tx = db.worker().await?;
                let deleted = api::idempotency::forget_old(&mut tx, CLEAN_UP_BATCH.into()).await?;
                tx.commit().await?;
                Ok(Round::of(deleted, CLEAN_UP_BATCH.into()))
            }
        });
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
    JobMetrics::register(&process.metrics);
    process.metrics
}

fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Tags::openapi())
        .merge(job::routes())
        .merge(event::routes())
        .merge(event::feed_routes())
        .merge(webhook::routes())
        .merge(attempt::tenant_routes())
        .merge(attempt::log_routes())
        .merge(cost::routes())
        .merge(artifact::routes())
        .merge(upload::routes())
        .merge(model::routes())
        .merge(base_model::routes())
        .merge(deployment::routes())
        .merge(pool::routes())
        .merge(share::routes())
        .merge(worker::routes())
        .merge(mq::routes())
        .merge(tenant::routes())
        .merge(audit_log::routes())
}

#[derive(utoipa::OpenApi)]
#[openapi(
    tags(
        (name = "jobs", description = "Generation and training as tasks on GPUs"),
        (name = "models", description = "Results of trainings, and what they and generations are based on"),
        (name = "message queue", description = "Jobs by RabbitMQ"),
        (name = "webhooks", description = "Events of jobs as signed requests to endpoints of the tenant"),
        (name = "pools", description = "GPUs that run jobs, for administrators"),
        (name = "usage", description = "What was used in a window of time"),
        (name = "platform", description = "Jobs of all tenants, for administrators"),
        (name = "audit", description = "Who changed what, and who signed in"),
        (name = "internal", description = "For the other services of the platform"),
    )
)]
struct Tags;

/// The service's OpenAPI document.
#[must_use]
pub fn openapi() -> OpenApi {
    let info =
        Info { title: "Atelier jobs", description: "Generation and training as tasks on the GPUs of pools." };
    finish(routes().into_openapi(), info)
}
