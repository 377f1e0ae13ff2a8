//! The observations that a plan is made from.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::observation::{
    DraSupport, ObservedDeviceClaim, ObservedMirror, ObservedNode, ObservedPod, ObservedStorage,
};

/// Everything that the plan of one unit depends on, besides the unit itself and the settings.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Now.
    pub now: Timestamp,
    /// When this process last saw a pod of the unit disappear, or became leader. A place that was freed then may still
    /// be unassigned, and a wait that nobody could act on is not late.
    pub settled_since: Timestamp,
    /// The last placeholder that disappeared was preempted.
    pub preempted: bool,
    /// Pods of the unit.
    pub pods: Vec<ObservedPod>,
    /// The nodes that these pods are bound to or require. A node that is missing does not exist.
    pub nodes: BTreeMap<String, ObservedNode>,
    /// The storages of the instance. A storage that is missing does not exist.
    pub storages: BTreeMap<String, ObservedStorage>,
    /// Whether devices can be claimed.
    pub dra: DraSupport,
    /// The unit's claims on devices.
    pub claims: Vec<ObservedDeviceClaim>,
    /// The mirrors of storages in the unit's namespace.
    pub mirrors: Vec<ObservedMirror>,
}
