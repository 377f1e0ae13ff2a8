//! The wiring of the process: client, replica, Operator API.

use anyhow::Context as _;
use jiff::Timestamp;
use kube::Client;
use service::health::{DependencyKind, cause};
use service::{Front, Metrics as ServiceMetrics, Process, Task};

use crate::NAME;
use crate::config::Config;
use crate::controller::{self, Metrics, Options, Replica};
use crate::http;
use crate::state::AppState;

/// The operator of one cluster.
pub struct App {
    process: Process,
    client: Client,
    replica: Replica,
    state: AppState,
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
        let clock = Timestamp::now;
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
        Ok(Self { process, client, replica, state })
    }

    /// The Operator API, with health and metrics.
    pub fn router(&self) -> axum::Router {
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
        front.serve(http::router(self.state.clone()))
    }

    /// The background tasks. Each replica runs all of them.
    fn tasks(&self) -> Vec<Task> {
        let mut tasks = self.replica.tasks();
        tasks.push(self.state.task());
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

/// The metrics of the process, for their description.
#[must_use]
pub fn metrics() -> ServiceMetrics {
    let process = Process::default();
    process.metrics.register(|registry| Metrics::default().register(registry));
    process.metrics
}
