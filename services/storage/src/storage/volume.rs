//! Volumes: what to do about one, decided purely from what is wanted and what the cluster shows, and then
//! done.

use std::time::Duration;

use crds::{GpuStorage, GpuStorageSpec, StoragePhase, names};
use kube::ResourceExt as _;

use super::{
    model::{Phase, Storage, Why, reason},
    reconcile::{Hitch, Outcome},
};
use crate::{app::App, storage_spec::AccessMode};

/// How long to wait for the watch to tell before asking again.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What to do.
#[derive(Debug, PartialEq)]
enum Step {
    /// Write the resource.
    Apply,
    /// Ask for its removal.
    Remove,
    /// Nothing; this is how it stands.
    Settle(Phase, Option<i64>),
    /// Nothing; it is gone as wished.
    Gone,
}

/// The resource as it shall be.
fn wanted(storage: &Storage) -> GpuStorage {
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
    };
    let mut resource = GpuStorage::new(&storage.object_name(), spec);
    resource.labels_mut().insert(names::LABEL_TENANT.to_owned(), tenant);
    resource
}

fn decide(storage: &Storage, seen: Option<&GpuStorage>) -> Step {
    let deleting = matches!(storage.phase, Phase::Deleting(_));
    let Some(seen) = seen else {
        return match storage.phase {
            Phase::Deleting(_) => Step::Gone,
            Phase::Pending(_) => Step::Apply,
            Phase::Available | Phase::Resizing(_) => Step::Settle(lost(), None),
            // it may have been refused before it was there
            Phase::Failed(ref why) if why.reason == reason::VOLUME_LOST => {
                Step::Settle(storage.phase.clone(), None)
            }
            Phase::Failed(_) => Step::Apply,
        };
    };
    let leaving = seen.metadata.deletion_timestamp.is_some();
    if deleting {
        let why = Why::new(reason::VOLUME_REMOVING, "The cluster is removing the volume.");
        return if leaving {
            Step::Settle(Phase::Deleting(Some(why)), storage.capacity_gib)
        } else {
            Step::Remove
        };
    }
    if leaving {
        return Step::Settle(lost(), storage.capacity_gib);
    }
    if seen.spec.size_gib < storage.size_gib {
        return Step::Apply;
    }
    let status = seen.status.clone().unwrap_or_default();
    let current = status.observed_generation >= seen.metadata.generation;
    let condition = status.conditions.iter().find(|c| c.type_ == names::CONDITION_BOUND);
    let why = |reason: &str, message: &str| match condition {
        Some(condition) if condition.status != "True" => {
            Why::new(&condition.reason, condition.message.clone())
        }
        _ => Why::new(reason, message),
    };
    let capacity = status.capacity_gib;
    let grown = capacity.is_none_or(|gib| gib >= storage.size_gib);
    let phase = match (status.phase, &storage.phase) {
        (StoragePhase::Bound, _) if current && grown => Phase::Available,
        (StoragePhase::Bound, Phase::Resizing(_)) => {
            Phase::Resizing(Some(why(reason::VOLUME_GROWING, "The cluster is growing the volume.")))
        }
        (StoragePhase::Failed, _) if current => {
            Phase::Failed(why(reason::VOLUME_FAILED, "The cluster could not provide the volume."))
        }
        (_, Phase::Resizing(_)) => {
            Phase::Resizing(Some(why(reason::VOLUME_GROWING, "The cluster is growing the volume.")))
        }
        (_, Phase::Available) => Phase::Available,
        _ => Phase::Pending(Some(why(reason::VOLUME_PENDING, "The cluster is making the volume."))),
    };
    Step::Settle(phase, capacity)
}

fn lost() -> Phase {
    let text = "The volume is gone from the cluster, and not by order of this service.";
    Phase::Failed(Why::new(reason::VOLUME_LOST, text))
}

