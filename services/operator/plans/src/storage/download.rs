//! The downloads of a storage: a pod for each attempt, and its result.
//!
//! The pod mounts the volume, runs `atelier-fetch`, and ends. Its end is first recorded in the status; then
//! it is deleted. A failed attempt is not repeated here: the client requests another attempt, with a fresh
//! address.

use std::collections::BTreeMap;

use crds::{
    AccessMode, Download, DownloadFailure, DownloadPhase, DownloadReason, DownloadStatus, GpuStorage, names,
};
use k8s_openapi::api::core::v1::{
    Container, EnvVar, EnvVarSource, PersistentVolumeClaimVolumeSource, Pod, PodSpec, ResourceRequirements,
    SecretKeySelector, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Resource as _, ResourceExt as _};

use super::action::Action;
use crate::object_names::SERVICE_ACCOUNT;
use crate::observation::{DownloadStage, LABEL_ATTEMPT, ObservedDownload, StatusReason};
use crate::settings::Settings;
use crate::unit::pods::{confined, only, pod_security};

/// Mount path of the volume in the pod, which is also the working directory.
const MOUNT: &str = "/volume";
/// Longest message in a status, in characters.
const MESSAGE_MAX: usize = 300;

/// The objects of a storage's downloads in the cluster.
#[derive(Clone, Debug, Default)]
pub struct Downloads {
    /// The pods.
    pub pods: Vec<ObservedDownload>,
    /// The node on which an instance uses the volume.
    pub node: Option<String>,
}

/// Plans the downloads of a storage whose volume is bound, if `bound`.
#[must_use]
pub(super) fn plan(
    storage: &GpuStorage,
    bound: bool,
    observed: &Downloads,
    settings: &Settings,
) -> (Vec<Action>, Vec<DownloadStatus>) {
    let recorded = storage.status.as_ref().map(|status| status.downloads.as_slice()).unwrap_or_default();
    let of = |download: &Download, id: &str, attempt: i64| download.id == id && download.attempt == attempt;
    let ended = |download: &Download| {
        let own = recorded.iter().find(|status| of(download, &status.id, status.attempt));
        own.filter(|status| status.phase != DownloadPhase::Pending)
    };
    let is_wanted = |pod: &ObservedDownload| {
        let mut wanted = storage.spec.downloads.iter();
        wanted.any(|download| of(download, &pod.download, pod.attempt) && ended(download).is_none())
    };
    let mut actions: Vec<_> = observed
        .pods
        .iter()
        .filter(|pod| !pod.deleting && !is_wanted(pod))
        .map(|pod| Action::DeletePod(pod.reference()))
        .collect();
    let mut statuses = Vec::new();
    for download in &storage.spec.downloads {
        if let Some(ended) = ended(download) {
            statuses.push(ended.clone());
            continue;
        }
        let pod = observed.pods.iter().find(|pod| of(download, &pod.download, pod.attempt));
        let (phase, reason, message) = match pod {
            Some(pod) => progress(&pod.stage),
            None if bound => {
                actions.push(Action::EnsureNamespace(storage.spec.tenant_id.clone()));
                actions.push(Action::CreatePod(Box::new(self::pod(
                    storage,
                    download,
                    observed.node.as_deref(),
                    settings,
                ))));
                progress(&DownloadStage::Unscheduled(None))
            }
            None => {
                let message = "the volume is not bound yet".to_owned();
                (DownloadPhase::Pending, Some(DownloadReason::Scheduling), message)
            }
        };
        statuses.push(DownloadStatus {
            id: download.id.clone(),
            attempt: download.attempt,
            phase,
            reason: reason.map(|reason| reason.to_string()),
            message: (!message.is_empty()).then(|| message.chars().take(MESSAGE_MAX).collect()),
        });
    }
    (actions, statuses)
}

fn progress(stage: &DownloadStage) -> (DownloadPhase, Option<DownloadReason>, String) {
    let pending = |reason, message| (DownloadPhase::Pending, Some(reason), message);
    let words = |reason: &StatusReason| format!("{}: {}", reason.reason, reason.message);
    match stage {
        DownloadStage::Unscheduled(message) => {
            pending(DownloadReason::Scheduling, message.clone().unwrap_or_default())
        }
        DownloadStage::Starting(reason) => {
            pending(DownloadReason::Starting, reason.as_ref().map(words).unwrap_or_default())
        }
        DownloadStage::Running => pending(DownloadReason::Downloading, String::new()),
        DownloadStage::Succeeded => (DownloadPhase::Done, None, String::new()),
        DownloadStage::Failed(code, why) => {
            let (reason, message) = match code.and_then(DownloadFailure::from_code) {
                Some(failure) => explain(failure),
                None => (DownloadReason::PodFailed, "the pod has failed"),
            };
            let message = why.as_ref().map_or_else(|| message.to_owned(), words);
            (DownloadPhase::Failed, Some(reason), message)
        }
    }
}

