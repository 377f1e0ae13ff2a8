//! Clusters and clients for tests, and waiting for conditions.

use atelier_devcluster::{Cluster, Config, NodeConfig};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, ServiceAccount};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// A cluster for one test: its own development cluster, or a namespace of the real cluster of `TEST_KUBECONFIG`.
pub(crate) struct Test {
    pub(crate) client: Client,
    /// The namespace of the test.
    pub(crate) namespace: String,
    /// Makes the names of cluster-scoped objects unique.
    pub(crate) id: String,
    cluster: Option<Cluster>,
    pub(crate) dir: TempDir,
}

pub(crate) async fn client(url: &str, token: &str) -> Client {
    let mut config = kube::Config::new(url.parse().unwrap());
    config.auth_info.token = Some(token.to_owned().into());
    Client::try_from(config).unwrap()
}

async fn config_of(kubeconfig: &Path) -> kube::Config {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap()
}

pub(crate) async fn client_of(kubeconfig: &Path) -> Client {
    Client::try_from(config_of(kubeconfig).await).unwrap()
}

impl Test {
    /// A cluster for a case that needs only an API server.
    pub(crate) async fn any() -> Self {
        let Some(kubeconfig) = std::env::var_os("TEST_KUBECONFIG") else { return Self::with(|_| {}).await };
        let client = client_of(Path::new(&kubeconfig)).await;
        let id = format!("{:08x}", rand::random::<u32>());
        let namespace = format!("conformance-{id}");
        make_namespace(&client, &namespace, json!({})).await;
        let test = Self {
            client,
            namespace: namespace.clone(),
            id,
            cluster: None,
            dir: tempfile::tempdir().unwrap(),
        };
        // the controllers of a real cluster create these in each namespace
        until(&test.api::<ConfigMap>(), "kube-root-ca.crt", |_| true).await;
        test
    }

    /// Two fake nodes with 8 GPUs each.
    pub(crate) async fn fake() -> Self {
        Self::with(|c| {
            c.nodes.push(NodeConfig::fake("f1").extended("nvidia.com/gpu", 8));
            c.nodes.push(NodeConfig::fake("f2").extended("nvidia.com/gpu", 8));
        })
        .await
    }

    /// A development cluster with a changed configuration.
    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::new(dir.path().join("data"));
        change(&mut config);
        let cluster = Cluster::start(config).await.unwrap();
        let client = client(&cluster.url, &cluster.token).await;
        Self { client, namespace: "default".to_owned(), id: "test".to_owned(), cluster: Some(cluster), dir }
    }

    /// The development cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().unwrap()
    }

    pub(crate) async fn stop(self) {
        match self.cluster {
            Some(cluster) => cluster.stop().await,
            None => {
                let namespaces: Api<Namespace> = Api::all(self.client.clone());
                namespaces.delete(&self.namespace, &DeleteParams::default()).await.unwrap();
            }
        }
    }

    /// Creates a namespace and returns its name.
    pub(crate) async fn make_namespace(&self, name: &str, labels: Value) -> String {
        let name = format!("{name}-{}", self.id);
        make_namespace(&self.client, &name, labels).await;
        name
    }

    /// A client with another token.
    pub(crate) async fn client_as(&self, token: &str) -> Client {
        match (&self.cluster, std::env::var_os("TEST_KUBECONFIG")) {
            (None, Some(kubeconfig)) => {
                let mut config = config_of(Path::new(&kubeconfig)).await;
                config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
                Client::try_from(config).unwrap()
            }
            _ => client(&self.cluster().url, token).await,
        }
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        self.api_in(&self.namespace)
    }

    pub(crate) fn api_in<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        self.api()
    }

    /// The response to a request of any form: status, headers and body.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> (u16, http::HeaderMap, Value) {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(kube::client::Body::from(body.into_bytes())).unwrap();
        let (head, body) = self.client.send(request).await.unwrap().into_parts();
        let body = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
        (head.status.as_u16(), head.headers, serde_json::from_slice(&body).unwrap_or_default())
    }
}

/// Creates a namespace in which pods can be created.
pub(crate) async fn make_namespace(client: &Client, name: &str, labels: Value) {
    let api: Api<Namespace> = Api::all(client.clone());
    create(&api, json!({ "metadata": { "name": name, "labels": labels } })).await;
    until(&Api::<ServiceAccount>::namespaced(client.clone(), name), "default", |_| true).await;
}

pub(crate) async fn create<K>(api: &Api<K>, value: Value) -> K
where
    K: Clone + DeserializeOwned + Debug + Serialize,
{
    api.create(&PostParams::default(), &serde_json::from_value(value).unwrap()).await.unwrap()
}

/// The code, reason and message of a request that must fail.
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

/// A pod with GPUs and, if given, a priority class.
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

/// Waits until an object satisfies a condition and returns it.
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
    panic!("{name} does not satisfy the condition: {last:#?}");
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
    panic!("{name} still exists");
}

/// Waits until a request succeeds: on a real cluster, rights take effect after a moment.
pub(crate) async fn until_allowed<T>(request: impl AsyncFn() -> kube::Result<T>) -> T {
    testkit::eventually("the request is allowed", async || match request().await {
        Err(kube::Error::Api(status)) if status.code == 403 => None,
        other => Some(other.unwrap()),
    })
    .await
}

/// Waits until a request fails with a code.
pub(crate) async fn until_refused<T>(code: u16, request: impl AsyncFn() -> kube::Result<T>) {
    testkit::eventually(&format!("the request is refused with {code}"), async || {
        matches!(request().await, Err(kube::Error::Api(status)) if status.code == code).then_some(())
    })
    .await;
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
