//! Nodes.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedNode {
    /// Its `Ready` condition.
    pub ready: bool,
    /// Time of the last change of `ready`.
    pub since: Option<Timestamp>,
    /// It is marked as unschedulable.
    pub cordoned: bool,
}

impl ObservedNode {
    /// Reads a node.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        let ready = conditions.and_then(|all| all.iter().find(|condition| condition.type_ == "Ready"));
        Self {
            ready: ready.is_some_and(|ready| ready.status == "True"),
            since: ready.and_then(|ready| ready.last_transition_time.as_ref()).map(|time| time.0),
            cordoned: node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false),
        }
    }
}
