//! Volumes: the next step is decided purely from the storage and its resource, then carried out.

use std::time::Duration;

use crds::{GpuStorage, GpuStorageSpec, GpuStorageStatus, StoragePhase, StorageReason, names};
use kube::ResourceExt as _;

use super::{
    Observation, Parts,
    download::{self, Downloads},
    error::Error,
    gpu_storage::GpuStorages,
};
use crate::{
    storage::{Finding, Phase, Reason, ReasonCode, Storage},
    storage_spec::AccessMode,
};

/// Time until the next observation, in case the watch misses an event.
const OBSERVE_AGAIN: Duration = Duration::from_secs(5);

/// The next step.
#[derive(Debug, PartialEq)]
enum Step {
    /// Create or update the resource.
    Apply,
    /// Begin the deletion of the resource.
    Delete,
    /// Record the finding.
    Record(Finding),
    /// Nothing is left to delete.
    Gone,
}

/// The desired resource.
fn desired(storage: &Storage, downloads: Vec<crds::Download>) -> GpuStorage {
    let access_mode = match storage.access_mode {
        AccessMode::ReadWriteOnce => crds::AccessMode::ReadWriteOnce,
        AccessMode::ReadWriteMany => crds::AccessMode::ReadWriteMany,
    };
    let tenant = storage.tenant.k8s_name();
    let spec = GpuStorageSpec {
        tenant_id: tenant.clone(),
        size_gib: storage.size_gib,
        storage_class: storage.storage_class.clone(),
        access_mode,
        downloads,
    };
    let mut resource = GpuStorage::new(&storage.object_name(), spec);
    resource.labels_mut().insert(names::LABEL_TENANT.to_owned(), tenant);
    resource
}

fn decide(storage: &Storage, observed: Option<&GpuStorage>) -> Step {
    let record = |phase, capacity_gib| Step::Record(Finding { phase, capacity_gib });
    let Some(observed) = observed else {
        return match &storage.phase {
            Phase::Deleting(_) => Step::Gone,
            Phase::Pending(_) => Step::Apply,
            Phase::Available | Phase::Resizing(_) => record(lost(), None),
            Phase::Failed(reason) if reason.code == ReasonCode::VolumeLost => {
                record(storage.phase.clone(), None)
            }
            // the cluster may have refused it, so that it never existed
            Phase::Failed(_) => Step::Apply,
        };
    };
    match (storage.is_deleting(), observed.metadata.deletion_timestamp.is_some()) {
        (true, true) => record(deleting(), storage.capacity_gib),
        (true, false) => Step::Delete,
        (false, true) => record(lost(), storage.capacity_gib),
        (false, false) if observed.spec.size_gib < storage.size_gib => Step::Apply,
        (false, false) => {
            let status = observed.status.clone().unwrap_or_default();
            let current = status.observed_generation >= observed.metadata.generation;
            record(phase(storage, &status, current), status.capacity_gib)
        }
    }
}

/// The phase of a storage whose resource exists and has the desired size. `current` is whether the status belongs to
/// the resource's generation.
fn phase(storage: &Storage, status: &GpuStorageStatus, current: bool) -> Phase {
    let condition = status.conditions.iter().find(|condition| condition.type_ == names::CONDITION_BOUND);
    let unbound = condition.filter(|condition| condition.status != "True");
    let reason = |code, message: &str| {
        Reason::new(code, unbound.map_or_else(|| message.to_owned(), |condition| condition.message.clone()))
    };
    let grown = status.capacity_gib.is_none_or(|gib| gib >= storage.size_gib);
    match (status.phase, &storage.phase) {
        (StoragePhase::Bound, _) if current && grown => Phase::Available,
        (StoragePhase::Failed, _) if current => {
            Phase::Failed(reason(ReasonCode::VolumeFailed, "The cluster cannot provide the volume."))
        }
        (_, Phase::Resizing(_)) => {
            Phase::Resizing(Some(reason(ReasonCode::VolumeGrowing, "The cluster is enlarging the volume.")))
        }
        (_, Phase::Available) => Phase::Available,
        _ => {
            let accepted =
                unbound.is_some_and(|condition| condition.reason == StorageReason::Pending.as_str());
            let code = if accepted { ReasonCode::VolumeAccepted } else { ReasonCode::VolumePending };
            Phase::Pending(Some(reason(code, "The cluster is creating the volume.")))
        }
    }
}

