//! Devices for the test bench: slices of its nodes, a class, units and thieves that claim them, and a ledger of the
//! devices that each claim had.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crds::{GpuStorage, GpuUnit, GpuUnitStatus, StoragePhase, names};
use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, Pod};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use testkit::eventually;
use tokio::task::JoinHandle;

use crate::lab::{IMAGE, Lab, Running};

const DRIVER: &str = "gpu.test.atelier.dev";

impl Lab {
    fn device_class(&self) -> String {
        format!("lab-{}", self.id)
    }

    /// A lab whose nodes have `devices` devices each.
    pub(crate) async fn with_devices(nodes: usize, devices: usize) -> Self {
        let lab = Self::new(nodes, 0).await;
        lab.clean_devices().await;
        let classes: Api<DeviceClass> = Api::all(lab.client.clone());
        let class = serde_json::from_value(json!({
            "metadata": {"name": lab.device_class(), "labels": {"atelier.test/lab": lab.id}},
            "spec": {"selectors": [{"cel": {"expression": format!("device.driver == '{DRIVER}'")}}]},
        }));
        classes.create(&PostParams::default(), &class.unwrap()).await.unwrap();
        for n in 0..nodes {
            lab.add_devices(&lab.node_name(n), devices).await;
        }
        lab
    }

