//! A collector: it receives OTLP over gRPC, as services export it, and keeps spans and log lines.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::{
            ExportLogsServiceRequest, ExportLogsServiceResponse,
            logs_service_server::{LogsService, LogsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::Span,
};
use tonic::{Request, Response, Status, transport::server::TcpIncoming};

/// A span as a service exported it. Ids are hexadecimal, as in `traceparent`.
#[derive(Debug, Clone)]
pub struct ReceivedSpan {
    /// Attributes of the process, `service.name` among them.
    pub resource: BTreeMap<String, String>,
    /// Name.
    pub name: String,
    /// `internal`, `server`, `client`, `producer` or `consumer`.
    pub kind: &'static str,
    /// Trace.
    pub trace: String,
    /// Id.
    pub id: String,
    /// Id of the parent; empty for the first span of a trace.
    pub parent: String,
    /// Ids of linked spans.
    pub links: Vec<String>,
    /// Attributes.
    pub attributes: BTreeMap<String, String>,
    /// Whether it is marked as failed.
    pub failed: bool,
    /// Nanoseconds between start and end.
    pub nanoseconds: u64,
}

impl ReceivedSpan {
    /// The service that exported it.
    #[must_use]
    pub fn service(&self) -> &str {
        self.resource.get("service.name").map_or("", String::as_str)
    }
}

/// A line of a log as a service exported it.
#[derive(Debug, Clone)]
pub struct ReceivedLine {
    /// Attributes of the process, `service.name` among them.
    pub resource: BTreeMap<String, String>,
    /// `INFO`, `WARN` …
    pub severity: String,
    /// The message.
    pub message: String,
    /// The fields of the line and of its span.
    pub attributes: BTreeMap<String, String>,
}

/// The collector. Clones share what it has received. It ends with the runtime.
#[derive(Debug, Clone)]
pub struct Collector {
    address: SocketAddr,
    spans: Spans,
    lines: Lines,
}

#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<ReceivedLine>>>);

#[derive(Debug, Clone, Default)]
struct Spans(Arc<Mutex<Vec<ReceivedSpan>>>);

impl Collector {
    /// Starts a collector on a free port.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, spans, lines) = (listener.local_addr().unwrap(), Spans::default(), Lines::default());
        let server = tonic::transport::Server::builder()
            .add_service(TraceServiceServer::new(spans.clone()))
            .add_service(LogsServiceServer::new(lines.clone()));
        tokio::spawn(async move { server.serve_with_incoming(TcpIncoming::from(listener)).await.unwrap() });
        Self { address, spans, lines }
    }

    /// The endpoint for `[telemetry]`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All spans so far.
    #[must_use]
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.spans.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All lines of logs so far.
    #[must_use]
    pub fn lines(&self) -> Vec<ReceivedLine> {
        self.lines.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The spans of a trace so far.
    #[must_use]
    pub fn trace(&self, id: &str) -> Vec<ReceivedSpan> {
        let mut spans = self.spans();
        spans.retain(|span| span.trace == id);
        spans
    }
}

#[tonic::async_trait]
impl TraceService for Spans {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut received = Vec::new();
        for process in request.into_inner().resource_spans {
            let resource = map(process.resource.map(|resource| resource.attributes).unwrap_or_default());
            let spans = process.scope_spans.into_iter().flat_map(|scope| scope.spans);
            received.extend(spans.map(|span| ReceivedSpan::new(&resource, span)));
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(received);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Lines {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        let mut received = Vec::new();
        for process in request.into_inner().resource_logs {
            let resource = map(process.resource.map(|resource| resource.attributes).unwrap_or_default());
            let records = process.scope_logs.into_iter().flat_map(|scope| scope.log_records);
            received.extend(records.map(|record| ReceivedLine {
                resource: resource.clone(),
                severity: record.severity_text,
                message: record.body.and_then(|body| body.value).map(text).unwrap_or_default(),
                attributes: map(record.attributes),
            }));
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(received);
        Ok(Response::new(ExportLogsServiceResponse::default()))
    }
}

impl ReceivedSpan {
    fn new(resource: &BTreeMap<String, String>, span: Span) -> Self {
        Self {
            resource: resource.clone(),
            name: span.name,
            kind: match span.kind {
                2 => "server",
                3 => "client",
                4 => "producer",
                5 => "consumer",
                _ => "internal",
            },
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            links: span.links.iter().map(|link| hex(&link.span_id)).collect(),
            attributes: map(span.attributes),
            failed: span.status.is_some_and(|status| status.code == 2),
            nanoseconds: span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano),
        }
    }
}

fn map(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let value = |one: Option<AnyValue>| one.and_then(|one| one.value).map(text).unwrap_or_default();
    attributes.into_iter().map(|one| (one.key, value(one.value))).collect()
}

fn text(value: Value) -> String {
    match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