fn lost() -> Phase {
    let message = "The volume has disappeared from the cluster, and was not deleted by this platform.";
    Phase::Failed(Reason::new(ReasonCode::VolumeLost, message))
}

fn deleting() -> Phase {
    let reason = Reason::new(ReasonCode::VolumeDeleting, "The cluster is deleting the volume.");
    Phase::Deleting(Some(reason))
}

/// Observes a volume and carries out at most one step.
pub(super) async fn reconcile(parts: &Parts, storage: &Storage, cluster: &str) -> Result<Observation, Error> {
    let resources = GpuStorages::of(&parts.clusters, cluster).await?;
    let name = storage.object_name();
    let observed = resources.get(&name).await?;
    let mut downloads = Downloads::read(parts, storage.id).await?;
    let volume = match &observed {
        Some(observed) if !storage.is_deleting() && observed.metadata.deletion_timestamp.is_none() => {
            let client = parts.clusters.client(cluster).await?;
            let volume = download::Volume { parts, storage, client, observed };
            volume.sign(&mut downloads).await?;
            Some(volume)
        }
        _ => None,
    };
    let outdated = volume.as_ref().is_some_and(|volume| downloads.differ(storage, volume.observed));
    let unfinished = |phase| {
        let finding = Finding { phase, capacity_gib: storage.capacity_gib };
        Observation::Found { finding, requeue_after: OBSERVE_AGAIN }
    };
    match decide(storage, observed.as_ref()) {
        Step::Gone => Ok(Observation::Gone),
        Step::Record(finding) if outdated => {
            resources.apply(&desired(storage, downloads.desired(storage))).await?;
            parts.faults.effect().await;
            Ok(Observation::Found { finding, requeue_after: Duration::ZERO })
        }
        Step::Record(finding) => {
            let requeue_after = match finding.phase {
                Phase::Available | Phase::Failed(_) => parts.config.compare(),
                _ => OBSERVE_AGAIN,
            };
            let again = match &volume {
                Some(volume) => volume.settle(&downloads).await?,
                None => None,
            };
            let requeue_after = again.map_or(requeue_after, |again| again.min(requeue_after));
            Ok(Observation::Found { finding, requeue_after })
        }
        Step::Apply => {
            resources.apply(&desired(storage, downloads.desired(storage))).await?;
            parts.faults.effect().await;
            let requested =
                Reason::new(ReasonCode::VolumeRequested, "The volume was requested from the cluster.");
            Ok(unfinished(storage.phase.waiting(requested)))
        }
        Step::Delete => {
            resources.delete(&name).await?;
            parts.faults.effect().await;
            Ok(unfinished(deleting()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::tests::volume;

    fn with_status(storage: &Storage, status: GpuStorageStatus) -> GpuStorage {
        let mut resource = desired(storage, Vec::new());
        resource.metadata.generation = Some(2);
        resource.status = Some(status);
        resource
    }

    fn observed(storage: &Storage, phase: StoragePhase, capacity_gib: Option<i64>) -> GpuStorage {
        let observed_generation = Some(2);
        with_status(
            storage,
            GpuStorageStatus { phase, capacity_gib, observed_generation, ..Default::default() },
        )
    }

    fn leaving(mut resource: GpuStorage) -> GpuStorage {
        resource.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        resource
    }

    fn record(phase: Phase, capacity_gib: Option<i64>) -> Step {
        Step::Record(Finding { phase, capacity_gib })
    }

    /// State, reason code and capacity of the recorded finding.
    fn recorded(step: Step) -> (&'static str, Option<ReasonCode>, Option<i64>) {
        let Step::Record(finding) = step else { panic!("{step:?}") };
        let code = finding.phase.reason().map(|reason| reason.code);
        (finding.phase.state().as_str(), code, finding.capacity_gib)
    }

    #[test]
    fn a_missing_volume_is_created_once_and_never_replaced_after_a_loss() {
        let pending = volume(Phase::Pending(None));
        assert_eq!(decide(&pending, None), Step::Apply);
        assert_eq!(decide(&volume(Phase::Available), None), record(lost(), None));
        assert_eq!(decide(&volume(Phase::Resizing(None)), None), record(lost(), None));
        assert_eq!(decide(&volume(lost()), None), record(lost(), None));
        let refused = Phase::Failed(Reason::new(ReasonCode::ClusterRefused, "no"));
        assert_eq!(decide(&volume(refused), None), Step::Apply);
    }

    #[test]
    fn a_volume_that_leaves_by_itself_is_lost() {
        let available = volume(Phase::Available);
        let leaving = leaving(observed(&available, StoragePhase::Bound, Some(20)));
        assert_eq!(decide(&available, Some(&leaving)), record(lost(), None));
    }

    #[test]
    fn a_bound_volume_of_full_size_is_available() {
        let pending = volume(Phase::Pending(None));
        let mut bound = observed(&pending, StoragePhase::Bound, Some(20));
        assert_eq!(decide(&pending, Some(&bound)), record(Phase::Available, Some(20)));
        let unknown = observed(&pending, StoragePhase::Bound, None);
        assert_eq!(decide(&pending, Some(&unknown)), record(Phase::Available, None));
        let small = observed(&pending, StoragePhase::Bound, Some(19));
        let waiting = Some(ReasonCode::VolumePending);
        assert_eq!(recorded(decide(&pending, Some(&small))), ("pending", waiting, Some(19)));
        bound.metadata.generation = Some(3);
        assert_eq!(recorded(decide(&pending, Some(&bound))), ("pending", waiting, Some(20)), "stale status");
    }

    #[test]
    fn an_available_volume_stays_so_while_the_status_is_stale() {
        let available = volume(Phase::Available);
        let mut failed = observed(&available, StoragePhase::Failed, Some(20));
        assert_eq!(
            recorded(decide(&available, Some(&failed))),
            ("failed", Some(ReasonCode::VolumeFailed), Some(20))
        );
        failed.metadata.generation = Some(3);
        assert_eq!(decide(&available, Some(&failed)), record(Phase::Available, Some(20)));
    }

    #[test]
    fn a_volume_that_waits_for_its_first_instance_is_accepted() {
        let pending = volume(Phase::Pending(None));
        let waits = |status: &str, reason: &str| {
            let conditions = json!([{ "type": "Bound", "status": status, "reason": reason, "message": "waits",
                "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
            let conditions = serde_json::from_value(conditions).unwrap();
            let status = GpuStorageStatus { conditions, observed_generation: Some(2), ..Default::default() };
            let step = decide(&pending, Some(&with_status(&pending, status)));
            let Step::Record(Finding { phase: Phase::Pending(Some(reason)), .. }) = step else {
                panic!("{step:?}")
            };
            (reason.code, reason.message)
        };
        assert_eq!(waits("False", "Pending"), (ReasonCode::VolumeAccepted, "waits".into()));
        assert_eq!(waits("False", "Failed"), (ReasonCode::VolumePending, "waits".into()));
        assert_eq!(waits("True", "Pending").0, ReasonCode::VolumePending);
    }

    #[test]
    fn growth_is_requested_and_awaited() {
        let mut growing = volume(Phase::Resizing(None));
        let before = observed(&growing, StoragePhase::Bound, Some(20));
        growing.size_gib = 30;
        assert_eq!(decide(&growing, Some(&before)), Step::Apply);
        let mut requested = before;
        requested.spec.size_gib = 30;
        assert_eq!(
            recorded(decide(&growing, Some(&requested))),
            ("resizing", Some(ReasonCode::VolumeGrowing), Some(20))
        );
        let done = observed(&growing, StoragePhase::Bound, Some(30));
        assert_eq!(decide(&growing, Some(&done)), record(Phase::Available, Some(30)));
        let failed = observed(&growing, StoragePhase::Failed, Some(20));
        assert_eq!(
            recorded(decide(&growing, Some(&failed))),
            ("failed", Some(ReasonCode::VolumeFailed), Some(20))
        );
    }

    #[test]
    fn deletion_is_requested_once_and_awaited() {
        let storage = volume(Phase::Deleting(None));
        assert_eq!(decide(&storage, None), Step::Gone);
        let bound = observed(&storage, StoragePhase::Bound, Some(20));
        assert_eq!(decide(&storage, Some(&bound)), Step::Delete);
        assert_eq!(decide(&storage, Some(&leaving(bound))), record(deleting(), None));
    }
}
