//! An instance: the commands of users and the events of the platform that change its state. Pure: no clock, no
//! database, no network.

mod effects;
mod holds;
mod idle_stop;
mod runs;
mod secrets;

use std::collections::BTreeMap;

use ids::{InstanceId, OperationId, RegistryCredentialId, StorageId, TenantId};
use jiff::Timestamp;

use super::{
    OperationKind,
    idle_stop::IdleStop,
    parts::{AttachedStorage, ClaimStatus, CurrentOperation, Failure, Order, Pod},
    port::PublicPort,
    secret::{SecretChange, SecretRef, TrackedSecret},
    state::{InstanceState, State},
};
use crate::{
    claim::{Claim, Place},
    ends::HoldEnd,
    event::{
        Claimed, Deleted, Detail, Entry, Failed, Interrupted, Recalled, Requested, Started, StopCause,
        StopRequested, Stopped, StorageChanged,
    },
    meter::{EndedRun, Meter, Metering},
    reason::{Reason, ReasonCode},
};

use runs::run_ended;

pub use effects::{Accepted, Effects, End, EndedOperation};

/// What a user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Start a stopped instance.
    Start,
    /// Stop an instance that should run.
    Stop,
    /// The same, and keep its unit until this time.
    StopAndHold(Timestamp),
    /// Give up the unit that a stopped instance keeps.
    ReleaseHold,
    /// Restart an instance in its unit, once it has been ready there.
    Restart,
    /// Delete an instance, in any state.
    Delete,
}

/// What happened to an instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The storage service attached one of its storages.
    StorageAttached(StorageId, AttachedStorage),
    /// A storage that was removed from the order is detached.
    RemovedStorageDetached(StorageId),
    /// It has claimed a unit.
    Claimed(Claim),
    /// No unit is free, and it waits in the queue.
    Queued,
    /// Runs have ended, by the cluster's evidence.
    RunsEnded(Vec<EndedRun>),
    /// Its readiness probe passes.
    BecameReady(Pod),
    /// Its readiness probe does not pass any more.
    BecameUnready(Option<Reason>),
    /// Somebody removed it from its unit.
    RemovedFromUnit,
    /// Its node is lost. It is started in another unit.
    NodeLost,
    /// Another pod has taken the place of its unit. It is started in another unit.
    PlaceLost,
    /// Another instance has claimed its unit, which it leaves until this time.
    Recalled(Timestamp),
    /// The start or the run failed.
    Failed(Failure),
    /// An administrator, the suspension or the budget of its tenant, or its idle time stops it.
    StoppedByPlatform(Failure),
    /// Nothing of it exists in its unit, and the unit is released.
    Released,
    /// Its storages are detached.
    StoragesDetached,
    /// Nothing of it runs in its unit, which it keeps from this time on.
    HoldStarted(Timestamp),
    /// Its hold has ended.
    HoldEnded(HoldEnd, Timestamp),
    /// The end of its hold is recorded.
    HoldMetered,
    /// It starts in the held unit.
    HeldUnitTaken,
    /// A step with one of its Secrets.
    Secret(SecretChange),
    /// The database was restored from a backup, and its cluster has it in its unit, in this start and restart.
    FoundAfterRestore {
        /// Number of the start.
        attempt: i64,
        /// Number of the restart.
        restart: i64,
    },
}

/// A command that the state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{command:?} is not allowed while the instance is {}", .state.as_str())]
pub struct NotAllowed {
    /// The command.
    pub command: Command,
    /// The state.
    pub state: InstanceState,
}

/// An event that cannot happen in the state: an error in this service.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("unexpected event in state {}: {event:?}", .state.as_str())]
pub struct Unexpected {
    /// The event.
    pub event: Box<Event>,
    /// The state.
    pub state: InstanceState,
}

