//! The tracer of a process: which traces are recorded, and where their spans go.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use anyhow::Context as _;
use opentelemetry::{
    Context, KeyValue,
    trace::{Span as _, SpanBuilder, TraceContextExt, Tracer as _, TracerProvider},
};
use opentelemetry_otlp::{
    SpanExporter, WithExportConfig, WithTonicConfig, tonic_types::transport::ClientTlsConfig,
};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracer, SdkTracerProvider},
};
use uuid::Uuid;

use crate::{TelemetryConfig, TraceContext};

/// How long a span waits for others before they are exported together.
const DELAY: Duration = Duration::from_secs(1);
/// Time that the last export may take.
const LAST_EXPORT: Duration = Duration::from_secs(3);

/// Begins the spans of one process. Clones share what is exported; the default records nothing.
#[derive(Debug, Clone, Default)]
pub struct Tracer(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// A trace that begins here is recorded if a random number is below it.
    threshold: u64,
}

/// The attributes of this process, for the collector: the same for all that it exports.
#[must_use]
pub fn resource(name: &'static str) -> Resource {
    static INSTANCE: LazyLock<Uuid> = LazyLock::new(Uuid::new_v4);
    let attributes = [
        KeyValue::new("service.namespace", "atelier"),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", INSTANCE.to_string()),
    ];
    Resource::builder().with_service_name(name).with_attributes(attributes).build()
}

impl Tracer {
    /// The tracer of the service `name`, which exports in the background. Call it in a tokio runtime. The endpoint does not
    /// need to answer: spans that cannot be exported are dropped.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn start(name: &'static str, config: &TelemetryConfig) -> anyhow::Result<Self> {
        config.check()?;
        let mut exporter = SpanExporter::builder().with_tonic().with_endpoint(config.endpoint.as_str());
        if config.endpoint.scheme() == "https" {
            exporter = exporter.with_tls_config(ClientTlsConfig::new().with_native_roots());
        }
        let exporter = exporter.build().context("telemetry.endpoint cannot be used")?;
        let batches = BatchConfigBuilder::default().with_scheduled_delay(DELAY).build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource(name))
            // the decision is made before a span is made: see `chosen`
            .with_sampler(Sampler::AlwaysOn)
            .with_span_processor(BatchSpanProcessor::builder(exporter).with_batch_config(batches).build())
            .build();
        let tracer = provider.tracer("atelier");
        let threshold = (config.sample_ratio * u64::MAX as f64) as u64;
        Ok(Self(Some(Arc::new(Inner { provider, tracer, threshold }))))
    }

    /// Returns whether anything is recorded.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Exports the remaining spans, and records nothing from then on. It blocks: call it off the threads of
    /// the runtime, which the export needs.
    pub fn shut_down(&self) {
        let Some(inner) = &self.0 else { return };
        if let Err(error) = inner.provider.shutdown_with_timeout(LAST_EXPORT) {
            tracing::warn!(%error, "the last spans were not exported");
        }
    }

    /// Makes a recorded span below `parent`, with its position. None if nothing is recorded, as after the shutdown.
    pub(crate) fn record(
        &self,
        parent: Option<TraceContext>,
        builder: SpanBuilder,
    ) -> Option<(opentelemetry_sdk::trace::Span, TraceContext)> {
        let inner = self.0.as_ref()?;
        let above = match parent {
            Some(parent) => Context::new().with_remote_span_context(parent.remote()),
            None => Context::new(),
        };
        let span = inner.tracer.build_with_context(builder, &above);
        let context = span.span_context();
        if !context.is_valid() {
            return None;
        }
        let trace = u128::from_be_bytes(context.trace_id().to_bytes());
        let number = u64::from_be_bytes(context.span_id().to_bytes());
        let context = TraceContext::new(trace, number, true);
        Some((span, context))
    }

    /// Whether a trace that begins here is recorded. This does not depend on the trace id, which a client may
    /// have chosen.
    pub(crate) fn chosen(&self) -> bool {
        // the two highest bits are those of a UUID's variant
        self.0.as_ref().is_some_and(|inner| (Uuid::new_v4().as_u64_pair().1 << 2) < inner.threshold)
    }
}
