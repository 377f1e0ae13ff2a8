//! Runtime classes.

use std::collections::BTreeMap;

use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// A runtime class.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedRuntimeClass {
    /// Name of the runtime in the configuration of the nodes.
    pub handler: String,
    /// The overhead of a pod.
    pub overhead: BTreeMap<String, Quantity>,
    /// Labels of the nodes that have it.
    pub node_selector: BTreeMap<String, String>,
}

impl ObservedRuntimeClass {
    /// Reads a runtime class.
    #[must_use]
    pub fn of(class: &RuntimeClass) -> Self {
        Self {
            handler: class.handler.clone(),
            overhead: class
                .overhead
                .as_ref()
                .and_then(|overhead| overhead.pod_fixed.clone())
                .unwrap_or_default(),
            node_selector: class
                .scheduling
                .as_ref()
                .and_then(|scheduling| scheduling.node_selector.clone())
                .unwrap_or_default(),
        }
    }
}
