//! A span.

use http::HeaderValue;
use opentelemetry::{
    KeyValue,
    trace::{Span as _, Status},
};
use tracing::Instrument as _;

use crate::{TraceContext, position::Position};

/// A span, which ends when it is dropped. If it is not recorded, only its position is passed on.
#[derive(Debug)]
#[must_use = "a span ends when it is dropped"]
pub struct Span {
    recorded: Option<Box<opentelemetry_sdk::trace::Span>>,
    position: Option<Position>,
}

impl Span {
    /// A span that is not recorded and has no position.
    pub fn none() -> Self {
        Self { recorded: None, position: None }
    }

    /// A span at a position that is not recorded.
    pub(crate) fn unrecorded(position: Position) -> Self {
        Self { recorded: None, position: Some(position) }
    }

    pub(crate) fn recorded(span: opentelemetry_sdk::trace::Span, position: Position) -> Self {
        Self { recorded: Some(Box::new(span)), position: Some(position) }
    }

    /// Returns whether it is recorded.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// Returns its position: what a callee continues.
    #[must_use]
    pub fn context(&self) -> Option<TraceContext> {
        self.position.as_ref().map(|position| position.context)
    }

    /// Returns the value of `traceparent` for a callee.
    #[must_use]
    pub fn header(&self) -> Option<HeaderValue> {
        self.context().map(|context| context.header())
    }

    /// Renames it. The name has few values: no ids.
    pub fn rename(&mut self, name: impl FnOnce() -> String) {
        if let Some(span) = &mut self.recorded {
            span.update_name(name());
        }
    }

    /// Sets an attribute.
    pub fn set(&mut self, key: &'static str, value: &(impl ToString + ?Sized)) {
        if let Some(span) = &mut self.recorded {
            span.set_attribute(KeyValue::new(key, value.to_string()));
        }
    }

    /// Sets an attribute that is a number.
    pub fn set_number(&mut self, key: &'static str, value: impl Into<i64>) {
        if let Some(span) = &mut self.recorded {
            let value: i64 = value.into();
            span.set_attribute(KeyValue::new(key, value));
        }
    }

    /// Links it to a position in this or another trace: an earlier request that it also follows from.
    pub fn link(&mut self, to: TraceContext) {
        if let Some(span) = &mut self.recorded {
            span.add_link(to.remote(), Vec::new());
        }
    }

    /// Marks it as failed. `kind` has few values: the details are in the log.
    pub fn fail(&mut self, kind: &str) {
        if let Some(span) = &mut self.recorded {
            span.set_attribute(KeyValue::new("error.type", kind.to_owned()));
            span.set_status(Status::error(""));
        }
    }

    /// Runs a future at this position.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        Position::scope(self.position.clone(), future)
    }

    /// Runs work at this position, with the id of a recorded trace in its log, and ends the span.
    ///
    /// # Errors
    /// That of the work.
    pub async fn run<T, E>(mut self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let log = match self.context().filter(|_| self.is_recorded()) {
            Some(context) => tracing::info_span!("work", trace.id = context.trace_id()),
            None => tracing::Span::none(),
        };
        let result = self.scope(work).instrument(log).await;
        if result.is_err() {
            self.fail("not_completed");
        }
        result
    }
}
