//! Logs: one JSON object per line on standard error. The newest lines are kept ([`crate::recent_logs`]), and all are exported to the
//! collector of the process's traces if it has one.

use std::{sync::OnceLock, time::Duration};

use anyhow::Context as _;
use opentelemetry_appender_tracing::layer::{OpenTelemetryTracingBridge, TracingSpanAttributes};
use opentelemetry_otlp::{
    LogExporter, WithExportConfig, WithTonicConfig, tonic_types::transport::ClientTlsConfig,
};
use opentelemetry_sdk::logs::{BatchConfigBuilder, BatchLogProcessor, SdkLogger, SdkLoggerProvider};
use traces::TelemetryConfig;
use tracing_subscriber::{
    EnvFilter, Registry,
    layer::{Layered, SubscriberExt},
    reload,
    util::SubscriberInitExt,
};

use crate::{panic::panic_message, recent_logs::Writer};

/// How long a line waits for others before they are exported together.
const DELAY: Duration = Duration::from_secs(1);
/// Time that the last export may take.
const LAST_EXPORT: Duration = Duration::from_secs(3);

type Bridge = OpenTelemetryTracingBridge<SdkLoggerProvider, SdkLogger>;
type Exported = reload::Handle<Option<Bridge>, Layered<EnvFilter, Registry>>;

/// The layer that exports, set after the configuration is read. The log begins before that.
static EXPORTED: OnceLock<Exported> = OnceLock::new();

/// Starts logging for this process, panics included. `RUST_LOG` filters (default `info`).
pub fn init() {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn,tower=warn,kube_runtime=error"));
    let (exported, handle) = reload::Layer::new(None);
    let json = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_writer(Writer::of_process());
    tracing_subscriber::registry().with(filter).with(exported).with(json).init();
    let _ = EXPORTED.set(handle);
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        let message = panic_message(panic.payload());
        tracing::error!(panic.message = message, panic.location = location, "panic");
    }));
}

/// Exports the log of a process.
#[derive(Debug, Clone)]
pub(crate) struct LogExport(SdkLoggerProvider);

impl LogExport {
    /// Exports the lines of the service `name` from here on, in the background. Lines that the collector does
    /// not accept are dropped. None if the process does not log by [`init`].
    ///
    /// # Errors
    /// If the endpoint cannot be used.
    pub(crate) fn start(name: &'static str, config: &TelemetryConfig) -> anyhow::Result<Option<Self>> {
        let Some(exported) = EXPORTED.get() else { return Ok(None) };
        let mut exporter = LogExporter::builder().with_tonic().with_endpoint(config.endpoint.as_str());
        if config.endpoint.scheme() == "https" {
            exporter = exporter.with_tls_config(ClientTlsConfig::new().with_native_roots());
        }
        let exporter = exporter.build().context("telemetry.endpoint cannot be used")?;
        let batches = BatchConfigBuilder::default().with_scheduled_delay(DELAY).build();
        let provider = SdkLoggerProvider::builder()
            .with_resource(traces::resource(name))
            .with_log_processor(BatchLogProcessor::builder(exporter).with_batch_config(batches).build())
            .build();
        let bridge = OpenTelemetryTracingBridge::builder(&provider)
            .with_tracing_span_attributes(TracingSpanAttributes::all())
            .build();
        exported.reload(Some(bridge)).context("the log cannot be exported")?;
        Ok(Some(Self(provider)))
    }

    /// Exports the remaining lines. It blocks: call it off the threads of the runtime, which the export
    /// needs.
    pub(crate) fn shut_down(&self) {
        // an error could only be reported by the log itself
        let _ = self.0.shutdown_with_timeout(LAST_EXPORT);
    }
}
