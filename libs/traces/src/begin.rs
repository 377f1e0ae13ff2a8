//! Where spans begin: at a request, at a reconcile, and below the position of the running task.

use std::time::SystemTime;

use http::{HeaderMap, Method};
use opentelemetry::trace::{Link, SpanBuilder, SpanKind};

use crate::{HEADER, Span, TraceContext, Tracer, method::known, position::Position};

/// The senders of requests to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Anyone. They name a trace, but do not decide that it is recorded.
    Outside,
    /// Services of the platform.
    Inside,
}

impl Tracer {
    /// Begins the span of a request: in the trace that its headers name, otherwise in a new one. Sets the headers for the
    /// next hop. For a request from outside they keep the flag of the client, whose own software may be the next hop;
    /// calls to services of the platform carry the position of the span instead.
    pub fn accept(&self, method: &Method, headers: &mut HeaderMap, origin: Origin) -> Span {
        let given = TraceContext::take(headers);
        let asked = given.is_some_and(|given| given.is_sampled());
        let sampled = match (origin, given) {
            // without a tracer the decision of the caller is passed on
            (Origin::Inside, Some(_)) => asked,
            _ => self.chosen(),
        };
        let parent = given.map(|given| given.with_flag(sampled));
        let span = if sampled && self.is_on() {
            let name = known(method);
            self.begin(parent, SpanBuilder::from_name(name).with_kind(SpanKind::Server))
        } else {
            self.unrecorded(parent, sampled)
        };
        if let Some(context) = span.context() {
            let next = if origin == Origin::Outside { context.with_flag(asked) } else { context };
            headers.insert(HEADER, next.header());
        }
        span
    }

    /// Begins the span of a reconcile: in the trace of the request that caused it, and linked to that
    /// request. Without one, in a new trace.
    pub fn reconcile(&self, name: &'static str, request: Option<TraceContext>) -> Span {
        if !self.is_on() {
            return Span::none();
        }
        if !request.map_or_else(|| self.chosen(), |request| request.is_sampled()) {
            return self.unrecorded(request, false);
        }
        let links = request.map(|request| Link::with_context(request.remote()));
        let builder = SpanBuilder::from_name(name).with_kind(SpanKind::Consumer);
        self.begin(request, builder.with_links(links.into_iter().collect()))
    }

    /// Begins a recorded span below `parent`.
    fn begin(&self, parent: Option<TraceContext>, builder: SpanBuilder) -> Span {
        match self.record(parent, builder) {
            Some((span, context)) => Span::recorded(span, Position { context, tracer: self.clone() }),
            None => self.unrecorded(parent, false),
        }
    }

    fn unrecorded(&self, parent: Option<TraceContext>, sampled: bool) -> Span {
        let context = parent.map_or_else(TraceContext::random, TraceContext::next).with_flag(sampled);
        Span::unrecorded(Position { context, tracer: self.clone() })
    }
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
