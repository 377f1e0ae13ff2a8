//! Everything around the service under test.

use atelier_jobs::{
    App, Config, EndedConfig, MIGRATIONS, NAME, ProgressConfig, SchedulerConfig, StreamsConfig,
    WebhooksConfig,
};
use atelier_storage::{LimitsConfig, ObjectStoreConfig, ReconcileConfig};
use auth::Role;
use ids::TenantId;
use peer::Endpoint;
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, Issuer, Response, TestDb};

/// A database and an issuer of tokens.
pub(crate) struct Fixture {
    pub(crate) db: TestDb,
    pub(crate) issuer: Issuer,
    pub(crate) config: Config,
    /// The storage service.
    pub(crate) storage: Client,
    objects: Option<devs3::Server>,
    folder: tempfile::TempDir,
}

/// A running replica of the service.
pub(crate) struct Service {
    pub(crate) client: Client,
    /// The listener for workers.
    pub(crate) worker_api: Client,
    pub(crate) process: Process,
}

impl Service {
    /// Shuts the replica down and waits for its workers.
    pub(crate) async fn stop(self) {
        self.process.shutdown.begin();
        self.process.shutdown.finish().await;
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::on(TestDb::new()).await
    }

    pub(crate) async fn on(db: TestDb) -> Self {
        Self::behind(db, async |_| None).await
    }

    /// Signed URLs have the address that `front` returns for the object store, if it returns one.
    pub(crate) async fn behind(db: TestDb, front: impl AsyncFnOnce(&str) -> Option<String>) -> Self {
        db.create_with(&[(NAME, &MIGRATIONS), (atelier_storage::NAME, &atelier_storage::MIGRATIONS)]).await;
        let issuer = Issuer::start().await;
        let folder = tempfile::tempdir().unwrap();
        let objects = object_store(&folder, "127.0.0.1:0").await;
        let public = front(&objects.endpoint).await;
        let storage = storage(&db, &issuer, &objects, public).await;
        let config = Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            worker_listen: "127.0.0.1:0".parse().unwrap(),
            database: db.service(NAME, &MIGRATIONS).await,
            auth: issuer.config(),
            storage: Endpoint {
                url: storage.base().parse().unwrap(),
                token: testkit::service_token(NAME).into(),
            },
            mq: None,
            callers: testkit::callers(),
            ended: EndedConfig::default(),
            limits: atelier_jobs::LimitsConfig::default(),
            scheduler: SchedulerConfig::default(),
            fleet: None,
            stock: None,
            cache: None,
            progress: ProgressConfig::default(),
            streams: StreamsConfig::default(),
            encryption_keys: vec![
                serde_json::from_value(json!({ "id": "1", "key": "A".repeat(43) + "=" })).unwrap(),
            ],
            webhooks: WebhooksConfig { allow_http: true, allow_private: true },
            audit: audit::RetentionConfig::default(),
            telemetry: None,
        };
        Self { db, issuer, config, storage, objects: Some(objects), folder }
    }

    /// Starts a replica with its workers.
    pub(crate) async fn start(&self) -> Service {
        let process = Process::default();
        let app = App::new(self.config.clone(), process.clone()).unwrap();
        app.start_workers();
        let client = Client::new(&testkit::serve(app.router()).await);
        let worker_api = Client::new(&testkit::serve(app.worker_router()).await);
        Service { client, worker_api, process }
    }

    /// Stops the object store. Returns its address.
    pub(crate) async fn stop_objects(&mut self) -> String {
        let objects = self.objects.take().unwrap();
        let address = objects.endpoint.trim_start_matches("http://").to_owned();
        objects.stop().await.unwrap();
        address
    }

    /// Starts the object store again, at its address.
    pub(crate) async fn start_objects(&mut self, address: &str) {
        self.objects = Some(object_store(&self.folder, address).await);
    }

    /// A file of the object store.
    pub(crate) fn objects_file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("objects").join(name)
    }

    /// Changes the users and buckets of the object store, which is started again.
    pub(crate) async fn change_objects(&mut self, change: impl FnOnce(&mut Value)) {
        let address = self.stop_objects().await;
        let file = self.objects_file("state.json");
        let mut state: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        change(&mut state);
        std::fs::write(&file, state.to_string()).unwrap();
        self.start_objects(&address).await;
    }

    /// Lets no bucket of a tenant take data.
    pub(crate) fn fill_buckets(state: &mut Value) {
        for bucket in state["buckets"].as_object_mut().unwrap().values_mut() {
            if bucket["owner"].as_str().unwrap().starts_with("ten-") {
                bucket["quota"] = json!({ "enabled": true, "max_size": 0, "max_objects": -1 });
            }
        }
    }

    /// Deletes all buckets of tenants, as their keys can.
    pub(crate) fn remove_buckets(state: &mut Value) {
        let is_staging = |bucket: &Value| !bucket["owner"].as_str().unwrap().starts_with("ten-");
        state["buckets"].as_object_mut().unwrap().retain(|_, bucket| is_staging(bucket));
    }

    /// A time from now.
    #[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
    pub(crate) fn in_seconds(&self, seconds: i64) -> jiff::Timestamp {
        jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds)
    }

    /// A member of a tenant.
    pub(crate) fn member(&self, service: &Service, tenant: TenantId) -> Client {
        service.client.token(&self.issuer.user(tenant, Role::Member))
    }

    /// An administrator.
    pub(crate) fn admin(&self, service: &Service) -> Client {
        service.client.token(&self.issuer.admin())
    }
}

