//! Units.

use std::time::Duration;

use crds::{FailureReason, GpuUnit, GpuUnitStatus, HeldReason, names};
use plans::observation::Role;
use plans::unit::action::{Action, Plan};
use plans::unit::plan;
use plans::unit::status::Conditions;

use super::{Outcome, Reconciler};
use crate::controller::apply::WriteError;

/// Time after which a claim that the API server rejected is tried again.
const INVALID_RETRY: Duration = Duration::from_secs(60);

impl Reconciler {
    /// Writes the next step for a unit.
    pub(super) async fn reconcile_unit(&self, name: &str) -> Result<Outcome, WriteError> {
        self.span(name).run(Box::pin(self.write_next_step(name))).await
    }

    async fn write_next_step(&self, name: &str) -> Result<Outcome, WriteError> {
        let Some(mut unit) = self.applier.cache.unit(name) else {
            Box::pin(self.delete_orphans(name)).await?;
            return Ok(Outcome::Done);
        };
        let mut plan = self.plan(&unit);
        if let Some(node) = &plan.check_place {
            self.applier.check_place(&unit, node, (self.clock)()).await?;
            plan = self.plan(&unit);
        }
        for action in &plan.before_status {
            if let Err(error) = self.applier.unit_action(&unit, action).await {
                return self.record_write_error(&unit, plan, error).await;
            }
            // the status is bound to the version that it was planned for, and that one has just changed
            if matches!(action, Action::AddFinalizer) {
                let newer = self.applier.cache.unit(name);
                let newer = newer.filter(|newer| newer.metadata.generation == unit.metadata.generation);
                unit = newer.ok_or(WriteError::Conflict)?;
            }
        }
        if let Some(source) = &plan.log_source
            && let Some(failure) = &mut plan.status.last_failure
        {
            failure.log_tail = self.applier.log_tail(source).await;
        }
        self.store_status(&unit, &plan.status).await?;
        for action in &plan.after_status {
            let unit = self.applier.cache.unit(name).unwrap_or_else(|| unit.clone());
            self.applier.unit_action(&unit, action).await?;
        }
        Ok(plan.requeue_after.map_or(Outcome::Done, Outcome::RequeueAfter))
    }

    fn plan(&self, unit: &GpuUnit) -> Plan {
        let snapshot = self.applier.cache.snapshot(unit, (self.clock)());
        plan::plan(unit, &snapshot, &self.applier.settings)
    }

    /// Stores the status if it differs, and publishes the changes.
    async fn store_status(&self, unit: &GpuUnit, status: &GpuUnitStatus) -> Result<(), WriteError> {
        if unit.status.as_ref() == Some(status) {
            return Ok(());
        }
        self.applier.unit_status(unit, status).await?;
        let previous = unit.status.clone().unwrap_or_default();
        self.record_start(unit, &previous, status);
        self.publish_changes(unit, &previous, status).await;
        Ok(())
    }

    /// Records in the status that an action could not be carried out, where that concerns the user.
    async fn record_write_error(
        &self,
        unit: &GpuUnit,
        mut plan: Plan,
        error: WriteError,
    ) -> Result<Outcome, WriteError> {
        match error {
            WriteError::Rejected(message) => {
                if let Some(status) = plan::rejected(unit, &message, rejection(&message), (self.clock)()) {
                    self.store_status(unit, &status).await?;
                }
                Ok(Outcome::RequeueAfter(Duration::ZERO))
            }
            WriteError::Invalid(message) => {
                let mut conditions = Conditions {
                    all: &mut plan.status.conditions,
                    generation: unit.metadata.generation,
                    now: (self.clock)(),
                };
                conditions.set(names::CONDITION_HELD, false, HeldReason::InvalidSpec.as_str(), &message);
                if unit.status.as_ref() != Some(&plan.status) {
                    self.applier.unit_status(unit, &plan.status).await?;
                }
                let delay = plan.requeue_after.map_or(INVALID_RETRY, |delay| delay.min(INVALID_RETRY));
                Ok(Outcome::RequeueAfter(delay))
            }
            // the start timeout also runs while the pod cannot be created
            WriteError::Api(_) if attempt(Some(&plan.status)) != attempt(unit.status.as_ref()) => {
                self.applier.unit_status(unit, &plan.status).await?;
                Err(error)
            }
            _ => Err(error),
        }
    }

    /// Deletes the pods and claims of a unit that no longer exists, and removes their finalizers and reservations. The
    /// cluster's garbage collector does the rest.
    async fn delete_orphans(&self, name: &str) -> Result<(), WriteError> {
        let unit = placeholder_for_deleted(name);
        for pod in self.applier.cache.pods(name) {
            if !pod.deleting {
                let grace = (pod.role != Role::Instance).then_some(0);
                self.applier.unit_action(&unit, &Action::DeletePod { pod: pod.reference(), grace }).await?;
            }
            if pod.has_run_finalizer && (pod.has_ended() || pod.node.is_none()) {
                self.applier.unit_action(&unit, &Action::ReleasePod(pod.reference())).await?;
            }
        }
        for claim in self.applier.cache.device_claims(name) {
            if !claim.deleting {
                self.applier.unit_action(&unit, &Action::DeleteClaim(claim.reference())).await?;
            }
            if claim.reserved_for.is_some() {
                self.applier.unit_action(&unit, &Action::UnreserveClaim(claim.reference())).await?;
            }
        }
        Ok(())
    }
}

/// The attempt of an instance.
#[derive(PartialEq, Eq)]
struct Attempt<'a> {
    instance: &'a str,
    number: i64,
}

fn attempt(status: Option<&GpuUnitStatus>) -> Option<Attempt<'_>> {
    let instance = status?.instance.as_ref()?;
    Some(Attempt { instance: &instance.id, number: instance.attempt })
}

/// The reason for the API server's rejection of a pod.
fn rejection(message: &str) -> FailureReason {
    if message.contains("pod rejected: RuntimeClass") {
        FailureReason::RuntimeUnavailable
    } else if message.contains("exceeded quota") || message.contains("PodSecurity") {
        FailureReason::PodRejected
    } else {
        FailureReason::InvalidTemplate
    }
}

/// A unit with a name and nothing else.
fn placeholder_for_deleted(name: &str) -> GpuUnit {
    let gpu = crds::Gpu {
        model: String::new(),
        count: 0,
        allocation: crds::Allocation::Device { resource: String::new() },
    };
    let spec = crds::GpuUnitSpec {
        gpu_spec: String::new(),
        resources: crds::Resources::default(),
        gpu,
        node_selector: std::collections::BTreeMap::new(),
        datacenter: String::new(),
        instance: None,
    };
    GpuUnit::new(name, spec)
}
