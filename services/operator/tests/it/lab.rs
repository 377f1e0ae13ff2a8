//! The test bench: a cluster for one test, with nodes of its own, and operators whose requests are counted and that can
//! be killed at any write.

#![expect(clippy::disallowed_methods, reason = "tests run on the real clock")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use atelier_operator::controller::election::LeaseSettings;
use atelier_operator::controller::{Hook, Metrics, Options, Replica, Units, Verdict, install};
use atelier_operator::settings::Settings;
use crds::{GpuUnit, GpuUnitStatus, UnitState, names};
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use service::Process;
use testkit::eventually;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tower::layer::layer_fn;

/// An image with a shell, in both kinds of cluster.
pub(crate) const IMAGE: &str = "atelier.local/busybox:1";
pub(crate) const NODE_LABEL: &str = "atelier.test/lab";
/// The node that runs processes, on a development cluster.
pub(crate) const REAL_NODE: &str = "real-0";

/// Number of requests that an operator sent.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    pub(crate) reads: Arc<AtomicU64>,
    pub(crate) writes: Arc<AtomicU64>,
    pub(crate) renewals: Arc<AtomicU64>,
}

impl Counts {
    fn count(&self, request: &Request) {
        let path = request.uri().path();
        let query = request.uri().query().unwrap_or_default();
        let counter = if path.contains("/leases/") {
            if request.method() == http::Method::GET {
                return;
            }
            &self.renewals
        } else if request.method() != http::Method::GET {
            &self.writes
        } else if query.contains("watch=") {
            return;
        } else {
            &self.reads
        };
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

/// Responds to a request of an operator instead of the API server, or leaves it to the API server.
pub(crate) type Answer = Arc<dyn Fn(&Request) -> Option<Response> + Send + Sync>;
pub(crate) type Request = http::Request<kube::client::Body>;
pub(crate) type Response = http::Response<Box<kube::client::DynBody>>;

/// A layer between an operator and the API server.
struct Between<S> {
    inner: S,
    counts: Counts,
    answer: Option<Answer>,
}

impl<S> tower::Service<Request> for Between<S>
where
    S: tower::Service<Request, Response = Response>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.counts.count(&request);
        match self.answer.as_ref().and_then(|answer| answer(&request)) {
            Some(response) => ready(Ok(response)).boxed(),
            None => self.inner.call(request).boxed(),
        }
    }
}

pub(crate) struct Lab {
    pub(crate) client: Client,
    pub(crate) id: String,
    pub(crate) cluster: Option<devcluster::Cluster>,
    folder: tempfile::TempDir,
    kubeconfig: PathBuf,
    /// On a shared cluster: the lock that lets one test run at a time.
    _turn: Option<std::fs::File>,
}

/// A running operator, in a runtime of its own: dropping it stops it as `kill -9` does.
pub(crate) struct Running {
    runtime: Option<Runtime>,
    pub(crate) process: Process,
    pub(crate) counts: Counts,
    pub(crate) units: Units,
    leads: tokio::sync::watch::Receiver<bool>,
    /// Cancelled once a hook has answered `Hang`.
    hung: CancellationToken,
}

impl Running {
    /// Waits until it leads.
    pub(crate) async fn leads(&mut self) {
        let led = tokio::time::timeout(Duration::from_secs(30), self.leads.wait_for(|leads| *leads)).await;
        assert!(led.is_ok_and(|led| led.is_ok()), "the operator never led");
    }

    pub(crate) fn is_leading(&self) -> bool {
        *self.leads.borrow()
    }

    /// As `kill -9`.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// Whether a hook has stopped it.
    pub(crate) fn hangs(&self) -> bool {
        self.hung.is_cancelled()
    }

