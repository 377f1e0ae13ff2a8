//! Everything around the service under test.

use std::{sync::Arc, time::SystemTime};

use atelier_storage::{App, Config, Faults, LimitsConfig, ObjectStoreConfig, ReconcileConfig};
use auth::Role;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use crds::{ClusterConfig, GpuStorage, StoragePhase, names};
use devcluster::TokenConfig;
use futures::StreamExt as _;
use ids::TenantId;
use k8s_openapi::{
    api::rbac::v1::{ClusterRole, ClusterRoleBinding},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
    runtime::{WatchStreamExt as _, watcher},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize as _;
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, Issuer, Response, TestDb, eventually};
use tokio::runtime::{Builder, Runtime};

/// The service's user in the cluster, and the token.
const SERVICE: &str = "atelier-storage";

const MANIFEST: &str = include_str!("../../../../deploy/rbac/storage.yaml");

/// A database, an issuer of tokens, an object store, and a cluster if the test needs one.
pub(crate) struct Fixture {
    pub(crate) db: TestDb,
    pub(crate) issuer: Issuer,
    pub(crate) config: Config,
    pub(crate) objects: ObjectStoreConfig,
    http: reqwest::Client,
    pub(crate) cluster: Option<kube::Client>,
    _embedded: Option<devs3::Server>,
    _devcluster: Option<devcluster::Cluster>,
    _folder: Arc<tempfile::TempDir>,
}

/// A running replica of the service.
pub(crate) struct Service {
    pub(crate) client: Client,
    pub(crate) process: Process,
}

impl Service {
    /// Shuts the replica down and waits for its workers.
    pub(crate) async fn stop(self) {
        self.process.shutdown.begin();
        self.process.shutdown.finish().await;
    }
}

/// A replica on a runtime of its own. When it is dropped, all its tasks end where they are, as by `kill -9`: nothing
/// is released or rolled back.
pub(crate) struct Doomed {
    pub(crate) client: Client,
    runtime: Option<Runtime>,
}