    /// Adds devices of two alternating models to a node. They are deleted with the node.
    pub(crate) async fn add_devices(&self, node: &str, count: usize) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let owner = nodes.get(node).await.unwrap();
        let device = |n: usize| {
            let model = if n.is_multiple_of(2) { "3080" } else { "4090" };
            json!({"name": format!("gpu-{n}"), "attributes": {"model": {"string": model}}})
        };
        let devices: Vec<Value> = (0..count).map(device).collect();
        let slice = serde_json::from_value(json!({
            "metadata": {
                "name": format!("{node}-{}", self.id), "labels": {"atelier.test/lab": self.id},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": owner.uid().unwrap()}],
            },
            "spec": {
                "driver": DRIVER, "nodeName": node, "devices": devices,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            },
        }));
        let slices: Api<ResourceSlice> = Api::all(self.client.clone());
        slices.create(&PostParams::default(), &slice.unwrap()).await.unwrap();
    }

    /// Deletes what earlier tests may have left on a shared cluster.
    async fn clean_devices(&self) {
        if self.is_dev() {
            return;
        }
        let (delete, ours) = (DeleteParams::default(), ListParams::default().labels("atelier.test/lab"));
        Api::<DeviceClass>::all(self.client.clone()).delete_collection(&delete, &ours).await.unwrap();
        Api::<ResourceSlice>::all(self.client.clone()).delete_collection(&delete, &ours).await.unwrap();
        for storage in Api::<GpuStorage>::all(self.client.clone()).list(&ListParams::default()).await.unwrap()
        {
            let storages: Api<GpuStorage> = Api::all(self.client.clone());
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            storages.patch(&storage.name_any(), &PatchParams::default(), &free).await.ok();
            storages.delete(&storage.name_any(), &delete).await.ok();
        }
        Api::<PersistentVolume>::all(self.client.clone()).delete_collection(&delete, &ours).await.unwrap();
        let all: Api<ResourceClaim> = Api::all(self.client.clone());
        for selector in ["atelier.test/lab", names::LABEL_UNIT] {
            for claim in all.list(&ListParams::default().labels(selector)).await.unwrap() {
                let api: Api<ResourceClaim> =
                    Api::namespaced(self.client.clone(), &claim.namespace().unwrap());
                let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
                api.delete(&claim.name_any(), &delete).await.ok();
                api.patch(&claim.name_any(), &PatchParams::default(), &free).await.ok();
            }
        }
    }

    pub(crate) fn dra_unit(&self, n: usize) -> Value {
        json!({
            "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit",
            "metadata": {"name": self.unit_name(n)},
            "spec": {
                "gpuSpec": "lab", "resources": {"cpu": "100m", "memory": "64Mi"},
                "nodeSelector": {"atelier.test/lab": self.id},
                "gpu": {"model": "RTX 3080", "count": 1, "allocation": {"kind": "dra", "deviceClass": self.device_class()}},
            },
        })
    }

    pub(crate) async fn create(&self, unit: Value) {
        let unit: GpuUnit = serde_json::from_value(unit).unwrap();
        self.units().create(&PostParams::default(), &unit).await.unwrap();
    }

    /// Creates units with claimed devices.
    pub(crate) async fn create_dra_units(&self, count: usize) {
        for n in 0..count {
            self.create(self.dra_unit(n)).await;
        }
    }

    pub(crate) fn claims(&self, n: usize) -> Api<ResourceClaim> {
        Api::namespaced(self.client.clone(), &self.unit_name(n))
    }

    /// The claim that is reserved for a unit.
    pub(crate) async fn claim(&self, n: usize) -> ResourceClaim {
        let uid = self.units().get(&self.unit_name(n)).await.unwrap().uid();
        eventually("the unit holds one claim", async || {
            let all = self.claims(n).list(&ListParams::default()).await.unwrap();
            let mut held = all.into_iter().filter(|claim| {
                let status = claim.status.clone().unwrap_or_default();
                let users = status.reserved_for.unwrap_or_default();
                status.allocation.is_some() && users.iter().any(|user| Some(&user.uid) == uid.as_ref())
            });
            held.next().filter(|_| held.next().is_none())
        })
        .await
    }

    /// Waits until the unit is held, with its devices in the status.
    pub(crate) async fn held_with_devices(&self, n: usize) -> GpuUnitStatus {
        let held = self.held(n).await;
        assert_eq!(held.gpu_uuids, devices_of(&self.claim(n).await), "devices in the status");
        held
    }

    /// Thieves that claim one device each. Waits until they are unschedulable.
    pub(crate) async fn device_thieves(&self, count: usize) {
        self.thieves(0).await;
        let claims: Api<ResourceClaim> = Api::namespaced(self.client.clone(), "default");
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        for n in 0..count {
            let name = format!("thief-{}-{n}", self.id);
            let claim = serde_json::from_value(json!({
                "metadata": {"name": name, "labels": {"atelier.test/lab": self.id}},
                "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": self.device_class()}}]}},
            }));
            claims.create(&PostParams::default(), &claim.unwrap()).await.unwrap();
            let pod = serde_json::from_value(json!({
                "metadata": {"name": name, "labels": {"atelier.test/thief": self.id}},
                "spec": {
                    "priorityClassName": "atelier-test-middle", "preemptionPolicy": "Never", "terminationGracePeriodSeconds": 0,
                    "nodeSelector": {"atelier.test/lab": self.id},
                    "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
                    "containers": [{"name": "main", "image": IMAGE, "resources": {"claims": [{"name": "gpu"}]}}],
                },
            }));
            pods.create(&PostParams::default(), &pod.unwrap()).await.unwrap();
        }
        eventually("the thieves are unschedulable", async || {
            let thieves = ListParams::default().labels(&format!("atelier.test/thief={}", self.id));
            let waits = |pod: &Pod| {
                let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
                conditions
                    .is_some_and(|all| all.iter().any(|one| one.reason.as_deref() == Some("Unschedulable")))
            };
            pods.list(&thieves).await.unwrap().iter().all(waits).then_some(())
        })
        .await;
    }

    fn volume_folder(&self) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("atelier-volume-{}", self.id))
    }

    /// Creates a bound storage of the lab's tenant, on a volume that is a folder of this machine. Returns its name.
    pub(crate) async fn create_storage(&self, n: usize) -> String {
        let name = format!("stor-{}{n:024x}", self.id);
        let class = "atelier-test-manual";
        let volume = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"atelier.test/lab": self.id}},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": class,
                "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": self.volume_folder()},
                "claimRef": {"namespace": self.tenant(), "name": name},
            },
        }));
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        volumes.create(&PostParams::default(), &volume.unwrap()).await.unwrap();
        let storages: Api<GpuStorage> = Api::all(self.client.clone());
        let spec = serde_json::from_value(json!({
            "tenantId": self.tenant(), "sizeGib": 1, "storageClass": class, "accessMode": "ReadWriteMany",
        }));
        storages.create(&PostParams::default(), &GpuStorage::new(&name, spec.unwrap())).await.unwrap();
        eventually("the storage is bound", async || {
            let status = storages.get(&name).await.unwrap().status?;
            (status.phase == StoragePhase::Bound).then_some(())
        })
        .await;
        name
    }

    /// Deletes everything and checks that nothing of the units is left.
    pub(crate) async fn end_devices(self, operator: Running, units: usize) {
        for n in 0..units {
            self.units().delete(&self.unit_name(n), &DeleteParams::default()).await.ok();
        }
        for n in 0..units {
            self.nothing_is_left(n).await;
        }
        self.clean_devices().await;
        std::fs::remove_dir_all(self.volume_folder()).ok();
        Box::pin(self.end(operator, units)).await;
    }

    /// Waits until a unit's namespace and mirrors are deleted.
    pub(crate) async fn nothing_is_left(&self, n: usize) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        let of_unit = ListParams::default().labels(&format!("{}={}", names::LABEL_UNIT, self.unit_name(n)));
        eventually("the unit's namespace and mirrors are deleted", async || {
            let namespace = namespaces.get_opt(&self.unit_name(n)).await.unwrap();
            let mirrors = volumes.list(&of_unit).await.unwrap();
            (namespace.is_none() && mirrors.items.is_empty()).then_some(())
        })
        .await;
    }
}