const fn explain(failure: DownloadFailure) -> (DownloadReason, &'static str) {
    match failure {
        DownloadFailure::UrlRefused => {
            (DownloadReason::UrlRefused, "the object store refuses the address, or the object is gone")
        }
        DownloadFailure::Unreachable => {
            (DownloadReason::Unreachable, "the object store cannot be reached, or the connection broke")
        }
        DownloadFailure::ContentMismatch => {
            (DownloadReason::ContentMismatch, "the object has another size or SHA-256 than announced")
        }
        DownloadFailure::VolumeFull => (DownloadReason::VolumeFull, "no space is left on the volume"),
        DownloadFailure::PathNotWritable => (
            DownloadReason::PathNotWritable,
            "the path cannot be written: something else is there, or a permission is missing",
        ),
    }
}

/// The pod of an attempt. Its name is derived from the attempt, so that a repeated creation makes no second
/// pod.
fn pod(storage: &GpuStorage, download: &Download, node: Option<&str>, settings: &Settings) -> Pod {
    let labels = [
        ("app.kubernetes.io/managed-by", names::MANAGER_OPERATOR),
        (names::LABEL_ROLE, names::ROLE_DOWNLOAD),
        (names::LABEL_STORAGE, &storage.name_any()),
        (names::LABEL_TENANT, &storage.spec.tenant_id),
        (names::LABEL_DOWNLOAD, &download.id),
        (LABEL_ATTEMPT, &download.attempt.to_string()),
    ]
    .map(|(label, value)| (label.to_owned(), value.to_owned()));
    let metadata = ObjectMeta {
        name: Some(format!("{}-{}", download.id, download.attempt)),
        namespace: Some(storage.spec.tenant_id.clone()),
        labels: Some(labels.into()),
        owner_references: Some(vec![OwnerReference {
            api_version: GpuStorage::api_version(&()).into_owned(),
            kind: GpuStorage::kind(&()).into_owned(),
            name: storage.name_any(),
            uid: storage.uid().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: None,
        }]),
        ..ObjectMeta::default()
    };
    let quantities = |all: &[(&str, &str)]| -> BTreeMap<String, Quantity> {
        all.iter().map(|(name, value)| ((*name).to_owned(), Quantity((*value).to_owned()))).collect()
    };
    let arguments = [
        ("--path", download.path.clone()),
        ("--bytes", download.bytes.to_string()),
        ("--sha256", download.sha256.clone()),
        ("--id", download.id.clone()),
        ("--attempt", download.attempt.to_string()),
    ];
    let container = Container {
        name: names::CONTAINER.to_owned(),
        image: Some(settings.fetch_image.clone()),
        // one word each: a path may begin with a dash. `$(NAME)` in a path is not expanded
        args: Some(arguments.map(|(name, value)| format!("{name}={}", value.replace('$', "$$"))).to_vec()),
        env: Some(vec![EnvVar {
            name: "ATELIER_DOWNLOAD_URL".to_owned(),
            value: None,
            value_from: Some(EnvVarSource {
                secret_key_ref: Some(SecretKeySelector {
                    name: download.secret_name.clone(),
                    key: names::KEY_URL.to_owned(),
                    optional: Some(false),
                }),
                ..EnvVarSource::default()
            }),
        }]),
        working_dir: Some(MOUNT.to_owned()),
        resources: Some(ResourceRequirements {
            requests: Some(quantities(&[("cpu", "50m"), ("memory", "32Mi")])),
            limits: Some(quantities(&[("cpu", "1"), ("memory", "128Mi")])),
            claims: None,
        }),
        security_context: Some(SecurityContext { read_only_root_filesystem: Some(true), ..confined(false) }),
        volume_mounts: Some(vec![VolumeMount {
            name: "volume".to_owned(),
            mount_path: MOUNT.to_owned(),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    };
    // a volume of one node must be mounted where its instance runs
    let node = node.filter(|_| storage.spec.access_mode == AccessMode::ReadWriteOnce);
    let spec = PodSpec {
        containers: vec![container],
        volumes: Some(vec![Volume {
            name: "volume".to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: storage.name_any(),
                read_only: None,
            }),
            ..Volume::default()
        }]),
        restart_policy: Some("Never".to_owned()),
        active_deadline_seconds: Some(settings.fetch_seconds),
        termination_grace_period_seconds: Some(1),
        // preempts no other pod
        priority_class_name: Some(names::CLASS_PLACEHOLDER.to_owned()),
        preemption_policy: Some("Never".to_owned()),
        affinity: node.map(only),
        tolerations: settings.tolerations(),
        scheduler_name: settings.scheduler.clone(),
        service_account_name: Some(SERVICE_ACCOUNT.to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(pod_security(settings.run_as, false)),
        ..PodSpec::default()
    };
    Pod { metadata, spec: Some(spec), status: None }
}

#[cfg(test)]
mod tests {
    use crds::{GpuStorageSpec, GpuStorageStatus};

    use super::*;

    fn storage(attempt: i64, recorded: Vec<DownloadStatus>) -> GpuStorage {
        let download = Download {
            id: "dpl-1".into(),
            attempt,
            path: "-a/$(HOME).safetensors".into(),
            bytes: 3,
            sha256: "00".repeat(32),
            secret_name: "dpl-1".into(),
        };
        let spec = GpuStorageSpec {
            tenant_id: "ten-1".into(),
            size_gib: 1,
            storage_class: None,
            access_mode: AccessMode::ReadWriteOnce,
            downloads: vec![download],
        };
        let mut storage = GpuStorage::new("stor-1", spec);
        storage.status = Some(GpuStorageStatus { downloads: recorded, ..GpuStorageStatus::default() });
        storage
    }

    fn observed(attempt: i64, stage: DownloadStage) -> Downloads {
        let pod = ObservedDownload {
            storage: "stor-1".into(),
            download: "dpl-1".into(),
            attempt,
            namespace: "ten-1".into(),
            name: format!("dpl-1-{attempt}"),
            uid: "uid".into(),
            version: "1".into(),
            stage,
            deleting: false,
        };
        Downloads { pods: vec![pod], node: None }
    }

    fn planned(storage: &GpuStorage, observed: &Downloads) -> (Vec<&'static str>, Vec<DownloadStatus>) {
        let (actions, statuses) = plan(storage, true, observed, &Settings::default());
        let name = |action: &Action| match action {
            Action::EnsureNamespace(_) => "namespace",
            Action::CreatePod(_) => "create",
            Action::DeletePod(_) => "delete",
            _ => "other",
        };
        (actions.iter().map(name).collect(), statuses)
    }

    #[test]
    fn an_attempt_has_one_pod_which_goes_when_its_end_is_recorded() {
        let (actions, statuses) = planned(&storage(1, vec![]), &Downloads::default());
        assert_eq!(actions, ["namespace", "create"]);
        assert_eq!(
            (statuses[0].phase, statuses[0].reason.as_deref()),
            (DownloadPhase::Pending, Some("Scheduling"))
        );
        let (actions, _) = plan(&storage(1, vec![]), false, &Downloads::default(), &Settings::default());
        assert!(actions.is_empty(), "the volume is not bound");

        let succeeded = observed(1, DownloadStage::Succeeded);
        let (actions, statuses) = planned(&storage(1, vec![]), &succeeded);
        assert_eq!((actions, statuses[0].phase), (vec![], DownloadPhase::Done));
        let recorded = storage(1, statuses.clone());
        assert_eq!(planned(&recorded, &succeeded), (vec!["delete"], statuses.clone()));
        assert_eq!(planned(&recorded, &Downloads::default()), (vec![], statuses), "it is not made again");
    }

    #[test]
    fn the_next_attempt_has_a_pod_of_its_own() {
        let full =
            observed(1, DownloadStage::Failed(Some(i32::from(DownloadFailure::VolumeFull.code())), None));
        let (_, statuses) = planned(&storage(1, vec![]), &full);
        assert_eq!(
            (statuses[0].phase, statuses[0].reason.as_deref()),
            (DownloadPhase::Failed, Some("VolumeFull"))
        );
        let (actions, statuses) = planned(&storage(2, statuses), &full);
        assert_eq!(actions, ["delete", "namespace", "create"]);
        assert_eq!((statuses[0].attempt, statuses[0].phase), (2, DownloadPhase::Pending));
    }

    #[test]
    fn a_path_is_text_and_the_pod_is_confined() {
        let (actions, _) = plan(&storage(1, vec![]), true, &Downloads::default(), &Settings::default());
        let pod = actions.into_iter().find_map(|action| match action {
            Action::CreatePod(pod) => Some(*pod),
            _ => None,
        });
        let spec = pod.unwrap().spec.unwrap();
        let container = &spec.containers[0];
        assert_eq!(container.args.as_ref().unwrap()[0], "--path=-a/$$(HOME).safetensors");
        assert_eq!(spec.automount_service_account_token, Some(false));
        let security = container.security_context.as_ref().unwrap();
        assert_eq!(security.read_only_root_filesystem, Some(true));
        assert_eq!(security.allow_privilege_escalation, Some(false));
    }
}
