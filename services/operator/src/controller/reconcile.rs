//! One look at one object: observe from the cache, decide, apply, tell.

use std::time::Duration;

use crds::{FailureReason, GpuUnit, GpuUnitStatus, HeldReason, UnitState, names};
use jiff::Timestamp;
use kube::Resource as _;
use kube::ResourceExt as _;
use kube::runtime::events::{Event, EventType, Recorder};

use super::apply::{Applier, WriteError};
use super::cache::Key;
use crate::storage;
use crate::tenant::Owner;
use crate::unit::action::Action;
use crate::unit::plan;
use crate::unit::status;
use crate::view::Role;

/// Pause before trying again what the API server does not take for what the spec says.
const INVALID_PAUSE: Duration = Duration::from_secs(60);

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
    pub(crate) clock: fn() -> Timestamp,
}

impl Reconciler {
    /// Compares the desired with the observed state of one object and writes the next step.
    pub(crate) async fn reconcile(&self, key: &Key) -> Result<Outcome, WriteError> {
        match key {
            Key::Unit(name) => Box::pin(self.unit(name)).await,
            Key::Storage(name) => self.storage(name).await.map(|()| Outcome::Done),
            Key::Tenant(namespace) => self.tenant(namespace).await.map(|()| Outcome::Done),
        }
    }

    async fn unit(&self, name: &str) -> Result<Outcome, WriteError> {
        let Some(mut unit) = self.applier.cache.unit(name) else {
            return Box::pin(self.orphans(name)).await.map(|()| Outcome::Done);
        };
        let observed = self.applier.cache.observe(&unit, (self.clock)());
        let mut plan = plan::plan(&unit, &observed, &self.applier.settings);
        for action in &plan.first {
            match self.applier.unit_action(&unit, action).await {
                Ok(()) => {}
                Err(WriteError::Rejected(message)) => {
                    self.refused(&unit, &message).await?;
                    return Ok(Outcome::RequeueAfter(Duration::ZERO));
                }
                Err(WriteError::Invalid(message)) => {
                    status::set_condition(
                        &mut plan.status.conditions,
                        names::CONDITION_HELD,
                        false,
                        HeldReason::InvalidSpec.as_str(),
                        &message,
                        unit.metadata.generation,
                        observed.now,
                    );
                    if unit.status.as_ref() != Some(&plan.status) {
                        self.applier.unit_status(&unit, &plan.status).await?;
                    }
                    let delay = plan.again.map_or(INVALID_PAUSE, |again| again.min(INVALID_PAUSE));
                    return Ok(Outcome::RequeueAfter(delay));
                }
                Err(error) => {
                    // the time of a start runs also while its pod cannot be made
                    let began = |status: &GpuUnitStatus| {
                        status.instance.as_ref().map(|own| (own.id.clone(), own.attempt))
                    };
                    let known = unit.status.as_ref().and_then(began);
                    if matches!(error, WriteError::Api(_)) && began(&plan.status) != known {
                        self.applier.unit_status(&unit, &plan.status).await?;
                    }
                    return Err(error);
                }
            }
            // the status is bound to the version that it was decided on, and that one has just changed
            if matches!(action, Action::AddFinalizer) {
                let newer = self
                    .applier
                    .cache
                    .unit(name)
                    .filter(|newer| newer.metadata.generation == unit.metadata.generation);
                unit = newer.ok_or(WriteError::Conflict)?;
            }
        }
        if let Some(of) = &plan.log_of
            && let Some(failure) = &mut plan.status.last_failure
        {
            failure.log_tail = self.applier.log_tail(of).await;
        }
        let before = unit.status.clone().unwrap_or_default();
        if unit.status.as_ref() != Some(&plan.status) {
            self.applier.unit_status(&unit, &plan.status).await?;
            self.tell(&unit, &before, &plan.status).await;
        }
        for action in &plan.then {
            let unit = self.applier.cache.unit(name).unwrap_or_else(|| unit.clone());
            self.applier.unit_action(&unit, action).await?;
        }
        Ok(plan.again.map_or(Outcome::Done, Outcome::RequeueAfter))
    }

    /// The API server will not have the instance's pod: the attempt has failed.
    async fn refused(&self, unit: &GpuUnit, message: &str) -> Result<(), WriteError> {
        let reason = if message.contains("exceeded quota") || message.contains("PodSecurity") {
            FailureReason::PodRejected
        } else {
            FailureReason::InvalidTemplate
        };
        let before = unit.status.clone().unwrap_or_default();
        if let Some(after) = plan::refused(unit, message, reason, (self.clock)()) {
            self.applier.unit_status(unit, &after).await?;
            self.tell(unit, &before, &after).await;
        }
        Ok(())
    }

