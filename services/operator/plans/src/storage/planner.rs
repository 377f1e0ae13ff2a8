//! The next step for one storage: its namespace, its volume claim, its downloads, its status.

use std::collections::BTreeMap;

use crds::{GpuStorage, GpuStorageStatus, StoragePhase, StorageReason, names};
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::action::Action;
use super::download::{self, Downloads};
use crate::conditions::Conditions;
use crate::observation::ObservedVolumeClaim;
use crate::settings::Settings;

const GIB: u64 = 1 << 30;

/// The next step for a storage: the actions, then the status if it differs.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Writes, in this order.
    pub actions: Vec<Action>,
    /// The desired status.
    pub status: GpuStorageStatus,
}

/// Plans the next step for one storage.
#[must_use]
pub fn plan(
    storage: &GpuStorage,
    claim: Option<&ObservedVolumeClaim>,
    downloads: &Downloads,
    settings: &Settings,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan { actions: Vec::new(), status: storage.status.clone().unwrap_or_default() };
    let name = storage.name_any();
    let namespace = storage.spec.tenant_id.clone();
    let has_finalizer = storage.finalizers().iter().any(|finalizer| finalizer == names::FINALIZER_VOLUME);
    let wanted = u64::try_from(storage.spec.size_gib).unwrap_or(0).saturating_mul(GIB);
    let deleting = storage.metadata.deletion_timestamp.is_some();

    if deleting {
        // a claim stays while a pod uses it
        let pods = downloads.pods.iter().filter(|pod| !pod.deleting);
        plan.actions.extend(pods.map(|pod| Action::DeletePod(pod.reference())));
        match claim {
            Some(claim) if !claim.deleting => {
                plan.actions.push(Action::DeleteClaim { namespace: namespace.clone(), name: name.clone() });
            }
            Some(_) => {}
            None if has_finalizer => plan.actions.push(Action::RemoveFinalizer),
            None => {}
        }
    } else {
        if !has_finalizer {
            plan.actions.push(Action::AddFinalizer);
        }
        let fits = claim.is_some_and(|claim| claim.requested.is_some_and(|requested| requested >= wanted));
        let is_deleting = claim.is_some_and(|claim| claim.deleting);
        if !fits && !is_deleting {
            plan.actions.push(Action::EnsureNamespace(namespace.clone()));
            plan.actions.push(Action::ApplyClaim(claim_of(storage)));
        }
    }

    let (phase, reason, message) = match claim.map(|claim| claim.phase.as_str()) {
        _ if deleting => (StoragePhase::Pending, StorageReason::Deleting, "the volume is being deleted"),
        Some("Bound") => (StoragePhase::Bound, StorageReason::Bound, ""),
        Some("Lost") => (StoragePhase::Failed, StorageReason::Failed, "the volume claim has lost its volume"),
        _ => (
            StoragePhase::Pending,
            StorageReason::Pending,
            "the volume claim waits for its first pod or for the provisioner",
        ),
    };
    if !deleting {
        let bound = phase == StoragePhase::Bound && claim.is_some_and(|claim| !claim.deleting);
        let (actions, statuses) = download::plan(storage, bound, downloads, settings);
        plan.actions.extend(actions);
        plan.status.downloads = statuses;
    }
    let status = &mut plan.status;
    status.phase = phase;
    status.namespace = Some(namespace);
    status.claim_name = Some(name);
    status.capacity_gib =
        claim.and_then(|claim| claim.capacity).and_then(|bytes| i64::try_from(bytes / GIB).ok());
    status.observed_generation = storage.metadata.generation;
    let bound = phase == StoragePhase::Bound;
    let mut conditions =
        Conditions { all: &mut status.conditions, generation: storage.metadata.generation, now };
    conditions.set(names::CONDITION_BOUND, bound, reason.as_str(), message);
    plan
}

fn claim_of(storage: &GpuStorage) -> Value {
    let name = storage.name_any();
    let labels = BTreeMap::from([
        ("app.kubernetes.io/managed-by", names::MANAGER_OPERATOR),
        (names::LABEL_STORAGE, name.as_str()),
        (names::LABEL_TENANT, storage.spec.tenant_id.as_str()),
    ]);
    let mut spec = json!({
        "accessModes": [storage.spec.access_mode.as_str()],
        "resources": {"requests": {"storage": format!("{}Gi", storage.spec.size_gib)}},
    });
    if let Some(class) = &storage.spec.storage_class {
        spec["storageClassName"] = json!(class);
    }
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": storage.spec.tenant_id, "labels": labels},
        "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use crds::GpuStorageSpec;

    use super::*;

    fn planned(storage: &GpuStorage, claim: Option<&ObservedVolumeClaim>, now: Timestamp) -> Plan {
        plan(storage, claim, &Downloads::default(), &Settings::default(), now)
    }

    fn storage(size_gib: i64) -> GpuStorage {
        let mut storage = GpuStorage::new(
            "stor-1",
            GpuStorageSpec {
                tenant_id: "ten-1".to_owned(),
                size_gib,
                storage_class: None,
                access_mode: crds::AccessMode::default(),
                downloads: Vec::new(),
            },
        );
        storage.metadata.finalizers = Some(vec![names::FINALIZER_VOLUME.to_owned()]);
        storage
    }

    fn claim(gib: u64, phase: &str) -> ObservedVolumeClaim {
        let bytes = Some(gib * GIB);
        ObservedVolumeClaim {
            namespace: "ten-1".to_owned(),
            phase: phase.to_owned(),
            volume: None,
            capacity: bytes,
            requested: bytes,
            deleting: false,
        }
    }

    #[test]
    fn a_bound_claim_of_the_right_size_needs_no_write() {
        let mut storage = storage(10);
        let bound = claim(10, "Bound");
        let first = planned(&storage, Some(&bound), Timestamp::UNIX_EPOCH);
        assert_eq!(first.actions, []);
        assert_eq!((first.status.phase, first.status.capacity_gib), (StoragePhase::Bound, Some(10)));
        storage.status = Some(first.status.clone());
        assert_eq!(
            planned(&storage, Some(&bound), Timestamp::MAX).status,
            first.status,
            "nothing to write later"
        );
    }

    #[test]
    fn a_larger_size_applies_the_claim_again() {
        let actions = planned(&storage(20), Some(&claim(10, "Bound")), Timestamp::UNIX_EPOCH).actions;
        assert!(matches!(&actions[..], [Action::EnsureNamespace(_), Action::ApplyClaim(body)]
            if body["spec"]["resources"]["requests"]["storage"] == "20Gi"));
    }

    #[test]
    fn the_claim_is_deleted_before_its_storage() {
        let mut storage = storage(10);
        storage.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::UNIX_EPOCH));
        let existing = planned(&storage, Some(&claim(10, "Bound")), Timestamp::UNIX_EPOCH).actions;
        assert!(matches!(existing[..], [Action::DeleteClaim { .. }]));
        let deleting = ObservedVolumeClaim { deleting: true, ..claim(10, "Bound") };
        assert_eq!(planned(&storage, Some(&deleting), Timestamp::UNIX_EPOCH).actions, []);
        assert_eq!(planned(&storage, None, Timestamp::UNIX_EPOCH).actions, [Action::RemoveFinalizer]);
    }
}