/// One look at a volume and at most one step.
pub(super) async fn reconcile(app: &App, storage: &Storage) -> Result<Outcome, Hitch> {
    let cluster = storage.cluster.as_deref().unwrap_or_default();
    let name = storage.object_name();
    let seen = app.clusters.get(cluster, &name).await?;
    match decide(storage, seen.as_ref()) {
        Step::Gone => Ok(Outcome::Gone),
        Step::Settle(phase, capacity_gib) => {
            let again_in = match phase {
                Phase::Available | Phase::Failed(_) => app.config.reconcile.compare(),
                _ => ASK_AGAIN,
            };
            Ok(Outcome::Stands { phase, capacity_gib, again_in })
        }
        Step::Apply => {
            app.clusters.apply(cluster, &wanted(storage)).await?;
            app.faults.effect()?;
            let phase = match &storage.phase {
                Phase::Failed(_) => storage.phase.clone(),
                phase => phase
                    .hindered(Why::new(reason::VOLUME_REQUESTED, "The cluster was asked for the volume.")),
            };
            Ok(Outcome::Stands { phase, capacity_gib: storage.capacity_gib, again_in: ASK_AGAIN })
        }
        Step::Remove => {
            app.clusters.remove(cluster, &name).await?;
            app.faults.effect()?;
            let why = Why::new(reason::VOLUME_REMOVING, "The cluster is removing the volume.");
            let phase = Phase::Deleting(Some(why));
            Ok(Outcome::Stands { phase, capacity_gib: storage.capacity_gib, again_in: ASK_AGAIN })
        }
    }
}

#[cfg(test)]
mod tests {
    use crds::GpuStorageStatus;
    use ids::{OperationId, StorageId, StorageSpecId, TenantId};
    use jiff::Timestamp;

    use super::*;
    use crate::storage_spec::Kind;

    fn storage(phase: Phase) -> Storage {
        Storage {
            id: StorageId::new(),
            tenant: TenantId::new(),
            name: "models".into(),
            spec_id: StorageSpecId::new(),
            spec_name: "ssd".into(),
            kind: Kind::Volume,
            size_gib: 20,
            cluster: Some("uk-1".into()),
            datacenter: Some("uk-1".into()),
            storage_class: None,
            access_mode: AccessMode::default(),
            price_per_gib_month: rust_decimal::Decimal::ONE,
            currency: "USD".into(),
            phase,
            capacity_gib: None,
            operation_id: OperationId::new(),
            generation: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn seen(storage: &Storage, phase: StoragePhase, capacity_gib: Option<i64>) -> GpuStorage {
        let mut seen = wanted(storage);
        seen.metadata.generation = Some(2);
        seen.status = Some(GpuStorageStatus {
            phase,
            capacity_gib,
            observed_generation: Some(2),
            ..Default::default()
        });
        seen
    }

    #[test]
    fn what_is_missing_is_made_once_and_never_made_again_over_a_loss() {
        let pending = storage(Phase::Pending(None));
        assert_eq!(decide(&pending, None), Step::Apply);
        let Step::Settle(phase, _) = decide(&storage(Phase::Available), None) else {
            panic!("a lost volume was made again, empty");
        };
        assert_eq!(phase, lost());
        assert_eq!(decide(&storage(lost()), None), Step::Settle(lost(), None));
        let refused = Phase::Failed(Why::new(reason::CLUSTER_REFUSED, "no"));
        assert_eq!(decide(&storage(refused), None), Step::Apply);
    }

    #[test]
    fn bound_in_full_is_available() {
        let pending = storage(Phase::Pending(None));
        let bound = seen(&pending, StoragePhase::Bound, Some(20));
        assert_eq!(decide(&pending, Some(&bound)), Step::Settle(Phase::Available, Some(20)));
        let mut stale = bound;
        stale.metadata.generation = Some(3);
        assert!(matches!(decide(&pending, Some(&stale)), Step::Settle(Phase::Pending(Some(_)), _)));
    }

    #[test]
    fn growing_is_ordered_and_waited_for() {
        let mut growing = storage(Phase::Resizing(None));
        let before = seen(&growing, StoragePhase::Bound, Some(20));
        growing.size_gib = 30;
        assert_eq!(decide(&growing, Some(&before)), Step::Apply);
        let mut ordered = before;
        ordered.spec.size_gib = 30;
        assert!(matches!(decide(&growing, Some(&ordered)), Step::Settle(Phase::Resizing(Some(_)), Some(20))));
        let done = seen(&growing, StoragePhase::Bound, Some(30));
        assert_eq!(decide(&growing, Some(&done)), Step::Settle(Phase::Available, Some(30)));
    }

    #[test]
    fn deleting_asks_once_and_waits() {
        let deleting = storage(Phase::Deleting(None));
        assert_eq!(decide(&deleting, None), Step::Gone);
        let mut there = seen(&deleting, StoragePhase::Bound, Some(20));
        assert_eq!(decide(&deleting, Some(&there)), Step::Remove);
        there.metadata.deletion_timestamp =
            serde_json::from_value(serde_json::json!("2026-01-01T00:00:00Z")).unwrap();
        assert!(matches!(decide(&deleting, Some(&there)), Step::Settle(Phase::Deleting(Some(_)), _)));
    }
}