    /// Pods and claims whose unit is gone, finalizer and all: nothing may be left over. What the cluster
    /// itself collects goes once the claims are not reserved any more.
    async fn orphans(&self, name: &str) -> Result<(), WriteError> {
        let unit = || {
            GpuUnit::new(
                name,
                crds::GpuUnitSpec {
                    gpu_spec: String::new(),
                    resources: crds::Resources::default(),
                    gpu: crds::Gpu {
                        model: String::new(),
                        count: 0,
                        allocation: crds::Allocation::Device { resource: String::new() },
                    },
                    node_selector: std::collections::BTreeMap::new(),
                    datacenter: String::new(),
                    instance: None,
                },
            )
        };
        for pod in self.applier.cache.pods(name) {
            if !pod.deleting {
                let grace = (pod.role == Role::Placeholder).then_some(0);
                self.applier.unit_action(&unit(), &Action::DeletePod { pod: pod.at(), grace }).await?;
            }
            if pod.kept && (pod.is_over() || pod.node.is_none()) {
                self.applier.unit_action(&unit(), &Action::ReleasePod(pod.at())).await?;
            }
        }
        for claim in self.applier.cache.device_claims(name) {
            if !claim.deleting {
                self.applier.unit_action(&unit(), &Action::DeleteClaim(claim.at())).await?;
            }
            if claim.holder.is_some() {
                self.applier.unit_action(&unit(), &Action::UnreserveClaim(claim.at())).await?;
            }
        }
        Ok(())
    }

    async fn storage(&self, name: &str) -> Result<(), WriteError> {
        let Some((storage, claim)) = self.applier.cache.storage(name) else { return Ok(()) };
        let plan = storage::plan(&storage, claim.as_ref(), (self.clock)());
        for action in &plan.actions {
            match action {
                storage::Action::AddFinalizer => {
                    self.applier.storage_finalizer(&storage, true).await?;
                    return Err(WriteError::Conflict);
                }
                storage::Action::RemoveFinalizer => {
                    return self.applier.storage_finalizer(&storage, false).await;
                }
                storage::Action::EnsureTenant(namespace) => {
                    self.applier.namespace(Owner::Tenant(namespace), false, false).await?;
                }
                storage::Action::ApplyClaim(body) => {
                    self.applier.apply_claim(&storage.spec.tenant_id, name, body).await?;
                }
                storage::Action::DeleteClaim { namespace, name } => {
                    self.applier.delete_claim(namespace, name).await?;
                }
            }
        }
        if storage.status.as_ref() != Some(&plan.status) {
            self.applier.storage_status(&storage, &plan.status).await?;
        }
        Ok(())
    }

    /// Puts back what somebody took or changed in the namespace of a tenant that is in use, or in a home.
    async fn tenant(&self, namespace: &str) -> Result<(), WriteError> {
        let known = self.applier.cache.applied(namespace);
        if let Some(unit) = self.applier.cache.at_home(namespace).filter(|_| !known.is_empty()) {
            return match unit.metadata.deletion_timestamp {
                Some(_) => Ok(()),
                None => self.applier.namespace(Owner::Home(&unit), false, true).await,
            };
        }
        if known.is_empty() || !self.applier.cache.tenant_in_use(namespace) {
            return Ok(());
        }
        self.applier.namespace(Owner::Tenant(namespace), false, true).await
    }

    /// Kubernetes Events for what people watch for; a failure to tell changes nothing.
    async fn tell(&self, unit: &GpuUnit, before: &GpuUnitStatus, after: &GpuUnitStatus) {
        for (warning, reason, action, note) in changes(before, after) {
            let event = Event {
                type_: if warning { EventType::Warning } else { EventType::Normal },
                reason,
                note: Some(note.chars().take(1000).collect()),
                action: action.to_owned(),
                secondary: None,
            };
            self.applier.metrics.wrote("event");
            if let Err(error) = self.recorder.publish(&event, &unit.object_ref(&())).await {
                tracing::debug!(unit = unit.name_any(), %error, "event not stored");
            }
        }
    }
}

/// The significant changes between two statuses: warning or not, reason, action, words.
fn changes(before: &GpuUnitStatus, after: &GpuUnitStatus) -> Vec<(bool, String, &'static str, String)> {
    let mut all = Vec::new();
    let held = |status: &GpuUnitStatus| status.condition(names::CONDITION_HELD).cloned();
    if let (was, Some(is)) = (held(before), held(after)) {
        let was_true = was.as_ref().is_some_and(|was| was.status == "True");
        let same = was.as_ref().is_some_and(|was| was.reason == is.reason);
        // the first search of a new unit is not news; losing a place is
        let news = is.status != "True" && !same && is.reason != "Scheduling" && is.reason != "Deleting";
        if news {
            all.push((true, is.reason, "Hold", is.message));
        } else if is.status == "True" && !was_true {
            all.push((
                false,
                is.reason,
                "Hold",
                format!("holds its place on {}", after.node.as_deref().unwrap_or("a node")),
            ));
        }
    }
    if let Some(failure) =
        after.last_failure.as_ref().filter(|failure| before.last_failure.as_ref() != Some(*failure))
    {
        let note = format!(
            "{} attempt {}: {}: {}",
            failure.instance_id, failure.attempt, failure.reason, failure.message
        );
        all.push((true, "StartFailed".to_owned(), "Start", note));
    }
    if after.state == UnitState::Running && before.state != UnitState::Running {
        let name = after.instance.as_ref().map(|instance| instance.pod_name.clone()).unwrap_or_default();
        all.push((false, "Running".to_owned(), "Start", name));
    }
    if let Some(run) = after.last_run.as_ref().filter(|run| before.last_run.as_ref() != Some(*run)) {
        let seconds = run.ended_at.0.as_second() - run.running_since.0.as_second();
        let wanted = matches!(run.reason.as_str(), "Stopped" | "Restarted");
        all.push((!wanted, run.reason.clone(), "Stop", format!("{} ran for {seconds} s", run.instance_id)));
    }
    all
}
