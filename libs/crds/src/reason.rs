//! Documented reasons: every state that is not the wished one says why in one of these words.

/// Makes an enum of reasons whose wire form is the variant's name.
macro_rules! reasons {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// The word as it stands in the resource.
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
        /// True: the placeholder sits on a node and holds the resources.
        Holding,
        /// True: the place is the instance's, or being handed to or from it.
        Claimed,
        /// False: the placeholder was made and the scheduler has not judged it yet, or its devices are not
        /// the unit's own yet.
        Scheduling,
        /// False: no node has room; the message is the scheduler's own.
        Unschedulable,
        /// False: the node does not answer or is gone. An idle unit looks for another place by itself.
        NodeLost,
        /// False: the node takes no new pods. An idle unit looks for another place by itself.
        NodeCordoned,
        /// False: the placeholder had to give way to a pod of a higher class.
        Preempted,
        /// False: another pod took the place during a hand-off; it is being won again.
        PlaceLost,
        /// False: this cluster cannot give GPUs in the way the specification asks for.
        UnsupportedAllocation,
        /// False: the specification's quantities or names are not valid; the message says which.
        InvalidSpec,
        /// False: the unit is being removed.
        Deleting,
    }
}

reasons! {
    /// Reasons of a unit's `InstanceReady` condition.
    InstanceReason {
        /// False: nothing should run.
        Idle,
        /// False: the instance waits for the unit to hold a place again.
        WaitingForPlace,
        /// False: a storage of the instance has no volume yet.
        WaitingForStorage,
        /// False: the instance's pod is taking the place.
        HandingOver,
        /// False: the pod is on its node, the readiness probe has not passed yet.
        Starting,
        /// True: the readiness probe passes.
        Running,
        /// False: a restart that was asked for is under way.
        Restarting,
        /// False: the container ended by itself and is being started again.
        ContainerRestarting,
        /// False: the container runs but its readiness probe does not pass any more.
        ProbeFailing,
        /// False: the instance is being ended gracefully.
        Stopping,
        /// False: the last attempt failed; `status.lastFailure` tells why.
        StartFailed,
        /// False: the node of the instance does not answer or is gone.
        NodeLost,
    }
}

reasons! {
    /// Why a start failed (`status.lastFailure.reason`).
    FailureReason {
        /// The image could not be fetched.
        ImagePullFailed,
        /// The image's name is not valid.
        InvalidImageName,
        /// The container could not be made from its configuration (a missing secret, a bad path).
        ContainerConfigError,
        /// The container ended before it was ready for the first time.
        ContainerExited,
        /// The container ran, but its probe did not pass in time.
        ProbeFailed,
        /// The pod did not come to run in time.
        StartTimeout,
        /// The unit found no place for the instance in time.
        NoPlace,
        /// A storage of the instance had no volume in time.
        StorageMissing,
        /// A storage of the instance belongs to another tenant.
        StorageForbidden,
        /// The instance's template is not one that a pod can be made from.
        InvalidTemplate,
        /// The node or the cluster's policy refused the pod.
        PodRejected,
    }
}

reasons! {
    /// Why a run ended (`status.lastRun.reason`).
    RunEndReason {
        /// It was asked to stop.
        Stopped,
        /// It was asked to restart.
        Restarted,
        /// The container ended by itself.
        ContainerExited,
        /// The readiness probe did not pass any more.
        ProbeFailed,
        /// The node does not answer or is gone.
        NodeLost,
        /// The pod was evicted or deleted by somebody else.
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
        /// False: the claim was refused or lost its volume; the message says why.
        Failed,
        /// False: the volume is being removed.
        Deleting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_its_own_word() {
        for reason in HeldReason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(*reason));
        }
        assert_eq!("Nonsense".parse::<FailureReason>(), Err(()));
    }
}
