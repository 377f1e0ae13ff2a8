//! The plan of the next step for one unit. Pure and total.
//!
//! # Hand-off
//! A place is handed from one pod to the next without becoming free for a third: the successor is created
//! first (its class never preempts, its affinity names the node), the node is nominated for it, and only then
//! the predecessor is deleted. Once the scheduler has seen its nomination, it counts the successor on that
//! node against every pod of the same or a lower class. So the predecessor is deleted only when the scheduler
//! has tried the successor. The operator binds the successor, as soon as the place is free. No scheduler
//! does: a successor has a topology constraint that no node satisfies, and a scheduler keeps the nomination
//! of a pod that it cannot schedule. A guard keeps the place until the scheduler has seen the binding (see
//! [`super::guard`]). The same steps serve every change:
//!
//! | change | predecessor | successor |
//! |---|---|---|
//! | start | placeholder, no grace period | instance pod |
//! | stop, failed start | instance pod, with grace period | placeholder |
//! | restart | instance pod, with grace period | placeholder, then the next instance pod |
//! | new size | placeholder, no grace period | placeholder |
//!
//! A restart goes through the placeholder although the next pod could be the successor itself: on a node with free
//! resources, old and new pod would run side by side on the same volume.
//!
//! All successors have the class of instances: a pending pod of a class above theirs could take the place. A fresh
//! placeholder has the lowest class, and the scheduler finds its node; one of a unit whose place another pod has taken has
//! the class of instances.
//!
//! # Devices by claim
//! Where GPUs are allocated by dynamic resource allocation, the devices belong to a claim, and all pods of
//! the unit use that one claim in the unit's namespace (see [`super::devices`]). The claim is reserved for
//! the `GpuUnit` itself as soon as it is allocated: the cluster keeps a reservation of an unknown kind, and
//! with it the allocation, regardless of the pods. Only a place whose claim is reserved can be handed over.
//! An allocation binds the unit to one node: where it cannot stay there (the node is lost or full, or the
//! size has changed), the claim is deleted and no longer reserved, and the next placeholder gets a new one.
//! On a cordoned node the claim is kept until a second placeholder with a claim of its own holds another
//! place. If somebody else deletes a claim, the pod that uses it keeps it until it ends.
//!
//! # Interruption
//! Every step is derived from the objects alone: which pods exist, which node they are bound to or wait for,
//! which are being deleted. Information that must not be lost (the end of a run, the reason of a failure) is
//! written to the status before the pod that proves it may disappear: instance pods have a finalizer until
//! then.
//!
//! # Places that do not come back
//! A place is given up only when another pod has taken it (docs/adr/0010-when-a-place-is-given-up.md). A plan
//! that depends on this requests a check with [`Plan::check_place`]; the answer is part of the next snapshot.
//! A place that was freed by force is taken back in the same way, and a new size of the unit takes over the
//! place of the old one by hand-off.
//!
//! # Nodes that are not ready
//! A placeholder on such a node stays while the unit looks for another place; if most nodes are not ready, the unit
//! waits for its node. It is not known whether a pod on a lost node has ended. It stays while its instance is wanted.
//! Once the instance is withdrawn, the pod is abandoned: deleted and no longer waited for.

use crds::{FailureReason, GpuUnit, GpuUnitStatus};
use jiff::Timestamp;

use super::action::Plan;
use super::planner::Planner;
use super::snapshot::Snapshot;
use super::status;
use crate::settings::Settings;

/// Plans the next step for one unit.
#[must_use]
pub fn plan(unit: &GpuUnit, snapshot: &Snapshot, settings: &Settings) -> Plan {
    let previous = unit.status.clone().unwrap_or_default();
    let mut planner = Planner::new(unit, snapshot, settings, &previous);
    planner.plan_pods();
    planner.clean_up_mirrors();
    planner.clean_up_claims();
    planner.report()
}

/// The status after the API server has rejected the pod of the instance: the attempt has failed.
#[must_use]
pub fn rejected(
    unit: &GpuUnit,
    message: &str,
    reason: FailureReason,
    now: Timestamp,
) -> Option<GpuUnitStatus> {
    let instance = unit.spec.instance.as_ref()?;
    let mut after = unit.status.clone().unwrap_or_default();
    status::record_failure(&mut after, instance, reason, message, now);
    Some(after)
}
