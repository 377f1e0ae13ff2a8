//! Calls of other services and of clusters, each of which results in an event.

use std::{sync::Arc, time::Duration};

use api::{ErrorChain, ProblemDetails, ProblemType};
use clusters::{Cluster, Clusters, WriteError};
use gpu_core::{
    instance::{
        Action, AttachedStorage, Event, Failure, Instance, occupied_unit, secret::SecretChange,
        unreachable_cluster,
    },
    reason::{Reason, ReasonCode},
    unit::UnitRef,
};
use ids::StorageId;
use instances::instance::Apps;
use jiff::{SignedDuration, Timestamp};
use storage_api::StorageKind;

use super::{
    fault::{ActionKind, Faults, Point, inject},
    manifest,
    values::Values,
};

/// Time after which an action is stopped and retried.
const TIMEOUT: Duration = Duration::from_secs(8);
/// How long a start waits for a storage that is not available yet.
const STORAGE_WAIT: SignedDuration = SignedDuration::from_secs(60);

/// An action that did not complete, and is retried with backoff.
#[derive(Debug)]
pub(super) struct Blocked {
    /// What the instance waits for.
    pub(super) reason: Reason,
    /// For the log.
    pub(super) cause: anyhow::Error,
}

impl Blocked {
    pub(super) fn new(reason: Reason, error: &(dyn std::error::Error + 'static)) -> Self {
        Self { reason, cause: anyhow::anyhow!("{}", ErrorChain(error)) }
    }
}

/// Carries out actions.
#[derive(Clone)]
pub(super) struct Actions {
    pub(super) clusters: Clusters,
    pub(super) stock: stock_api::Client,
    pub(super) storage: storage_api::Client,
    pub(super) secrets: Values,
    pub(super) apps: Arc<Apps>,
    pub(super) faults: Option<Faults>,
}

impl Actions {
    /// Carries out an action. Returns the event that it results in; none if the cluster reports the result.
    pub(super) async fn run(
        &self,
        instance: &Instance,
        action: Action,
        now: Timestamp,
    ) -> Result<Option<Event>, Blocked> {
        let kind = ActionKind::from(&action);
        match tokio::time::timeout(TIMEOUT, Box::pin(self.act_with_faults(instance, action, now))).await {
            Ok(result) => result,
            Err(elapsed) => {
                let cause = anyhow::Error::new(elapsed).context("action timed out");
                Err(Blocked { reason: no_answer(kind), cause })
            }
        }
    }

    async fn act_with_faults(
        &self,
        instance: &Instance,
        action: Action,
        now: Timestamp,
    ) -> Result<Option<Event>, Blocked> {
        let kind = ActionKind::from(&action);
        let failed = |cause| Blocked { reason: internal_error(), cause };
        inject(self.faults.as_ref(), Point::Before(kind)).await.map_err(failed)?;
        let event = self.act(instance, action, now).await?;
        inject(self.faults.as_ref(), Point::After(kind)).await.map_err(failed)?;
        Ok(event)
    }

    async fn act(
        &self,
        instance: &Instance,
        action: Action,
        now: Timestamp,
    ) -> Result<Option<Event>, Blocked> {
        match action {
            Action::Attach(storage) => self.attach(instance, storage, now).await.map(Some),
            Action::Claim => self.claim(instance).await.map(Some),
            Action::WriteSecret(secret) => self.write_secret(instance, secret).await.map(Some),
            Action::Apply => self.apply(instance).await,
            Action::Vacate(unit) => self.vacate(instance, &unit).await.map(|()| None),
            Action::DeleteSecret(secret) => {
                let deleted = self.delete_secret(&secret).await;
                deleted.map(|()| Some(Event::Secret(SecretChange::Deleted(secret))))
            }
            Action::Release => self.release(instance).await.map(|()| Some(Event::Released)),
            Action::DetachRemoved(storage) => {
                let detached = self.detach(instance, storage).await;
                detached.map(|()| Some(Event::RemovedStorageDetached(storage)))
            }
            Action::Detach => self.detach_all(instance).await.map(|()| Some(Event::StoragesDetached)),
            Action::ReleaseLeftovers => self.release_leftovers(instance).await,
        }
    }

