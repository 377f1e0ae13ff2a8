//! The observations that a plan is made from.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::observation::{
    DraSupport, ObservedDeviceClaim, ObservedMirror, ObservedNode, ObservedPod, ObservedRuntimeClass,
    ObservedStorage,
};

/// Everything that the plan of one unit depends on, besides the unit itself and the settings.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Now.
    pub now: Timestamp,
    /// Since when this process observes the cluster without a gap and may act on it. Waiting time before that
    /// does not count as late.
    pub observed_since: Timestamp,
    /// When this process last saw a pod of the unit disappear. A place that was freed then may still be unassigned.
    pub pod_gone_at: Option<Timestamp>,
    /// The last placeholder that disappeared was preempted.
    pub preempted: bool,
    /// Whether the scheduler has answered about a pod that was created since `observed_since`: it follows the cluster again,
    /// if it runs.
    pub scheduler_heard: bool,
    /// Placeholders and instance pods of the unit.
    pub pods: Vec<ObservedPod>,
    /// Guards and barriers of the unit.
    pub guards: Vec<ObservedPod>,
    /// The nodes that these pods are bound to or require, those of the claims and of the unit's status. A node that is
    /// missing does not exist.
    pub nodes: BTreeMap<String, ObservedNode>,
    /// The storages of the instance. A storage that is missing does not exist.
    pub storages: BTreeMap<String, ObservedStorage>,
    /// The runtime classes of the cluster.
    pub runtime_classes: BTreeMap<String, ObservedRuntimeClass>,
    /// Most nodes are not ready: units wait for them instead of looking elsewhere.
    pub outage: bool,
    /// The last answer to [`Plan::check_place`](super::action::Plan::check_place).
    pub place_check: Option<PlaceCheck>,
    /// Whether devices can be claimed.
    pub dra: DraSupport,
    /// The unit's claims on devices.
    pub claims: Vec<ObservedDeviceClaim>,
    /// The mirrors of storages in the unit's namespace.
    pub mirrors: Vec<ObservedMirror>,
}

/// Whether a unit fits on a node in addition to the pods of others, by the API server's own objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceCheck {
    /// Name of the node.
    pub node: String,
    /// Hash of the size that was checked.
    pub template: String,
    /// Time of the check.
    pub at: Timestamp,
    /// Why the unit does not fit; `None` if it does.
    pub refusal: Option<String>,
}

impl Snapshot {
    /// The start of all time limits that concern the place: before it, the operator did not observe the cluster, or a pod
    /// still held the place.
    #[must_use]
    pub fn settled_since(&self) -> Timestamp {
        self.pod_gone_at.map_or(self.observed_since, |at| at.max(self.observed_since))
    }
}
