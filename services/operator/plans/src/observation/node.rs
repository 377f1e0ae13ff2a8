//! Nodes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedNode {
    /// Its `Ready` condition.
    pub ready: bool,
    /// Time of the last change of `ready`.
    pub since: Option<Timestamp>,
    /// It is marked as unschedulable.
    pub cordoned: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its runtime handlers, and whether each has user namespaces. The default one has no name. Empty if the kubelet reports
    /// none.
    pub handlers: BTreeMap<String, bool>,
}

impl ObservedNode {
    /// Reads a node.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        let handlers = node.status.as_ref().and_then(|status| status.runtime_handlers.as_ref());
        let handlers = handlers.into_iter().flatten().map(|handler| {
            let users = handler.features.as_ref().and_then(|features| features.user_namespaces);
            (handler.name.clone().unwrap_or_default(), users.unwrap_or(false))
        });
        let ready = conditions.and_then(|all| all.iter().find(|condition| condition.type_ == "Ready"));
        Self {
            ready: ready.is_some_and(|ready| ready.status == "True"),
            since: ready.and_then(|ready| ready.last_transition_time.as_ref()).map(|time| time.0),
            cordoned: node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            handlers: handlers.collect(),
        }
    }
}
