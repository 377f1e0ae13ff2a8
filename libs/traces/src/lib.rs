//! Traces: the position of work in a trace on every hop (W3C Trace Context), and the spans that a process records and
//! exports over OTLP. See docs/TRACES.md.
//!
//! A process has one [`Tracer`]; without `[telemetry]` in its configuration it records nothing. The span of a request
//! ([`Tracer::accept`]) or of a reconcile ([`Tracer::reconcile`]) sets the position of its task ([`Span::scope`]); [`child`]
//! and [`http::call`] begin spans below that position.
//!
//! Only what is set here by name gets into a span: no path, query, header, body or error text.

mod config;
mod context;
mod current;
pub mod http;
mod span;
mod tracer;

pub use config::TelemetryConfig;
pub use context::{HEADER, TraceContext};
pub use current::{child, child_since, current, db};
pub use opentelemetry::trace::SpanKind;
pub use span::Span;
pub use tracer::{Origin, Tracer, resource};
