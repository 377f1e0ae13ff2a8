//! A cluster of its own for each test, clients for it, and waiting for conditions.

use atelier_devcluster::{Cluster, Config, NodeConfig, start};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) struct Test {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) dir: TempDir,
}

pub(crate) async fn client(url: &str, token: &str) -> Client {
    let mut config = kube::Config::new(url.parse().unwrap());
    config.auth_info.token = Some(token.to_owned().into());
    Client::try_from(config).unwrap()
}

pub(crate) async fn client_of(kubeconfig: &Path) -> Client {
    let file = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

impl Test {
    /// Two fake nodes with 8 GPUs each.
    pub(crate) async fn fake() -> Self {
        Self::with(|c| {
            c.nodes.push(NodeConfig::fake("f1").extended("nvidia.com/gpu", 8));
            c.nodes.push(NodeConfig::fake("f2").extended("nvidia.com/gpu", 8));
        })
        .await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::new(dir.path().join("data"));
        change(&mut config);
        let cluster = start(config).await.unwrap();
        let client = client(&cluster.url, &cluster.token).await;
        Self { cluster, client, dir }
    }

    pub(crate) async fn namespace(&self, name: &str) {
        make_namespace(&self.client, name, json!({})).await;
    }

    pub(crate) fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        self.api("default")
    }

    /// A request with the administrator's token.
    pub(crate) fn http(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        reqwest::Client::new()
            .request(method.parse().unwrap(), format!("{}{path}", self.cluster.url))
            .bearer_auth(&self.cluster.token)
    }
}

pub(crate) async fn make_namespace(client: &Client, name: &str, labels: Value) {
    let api: Api<Namespace> = Api::all(client.clone());
    let value = json!({ "metadata": { "name": name, "labels": labels } });
    api.create(&PostParams::default(), &serde_json::from_value(value).unwrap()).await.unwrap();
}

pub(crate) async fn create<K>(api: &Api<K>, value: Value) -> K
where
    K: Clone + DeserializeOwned + Debug + Serialize,
{
    api.create(&PostParams::default(), &serde_json::from_value(value).unwrap()).await.unwrap()
}

/// The failure of a request that must fail: its code, reason and message.
pub(crate) fn failure<T: Debug>(result: kube::Result<T>) -> (u16, String, String) {
    match result.unwrap_err() {
        kube::Error::Api(s) => (s.code, s.reason.clone(), s.message.clone()),
        other => panic!("not an API failure: {other:?}"),
    }
}

/// A pod of one container; `extra` is merged into its spec.
pub(crate) fn pod(name: &str, image: &str, extra: Value) -> Value {
    let mut spec =
        json!({ "containers": [{ "name": "main", "image": image }], "terminationGracePeriodSeconds": 2 });
    merge(&mut spec, extra);
    json!({ "metadata": { "name": name }, "spec": spec })
}

/// A pod that asks for GPUs, of a priority class when one is named.
pub(crate) fn gpu_pod(name: &str, gpus: u32, class: &str) -> Value {
    let mut value = pod(name, "pause:1", json!({}));
    value["spec"]["containers"][0]["resources"] = json!({ "limits": { "nvidia.com/gpu": gpus.to_string() } });
    if !class.is_empty() {
        value["spec"]["priorityClassName"] = class.into();
    }
    value
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(a), Value::Object(b)) => {
            for (k, v) in b {
                merge(a.entry(k).or_insert(Value::Null), v);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (x, y) in a.iter_mut().zip(b) {
                merge(x, y);
            }
        }
        (a, b) => *a = b,
    }
}

/// Waits until an object satisfies a condition and gives it.
pub(crate) async fn until<K>(api: &Api<K>, name: &str, condition: impl Fn(&K) -> bool) -> K
where
    K: Clone + DeserializeOwned + Debug + Send + Resource + 'static,
{
    let mut last = None;
    for _ in 0..1500 {
        last = api.get_opt(name).await.unwrap();
        if last.as_ref().is_some_and(&condition) {
            return last.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{name} never came there: {last:#?}");
}

/// Waits until an object is gone.
pub(crate) async fn gone<K>(api: &Api<K>, name: &str)
where
    K: Clone + DeserializeOwned + Debug,
{
    for _ in 0..1500 {
        if api.get_opt(name).await.unwrap().is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{name} is still there");
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|c| c.0 == "True")
}

/// Status and message of a pod's condition.
pub(crate) fn condition(pod: &Pod, kind: &str) -> Option<(String, String)> {
    let all = pod.status.as_ref()?.conditions.as_ref()?;
    let c = all.iter().find(|c| c.type_ == kind)?;
    Some((c.status.clone(), c.message.clone().unwrap_or_default()))
}

pub(crate) fn node_of(pod: &Pod) -> String {
    pod.spec.as_ref().and_then(|s| s.node_name.clone()).unwrap_or_default()
}

/// An API of custom objects.
pub(crate) fn dynamic(client: &Client, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    resource.plural = plural.to_owned();
    Api::all_with(client.clone(), &resource)
}

pub(crate) fn rv(object: &impl ResourceExt) -> String {
    object.resource_version().unwrap()
}
