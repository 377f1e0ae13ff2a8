//! The operator's part in these tests: a cluster, and somebody who says what becomes of units in it.

#![expect(clippy::disallowed_methods, reason = "tests run on the real clock")]

use crds::GpuUnit;
use devcluster::TokenConfig;
use futures::StreamExt;
use ids::UnitId;
use k8s_openapi::{
    api::rbac::v1::{ClusterRole, ClusterRoleBinding},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{WatchStreamExt, watcher},
};
use serde::Deserialize as _;
use serde_json::{Value, json};
use testkit::eventually;

/// Users whom the cluster knows and who may do nothing there by default; also their tokens.
const SERVICE: &str = "atelier-stock";
const STRANGER: &str = "stranger";

const MANIFEST: &str = include_str!("../../../../deploy/rbac/stock.yaml");

/// The rules of the service's manifest.
fn rules() -> Value {
    let documents = serde_yaml_ng::Deserializer::from_str(MANIFEST);
    let mut objects = documents.map(|document| Value::deserialize(document).unwrap());
    objects.find(|object| object["kind"] == "ClusterRole").unwrap()["rules"].take()
}

/// A development cluster with the units' definition.
pub(crate) struct Cluster {
    pub(crate) units: Api<GpuUnit>,
    folder: tempfile::TempDir,
    _running: devcluster::Cluster,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = devcluster::Config::new(folder.path());
        for user in [SERVICE, STRANGER] {
            config.tokens.push(TokenConfig { token: user.into(), user: user.into(), groups: vec![] });
        }
        let cluster = devcluster::Cluster::start(config).await.unwrap();
        let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
        let config =
            kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in crds::definitions() {
            let params = PatchParams::apply("test").force();
            definitions.patch(&definition.name_any(), &params, &Patch::Apply(&definition)).await.unwrap();
        }
        let units: Api<GpuUnit> = Api::all(client);
        eventually("the definition is served", async || units.list(&ListParams::default()).await.ok()).await;
        let cluster = Self { folder, _running: cluster, units };
        cluster.permit(SERVICE, rules()).await;
        cluster
    }

    /// With exactly the permissions of `deploy/rbac`.
    pub(crate) fn kubeconfig(&self) -> std::path::PathBuf {
        self.folder.path().join(SERVICE)
    }

    /// For a user who may do this to units, and nothing else.
    pub(crate) async fn kubeconfig_with(&self, verbs: &[&str]) -> std::path::PathBuf {
        let rules = json!([{ "apiGroups": ["atelier.dev"], "resources": ["gpuunits"], "verbs": verbs }]);
        self.permit(STRANGER, rules).await
    }

    /// Grants the user these rules. Returns their kubeconfig.
    async fn permit(&self, user: &str, rules: Value) -> std::path::PathBuf {
        let role: ClusterRole =
            serde_json::from_value(json!({ "metadata": { "name": user }, "rules": rules })).unwrap();
        let binding: ClusterRoleBinding = serde_json::from_value(json!({
            "metadata": { "name": user },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
        }))
        .unwrap();
        let client = self.units.clone().into_client();
        Api::all(client.clone()).create(&PostParams::default(), &role).await.unwrap();
        Api::all(client).create(&PostParams::default(), &binding).await.unwrap();
        let administrator = self.folder.path().join("kubeconfig");
        let mut kubeconfig = serde_json::to_value(Kubeconfig::read_from(administrator).unwrap()).unwrap();
        for entry in kubeconfig["users"].as_array_mut().unwrap() {
            entry["user"] = json!({ "token": user });
        }
        let file = self.folder.path().join(user);
        std::fs::write(&file, kubeconfig.to_string()).unwrap();
        file
    }

    pub(crate) async fn all(&self) -> Vec<GpuUnit> {
        self.units.list(&ListParams::default()).await.unwrap().items
    }

    /// The objects, once there are this many.
    pub(crate) async fn until(&self, count: usize) -> Vec<GpuUnit> {
        eventually("there are so many objects", async || {
            let all = self.all().await;
            (all.len() == count).then_some(all)
        })
        .await
    }

    /// Says how an object's resources stand, as the operator would.
    pub(crate) async fn say(&self, name: &str, held: bool, reason: &str) {
        self.say_more(name, held, reason, json!({ "node": "node-1", "gpuUuids": [format!("GPU-{name}")] }))
            .await;
    }

    pub(crate) async fn say_more(&self, name: &str, held: bool, reason: &str, more: Value) {
        say(&self.units, name, held, reason, &more).await.unwrap();
    }

    /// All of them hold.
    pub(crate) async fn hold(&self, objects: &[GpuUnit]) {
        for object in objects {
            self.say(&object.name_any(), true, "Holding").await;
        }
    }

    /// Holds whatever is made, until dropped.
    pub(crate) fn hold_all(&self) -> Holding {
        let units = self.units.clone();
        Holding(tokio::spawn(async move {
            let events =
                watcher(units.clone(), watcher::Config::default()).default_backoff().applied_objects();
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                if let Ok(object) = event
                    && object.status.is_none()
                {
                    let name = object.name_any();
                    // one that was removed meanwhile cannot be held
                    let _ = say(&units, &name, true, "Holding", &place(&name)).await;
                }
            }
        }))
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.units.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Puts an instance into an object, as the gpu service would, or takes it out.
    pub(crate) async fn occupy(&self, name: &str, occupied: bool) {
        let instance = occupied.then(|| {
            json!({ "id": "inst-01939f0a7c3d7e6b8a1f4f0d5c2b1a00", "attempt": 1, "image": "x",
                    "tenantId": "ten-01939f0a7c3d7e6b8a1f4f0d5c2b1a00" })
        });
        let patch = Patch::Merge(json!({ "spec": { "instance": instance } }));
        self.units.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }
}

fn place(name: &str) -> Value {
    json!({ "node": "node-1", "gpuUuids": [format!("GPU-{name}")] })
}

async fn say(
    units: &Api<GpuUnit>,
    name: &str,
    held: bool,
    reason: &str,
    more: &Value,
) -> kube::Result<GpuUnit> {
    let mut status = json!({
        "state": "init",
        "conditions": [{
            "type": "Held", "status": if held { "True" } else { "False" }, "reason": reason,
            "message": format!("message of {reason}"),
            "lastTransitionTime": jiff::Timestamp::now().to_string(),
        }],
    });
    for (key, value) in more.as_object().unwrap() {
        status[key] = value.clone();
    }
    let patch = json!({ "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit", "status": status });
    units.patch_status(name, &PatchParams::apply("atelier-operator").force(), &Patch::Apply(&patch)).await
}

/// Ends the holding when dropped.
pub(crate) struct Holding(tokio::task::JoinHandle<()>);

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The wire form of the id in an object's name.
pub(crate) fn unit_id(object: &GpuUnit) -> String {
    UnitId::from_k8s_name(&object.name_any()).unwrap().to_string()
}
