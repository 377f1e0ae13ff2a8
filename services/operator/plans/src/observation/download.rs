//! Pods that download files onto volumes.

use crds::names;
use k8s_openapi::api::core::v1::Pod;

use super::{LABEL_ATTEMPT, PodRef, StatusReason, pod};

/// Progress of a pod that runs to completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownloadStage {
    /// Waits for a node; the scheduler's message, if any.
    Unscheduled(Option<String>),
    /// On a node, its container does not run yet; the node's reason, if any.
    Starting(Option<StatusReason>),
    /// Its container runs.
    Running,
    /// Ended with success.
    Succeeded,
    /// Ended otherwise: the exit code of the container if there is one, and why the pod ended.
    Failed(Option<i32>, Option<StatusReason>),
}

/// The pod of one attempt at a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedDownload {
    /// Name of the storage.
    pub storage: String,
    /// Name of the download.
    pub download: String,
    /// Number of the attempt.
    pub attempt: i64,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Resource version.
    pub version: String,
    /// Its progress.
    pub stage: DownloadStage,
    /// It has a deletion timestamp.
    pub deleting: bool,
}

impl ObservedDownload {
    /// Reads a pod. `None` if it is not the pod of a download.
    #[must_use]
    pub fn of(pod: &Pod) -> Option<Self> {
        let labels = pod.metadata.labels.as_ref()?;
        if labels.get(names::LABEL_ROLE)? != names::ROLE_DOWNLOAD {
            return None;
        }
        Some(Self {
            storage: labels.get(names::LABEL_STORAGE)?.clone(),
            download: labels.get(names::LABEL_DOWNLOAD)?.clone(),
            attempt: labels.get(LABEL_ATTEMPT)?.parse().ok()?,
            namespace: pod.metadata.namespace.clone()?,
            name: pod.metadata.name.clone()?,
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            version: pod.metadata.resource_version.clone().unwrap_or_default(),
            stage: stage(pod),
            deleting: pod.metadata.deletion_timestamp.is_some(),
        })
    }

    /// A reference to exactly this pod.
    #[must_use]
    pub fn reference(&self) -> PodRef {
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        PodRef { namespace, name, uid: Some(self.uid.clone()), version: None }
    }
}

fn stage(pod: &Pod) -> DownloadStage {
    let status = pod.status.clone().unwrap_or_default();
    let container = status.container_statuses.as_ref().and_then(|all| all.first());
    let state = container.and_then(|container| container.state.as_ref());
    let terminated = state.and_then(|state| state.terminated.as_ref());
    match status.phase.as_deref() {
        Some("Succeeded") => DownloadStage::Succeeded,
        Some("Failed") => {
            DownloadStage::Failed(terminated.map(|ended| ended.exit_code), pod::status_reason(&status))
        }
        _ if pod
            .spec
            .as_ref()
            .is_none_or(|spec| spec.node_name.as_deref().unwrap_or_default().is_empty()) =>
        {
            DownloadStage::Unscheduled(pod::unschedulable(&status))
        }
        _ if state.is_some_and(|state| state.running.is_some()) => DownloadStage::Running,
        _ => DownloadStage::Starting(state.and_then(|state| state.waiting.as_ref()).map(pod::waiting)),
    }
}
