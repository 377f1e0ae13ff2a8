//! The position of the running task.

use crate::{TraceContext, Tracer};

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
