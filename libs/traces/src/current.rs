//! The position of the running task.

use std::time::SystemTime;

use opentelemetry::trace::{SpanBuilder, SpanKind};

use crate::{Span, TraceContext, Tracer};

tokio::task_local! {
    static CURRENT: Option<Position>;
}

/// A span, recorded or not, and the tracer of its process.
#[derive(Debug, Clone)]
pub(crate) struct Position {
    pub(crate) context: TraceContext,
    pub(crate) tracer: Tracer,
}

impl Position {
    pub(crate) fn of_task() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok().flatten()
    }

    pub(crate) fn scope<F: Future>(position: Option<Self>, future: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(position, future)
    }
}

/// Returns the position of the running task, for calls that it makes. Tasks that it spawns have none.
#[must_use]
pub fn current() -> Option<TraceContext> {
    CURRENT.try_with(|position| position.as_ref().map(|position| position.context)).ok().flatten()
}

/// Begins a span below the position of the running task. `name` has few values: no ids.
pub fn child(kind: SpanKind, name: &str) -> Span {
    begin(kind, name, None)
}

/// Begins the span of a transaction or query, `db.<entity>.<verb>`.
pub fn db(name: &str) -> Span {
    let mut span = child(SpanKind::Client, name);
    span.set("db.system.name", "postgresql");
    span
}

/// As [`child`], of something that began before.
pub fn child_since(kind: SpanKind, name: &str, begun: SystemTime) -> Span {
    begin(kind, name, Some(begun))
}

fn begin(kind: SpanKind, name: &str, start_time: Option<SystemTime>) -> Span {
    let Some(position) = Position::of_task() else { return Span::none() };
    if !position.context.is_sampled() || !position.tracer.is_on() {
        return Span::unrecorded(position);
    }
    let builder = SpanBuilder {
        span_kind: Some(kind),
        name: name.to_owned().into(),
        start_time,
        ..SpanBuilder::default()
    };
    position.tracer.begin(Some(position.context), builder)
}