    pub(crate) async fn stop(self) {
        self.process.shutdown.begin();
        self.process.shutdown.finish().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The hook, and after its first `Hang` no write at all.
fn hang_for_good(hook: Hook, hung: CancellationToken) -> Hook {
    Arc::new(move |step, word, name| {
        if hung.is_cancelled() {
            return Verdict::Hang;
        }
        let verdict = hook(step, word, name);
        if verdict == Verdict::Hang {
            hung.cancel();
        }
        verdict
    })
}

fn dev_config(folder: &std::path::Path) -> devcluster::Config {
    let mut config = devcluster::Config::new(folder);
    config.nodes = vec![
        devcluster::NodeConfig::new(REAL_NODE)
            .extended("nvidia.com/gpu", 8)
            .label("atelier.dev/real", "true"),
    ];
    config.images = vec![devcluster::ImageConfig::new("atelier.local/busybox:*", ["sh"])];
    config.eviction_seconds = 1;
    config.pull_backoff_ms = 500;
    config
}

impl Lab {
    /// A cluster with one node that runs processes, and `nodes` nodes of `gpus` GPUs each that do not.
    pub(crate) async fn new(nodes: usize, gpus: usize) -> Self {
        Self::with(nodes, gpus, |_| {}).await
    }

    /// A development cluster is started with a changed configuration.
    pub(crate) async fn with(
        nodes: usize,
        gpus: usize,
        change: impl FnOnce(&mut devcluster::Config),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let given = std::env::var_os("TEST_KUBECONFIG").map(PathBuf::from);
        let (cluster, kubeconfig, turn) = match given {
            Some(kubeconfig) => {
                let turn =
                    std::fs::File::create(std::env::temp_dir().join("atelier-operator-tests.lock")).unwrap();
                let turn =
                    tokio::task::spawn_blocking(move || turn.lock().map(|()| turn)).await.unwrap().unwrap();
                (None, kubeconfig, Some(turn))
            }
            None => {
                let mut config = dev_config(folder.path());
                change(&mut config);
                let cluster = devcluster::Cluster::start(config).await.unwrap();
                let kubeconfig = cluster.kubeconfig_path().to_path_buf();
                (Some(cluster), kubeconfig, None)
            }
        };
        let client = client(&kubeconfig, None).await;
        let id = format!("{:08x}", rand::random::<u32>());
        let lab = Self { client, id, cluster, folder, kubeconfig, _turn: turn };
        install(&lab.client).await.unwrap();
        lab.clean().await;
        for n in 0..nodes {
            lab.add_node(n, gpus).await;
        }
        lab
    }

    pub(crate) fn kubeconfig(&self) -> &std::path::Path {
        &self.kubeconfig
    }

    pub(crate) fn is_dev(&self) -> bool {
        self.cluster.is_some()
    }

    pub(crate) fn node_name(&self, n: usize) -> String {
        format!("lab-{}-{n}", self.id)
    }

    /// A node that runs no processes.
    pub(crate) async fn add_node(&self, n: usize, gpus: usize) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let node: Node = serde_json::from_value(json!({
            "metadata": {
                "name": self.node_name(n),
                "labels": {(NODE_LABEL): self.id, "atelier.dev/fake": "true"},
                "annotations": {"devcluster.atelier.dev/fake": "true"},
            },
        }))
        .unwrap();
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let now = Timestamp::now().to_string();
        let room = json!({"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": gpus.to_string()});
        let status = json!({"status": {"capacity": room, "allocatable": room, "conditions": [
            {"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastHeartbeatTime": now, "lastTransitionTime": now}]}});
        nodes
            .patch_status(&self.node_name(n), &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
        // the node controller removes the taint of a new node
        eventually("the node takes pods", async || {
            let node = nodes.get(&self.node_name(n)).await.ok()?;
            node.spec.unwrap_or_default().taints.unwrap_or_default().is_empty().then_some(())
        })
        .await;
    }

    /// Deletes what earlier tests may have left on a shared cluster.
    async fn clean(&self) {
        if self.is_dev() {
            return;
        }
        let everything = (DeleteParams::default(), ListParams::default());
        for unit in self.units().list(&everything.1).await.unwrap() {
            let free = json!({"metadata": {"finalizers": null}});
            self.units().patch(&unit.name_any(), &PatchParams::default(), &Patch::Merge(&free)).await.ok();
            self.units().delete(&unit.name_any(), &everything.0).await.ok();
        }
        self.clean_thieves().await;
        let pods: Api<Pod> = Api::all(self.client.clone());
        for pod in pods.list(&ListParams::default().labels(names::LABEL_ROLE)).await.unwrap() {
            let api: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace().unwrap());
            let free = json!({"metadata": {"finalizers": null}});
            api.patch(&pod.name_any(), &PatchParams::default(), &Patch::Merge(&free)).await.ok();
            api.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await.ok();
        }
        let nodes: Api<Node> = Api::all(self.client.clone());
        for node in nodes.list(&ListParams::default().labels(NODE_LABEL)).await.unwrap() {
            nodes.delete(&node.name_any(), &DeleteParams::default()).await.ok();
        }
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for namespace in namespaces.list(&ListParams::default().labels(names::LABEL_TENANT)).await.unwrap() {
            namespaces.delete(&namespace.name_any(), &DeleteParams::default()).await.ok();
        }
    }

    pub(crate) fn settings() -> Settings {
        Settings {
            pause_image: "atelier.local/busybox:1".to_owned(),
            node_lost_seconds: 1,
            hand_off_seconds: 3,
            image_pull_seconds: 2,
            ..Settings::default()
        }
    }

    /// An operator with the administrator's permissions.
    pub(crate) async fn operator(&self, identity: &str, hook: Option<Hook>) -> Running {
        self.operator_as(identity, hook, None).await
    }

    /// An operator with the permissions of a token.
    pub(crate) async fn operator_as(
        &self,
        identity: &str,
        hook: Option<Hook>,
        token: Option<String>,
    ) -> Running {
        self.operator_with(identity, hook, token, Self::settings()).await
    }

    /// An operator some of whose requests are answered by the test.
    pub(crate) async fn operator_behind(&self, identity: &str, answer: Answer) -> Running {
        self.launch(identity, None, None, Self::settings(), Some(answer)).await
    }

    /// An operator with the permissions of a token, whose requests a test sees.
    pub(crate) async fn operator_behind_as(&self, identity: &str, answer: Answer, token: String) -> Running {
        self.launch(identity, None, Some(token), Self::settings(), Some(answer)).await
    }

    /// An operator with other settings.
    pub(crate) async fn operator_with(
        &self,
        identity: &str,
        hook: Option<Hook>,
        token: Option<String>,
        settings: Settings,
    ) -> Running {
        self.launch(identity, hook, token, settings, None).await
    }

    async fn launch(
        &self,
        identity: &str,
        hook: Option<Hook>,
        token: Option<String>,
        settings: Settings,
        answer: Option<Answer>,
    ) -> Running {
        let counts = Counts::default();
        let config = config(&self.kubeconfig, token).await;
        let seen = counts.clone();
        let layer = layer_fn(|inner| Between { inner, counts: seen.clone(), answer: answer.clone() });
        let hung = CancellationToken::new();
        let options = Options {
            identity: identity.to_owned(),
            concurrency: 16,
            lease: LeaseSettings::default(),
            clock: Timestamp::now,
            hook: hook.map(|hook| hang_for_good(hook, hung.clone())),
            tracer: service::Tracer::default(),
        };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (process, leads, units) = {
            let _in_its_runtime = runtime.enter();
            let client = ClientBuilder::try_from(config).unwrap().with_layer(&layer).build();
            let (process, metrics) = (Process::default(), Metrics::default());
            process.metrics.register(|registry| metrics.register(registry));
            let replica = Replica::new(client, settings, options, metrics);
            process.workers.start(atelier_operator::NAME, replica.tasks());
            (process, replica.leads(), replica.units())
        };
        Running { runtime: Some(runtime), process, counts, units, leads, hung }
    }

    pub(crate) fn units(&self) -> Api<GpuUnit> {
        Api::all(self.client.clone())
    }

    pub(crate) fn unit_name(&self, n: usize) -> String {
        format!("unit-{}{n:024x}", self.id)
    }

    pub(crate) fn instance_name(&self, n: usize) -> String {
        format!("inst-{}{n:024x}", self.id)
    }

    pub(crate) fn tenant(&self) -> String {
        format!("ten-{}{:024x}", self.id, 7)
    }

    /// Units on the lab's nodes, which run no processes.
    pub(crate) async fn create_units(&self, count: usize) {
        for n in 0..count {
            self.create_unit(n, json!({(NODE_LABEL): self.id})).await;
        }
    }

    /// The `n`th unit on the lab's nodes.
    pub(crate) async fn create_nth_unit(&self, n: usize) {
        self.create_unit(n, json!({(NODE_LABEL): self.id})).await;
    }

    /// A unit on the node that runs processes.
    pub(crate) async fn create_real_unit(&self, n: usize) {
        self.create_unit(n, json!({"atelier.dev/real": "true"})).await;
    }

    async fn create_unit(&self, n: usize, selector: Value) {
        let unit = serde_json::from_value(json!({
            "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit",
            "metadata": {"name": self.unit_name(n)},
            "spec": {
                "gpuSpec": "lab", "resources": {"cpu": "100m", "memory": "64Mi"}, "nodeSelector": selector,
                "gpu": {"model": "RTX 3080", "count": 1, "allocation": {"kind": "device", "resource": "nvidia.com/gpu"}},
            },
        }))
        .unwrap();
        self.units().create(&PostParams::default(), &unit).await.unwrap();
    }

    /// An instance that is ready as soon as it runs, and does nothing.
    pub(crate) fn instance(&self, n: usize, attempt: i64) -> Value {
        json!({
            "id": self.instance_name(n), "attempt": attempt, "tenantId": self.tenant(), "image": IMAGE,
            "command": ["sh", "-c", "echo up; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"],
            "terminationGracePeriodSeconds": 5, "startTimeoutSeconds": 60,
        })
    }

    /// Sets the desired instance; `None` stops it.
    pub(crate) async fn set_instance(&self, n: usize, instance: Option<Value>) {
        let body = json!({"spec": {"instance": instance}});
        self.patch(n, &body).await;
    }

    pub(crate) async fn patch(&self, n: usize, body: &Value) {
        self.units().patch(&self.unit_name(n), &PatchParams::default(), &Patch::Merge(body)).await.unwrap();
    }

    pub(crate) async fn status(&self, n: usize) -> GpuUnitStatus {
        self.units().get(&self.unit_name(n)).await.unwrap().status.unwrap_or_default()
    }

    /// Waits until the status fulfils the condition. Returns the status.
    pub(crate) async fn until(
        &self,
        n: usize,
        what: &str,
        is_so: impl Fn(&GpuUnitStatus) -> bool,
    ) -> GpuUnitStatus {
        // after an outage, a real scheduler and kubelet may wait for a minute each before they connect again
        let limit = Duration::from_secs(if self.is_dev() { 60 } else { 240 });
        let found = tokio::time::timeout(limit, async {
            loop {
                let unit = self.units().get(&self.unit_name(n)).await.unwrap();
                let fresh = unit
                    .status
                    .as_ref()
                    .is_some_and(|status| status.observed_generation == unit.metadata.generation);
                if let Some(status) = unit.status.filter(|status| fresh && is_so(status)) {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        match found.await {
            Ok(status) => status,
            Err(_) => panic!("unit {n} never {what}: {:#?}\n{:#?}", self.status(n).await, self.pods(n).await),
        }
    }

    pub(crate) async fn held(&self, n: usize) -> GpuUnitStatus {
        self.until(n, "held its place", is_idle).await
    }

    pub(crate) async fn running(&self, n: usize, attempt: i64) -> GpuUnitStatus {
        self.until(n, "ran", |status| {
            status.state == UnitState::Running
                && status.instance.as_ref().is_some_and(|own| own.attempt == attempt)
        })
        .await
    }

    /// The pods of a unit.
    pub(crate) async fn pods(&self, n: usize) -> Vec<Pod> {
        let pods: Api<Pod> = Api::all(self.client.clone());
        let selector = format!("{}={}", names::LABEL_UNIT, self.unit_name(n));
        pods.list(&ListParams::default().labels(&selector)).await.unwrap().items
    }

    /// The Events of a unit, for assertion messages.
    pub(crate) async fn events(&self, n: usize) -> String {
        let events: Api<Event> = Api::all(self.client.clone());
        let all = events.list(&ListParams::default()).await.unwrap();
        let name = Some(self.unit_name(n));
        let of_unit = all.iter().filter(|event| event.regarding.as_ref().is_some_and(|it| it.name == name));
        let mut lines: Vec<_> = of_unit
            .map(|event| {
                let time = event.event_time.as_ref().map(|time| time.0.to_string()).unwrap_or_default();
                let words = [&event.reason, &event.note].map(|word| word.clone().unwrap_or_default());
                format!("{time} {}", words.join(": "))
            })
            .collect();
        lines.sort();
        lines.join("\n")
    }

    /// Deletes everything and checks that nothing is left.
    pub(crate) async fn end(self, operator: Running, units: usize) {
        self.remove_thieves().await;
        for n in 0..units {
            self.units().delete(&self.unit_name(n), &DeleteParams::default()).await.ok();
        }
        for n in 0..units {
            eventually("the unit and its pods are deleted", async || {
                let gone = self.units().get_opt(&self.unit_name(n)).await.unwrap().is_none();
                (gone && self.pods(n).await.is_empty()).then_some(())
            })
            .await;
        }
        operator.stop().await;
        self.clean().await;
        if let Some(cluster) = self.cluster {
            assert!(
                cluster.scheduler_is_running(),
                "the scheduler has exited: a name of a pod was used again"
            );
            cluster.stop().await;
        }
        drop(self.folder);
    }
}

pub(crate) fn is_idle(status: &GpuUnitStatus) -> bool {
    let holding = status.condition(names::CONDITION_HELD).is_some_and(|held| held.reason == "Holding");
    status.is_held() && holding && status.state == UnitState::Init && status.instance.is_none()
}

/// The reason of a condition.
pub(crate) fn reason(status: &GpuUnitStatus, condition: &str) -> String {
    status.condition(condition).map(|condition| condition.reason.clone()).unwrap_or_default()
}

async fn config(kubeconfig: &std::path::Path, token: Option<String>) -> kube::Config {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    if let Some(token) = token {
        config.auth_info =
            kube::config::AuthInfo { token: Some(token.into()), ..kube::config::AuthInfo::default() };
    }
    config
}

async fn client(kubeconfig: &std::path::Path, token: Option<String>) -> Client {
    Client::try_from(config(kubeconfig, token).await).unwrap()
}

/// The role of each pod, by name.
pub(crate) fn roles(pods: &[Pod]) -> BTreeMap<String, String> {
    pods.iter().map(|pod| (pod.name_any(), pod.labels()[names::LABEL_ROLE].clone())).collect()
}
