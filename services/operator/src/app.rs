//! The wiring of the process: client, replica, Operator API.

use std::sync::Arc;

use anyhow::Context as _;
use api::openapi::{Info, OpenApiRouter};
use auth::Callers;
use axum::Router;
use axum::extract::FromRef;
use jiff::Timestamp;
use kube::{Api, Client};
use service::health::{DependencyKind, cause};
use service::{Front, Metrics as ServiceMetrics, Process, Task};
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::SecurityRequirement;

use crate::caller::HasCallers;
use crate::config::Config;
use crate::controller::{self, Metrics, Options, Replica, Units};
use crate::records::{self, Records};
use crate::{NAME, instances, stocks, storages};

/// The parts of the slices of the Operator API; each slice takes those that it needs.
#[derive(Clone, FromRef)]
pub struct AppState {
    callers: Arc<Callers>,
    instances: instances::Parts,
    stocks: stocks::Parts,
    storages: storages::Parts,
}

impl HasCallers for AppState {
    fn callers(&self) -> &Callers {
        &self.callers
    }
}

impl AppState {
    /// The state for one cluster. `gpu_resource` is the extended resource of units that are created here.
    #[must_use]
    pub fn new(
        client: Client,
        units: Units,
        callers: Callers,
        gpu_resource: String,
        clock: fn() -> Timestamp,
    ) -> Self {
        let (units_api, records) = (Api::all(client.clone()), Records::new(client.clone()));
        Self {
            callers: Arc::new(callers),
            instances: instances::Parts {
                units_api: units_api.clone(),
                units: units.clone(),
                records: records.clone(),
                clock,
            },
            stocks: stocks::Parts { units_api, units: units.clone(), records, gpu_resource },
            storages: storages::Parts { storages_api: Api::all(client), units },
        }
    }

    /// The Operator API, without health and metrics.
    pub fn router(&self) -> Router {
        routes().split_for_parts().0.with_state(self.clone())
    }
}

/// The operator of one cluster.
pub struct App {
    process: Process,
    client: Client,
    replica: Replica,
    state: AppState,
    clock: fn() -> Timestamp,
}

impl App {
    /// Wires the operator. Starts nothing.
    ///
    /// # Errors
    /// If the cluster's credentials cannot be read.
    #[expect(clippy::disallowed_methods, reason = "the clock of the process")]
    pub async fn new(config: &Config, process: Process) -> anyhow::Result<Self> {
        let process = process.traced(NAME, config.telemetry.as_ref())?;
        let client = config.client().await.context("cannot use the cluster's credentials")?;
        let clock: fn() -> Timestamp = Timestamp::now;
        let identity =
            config.identity.clone().unwrap_or_else(|| format!("operator-{}", uuid::Uuid::new_v4().simple()));
        let metrics = Metrics::default().with_health(&process.health);
        process.metrics.register(|registry| metrics.register(registry));
        let options = Options {
            identity,
            concurrency: config.workers,
            lease: config.lease(),
            clock,
            hook: None,
            tracer: process.tracer.clone(),
        };
        let kubernetes = client.clone();
        process.health.depends_on("cluster", DependencyKind::Cluster, move || {
            let kubernetes = kubernetes.clone();
            async move { kubernetes.apiserver_version().await.map(drop).map_err(|error| cause(&error)) }
        });
        let replica = Replica::new(client.clone(), config.settings.clone(), options, metrics);
        let state = AppState::new(
            client.clone(),
            replica.units(),
            config.callers.clone(),
            config.gpu_resource.clone(),
            clock,
        );
        Ok(Self { process, client, replica, state, clock })
    }

    /// The Operator API, with health and metrics.
    pub fn router(&self) -> Router {
        let (client, replica) = (self.client.clone(), self.replica.clone());
        let front = Front::new(&self.process, move || {
            let (client, replica) = (client.clone(), replica.clone());
            async move {
                client
                    .apiserver_version()
                    .await
                    .map_err(|error| format!("the Kubernetes API does not answer: {error}"))?;
                if replica.has_synced() {
                    Ok(())
                } else {
                    Err("the first list of a watch is not complete".to_owned())
                }
            }
        });
        front.serve(self.state.router())
    }

    /// The background tasks. Each replica runs all of them.
    fn tasks(&self) -> Vec<Task> {
        let mut tasks = self.replica.tasks();
        tasks.push(records::task(&Records::new(self.client.clone()), self.clock));
        tasks
    }

    /// Starts the background tasks. They end with the process.
    pub fn start_workers(&self) {
        self.process.workers.start(NAME, self.tasks());
    }

    /// Runs the operator and its API until shutdown.
    ///
    /// # Errors
    /// If the cluster's credentials cannot be read, the definitions cannot be installed, or the address cannot be bound.
    pub async fn serve(config: Config, process: Process) -> anyhow::Result<()> {
        let shutdown = process.shutdown.clone();
        let app = Self::new(&config, process).await?;
        if config.install {
            controller::install(&app.client)
                .await
                .context("cannot install the custom resource definitions")?;
        }
        app.start_workers();
        service::serve(config.listen, app.router(), &shutdown).await
    }
}

fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(stocks::http::routes())
        .merge(instances::http::routes())
        .merge(storages::http::routes())
}

/// The OpenAPI document of the Operator API.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut document = routes().into_openapi();
    document.security = Some(vec![SecurityRequirement::new("service_token", Vec::<String>::new())]);
    let info = Info {
        title: "Atelier operator",
        description: "Stocks, GPU instances and storages of one cluster, for scripts and internal services.",
    };
    api::openapi::finish(document, info)
}

/// The metrics of the process, for their description.
#[must_use]
pub fn metrics() -> ServiceMetrics {
    let process = Process::default();
    process.metrics.register(|registry| Metrics::default().register(registry));
    process.metrics
}
