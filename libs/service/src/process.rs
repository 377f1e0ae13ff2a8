//! The single instances of a process: metrics, traces, shutdown, supervised workers.

use std::time::Duration;

use jiff::Timestamp;
use traces::{TelemetryConfig, Tracer};

use crate::{Health, Metrics, Shutdown, Workers, clock, telemetry::LogExport};

/// The parts that a service's wiring needs from its process. Clones share them.
#[derive(Clone)]
pub struct Process {
    /// The registry behind `/metrics`.
    pub metrics: Metrics,
    /// The orderly end.
    pub shutdown: Shutdown,
    /// Background tasks.
    pub workers: Workers,
    /// Spans. Records nothing before [`Self::traced`].
    pub tracer: Tracer,
    /// Dependencies and queues, for `/statusz`.
    pub health: Health,
    /// When it was made.
    pub(crate) started_at: Timestamp,
}

impl Process {
    /// A process that ends with `shutdown`.
    #[must_use]
    pub fn new(shutdown: Shutdown) -> Self {
        let metrics = Metrics::default();
        let workers = Workers::new(&shutdown, &metrics);
        let health = Health::of(&metrics);
        Self { metrics, shutdown, workers, tracer: Tracer::default(), health, started_at: clock::now() }
    }

    /// Names the process after its service, which exports spans and its log if that is configured, the last ones when it ends.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn traced(self, name: &'static str, config: Option<&TelemetryConfig>) -> anyhow::Result<Self> {
        self.health.name(name);
        let Some(config) = config else { return Ok(self) };
        let tracer = Tracer::start(name, config)?;
        self.shutdown.export_last(tracer.clone(), LogExport::start(name, config)?);
        tracing::info!(endpoint = %config.endpoint, sample_ratio = config.sample_ratio, "exporting traces and logs");
        Ok(Self { tracer, ..self })
    }

    /// A process that ends on SIGTERM or SIGINT.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn on_signal() -> anyhow::Result<Self> {
        Self::draining(Duration::ZERO)
    }

    /// As [`Self::on_signal`], but serves for `drain` after the signal, in which it is not ready.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn draining(drain: Duration) -> anyhow::Result<Self> {
        Ok(Self::new(Shutdown::on_signal(drain)?))
    }
}

impl Default for Process {
    /// A process that ends when its `shutdown` begins, for tests.
    fn default() -> Self {
        Self::new(Shutdown::default())
    }
}
