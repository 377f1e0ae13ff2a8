//! Everything around the service under test.

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use atelier_storage::{App, Config, Faults, ObjectStoreConfig, ReconcileConfig};
use auth::Role;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, sign,
};
use crds::{GpuStorage, StoragePhase, names};
use futures::StreamExt as _;
use ids::TenantId;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
    runtime::{WatchStreamExt as _, watcher},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use service::Shutdown;
use testkit::{Answer, Client, Issuer, TestDb, eventually};

/// A database, an issuer, an object store, perhaps a cluster.
pub(crate) struct World {
    pub(crate) db: TestDb,
    pub(crate) issuer: Issuer,
    pub(crate) config: Config,
    pub(crate) objects: ObjectStoreConfig,
    http: reqwest::Client,
    cluster: Option<kube::Client>,
    _embedded: Option<devs3::Server>,
    _devcluster: Option<devcluster::Cluster>,
    _folder: Arc<tempfile::TempDir>,
}

/// The service, running.
pub(crate) struct Service {
    pub(crate) client: Client,
    shutdown: Shutdown,
}

impl Service {
    /// Ends it, workers included.
    pub(crate) async fn stop(self) {
        self.shutdown.begin();
        self.shutdown.finish().await;
    }
}

impl World {
    /// Without a cluster.
    pub(crate) async fn new() -> Self {
        Self::build(false).await
    }

    /// With a cluster in which volumes come and go as the operator has it.
    pub(crate) async fn with_cluster() -> Self {
        Self::build(true).await
    }

    async fn build(cluster: bool) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let db = TestDb::new().await;
        let issuer = Issuer::start().await;
        let (objects, embedded) = object_store(&folder).await;
        let mut config = Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            database: db.service(atelier_storage::NAME, &atelier_storage::MIGRATIONS).await,
            auth: issuer.config(),
            callers: testkit::callers(),
            clusters: [].into(),
            datacenters: [].into(),
            object_store: Some(objects.clone()),
            reconcile: ReconcileConfig { lease_seconds: 1, compare_seconds: 2, ..ReconcileConfig::default() },
        };
        let mut world_cluster = (None, None);
        if cluster {
            let (running, client) = start_cluster(&folder).await;
            config.clusters = [("uk-1".to_owned(), PathBuf::from(running.kubeconfig_path()))].into();
            tokio::spawn(operate(client.clone()));
            world_cluster = (Some(running), Some(client));
        }
        Self {
            db,
            issuer,
            config,
            objects,
            http: reqwest::Client::new(),
            cluster: world_cluster.1,
            _embedded: embedded,
            _devcluster: world_cluster.0,
            _folder: folder,
        }
    }

    /// Starts the service with its workers.
    pub(crate) async fn serve(&self, faults: &Faults) -> Service {
        let app = App::new(self.config.clone(), faults.clone()).unwrap();
        let shutdown = Shutdown::default();
        app.start_workers(&shutdown);
        Service { client: Client::new(&testkit::serve(app.router()).await), shutdown }
    }

    /// Starts the service without faults.
    pub(crate) async fn start(&self) -> Service {
        self.serve(&Faults::default()).await
    }

    /// A member of a tenant.
    pub(crate) fn member(&self, service: &Service, tenant: TenantId) -> Client {
        service.client.token(&self.issuer.user(tenant, Role::Member))
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
        let secret = self.objects.secret_key.expose_secret();
        let identity = Credentials::new(&self.objects.access_key, secret, None, None, "test").into();
        let mut settings = SigningSettings::default();
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        let params = aws_sigv4::sign::v4::SigningParams::builder()
            .identity(&identity)
            .region("default")
            .name("s3")
            .time(SystemTime::now())
            .settings(settings)
            .build()
            .unwrap()
            .into();
        let signable =
            SignableRequest::new(method, url.as_str(), [].into_iter(), SignableBody::Bytes(b"")).unwrap();
        let (instructions, _) = sign(signable, &params).unwrap().into_parts();
        let mut request = self.http.request(method.parse().unwrap(), url);
        for (name, value) in instructions.headers() {
            request = request.header(name, value);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or(Value::Null))
    }

    /// The keys of a tenant's user; none when there is no such user.
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

async fn object_store(folder: &tempfile::TempDir) -> (ObjectStoreConfig, Option<devs3::Server>) {
    let config = |endpoint: String, access_key: String, secret_key: String| ObjectStoreConfig {
        endpoint,
        public_endpoint: None,
        access_key,
        secret_key: SecretString::from(secret_key),
        region: "default".into(),
    };
    if let Ok(endpoint) = std::env::var("RGW_ENDPOINT") {
        let variable = |name: &str| std::env::var(name).unwrap();
        return (config(endpoint, variable("RGW_ACCESS_KEY"), variable("RGW_SECRET_KEY")), None);
    }
    let server = devs3::start(devs3::Config {
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
    let cluster = devcluster::start(devcluster::Config::new(folder.path().join("cluster"))).await.unwrap();
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

/// What the operator does to storages: a finalizer, a volume of the size that was asked for, and its
/// removal before the resource goes.
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

/// Makes a volume specification `ssd` (1 to 100 GiB) and a bucket specification `archive` (1 to 50 GiB).
pub(crate) async fn specs(admin: &Client) {
    for (name, kind, max) in [("ssd", "volume", 100), ("archive", "bucket", 50)] {
        let body = json!({ "name": name, "kind": kind, "min_size_gib": 1, "max_size_gib": max,
            "price_per_gib_month": "0.10", "currency": "USD" });
        let _ = admin.post("/v1/storage-specs", body).await.expect(201);
    }
}

/// Waits for a storage's state.
pub(crate) async fn state(client: &Client, id: &str, wanted: &str) -> Answer {
    eventually(&format!("{id} is {wanted}"), async || {
        let seen = client.get(&format!("/v1/storages/{id}")).await.expect(200);
        (seen.str("state") == wanted).then_some(seen)
    })
    .await
}

/// Orders a storage and waits until it is available.
pub(crate) async fn make(client: &Client, name: &str, spec: &str, size_gib: i64) -> Answer {
    let body = json!({ "name": name, "storage_spec": spec, "size_gib": size_gib });
    let ordered = client.post("/v1/storages", body).await.expect(202);
    state(client, ordered.str("id"), "available").await
}

/// Waits until an operation has ended, and gives it.
pub(crate) async fn ended(client: &Client, id: &str) -> Answer {
    eventually(&format!("{id} has ended"), async || {
        let seen = client.get(&format!("/v1/storage-operations/{id}")).await.expect(200);
        (!seen.body["finished_at"].is_null()).then_some(seen)
    })
    .await
}

/// Deletes a storage and waits until it is gone.
pub(crate) async fn remove(client: &Client, id: &str) {
    let ordered = client.delete(&format!("/v1/storages/{id}")).await.expect(202);
    let operation = ended(client, ordered.str("operation_id")).await;
    assert_eq!(operation.str("state"), "succeeded", "{}", operation.text);
    client.get(&format!("/v1/storages/{id}")).await.expect_problem(404, "not-found");
}