/// A tenant's machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Id.
    pub id: InstanceId,
    /// Owner.
    pub tenant: TenantId,
    /// The service that manages it; none if its users do.
    pub managed_by: Option<String>,
    /// Name for people.
    pub name: String,
    /// What was ordered.
    pub order: Order,
    /// When it is stopped because it is idle.
    pub idle_stop: Option<IdleStop>,
    /// Ports with host names of their own.
    pub public_ports: Vec<PublicPort>,
    /// State.
    pub state: State,
    /// Number of the start; grows with each.
    pub attempt: i64,
    /// Number of requested restarts.
    pub restart: i64,
    /// The start in which it had a unit when the database was restored, until its cluster reports it in this
    /// unit again.
    pub restored_attempt: Option<i64>,
    /// Time by which it leaves its unit, which another instance has claimed.
    pub leave_by: Option<Timestamp>,
    /// Its storages that the current start has attached.
    pub attached: BTreeMap<StorageId, AttachedStorage>,
    /// Storages that were removed from the order and may still be attached.
    pub detaching: Vec<StorageId>,
    /// Its secrets, by name.
    pub secrets: Vec<SecretRef>,
    /// Its Secrets in clusters that may exist.
    pub secret_objects: Vec<TrackedSecret>,
    /// The registry credential with which its image is pulled. Read with the instance, not written with it.
    pub pull_credential: Option<RegistryCredentialId>,
    /// The meter.
    pub meter: Meter,
    /// Its current or last location.
    pub last_place: Option<Place>,
    /// The newest operation on it, which may have ended.
    pub operation: CurrentOperation,
    /// Grows with each change.
    pub generation: i64,
    /// Time of the order.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Instance {
    /// Returns the public port with this number.
    #[must_use]
    pub fn public_port(&self, port: u16) -> Option<&PublicPort> {
        self.public_ports.iter().find(|public| public.port == port)
    }

    /// Returns whether the instance does not exist any more.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        matches!(self.state, State::Deleted)
    }

    /// Returns whether its records are older than what its cluster reports.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.restored_attempt == Some(self.attempt)
    }

    /// Returns whether one of its storages cannot be mounted in this cluster.
    #[must_use]
    pub fn storage_is_outside(&self, cluster: &str) -> bool {
        self.attached.values().any(|storage| storage.cluster.as_ref().is_some_and(|own| own != cluster))
    }

    /// Returns the storages that it uses, or may still have attached.
    #[must_use]
    pub fn storages(&self) -> Vec<StorageId> {
        let mounted = self.order.storages.iter().map(|mount| mount.storage_id);
        mounted.chain(self.detaching.iter().copied()).collect()
    }

    /// Returns whether another instance may take its unit, and none has.
    #[must_use]
    pub fn can_be_recalled(&self) -> bool {
        self.order.interruptible
            && self.leave_by.is_none()
            && matches!(self.state, State::Pending { .. } | State::Starting { .. } | State::Running { .. })
    }

    /// Lets a start that has just been accepted wait in the queue if no unit is free.
    pub fn wait_in_queue(&mut self) {
        if let State::Pending { wait, .. } = &mut self.state {
            *wait = true;
        }
    }

    /// Returns whether it waits in the queue.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        matches!(&self.state, State::Pending { reason: Some(reason), .. } if reason.code == ReasonCode::Queued)
    }

    /// Applies a user's command, at a time. `operation` is the id of the command's operation.
    ///
    /// # Errors
    /// If the state does not allow the command.
    pub fn command(
        &mut self,
        command: Command,
        operation: OperationId,
        at: Timestamp,
    ) -> Result<Accepted, NotAllowed> {
        let mut effects = match (command, &self.state) {
            (Command::Start, State::Pending { .. } | State::Starting { .. })
            | (Command::Stop, State::Stopping { .. })
            | (Command::StopAndHold(_), State::Stopping { hold: Some(_), .. })
            | (Command::ReleaseHold, State::Stopping { hold: None, .. })
            | (Command::Delete, State::Deleting { .. }) => return Ok(Accepted::InProgress),
            (Command::Restart, State::Starting { restarting: true, .. }) => return Ok(Accepted::InProgress),
            (Command::Start, State::Stopped { .. }) => {
                let (held, hold) = self.end_hold(HoldEnd::InstanceStarted, at).unzip();
                // a failure belongs to the operation that failed, so the state is left first
                self.state = State::Pending { reason: None, wait: false, held, left: None };
                self.attempt += 1;
                self.attached.clear();
                self.leave_by = None;
                let mut effects = hold.unwrap_or_default();
                effects.extend(self.supersede(operation, OperationKind::Start));
                effects
            }
            (Command::Stop, State::Pending { .. } | State::Starting { .. } | State::Running { .. }) => {
                let effects = self.supersede(operation, OperationKind::Stop);
                self.state = self.stopping(None, None);
                effects
            }
            (Command::StopAndHold(until), State::Starting { claim, .. } | State::Running { claim, .. })
                if claim.hold_price_fraction.is_some() =>
            {
                let effects = self.supersede(operation, OperationKind::Stop);
                self.state = self.stopping(None, Some(until));
                effects
            }
            (
                Command::ReleaseHold,
                State::Stopping { hold: Some(_), .. } | State::Stopped { hold: Some(_), .. },
            ) => {
                let mut effects = self.supersede(operation, OperationKind::Stop);
                effects.extend(self.give_up_hold(HoldEnd::GivenUp, at));
                effects
            }
            // after a crash of its container, the instance is starting too
            (Command::Restart, State::Starting { claim, .. } | State::Running { claim, .. })
                if self.was_ready() =>
            {
                self.state = State::Starting { claim: claim.clone(), reason: None, restarting: true };
                self.restart += 1;
                self.supersede(operation, OperationKind::Restart)
            }
            (Command::Delete, state) if !matches!(state, State::Deleted) => {
                let mut effects = self.supersede(operation, OperationKind::Delete);
                effects.extend(self.give_up_hold(HoldEnd::InstanceDeleted, at));
                self.state = State::Deleting { claim: self.state.claim_status(), reason: None };
                effects
            }
            (command, _) => return Err(self.not_allowed(command)),
        };
        let requested = Requested { operation_id: operation };
        let detail = match command {
            Command::Start => Detail::StartRequested(requested),
            Command::Stop | Command::StopAndHold(_) => {
                Detail::StopRequested(StopRequested { operation_id: Some(operation) })
            }
            Command::ReleaseHold => return Ok(Accepted::New(effects)),
            Command::Restart => Detail::RestartRequested(requested),
            Command::Delete => Detail::DeletionRequested(requested),
        };
        effects.log.insert(0, detail.into());
        effects.log.extend(self.leave_idle_stop());
        Ok(Accepted::New(effects))
    }

    /// The state of an instance that is about to stop.
    fn stopping(&self, failure: Option<Failure>, hold: Option<Timestamp>) -> State {
        State::Stopping { claim: self.state.claim_status(), failure, reason: None, hold }
    }

    /// The refusal of a command in the current state.
    pub fn not_allowed(&self, command: Command) -> NotAllowed {
        NotAllowed { command, state: (&self.state).into() }
    }

    /// Replaces the current operation, which ends as cancelled, or as failed if the instance has failed.
    fn supersede(&mut self, id: OperationId, kind: OperationKind) -> Effects {
        let end = match self.state.failure() {
            Some(failure) => End::Failed(failure.to_problem()),
            None => End::Cancelled,
        };
        let before = std::mem::replace(&mut self.operation, CurrentOperation { id, kind });
        Effects { ended: vec![EndedOperation { id: before.id, end }], ..Effects::default() }
    }

    /// Applies an event.
    ///
    /// # Errors
    /// If the event cannot happen in this state.
    pub fn on(&mut self, event: Event) -> Result<Effects, Unexpected> {
        let mut effects = Effects::default();
        // after the ends of runs, which are logged first
        let mut log: Vec<Entry> = Vec::new();
        match (event, &mut self.state) {
            (Event::StorageAttached(storage_id, storage), State::Pending { .. }) => {
                self.attached.insert(storage_id, storage);
                log.push(Detail::StorageAttached(StorageChanged { storage_id }).into());
            }
            (Event::RemovedStorageDetached(storage_id), _) => {
                self.detaching.retain(|detaching| *detaching != storage_id);
                log.push(Detail::StorageDetached(StorageChanged { storage_id }).into());
            }
            (Event::Secret(change), _) => self.on_secret(change),
            (Event::Claimed(claim), State::Pending { .. }) => {
                self.last_place = Some(claim.place.clone());
                log.push(Detail::UnitClaimed(Claimed::from(&claim)).into());
                self.state = State::Starting { claim, reason: None, restarting: false };
            }
            (Event::HoldMetered, _) => {
                effects.metering.extend(self.meter.ended_hold.take().map(Metering::CloseHold));
            }
            (Event::HeldUnitTaken, State::Pending { held: Some(claim), .. }) => {
                self.state = State::Starting { claim: claim.clone(), reason: None, restarting: false };
            }
            (Event::Queued, State::Pending { reason, .. }) => {
                let spec = &self.order.gpu_spec_name;
                let message = format!("No unit of {spec} is free. The instance waits in the queue.");
                *reason = Some(Reason::new(ReasonCode::Queued, message));
            }
            (Event::RunsEnded(runs), _) => effects.metering = self.close_runs(&runs),
            (Event::BecameReady(pod), State::Starting { claim, .. } | State::Running { claim, .. }) => {
                let claim = claim.clone();
                let was_ready = matches!(self.state, State::Running { .. });
                effects.metering = self.open_run(pod.since);
                let started =
                    Started { attempt: self.attempt, started_at: pod.since, node: pod.node.clone() };
                if effects.metering.is_empty() {
                    log.extend((!was_ready).then(|| Detail::Recovered(started).into()));
                } else {
                    log.push(Detail::Started(started).into());
                }
                effects.ended.push(self.end_operation(End::Succeeded));
                if let Some(place) = &mut self.last_place {
                    place.node.clone_from(&pod.node);
                }
                self.state = State::Running { claim, pod };
            }
            (Event::BecameUnready(reason), State::Running { claim, .. }) => {
                let interrupted = Detail::Interrupted(Interrupted { attempt: self.attempt });
                log.push(Entry::from(interrupted).because(reason.as_ref()));
                self.state = State::Starting { claim: claim.clone(), reason, restarting: false };
            }
            (Event::RemovedFromUnit, State::Running { claim, .. }) => {
                let reason = Reason::new(
                    ReasonCode::RemovedFromUnit,
                    "The instance was removed from its unit by hand. It is started again.",
                );
                let interrupted = Detail::Interrupted(Interrupted { attempt: self.attempt });
                log.push(Entry::from(interrupted).because(Some(&reason)));
                self.state =
                    State::Starting { claim: claim.clone(), reason: Some(reason), restarting: false };
                self.attempt += 1;
            }
            (
                event @ (Event::NodeLost | Event::PlaceLost),
                State::Starting { claim, .. } | State::Running { claim, .. },
            ) => {
                let reason = match event {
                    Event::NodeLost => Reason::new(
                        ReasonCode::NodeLost,
                        "The instance's node does not answer. The instance is started on another node.",
                    ),
                    _ => Reason::new(
                        ReasonCode::PlaceLost,
                        "Another pod of the cluster took the place of the instance's unit. The instance is started \
                         in another unit.",
                    ),
                };
                let interrupted = Detail::Interrupted(Interrupted { attempt: self.attempt });
                log.push(Entry::from(interrupted).because(Some(&reason)));
                if let Some(place) = &mut self.last_place {
                    place.node = None;
                }
                let left = Some(claim.clone());
                self.state = State::Pending { reason: Some(reason), wait: true, held: None, left };
            }
            (
                Event::Recalled(leave_by),
                State::Pending { .. } | State::Starting { .. } | State::Running { .. },
            ) => {
                self.leave_by = Some(leave_by);
                let reason = recalled();
                let detail = Detail::Recalled(Recalled { attempt: self.attempt, leave_by });
                log.push(Entry::from(detail).because(Some(&reason)));
            }
            (
                Event::FoundAfterRestore { attempt, restart },
                State::Starting { .. } | State::Running { .. },
            ) => {
                (self.attempt, self.restart) = (attempt, restart);
                self.restored_attempt = None;
            }
            (Event::Released, State::Pending { left: left @ Some(_), .. }) => {
                *left = None;
                self.attached.clear();
                effects.metering = self.close_unseen_run();
                self.attempt += 1;
            }
            (
                Event::Failed(failure),
                State::Pending { .. } | State::Starting { .. } | State::Running { .. },
            ) => {
                let failed = Failed { attempt: self.attempt };
                let detail =
                    if self.was_ready() { Detail::Failed(failed) } else { Detail::StartFailed(failed) };
                log.push(Entry::from(detail).because(Some(&failure.reason)));
                self.state = self.stopping(Some(failure), None);
            }
            (
                Event::StoppedByPlatform(failure),
                State::Pending { .. } | State::Starting { .. } | State::Running { .. },
            ) => {
                let requested = Detail::StopRequested(StopRequested { operation_id: None });
                log.push(Entry::from(requested).because(Some(&failure.reason)));
                self.state = self.stopping(Some(failure), None);
            }
            (
                Event::HoldStarted(at),
                State::Stopping { claim: ClaimStatus::Held(claim), hold: Some(until), .. },
            ) => {
                let (claim, until) = (claim.clone(), *until);
                effects = self.begin_hold(claim, until, at);
                effects.ended.push(self.end_operation(End::Succeeded));
                log = std::mem::take(&mut effects.log);
            }
            (
                Event::HoldEnded(cause, at),
                State::Stopping { hold: Some(_), .. } | State::Stopped { hold: Some(_), .. },
            ) => {
                effects = self.give_up_hold(cause, at);
                log = std::mem::take(&mut effects.log);
            }
            (Event::Released, State::Stopping { .. }) => {
                log.extend(self.cancel_hold(HoldEnd::UnitLost));
                let failure = self.state.take_failure();
                let end = match &failure {
                    Some(failure) => End::Failed(failure.to_problem()),
                    None => End::Succeeded,
                };
                let stopped = Detail::Stopped(Stopped { cause: stop_cause(failure.as_ref()) });
                log.push(Entry::from(stopped).because(failure.as_ref().map(|failure| &failure.reason)));
                self.state = State::Stopped { failure, hold: None };
                effects.metering = self.close_unseen_run();
                effects.ended.push(self.end_operation(end));
            }
            (Event::Released, State::Deleting { claim, reason }) => {
                *claim = ClaimStatus::None;
                *reason = None;
                effects.metering = self.close_unseen_run();
            }
            (Event::StoragesDetached, State::Deleting { claim: ClaimStatus::None, .. }) => {
                self.state = State::Deleted;
                let storages = self.storages().into_iter();
                log.extend(
                    storages.map(|storage_id| Detail::StorageDetached(StorageChanged { storage_id }).into()),
                );
                log.push(Detail::Deleted(Deleted { name: self.name.clone() }).into());
                effects.ended.push(self.end_operation(End::Succeeded));
            }
            (event, state) => {
                return Err(Unexpected { event: Box::new(event), state: (&*state).into() });
            }
        }
        effects.log = effects.metering.iter().filter_map(run_ended).map(Entry::from).collect();
        effects.log.extend(log);
        effects.log.extend(self.leave_idle_stop());
        Ok(effects)
    }

    fn end_operation(&self, end: End) -> EndedOperation {
        EndedOperation { id: self.operation.id, end }
    }
}

/// The reason of an interruptible instance that has lost its unit.
pub(super) fn recalled() -> Reason {
    Reason::new(
        ReasonCode::Recalled,
        "Another instance needs the unit of this interruptible instance, which is stopped.",
    )
}

/// Returns who or what stopped an instance, by its failure.
fn stop_cause(failure: Option<&Failure>) -> StopCause {
    match failure.map(|failure| failure.reason.code) {
        None => StopCause::User,
        Some(ReasonCode::StoppedByAdministrator) => StopCause::Administrator,
        Some(ReasonCode::TenantSuspended) => StopCause::TenantSuspended,
        Some(ReasonCode::BudgetExhausted) => StopCause::BudgetExhausted,
        Some(ReasonCode::IdleStopped) => StopCause::Idle,
        Some(ReasonCode::Recalled) => StopCause::Recalled,
        Some(_) => StopCause::Failure,
    }
}

impl From<&Claim> for Claimed {
    fn from(claim: &Claim) -> Self {
        Self {
            unit_id: claim.unit_id,
            datacenter_id: claim.place.datacenter_id,
            datacenter: claim.place.datacenter_name.clone(),
            price_per_hour: claim.price_per_hour,
            currency: claim.currency.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