impl Doomed {
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Fixture {
    /// Without a cluster.
    pub(crate) async fn new() -> Self {
        Self::build(false).await
    }

    /// With a cluster in which volumes are provided as by the operator.
    pub(crate) async fn with_cluster() -> Self {
        Self::build(true).await
    }

    async fn build(cluster: bool) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let db = TestDb::new();
        let issuer = Issuer::start().await;
        let (objects, embedded) = object_store(&folder).await;
        let mut config = Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            database: db.service(atelier_storage::NAME, &atelier_storage::MIGRATIONS).await,
            auth: issuer.config(),
            callers: testkit::callers(),
            clusters: [].into(),
            datacenters: [].into(),
            gpu: None,
            object_store: Some(objects.clone()),
            limits: LimitsConfig::default(),
            audit: audit::RetentionConfig::default(),
            telemetry: None,
            reconcile: ReconcileConfig { lease_seconds: 1, compare_seconds: 2, ..ReconcileConfig::default() },
        };
        let mut started = (None, None);
        if cluster {
            let (running, client) = start_cluster(&folder).await;
            config.clusters = [("uk-1".to_owned(), kubeconfig(permit(&running, &client).await))].into();
            tokio::spawn(operate(client.clone()));
            started = (Some(running), Some(client));
        }
        Self {
            db,
            issuer,
            config,
            objects,
            http: reqwest::Client::new(),
            cluster: started.1,
            _embedded: embedded,
            _devcluster: started.0,
            _folder: folder,
        }
    }

    /// Starts a replica with its workers.
    pub(crate) async fn start(&self) -> Service {
        let process = Process::default();
        let app = App::new(self.config.clone(), process.clone()).unwrap();
        app.start_workers();
        Service { client: Client::new(&testkit::serve(app.router()).await), process }
    }

    /// Starts a replica whose reconciler stops where `faults` say, to be killed there.
    pub(crate) async fn start_doomed(&self, faults: &Faults) -> Doomed {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (config, faults) = (self.config.clone(), faults.clone());
        let served = runtime.spawn(async move {
            let app = App::with_faults(config, Process::default(), faults).unwrap();
            app.start_workers();
            testkit::serve(app.router()).await
        });
        let client = Client::new(&served.await.unwrap());
        Doomed { client, runtime: Some(runtime) }
    }

    /// A member of a tenant.
    pub(crate) fn member(&self, service: &Service, tenant: TenantId) -> Client {
        self.member_at(&service.client, tenant)
    }

    /// A member of a tenant who calls the replica of `client`.
    pub(crate) fn member_at(&self, client: &Client, tenant: TenantId) -> Client {
        client.token(&self.issuer.user(tenant, Role::Member))
    }

    /// An administrator.
    pub(crate) fn admin(&self, service: &Service) -> Client {
        service.client.token(&self.issuer.admin())
    }

    /// The cluster's storages.
    pub(crate) fn gpu_storages(&self) -> Api<GpuStorage> {
        Api::all(self.cluster.clone().unwrap())
    }

    /// An Admin Ops call: status and body.
    pub(crate) async fn rgw(&self, method: &str, path: &str, query: &[(&str, &str)]) -> (u16, Value) {
        let mut url = reqwest::Url::parse(&format!("{}/admin/{path}", self.objects.endpoint)).unwrap();
        url.query_pairs_mut().extend_pairs(query);
        let keys = (self.objects.access_key.as_str(), self.objects.secret_key.expose_secret());
        let answer = self.signed(method, url.as_str(), keys).await;
        let status = answer.status().as_u16();
        (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or(Value::Null))
    }

    /// An S3 call without a body on an object whose name is white space, with a credential's keys: the status.
    pub(crate) async fn s3(
        &self,
        credential: &Value,
        method: &str,
        bucket: &str,
        name: &str,
        query: &str,
    ) -> u16 {
        let name: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let url = format!("{}/{bucket}/{name}{query}", self.objects.endpoint);
        let text = |name: &str| credential[name].as_str().unwrap();
        let answer = self.signed(method, &url, (text("access_key_id"), text("secret_access_key"))).await;
        answer.status().as_u16()
    }

    async fn signed(&self, method: &str, url: &str, (access, secret): (&str, &str)) -> reqwest::Response {
        let identity = Credentials::new(access, secret, None, None, "test").into();
        let mut settings = SigningSettings::default();
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        let params = aws_sigv4::sign::v4::SigningParams::builder()
            .identity(&identity)
            .region("default")
            .name("s3")
            .time(SystemTime::now())
            .settings(settings)
            .build()
            .unwrap()
            .into();
        let signable = SignableRequest::new(method, url, [].into_iter(), SignableBody::Bytes(b"")).unwrap();
        let (instructions, _) = sign(signable, &params).unwrap().into_parts();
        let mut request = self.http.request(method.parse().unwrap(), url).header("content-length", 0);
        for (name, value) in instructions.headers() {
            request = request.header(name, value);
        }
        request.send().await.unwrap()
    }

    /// The access keys of the tenant's user in the object store, if the user exists.
    pub(crate) async fn user_keys(&self, tenant: TenantId) -> Option<Vec<String>> {
        let (status, body) = self.rgw("GET", "user", &[("uid", &tenant.k8s_name())]).await;
        let keys = |body: &Value| {
            let keys = body["keys"].as_array().unwrap().iter();
            keys.map(|key| key["access_key"].as_str().unwrap().to_owned()).collect()
        };
        (status == 200).then(|| keys(&body))
    }

    /// The names of a tenant's buckets.
    pub(crate) async fn buckets(&self, tenant: TenantId) -> Vec<String> {
        match self.rgw("GET", "bucket", &[("uid", &tenant.k8s_name())]).await {
            (200, body) => serde_json::from_value(body).unwrap(),
            _ => Vec::new(),
        }
    }
}

/// The configuration of a cluster.
pub(crate) fn kubeconfig(path: impl Into<std::path::PathBuf>) -> ClusterConfig {
    ClusterConfig { kubeconfig: Some(path.into()), context: None }
}

async fn object_store(folder: &tempfile::TempDir) -> (ObjectStoreConfig, Option<devs3::Server>) {
    let config = |endpoint: String, access_key: String, secret_key: String| ObjectStoreConfig {
        endpoint,
        public_endpoint: None,
        access_key,
        secret_key: SecretString::from(secret_key),
        region: "default".into(),
        allowed_origins: vec!["https://console.test".to_owned()],
    };
    if let Ok(endpoint) = std::env::var("RGW_ENDPOINT") {
        let variable = |name: &str| std::env::var(name).unwrap();
        return (config(endpoint, variable("RGW_ACCESS_KEY"), variable("RGW_SECRET_KEY")), None);
    }
    let server = devs3::Server::start(devs3::Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        data_dir: folder.path().join("objects"),
        admin_access_key: "ADMIN".into(),
        admin_secret_key: "admin-secret".into(),
        region: "default".into(),
    })
    .await
    .unwrap();
    (config(server.endpoint.clone(), "ADMIN".into(), "admin-secret".into()), Some(server))
}

async fn start_cluster(folder: &tempfile::TempDir) -> (devcluster::Cluster, kube::Client) {
    let mut config = devcluster::Config::new(folder.path().join("cluster"));
    config.tokens.push(TokenConfig { token: SERVICE.into(), user: SERVICE.into(), groups: vec![] });
    let cluster = devcluster::Cluster::start(config).await.unwrap();
    let kubeconfig = kube::config::Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in crds::definitions() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    let storages: Api<GpuStorage> = Api::all(client.clone());
    eventually("the definitions are served", async || storages.list(&Default::default()).await.ok()).await;
    (cluster, client)
}

