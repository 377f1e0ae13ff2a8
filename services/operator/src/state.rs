//! The state that handlers and tasks of the Operator API share.

use std::sync::Arc;
use std::time::Duration;

use auth::Callers;
use crds::GpuUnit;
use jiff::{SignedDuration, Timestamp};
use kube::{Api, Client};
use service::{Duty, Round, Task};

use crate::controller::Units;
use crate::records::Records;

/// How long the records of completed operations are kept.
const RECORDS_KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Time between two deletions of old records.
const RECORDS_PERIOD: Duration = Duration::from_secs(60 * 60);

/// The shared state. Clones share it.
#[derive(Clone)]
pub struct AppState(Arc<Inner>);

struct Inner {
    client: Client,
    records: Records,
    units: Units,
    callers: Callers,
    gpu_resource: String,
    clock: fn() -> Timestamp,
}

impl AppState {
    /// The state for one cluster. `gpu_resource` is the extended resource of units that are created here.
    #[must_use]
    pub fn new(
        client: Client,
        units: Units,
        callers: Callers,
        gpu_resource: String,
        clock: fn() -> Timestamp,
    ) -> Self {
        let records = Records::new(client.clone());
        Self(Arc::new(Inner { client, records, units, callers, gpu_resource, clock }))
    }

    /// The task that deletes old records of operations.
    #[must_use]
    pub fn task(&self) -> Task {
        Task::every("records", Duty::Retention, RECORDS_PERIOD, self, |state| async move {
            state.0.records.delete_before((state.0.clock)() - RECORDS_KEPT).await?;
            Ok(Round::Done)
        })
    }

    /// The records of operations.
    #[must_use]
    pub fn records(&self) -> &Records {
        &self.0.records
    }

    /// The observed units.
    pub(crate) fn units(&self) -> &Units {
        &self.0.units
    }

    /// The units in the Kubernetes API.
    pub(crate) fn units_api(&self) -> Api<GpuUnit> {
        Api::all(self.0.client.clone())
    }

    pub(crate) fn client(&self) -> Client {
        self.0.client.clone()
    }

    pub(crate) fn callers(&self) -> &Callers {
        &self.0.callers
    }

    pub(crate) fn gpu_resource(&self) -> &str {
        &self.0.gpu_resource
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0.clock)()
    }
}