/// The devices of a claim, as `driver/pool/device`.
pub(crate) fn devices_of(claim: &ResourceClaim) -> Vec<String> {
    let allocation = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    let results = allocation.and_then(|allocation| allocation.devices.as_ref()?.results.as_ref());
    results
        .into_iter()
        .flatten()
        .map(|given| format!("{}/{}/{}", given.driver, given.pool, given.device))
        .collect()
}

/// What a watch of all claims observed.
#[derive(Default)]
pub(crate) struct Seen {
    now: BTreeMap<String, (String, Vec<String>)>,
    /// All device sets that each claim ever had.
    ever: BTreeMap<String, BTreeSet<Vec<String>>>,
    /// Devices that two claims had at the same time.
    doubled: Vec<String>,
}

pub(crate) struct Ledger {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Ledger {
    /// Starts the watch and waits for its first complete list.
    pub(crate) async fn open(lab: &Lab) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (sender, mut synced) = tokio::sync::watch::channel(false);
        let api: Api<ResourceClaim> = Api::all(lab.client.clone());
        let into = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let stream = watcher(api, watcher::Config::default());
            pin_mut!(stream);
            while let Some(event) = stream.next().await {
                match event.unwrap() {
                    watcher::Event::Apply(claim) | watcher::Event::InitApply(claim) => {
                        into.lock().unwrap().put(&claim);
                    }
                    watcher::Event::Delete(claim) => {
                        into.lock().unwrap().now.remove(&claim.uid().unwrap());
                    }
                    watcher::Event::InitDone => drop(sender.send_replace(true)),
                    watcher::Event::Init => {}
                }
            }
        });
        synced.wait_for(|synced| *synced).await.unwrap();
        Self { seen, task }
    }

    /// Ends the watch and checks that no device was ever in two claims.
    pub(crate) fn close(self) -> Seen {
        self.task.abort();
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        assert!(seen.doubled.is_empty(), "in two claims at the same time: {:?}", seen.doubled);
        seen
    }
}

impl Seen {
    /// The device sets of each claim of a namespace.
    pub(crate) fn of(&self, namespace: &str) -> Vec<BTreeSet<Vec<String>>> {
        let prefix = format!("{namespace}/");
        let of = self.ever.iter().filter(|(claim, _)| claim.starts_with(&prefix));
        of.map(|(_, devices)| devices.clone()).collect()
    }

    fn put(&mut self, claim: &ResourceClaim) {
        let name = format!("{}/{}", claim.namespace().unwrap(), claim.uid().unwrap());
        let devices = devices_of(claim);
        if !devices.is_empty() {
            for (other, theirs) in self.now.values() {
                if *other != name && theirs.iter().any(|device| devices.contains(device)) {
                    self.doubled.push(format!("{devices:?}: {name} and {other}"));
                }
            }
        }
        let ever = self.ever.entry(name.clone()).or_default();
        ever.insert(devices.clone());
        self.now.insert(claim.uid().unwrap(), (name, devices));
    }
}