/// Grants the service the rules of its manifest, and nothing else. Returns its kubeconfig.
async fn permit(cluster: &devcluster::Cluster, client: &kube::Client) -> std::path::PathBuf {
    let documents = serde_yaml_ng::Deserializer::from_str(MANIFEST);
    let mut objects = documents.map(|document| Value::deserialize(document).unwrap());
    let role = objects.find(|object| object["kind"] == "ClusterRole").unwrap();
    let role: ClusterRole = serde_json::from_value(role).unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": { "name": SERVICE },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": SERVICE },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": SERVICE }],
    }))
    .unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &role).await.unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &binding).await.unwrap();
    let administrator = kube::config::Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
    let mut kubeconfig = serde_json::to_value(administrator).unwrap();
    for entry in kubeconfig["users"].as_array_mut().unwrap() {
        entry["user"] = json!({ "token": SERVICE });
    }
    let file = cluster.kubeconfig_path().with_file_name(SERVICE);
    std::fs::write(&file, kubeconfig.to_string()).unwrap();
    file
}

/// Stands in for the operator: sets a finalizer, reports a volume of the requested size, and releases the resource
/// when it is deleted.
async fn operate(client: kube::Client) {
    let storages: Api<GpuStorage> = Api::all(client);
    let events = watcher(storages.clone(), watcher::Config::default()).default_backoff().applied_objects();
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        let Ok(seen) = event else { continue };
        let name = seen.name_any();
        let merge = |patch: Value| Patch::Merge(patch);
        if seen.metadata.deletion_timestamp.is_some() {
            let gone = merge(json!({ "metadata": { "finalizers": null } }));
            let _ = storages.patch(&name, &PatchParams::default(), &gone).await;
            continue;
        }
        if seen.finalizers().is_empty() {
            let kept = merge(json!({ "metadata": { "finalizers": [names::FINALIZER_VOLUME] } }));
            let _ = storages.patch(&name, &PatchParams::default(), &kept).await;
            continue;
        }
        let status = seen.status.clone().unwrap_or_default();
        if status.capacity_gib != Some(seen.spec.size_gib) {
            let bound = merge(json!({ "status": {
                "phase": StoragePhase::Bound, "capacityGib": seen.spec.size_gib, "claimName": name,
                "observedGeneration": seen.metadata.generation, "conditions": [],
            }}));
            let _ = storages.patch_status(&name, &PatchParams::default(), &bound).await;
        }
    }
}

/// Creates a volume specification `ssd` (1 to 100 GiB) and a bucket specification `archive` (1 to 50 GiB).
pub(crate) async fn specs(admin: &Client) {
    for (name, kind, max) in [("ssd", "volume", 100), ("archive", "bucket", 50)] {
        let body = json!({ "name": name, "kind": kind, "min_size_gib": 1, "max_size_gib": max,
            "price_per_gib_month": "0.10", "currency": "USD" });
        let _ = admin.post("/v1/storage-specs", body).await.expect(201);
    }
}

/// Waits for a storage's state.
pub(crate) async fn state(client: &Client, id: &str, wanted: &str) -> Response {
    eventually(&format!("{id} is {wanted}"), async || {
        let seen = client.get(&format!("/v1/storages/{id}")).await.expect(200);
        (seen.str("state") == wanted).then_some(seen)
    })
    .await
}

/// Creates a storage and waits until it is available.
pub(crate) async fn make(client: &Client, name: &str, spec: &str, size_gib: i64) -> Response {
    let body = json!({ "name": name, "storage_spec": spec, "size_gib": size_gib });
    let ordered = client.post("/v1/storages", body).await.expect(202);
    state(client, ordered.str("id"), "available").await
}

/// Waits until an operation has finished, and returns it.
pub(crate) async fn ended(client: &Client, id: &str) -> Response {
    eventually(&format!("{id} has finished"), async || {
        let seen = client.get(&format!("/v1/storage-operations/{id}")).await.expect(200);
        (!seen.body["finished_at"].is_null()).then_some(seen)
    })
    .await
}

/// Deletes a storage and waits until it is not found.
pub(crate) async fn remove(client: &Client, id: &str) {
    let ordered = client.delete(&format!("/v1/storages/{id}")).await.expect(202);
    let operation = ended(client, ordered.str("operation_id")).await;
    assert_eq!(operation.str("state"), "succeeded", "{}", operation.text);
    client.get(&format!("/v1/storages/{id}")).await.expect_problem(404, "not-found");
}