async fn object_store(folder: &tempfile::TempDir, listen: &str) -> devs3::Server {
    devs3::Server::start(devs3::Config {
        listen: listen.parse().unwrap(),
        data_dir: folder.path().join("objects"),
        admin_access_key: "ADMIN".into(),
        admin_secret_key: "admin-secret".into(),
        region: "default".into(),
    })
    .await
    .unwrap()
}

/// Starts the storage service, which has a specification of buckets.
async fn storage(
    db: &TestDb,
    issuer: &Issuer,
    objects: &devs3::Server,
    public_endpoint: Option<String>,
) -> Client {
    let config = atelier_storage::Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        database: db.service(atelier_storage::NAME, &atelier_storage::MIGRATIONS).await,
        auth: issuer.config(),
        callers: testkit::callers(),
        clusters: [].into(),
        datacenters: [].into(),
        gpu: None,
        object_store: Some(ObjectStoreConfig {
            endpoint: objects.endpoint.clone(),
            public_endpoint,
            access_key: "ADMIN".into(),
            secret_key: "admin-secret".into(),
            region: "default".into(),
            allowed_origins: Vec::new(),
        }),
        limits: LimitsConfig::default(),
        audit: audit::RetentionConfig::default(),
        telemetry: None,
        reconcile: ReconcileConfig::default(),
    };
    let app = atelier_storage::App::new(config, Process::default()).unwrap();
    app.start_workers();
    let storage = Client::new(&testkit::serve(app.router()).await);
    let spec = json!({ "name": "object", "kind": "bucket", "min_size_gib": 1, "max_size_gib": 100,
                       "price_per_gib_month": "0.01", "currency": "USD" });
    let _ = storage.token(&issuer.admin()).post("/v1/storage-specs", spec).await.expect(201);
    storage
}

/// Creates a pool. Returns its id.
pub(crate) async fn pool(admin: &Client) -> String {
    let body = json!({ "name": "generation", "gpu_specs": ["small"] });
    admin.post("/v1/platform-pools", body).await.expect(201).str("id").to_owned()
}

/// The body of a job.
pub(crate) fn fox() -> Value {
    json!({ "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": "a fox" } })
}

/// Submits a job, with these members of the body changed.
pub(crate) async fn submit(member: &Client, change: Value) -> Response {
    let mut body = fox();
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    member.post("/v1/jobs", body).await.expect(202)
}
