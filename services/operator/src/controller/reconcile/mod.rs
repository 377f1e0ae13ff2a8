//! Reconciliation: one object is observed in the cache, the next step is planned, written, and published as events.

mod events;
mod namespace;
mod storage;
mod trace;
mod unit;

use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::events::Recorder;
use service::Tracer;

use super::apply::{Applier, WriteError};
use super::cache::Key;

/// The outcome of a reconcile that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing to do until something changes.
    Done,
    /// To be reconciled again after a time, even if nothing changes.
    RequeueAfter(Duration),
}

/// Reconciles objects on behalf of the leader.
#[derive(Clone)]
pub(crate) struct Reconciler {
    pub(crate) applier: Applier,
    pub(crate) recorder: Recorder,
    pub(crate) tracer: Tracer,
    pub(crate) clock: fn() -> Timestamp,
}

impl Reconciler {
    /// Compares the desired with the observed state of one object and writes the next step.
    pub(crate) async fn reconcile(&self, key: &Key) -> Result<Outcome, WriteError> {
        match key {
            Key::Unit(name) => return Box::pin(self.reconcile_unit(name)).await,
            Key::Storage(name) => self.reconcile_storage(name).await?,
            Key::Namespace(name) => self.repair_namespace(name).await?,
        }
        Ok(Outcome::Done)
    }
}
