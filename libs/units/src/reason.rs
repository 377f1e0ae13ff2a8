//! Reasons in the status of the custom resources: machine-readable causes of a state.

/// Defines an enum of reasons. The wire form is the name of the variant.
macro_rules! reasons {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// Returns the wire form.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }

            /// Every reason, for documentation and tests.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();
            fn from_str(word: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|reason| reason.as_str() == word).ok_or(())
            }
        }
    };
}

reasons! {
    /// Reasons of a unit's `Held` condition.
    HeldReason {
        /// True: the placeholder holds the place.
        Holding,
        /// True: an instance holds the place, or a hand-off to or from it is in progress.
        Claimed,
        /// False: the placeholder waits for the scheduler, or its devices are not reserved for the unit yet.
        Scheduling,
        /// False: no node has room; the message quotes the scheduler.
        Unschedulable,
        /// False: the node does not answer or is gone. An idle unit moves to another place.
        NodeLost,
        /// False: the node is cordoned. An idle unit moves to another place.
        NodeCordoned,
        /// False: a pod of a higher priority preempted the placeholder.
        Preempted,
        /// False: another pod took the place during a hand-off; the unit is trying to regain it.
        PlaceLost,
        /// False: the cluster cannot allocate GPUs as the specification requires.
        UnsupportedAllocation,
        /// False: a quantity or name of the specification is not valid; the message names it.
        InvalidSpec,
        /// False: the unit is being deleted.
        Deleting,
    }
}

reasons! {
    /// Reasons of a unit's `InstanceReady` condition.
    InstanceReason {
        /// False: no instance is desired.
        Idle,
        /// False: the unit does not hold a place.
        WaitingForPlace,
        /// False: a storage of the instance has no volume yet.
        WaitingForStorage,
        /// False: the instance's pod is taking the place from the placeholder.
        HandingOver,
        /// False: the pod is on its node; the readiness probe has not passed yet.
        Starting,
        /// True: the readiness probe passes.
        Running,
        /// False: a requested restart is in progress.
        Restarting,
        /// False: the container exited and is being restarted.
        ContainerRestarting,
        /// False: the container runs, but its readiness probe fails.
        ProbeFailing,
        /// False: the instance is terminating gracefully.
        Stopping,
        /// False: the last attempt failed; see `status.lastFailure`.
        StartFailed,
        /// False: the node of the instance does not answer or is gone.
        NodeLost,
    }
}

reasons! {
    /// Reasons of a unit's `TenantCode` condition.
    TenantCodeReason {
        /// True: code of tenants runs in the RuntimeClass that the message names.
        Isolated,
        /// True: the administrator of the cluster accepts its default runtime.
        DefaultRuntimeAccepted,
        /// False: the policy demands an isolated runtime, and names no RuntimeClass.
        NoIsolatedRuntime,
        /// False: the cluster does not have the RuntimeClass.
        RuntimeClassMissing,
        /// False: the node does not have what the RuntimeClass needs.
        NodeUnsuitable,
    }
}

reasons! {
    /// Why a start failed (`status.lastFailure.reason`).
    FailureReason {
        /// The image could not be pulled.
        ImagePullFailed,
        /// The registry does not let the image be pulled: it asks for a credential, or refuses the one that it gets.
        ImagePullDenied,
        /// The image's name is not valid.
        InvalidImageName,
        /// The container could not be created from its configuration (a missing secret, a bad path).
        ContainerConfigError,
        /// The container exited before it was ready for the first time.
        ContainerExited,
        /// The container ran, but its probe did not pass in time.
        ProbeFailed,
        /// The pod did not start in time.
        StartTimeout,
        /// The unit found no place for the instance in time.
        NoPlace,
        /// A storage of the instance had no volume in time.
        StorageMissing,
        /// A storage of the instance belongs to another tenant.
        StorageForbidden,
        /// No pod can be created from the instance's template.
        InvalidTemplate,
        /// The node or a policy of the cluster rejected the pod.
        PodRejected,
        /// The cluster has no runtime in which the container may run: the policy for code of tenants demands an isolated one, or
        /// the RuntimeClass, or its handler on the node, does not exist.
        RuntimeUnavailable,
    }
}

reasons! {
    /// Why a run ended (`status.lastRun.reason`).
    RunEndReason {
        /// The instance was stopped on request.
        Stopped,
        /// The instance was restarted on request.
        Restarted,
        /// The container exited.
        ContainerExited,
        /// The readiness probe failed.
        ProbeFailed,
        /// The node does not answer or is gone.
        NodeLost,
        /// The pod was evicted, or deleted by something other than the operator.
        PodDeleted,
    }
}

reasons! {
    /// Reasons of a storage's `Bound` condition.
    StorageReason {
        /// True: the volume can be mounted.
        Bound,
        /// False: the claim waits for its first pod, or for the provisioner.
        Pending,
        /// False: the claim was rejected or lost its volume; see the message.
        Failed,
        /// False: the volume is being deleted.
        Deleting,
    }
}

reasons! {
    /// Reasons of an attempt at a download (`status.downloads[].reason`).
    DownloadReason {
        /// Pending: its pod waits for a node.
        Scheduling,
        /// Pending: its pod is on a node and has not begun yet; the message quotes the node.
        Starting,
        /// Pending: the file is being downloaded.
        Downloading,
        /// Failed: the object store refused the address: it has expired, or the object is gone.
        UrlRefused,
        /// Failed: the object store could not be reached, or the connection broke.
        Unreachable,
        /// Failed: the object has another size or SHA-256.
        ContentMismatch,
        /// Failed: the volume has no space left.
        VolumeFull,
        /// Failed: the path cannot be written: a file is where a folder would be, or a permission is missing.
        PathNotWritable,
        /// Failed: the pod ended otherwise: it was evicted, took too long, or the cluster rejected it.
        PodFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_parses_from_its_wire_form() {
        for reason in HeldReason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(*reason));
        }
        assert_eq!("Nonsense".parse::<FailureReason>(), Err(()));
    }
}