    async fn attach(
        &self,
        instance: &Instance,
        storage: StorageId,
        now: Timestamp,
    ) -> Result<Event, Blocked> {
        let mount = instance.order.storages.iter().find(|mount| mount.storage_id == storage);
        let mode = match mount.is_some_and(|mount| mount.read_only) {
            true => storage_api::AttachmentMode::ReadOnly,
            false => storage_api::AttachmentMode::ReadWrite,
        };
        let request = storage_api::AttachRequest { tenant_id: instance.tenant, mode };
        let problem = match self.storage.attach(storage, instance.id, &request).await {
            Ok(attachment) if attachment.kind == StorageKind::Volume => {
                let storage_in_cluster =
                    AttachedStorage { object_name: attachment.object_name, cluster: attachment.cluster };
                return Ok(Event::StorageAttached(storage, storage_in_cluster));
            }
            Ok(_) => {
                let reason = Reason::new(
                    ReasonCode::StorageNotMountable,
                    "A bucket cannot be mounted. Choose a storage of the kind volume.",
                );
                return Ok(Event::Failed(Failure::new(reason)));
            }
            Err(peer::Error::Problem(problem)) if concerns_instance(&problem) => problem,
            Err(error) => return Err(storage_unavailable(&error)),
        };
        let code = if problem.is(ProblemType::NotFound) {
            ReasonCode::StorageNotFound
        } else {
            ReasonCode::StorageNotAvailable
        };
        let reason = Reason::new(code, &problem.detail);
        // a storage that is being created may be available in a moment
        if problem.is(ProblemType::StorageNotAvailable) && now < instance.updated_at + STORAGE_WAIT {
            return Err(Blocked { reason, cause: anyhow::anyhow!("{}", problem.detail) });
        }
        Ok(Event::Failed(Failure { problem: Some(problem), ..Failure::new(reason) }))
    }

    async fn apply(&self, instance: &Instance) -> Result<Option<Event>, Blocked> {
        let Some(unit) = instance.state.unit() else { return Ok(None) };
        let desired = manifest::desired(instance, &self.apps.url(instance.id, None));
        let reason = match self.cluster(&unit.cluster)?.apply(&unit.name, &desired).await {
            // the result is known, and decides the next step
            Ok(()) | Err(WriteError::Occupied) => return Ok(None),
            Err(WriteError::Gone) => Reason::new(ReasonCode::UnitGone, "The instance's unit was removed."),
            Err(WriteError::Rejected(message)) => Reason::new(
                ReasonCode::TemplateRejected,
                format!("The cluster rejects the instance: {message}"),
            ),
            Err(error) => return Err(blocked_write(&error)),
        };
        Ok(Some(Event::Failed(Failure::new(reason))))
    }

    async fn vacate(&self, instance: &Instance, unit: &UnitRef) -> Result<(), Blocked> {
        if Some(unit) != instance.state.unit() {
            tracing::warn!(instance.id = %instance.id, %unit, "instance is removed from a unit that it has not claimed");
        }
        let name = instance.id.k8s_name();
        self.cluster(&unit.cluster)?.vacate(&unit.name, &name).await.map_err(|error| blocked_write(&error))
    }

    /// Releases exactly the claim that is known or found: a delayed call must not release the unit of a later start.
    async fn release(&self, instance: &Instance) -> Result<(), Blocked> {
        let claimed_at = match instance.state.claim() {
            Some(claim) => claim.claimed_at,
            None => match self.stock.find_claim(instance.id).await {
                Ok(claim) => claim.claimed_at,
                // without a claim, the release removes the instance from the waiting list
                Err(error) if error.is_not_found() => Timestamp::UNIX_EPOCH,
                Err(error) => return Err(stock_unavailable(&error)),
            },
        };
        self.stock
            .release(instance.id, claimed_at, instance.attempt)
            .await
            .map_err(|error| stock_unavailable(&error))
    }

