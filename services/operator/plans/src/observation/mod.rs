//! Observations: the parts of the cluster's objects that decisions depend on, as small values.
//!
//! An observation drops everything else, so that thousands of units fit in little memory and a test can state one in
//! a few lines.

mod device_claim;
mod download;
mod node;
mod pod;
mod room;
mod runtime_class;
mod storage;

use k8s_openapi::api::core::v1::NodeSelector;

pub use device_claim::{ClaimRef, DraSupport, ObservedDeviceClaim, ObservedMirror, UNITS};
pub use download::{DownloadStage, ObservedDownload};
pub use node::ObservedNode;
pub use pod::{ContainerExit, ObservedPod, Phase, PodRef, Role, StatusReason};
pub use room::{NOT_READY, why_no_room};
pub use runtime_class::ObservedRuntimeClass;
pub use storage::{ObservedStorage, ObservedVolumeClaim};

/// Annotation on placeholders and on units' claims: hash of the template they were created from.
pub const ANNOTATION_TEMPLATE: &str = "atelier.dev/template";
/// Annotation on a mirror: name of the volume it was copied from.
pub const ANNOTATION_MIRRORS: &str = "atelier.dev/mirrors";
/// Annotation that a node agent may set on a pod: comma-separated UUIDs of its GPUs.
pub const ANNOTATION_GPUS: &str = "atelier.dev/gpu-uuids";
/// Label on pods of instances and downloads: the attempt.
pub const LABEL_ATTEMPT: &str = "atelier.dev/attempt";
/// Label on instance pods: the restart request.
pub const LABEL_RESTART: &str = "atelier.dev/restart";

/// The node that a selector allows by name, if it allows exactly one.
fn only_node(selector: &NodeSelector) -> Option<String> {
    let fields = selector.node_selector_terms.first()?.match_fields.as_ref()?;
    let field = fields.iter().find(|field| field.key == "metadata.name")?;
    field.values.as_ref()?.first().cloned()
}
