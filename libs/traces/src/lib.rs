//! Traces: the position of work in a trace on every hop (W3C Trace Context), and the spans that a process records and
//! exports over OTLP. See docs/TRACES.md.
//!
//! A process has one [`Tracer`]; without `[telemetry]` in its configuration it records nothing. The span of a request
//! ([`Tracer::accept`]) or of a reconcile ([`Tracer::reconcile`]) sets the position of its task ([`Span::scope`]); [`child`]
//! and [`http::call`] begin spans below that position.
//!
//! A span contains only the attributes set here by name: no path, query, header, body or error text.

mod begin;
mod config;
mod context;
pub mod http;
mod method;
mod position;
mod span;
mod tracer;

pub use begin::{Origin, child, child_since, db};
pub use config::TelemetryConfig;
pub use context::{HEADER, TraceContext};
pub use opentelemetry::trace::SpanKind;
pub use position::current;
pub use span::Span;
pub use tracer::{Tracer, resource};