    async fn detach_all(&self, instance: &Instance) -> Result<(), Blocked> {
        for storage in instance.storages() {
            self.detach(instance, storage).await?;
        }
        Ok(())
    }

    async fn detach(&self, instance: &Instance, storage: StorageId) -> Result<(), Blocked> {
        match self.storage.detach(storage, instance.id).await {
            Err(error) if !error.is_not_found() => Err(storage_unavailable(&error)),
            _ => Ok(()),
        }
    }

    async fn release_leftovers(&self, instance: &Instance) -> Result<Option<Event>, Blocked> {
        self.release(instance).await?;
        if instance.is_deleted() {
            self.detach_all(instance).await?;
        }
        let deleted = self.delete_leftover_secrets(instance).await?;
        Ok(deleted.then_some(Event::Secret(SecretChange::Forgotten)))
    }

    /// Returns whether another instance has the unit of an interruptible instance. False if the stock service does not answer.
    pub(super) async fn has_lost_claim(&self, instance: &Instance) -> bool {
        let Some(own) = instance.state.claim() else { return false };
        match self.stock.find_claim(instance.id).await {
            Ok(claim) => claim.claimed_at != own.claimed_at,
            Err(error) if error.is_not_found() => true,
            Err(error) => {
                tracing::warn!(instance.id = %instance.id, error = %ErrorChain(&error), "cannot confirm the claim");
                false
            }
        }
    }

    pub(super) fn cluster(&self, name: &str) -> Result<&Arc<Cluster>, Blocked> {
        self.clusters.get(name).ok_or_else(|| Blocked {
            reason: unreachable_cluster(),
            cause: anyhow::anyhow!("no cluster {name:?} is configured"),
        })
    }
}

/// Returns whether a service's answer concerns the instance, not the service or the form of the call.
pub(super) fn concerns_instance(problem: &ProblemDetails) -> bool {
    let about_the_call = [
        ProblemType::BadRequest,
        ProblemType::NoSuchRoute,
        ProblemType::IdempotencyKeyInUse,
        ProblemType::IdempotencyKeyReused,
    ];
    matches!(problem.status, 404 | 409 | 410 | 422) && !about_the_call.iter().any(|kind| problem.is(*kind))
}

pub(super) fn stock_unavailable(error: &peer::Error) -> Blocked {
    Blocked::new(no_answer(ActionKind::Claim), error)
}

fn storage_unavailable(error: &peer::Error) -> Blocked {
    Blocked::new(no_answer(ActionKind::Attach), error)
}

/// The reason of an instance that waits for a service or cluster that does not answer.
fn no_answer(action: ActionKind) -> Reason {
    let (code, message) = match action {
        ActionKind::WriteSecret | ActionKind::Apply | ActionKind::Vacate | ActionKind::DeleteSecret => {
            return unreachable_cluster();
        }
        ActionKind::Claim | ActionKind::Release | ActionKind::ReleaseLeftovers => {
            (ReasonCode::StockUnavailable, "The stock service does not answer. The platform retries.")
        }
        ActionKind::Attach | ActionKind::DetachRemoved | ActionKind::Detach => {
            (ReasonCode::StorageUnavailable, "The storage service does not answer. The platform retries.")
        }
    };
    Reason::new(code, message)
}

pub(super) fn blocked_write(error: &WriteError) -> Blocked {
    let reason = match error {
        WriteError::Occupied => occupied_unit(),
        _ => unreachable_cluster(),
    };
    Blocked::new(reason, error)
}

/// The reason of an instance that this service cannot handle.
pub(super) fn internal_error() -> Reason {
    Reason::new(ReasonCode::Internal, "Internal error. Report the id of the instance to an administrator.")
}
