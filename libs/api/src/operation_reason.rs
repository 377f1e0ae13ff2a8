//! The reasons of operations in documents. Services have enums of their own: their tests compare them with this one.

use serde_json::{Value, json};
use utoipa::{PartialSchema, ToSchema};

/// Why an operation waits: the reasons of instances, then those of storages. New ones may be added.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "the schema of reasons, which are of the services")]
pub(crate) enum OperationReason {
    /// The allowance of the tenant has expired. Try again later.
    AllowanceExpired,
    /// The tenant has spent its budget, or what is left does not pay for the instance.
    BudgetExhausted,
    /// The stock service rejects the claim.
    ClaimRejected,
    /// The cluster of its datacenter does not answer. The platform retries.
    ClusterUnreachable,
    /// The container or pod is terminating.
    Terminating,
    /// The instance was idle for as long as is set in `idle_stop`.
    IdleStopped,
    /// Internal error. Report the instance's id to an administrator.
    Internal,
    /// The node does not answer or was removed.
    NodeLost,
    /// The tenant's limits do not allow the instance to run, at the price of the unit.
    QuotaExceeded,
    /// Another instance needs the unit of the interruptible instance.
    Recalled,
    /// Somebody removed the instance from its unit. It is started again.
    RemovedFromUnit,
    /// No unit of the specification is free. The instance waits in the queue.
    Queued,
    /// The platform was restored from a backup, and the instance did not run any more. Start it again.
    Restored,
    /// A secret of the instance cannot be decrypted. Write all of them again.
    SecretUnreadable,
    /// No unit of the specification is free.
    StockExhausted,
    /// The stock service does not answer. The platform retries.
    StockUnavailable,
    /// The free unit is in another cluster than the storage.
    StorageElsewhere,
    /// The storage is not available.
    StorageNotAvailable,
    /// The storage does not exist.
    StorageNotFound,
    /// The storage is a bucket. Only volumes can be mounted.
    StorageNotMountable,
    /// The storage service does not answer. The platform retries.
    StorageUnavailable,
    /// An administrator stopped the instance.
    StoppedByAdministrator,
    /// The cluster rejects the service's template.
    TemplateRejected,
    /// The tenant is suspended.
    TenantSuspended,
    /// The unit was removed.
    UnitGone,
    /// Another instance took the unit.
    UnitLost,
    /// The instance that had the unit before is still terminating.
    UnitOccupied,
    /// The cluster does not accept the secrets of the instance yet. The platform retries.
    WaitingForSecrets,
    /// The unit's placeholder waits for the scheduler.
    Scheduling,
    /// No node has room for the unit.
    Unschedulable,
    /// The unit's node is cordoned.
    NodeCordoned,
    /// The unit was preempted by a pod of higher priority.
    Preempted,
    /// Another pod took the unit's place. The operator is trying to regain it.
    PlaceLost,
    /// The cluster does not support the specification's way to allocate GPUs.
    UnsupportedAllocation,
    /// The specification is not valid in the cluster.
    InvalidSpec,
    /// The unit is being deleted.
    Deleting,
    /// The unit holds its place.
    Holding,
    /// The unit's place belongs to the instance.
    Claimed,
    /// No instance is desired in the unit.
    Idle,
    /// The unit does not hold a place yet.
    WaitingForPlace,
    /// The volume of the storage is not ready.
    WaitingForStorage,
    /// The instance's pod is taking the place from the placeholder.
    HandingOver,
    /// The container started; its readiness probe has not passed yet.
    Starting,
    /// The readiness probe passes.
    Running,
    /// A requested restart is in progress.
    Restarting,
    /// The container exited and is being restarted.
    ContainerRestarting,
    /// The readiness probe fails.
    ProbeFailing,
    /// The instance is being stopped.
    Stopping,
    /// The start failed.
    StartFailed,
    /// The image cannot be pulled.
    ImagePullFailed,
    /// The registry does not let the image be pulled: it asks for a registry credential, or refuses the one that it gets.
    ImagePullDenied,
    /// The image name is not valid.
    InvalidImageName,
    /// The container cannot be created from its configuration.
    ContainerConfigError,
    /// The container exited before it was ready.
    ContainerExited,
    /// The readiness probe did not pass in time.
    ProbeFailed,
    /// The pod did not start in time.
    StartTimeout,
    /// The unit found no place in time.
    NoPlace,
    /// The storage had no volume in time.
    StorageMissing,
    /// The storage belongs to another tenant.
    StorageForbidden,
    /// No pod can be created from the service's template.
    InvalidTemplate,
    /// The node or a policy of the cluster rejects the pod.
    PodRejected,
    /// The datacenter has no runtime in which the container may run. The message says what is missing.
    RuntimeUnavailable,
    /// The cluster reports a reason that this version does not know. Read the message.
    Unknown,
    /// The volume was requested from the cluster, which has not reported on it yet.
    VolumeRequested,
    /// The cluster accepted the volume. It is provisioned at the latest when an instance mounts it.
    VolumeAccepted,
    /// The cluster is creating the volume.
    VolumePending,
    /// The cluster is enlarging the volume.
    VolumeGrowing,
    /// The cluster cannot provide the volume; the message says why.
    VolumeFailed,
    /// The volume has disappeared from the cluster, and was not deleted by this service.
    VolumeLost,
    /// The cluster is deleting the volume.
    VolumeDeleting,
    /// The cluster does not respond. The platform retries.
    ClusterUnavailable,
    /// The cluster refuses the volume; the message says why.
    ClusterRefused,
    /// The objects of the bucket are being deleted.
    BucketEmptying,
    /// The bucket has disappeared from the object store, and was not deleted by this service.
    BucketLost,
    /// Another user of the object store has a bucket of this name.
    BucketNameTaken,
    /// The object store does not respond. The platform retries.
    ObjectStoreUnavailable,
    /// The object store refuses the bucket; the message says why.
    ObjectStoreRefused,
}

/// Returns the values of an enum that are not among the reasons of operations.
#[must_use]
pub fn missing<T: PartialSchema>() -> Vec<Value> {
    let mut reasons = json!(T::schema())["enum"].as_array().cloned().unwrap_or_default();
    let known = json!(OperationReason::schema());
    reasons.retain(|reason| !known["enum"].as_array().is_some_and(|known| known.contains(reason)));
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(ToSchema)]
    #[schema(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its shape matters")]
    enum Own {
        Queued,
        Bored,
    }

    #[test]
    fn a_reason_that_is_not_in_the_document_is_found() {
        assert_eq!(missing::<Own>(), ["bored"]);
    }
}
