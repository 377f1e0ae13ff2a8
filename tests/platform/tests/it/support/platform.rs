//! The platform of a test: three gpu replicas, two stock replicas, a storage service, an operator, a cluster, an object store.

use std::{path::PathBuf, time::Duration};

use atelier_gpu::{
    Apps, BudgetsConfig, EventsConfig, HoldsConfig, IdleConfig, MonitoringConfig, StreamsConfig,
    TerminalConfig,
};
use atelier_operator::{
    controller::{self, Metrics, Options, election::LeaseSettings},
    settings::{Settings, TenantCode},
};
use atelier_stock::StockConfig;
use atelier_storage::{LimitsConfig, ObjectStoreConfig, ReconcileConfig};
use auth::Role;
use crds::ClusterConfig;
use db::DbConfig;
use encryption::EncryptionKey;
use futures::FutureExt;
use ids::TenantId;
use jiff::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use peer::Endpoint;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use testkit::{Client, Issuer, TestDb, callers, eventually, service_token};

use super::{Balancer, Evidence, Jobs, Replica, diagnosis, queue_order};

/// Specification with one GPU, of which there are four units.
pub(crate) const SMALL: &str = "small";
/// Specification with two GPUs, of which there is one unit.
pub(crate) const LARGE: &str = "large";
/// Specification of volumes.
pub(crate) const VOLUME: &str = "ssd";
/// Specification of buckets.
pub(crate) const BUCKET: &str = "archive";
/// Nodes with four GPUs each: two of them have room for all units. They run no processes: pods are ready at once.
pub(crate) const NODES: [&str; 3] = ["node-0", "node-1", "node-2"];

const GPU_REPLICAS: usize = 3;
const STOCK_REPLICAS: usize = 2;
const CLUSTER: &str = "main";
const DATACENTER: &str = "dc";
const OBJECTS_KEY: &str = "ADMIN";
const OBJECTS_SECRET: &str = "admin-secret";

/// A replica that serves requests behind a balancer.
struct Serving {
    replica: Option<Replica>,
    base: String,
}

/// The platform. It ends when it is dropped.
pub(crate) struct Platform {
    db: TestDb,
    issuer: Issuer,
    cluster: devcluster::Cluster,
    kube: kube::Client,
    evidence: Evidence,
    objects: devs3::Server,
    stock: Balancer,
    gpu: Balancer,
    storage: Balancer,
    stock_database: DbConfig,
    gpu_database: DbConfig,
    storage_database: DbConfig,
    stock_replicas: Vec<Serving>,
    gpu_replicas: Vec<Serving>,
    storage_replica: Option<Serving>,
    operator: Option<Replica>,
    _folder: tempfile::TempDir,
}

impl Platform {
    /// Starts everything, adds the stock, and waits until it is available.
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cluster = devcluster::Cluster::start(cluster_config(folder.path())).await.unwrap();
        let kube = kube_client(cluster.kubeconfig_path().to_owned()).await;
        controller::install(&kube).await.unwrap();
        let db = TestDb::new();
        db.create_with(&[
            (atelier_stock::NAME, &atelier_stock::MIGRATIONS),
            (atelier_gpu::NAME, &atelier_gpu::MIGRATIONS),
            (atelier_storage::NAME, &atelier_storage::MIGRATIONS),
        ])
        .await;
        let stock_database = db.service(atelier_stock::NAME, &atelier_stock::MIGRATIONS).await;
        let gpu_database = db.service(atelier_gpu::NAME, &atelier_gpu::MIGRATIONS).await;
        let storage_database = db.service(atelier_storage::NAME, &atelier_storage::MIGRATIONS).await;
        let objects = devs3::Server::start(devs3::Config {
            listen: ([127, 0, 0, 1], 0).into(),
            data_dir: folder.path().join("objects"),
            admin_access_key: OBJECTS_KEY.into(),
            admin_secret_key: OBJECTS_SECRET.into(),
            region: "default".into(),
        })
        .await
        .unwrap();
        let mut conn = db.admin().await;
        sqlx::raw_sql(queue_order::INSTALL).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        let mut platform = Self {
            db,
            issuer: Issuer::start().await,
            evidence: Evidence::record(&kube),
            cluster,
            kube,
            objects,
            stock: Balancer::start().await,
            gpu: Balancer::start().await,
            storage: Balancer::start().await,
            stock_database,
            gpu_database,
            storage_database,
            stock_replicas: Vec::new(),
            gpu_replicas: Vec::new(),
            storage_replica: None,
            operator: None,
            _folder: folder,
        };
        platform.start_services().await;
        platform.restart_operator().await;
        platform.add_stock().await;
        platform
    }

    /// Starts all replicas of the services.
    pub(crate) async fn start_services(&mut self) {
        for n in 0..STOCK_REPLICAS {
            self.restart_stock(n).await;
        }
        self.restart_storage().await;
        for n in 0..GPU_REPLICAS {
            self.restart_gpu(n).await;
        }
    }

    /// Kills all replicas of the services. The cluster goes on.
    pub(crate) fn stop_services(&mut self) {
        for (balancer, replicas) in
            [(&self.stock, &mut self.stock_replicas), (&self.gpu, &mut self.gpu_replicas)]
        {
            replicas.drain(..).for_each(|serving| balancer.remove(&serving.base));
        }
        if let Some(serving) = self.storage_replica.take() {
            self.storage.remove(&serving.base);
        }
    }

    /// The database of all services.
    #[must_use]
    pub(crate) fn db(&self) -> &TestDb {
        &self.db
    }

    /// The configuration of `atelier-admin` for this platform.
    pub(crate) async fn admin_config(&self) -> atelier_admin::Config {
        self.db.reader().await;
        let (user, password) = self.db.superuser();
        atelier_admin::Config {
            database: atelier_admin::config::Database {
                url: self.db.url(),
                reader_password: Some("test".into()),
                superuser: Some(atelier_admin::config::Login { user, password }),
            },
            clusters: self.clusters(),
            object_store: Some(self.object_store()),
            encryption_keys: [].into(),
            bundle: atelier_admin::config::BundleConfig::default(),
        }
    }

    /// A client of the gpu service with the token of another service.
    #[must_use]
    pub(crate) fn gpu_for_services(&self) -> Client {
        Client::new(self.gpu.url()).token(&service_token("test"))
    }

    /// Base URL of the storage service.
    #[must_use]
    pub(crate) fn storage_url(&self) -> &str {
        self.storage.url()
    }

    fn object_store(&self) -> ObjectStoreConfig {
        ObjectStoreConfig {
            endpoint: self.objects.endpoint.clone(),
            public_endpoint: None,
            access_key: OBJECTS_KEY.into(),
            secret_key: OBJECTS_SECRET.into(),
            region: "default".into(),
            allowed_origins: Vec::new(),
        }
    }

    /// What the cluster did.
    #[must_use]
    pub(crate) fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Base URL of the gpu service.
    #[must_use]
    pub(crate) fn gpu_url(&self) -> &str {
        self.gpu.url()
    }

    /// An access token of a member of a tenant, for ten minutes.
    #[must_use]
    pub(crate) fn token(&self, tenant: TenantId) -> String {
        self.issuer.user(tenant, Role::Member)
    }

    /// A number from the database, as a superuser sees it in one snapshot.
    pub(crate) async fn count(&self, query: &'static str) -> i64 {
        let mut conn = self.db.admin().await;
        let count = sqlx::query_scalar(query).fetch_one(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        count
    }

    /// Waits, and prints the state of the platform shortly before `time` is over.
    pub(crate) async fn watched<T>(&self, time: Duration, wait: impl Future<Output = T>) -> T {
        diagnosis::watched(&self.db, &self.kube, time, wait).await
    }

    /// Violations of the order of the queue.
    pub(crate) async fn queue_violations(&self) -> Vec<String> {
        let mut conn: PgConnection = self.db.admin().await;
        let texts = sqlx::query_scalar("select text from check_queue.violations order by id");
        let texts = texts.fetch_all(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        texts
    }

    /// Kills a replica of the stock service, and starts another.
    pub(crate) async fn restart_stock(&mut self, n: usize) {
        if let Some(old) = self.stock_replicas.get_mut(n) {
            self.stock.remove(&old.base);
            drop(old.replica.take());
        }
        let config = atelier_stock::Config {
            listen: ([127, 0, 0, 1], 0).into(),
            database: self.stock_database.clone(),
            auth: self.issuer.config(),
            callers: callers(),
            clusters: self.clusters(),
            cache: None,
            stock: StockConfig { lease_seconds: 2, compare_every_seconds: 5, ..StockConfig::default() },
            audit: audit::RetentionConfig::default(),
            telemetry: None,
        };
        let (replica, base) = Replica::start(move |process| {
            async move {
                let app = atelier_stock::App::new(config, process).unwrap();
                app.start_workers();
                testkit::serve(app.router()).await
            }
            .boxed()
        })
        .await;
        self.stock.add(&base);
        put(&mut self.stock_replicas, n, Serving { replica: Some(replica), base });
    }

    /// Kills the storage service, and starts another.
    pub(crate) async fn restart_storage(&mut self) {
        if let Some(old) = self.storage_replica.take() {
            self.storage.remove(&old.base);
        }
        let config = atelier_storage::Config {
            listen: ([127, 0, 0, 1], 0).into(),
            database: self.storage_database.clone(),
            auth: self.issuer.config(),
            callers: callers(),
            gpu: None,
            clusters: self.clusters(),
            datacenters: [(DATACENTER.to_owned(), CLUSTER.to_owned())].into(),
            object_store: Some(self.object_store()),
            limits: LimitsConfig::default(),
            audit: audit::RetentionConfig::default(),
            telemetry: None,
            reconcile: ReconcileConfig { lease_seconds: 2, compare_seconds: 2, ..ReconcileConfig::default() },
        };
        let (replica, base) = Replica::start(move |process| {
            async move {
                let app = atelier_storage::App::new(config, process).unwrap();
                app.start_workers();
                testkit::serve(app.router()).await
            }
            .boxed()
        })
        .await;
        self.storage.add(&base);
        self.storage_replica = Some(Serving { replica: Some(replica), base });
    }

    fn gpu_config(&self) -> atelier_gpu::Config {
        let endpoint = |url: &str| Endpoint { url: url.parse().unwrap(), token: service_token("gpu").into() };
        atelier_gpu::Config {
            listen: ([127, 0, 0, 1], 0).into(),
            database: self.gpu_database.clone(),
            auth: self.issuer.config(),
            callers: callers(),
            encryption_keys: vec![EncryptionKey {
                id: "1".into(),
                key: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".into(),
            }],
            storage: endpoint(self.storage.url()),
            identity: None,
            stock: endpoint(self.stock.url()),
            apps: Apps { scheme: "http".into(), domain: "localhost".into(), port: None },
            clusters: self.clusters(),
            terminal: TerminalConfig::default(),
            streams: StreamsConfig::default(),
            events: EventsConfig::default(),
            holds: HoldsConfig::default(),
            budgets: BudgetsConfig::default(),
            log_archive: None,
            ssh: None,
            prometheus: [].into(),
            cache: None,
            idle: IdleConfig::default(),
            audit: audit::RetentionConfig::default(),
            telemetry: None,
            monitoring: MonitoringConfig::default(),
        }
    }

    /// Starts the jobs service. Its workers are instances of this platform, and lost only when the cluster says so.
    pub(crate) async fn start_jobs(&self) -> Jobs {
        let endpoint =
            |url: &str| Endpoint { url: url.parse().unwrap(), token: service_token("jobs").into() };
        let (seldom, listen) = (600_000, ([127, 0, 0, 1], 0).into());
        let scheduler = atelier_jobs::SchedulerConfig {
            silent_ms: seldom,
            lost_ms: seldom,
            retry_ms: 1,
            ..atelier_jobs::SchedulerConfig::default()
        };
        let config = atelier_jobs::Config {
            listen,
            worker_listen: listen,
            database: self.db.service(atelier_jobs::NAME, &atelier_jobs::MIGRATIONS).await,
            auth: self.issuer.config(),
            storage: endpoint(self.storage.url()),
            mq: None,
            callers: callers(),
            ended: atelier_jobs::EndedConfig::default(),
            limits: atelier_jobs::LimitsConfig::default(),
            scheduler,
            fleet: Some(atelier_jobs::FleetConfig {
                gpu: endpoint(self.gpu.url()),
                // pods run no processes
                jobs_url: "http://jobs:8097".parse().unwrap(),
                idle_seconds: 300,
                silent_seconds: 900,
            }),
            stock: Some(endpoint(self.stock.url())),
            cache: None,
            progress: atelier_jobs::ProgressConfig::default(),
            streams: atelier_jobs::StreamsConfig::default(),
            encryption_keys: Vec::new(),
            webhooks: atelier_jobs::WebhooksConfig::default(),
            audit: audit::RetentionConfig::default(),
            telemetry: None,
        };
        Jobs::start(config, &self.issuer.admin()).await
    }

    /// Compares the meter with the histories of the cluster until it is corrected, as each replica does every few minutes.
    pub(crate) async fn correct_usage(&self) {
        let config = self.gpu_config();
        let (_replica, app) = Replica::start(move |process| {
            async move {
                let app = atelier_gpu::App::new(config, process).unwrap();
                app.start_workers();
                let _ = testkit::serve(app.router()).await;
                app
            }
            .boxed()
        })
        .await;
        // until the replica has listed the units, it compares nothing
        testkit::eventually("the meter is corrected", async || {
            (app.compare_usage().await.unwrap() > 0).then_some(())
        })
        .await;
    }

    /// Kills a replica of the gpu service, and starts another.
    pub(crate) async fn restart_gpu(&mut self, n: usize) {
        if let Some(old) = self.gpu_replicas.get_mut(n) {
            self.gpu.remove(&old.base);
            drop(old.replica.take());
        }
        let config = self.gpu_config();
        let (replica, base) = Replica::start(move |process| {
            async move {
                let app = atelier_gpu::App::new(config, process).unwrap();
                app.start_workers();
                testkit::serve(app.router()).await
            }
            .boxed()
        })
        .await;
        self.gpu.add(&base);
        put(&mut self.gpu_replicas, n, Serving { replica: Some(replica), base });
    }

    /// Kills the operator, and starts another.
    pub(crate) async fn restart_operator(&mut self) {
        drop(self.operator.take());
        let kubeconfig = self.cluster.kubeconfig_path().to_owned();
        let tenant_code = TenantCode { accept_default_runtime: true, ..TenantCode::default() };
        let settings =
            Settings { node_lost_seconds: 1, hand_off_seconds: 3, tenant_code, ..Settings::default() };
        let options = Options {
            identity: uuid::Uuid::new_v4().to_string(),
            concurrency: 16,
            lease: LeaseSettings { duration: Duration::from_secs(1), ..LeaseSettings::default() },
            clock: Timestamp::now,
            hook: None,
            tracer: service::Tracer::default(),
        };
        let (replica, ()) = Replica::start(move |process| {
            async move {
                let client = kube_client(kubeconfig).await;
                let replica = controller::Replica::new(client, settings, options, Metrics::default());
                process.workers.start(atelier_operator::NAME, replica.tasks());
            }
            .boxed()
        })
        .await;
        self.operator = Some(replica);
    }

    /// Fails a node with everything on it.
    pub(crate) async fn fail_node(&self, node: &str) {
        let path = format!("/devcluster/nodes/{node}/fail");
        let cluster = Client::new(&self.cluster.url).token(&self.cluster.token);
        let _ = cluster.post(&path, json!({})).await.expect(200);
        self.evidence.lose_node(node);
    }

    /// Recovers a node.
    pub(crate) fn recover_node(&self, node: &str) {
        self.evidence.recover_node(node);
        self.cluster.recover_node(node);
    }

    /// The client of the cluster's administrator.
    #[must_use]
    pub(crate) fn kube(&self) -> &kube::Client {
        &self.kube
    }

    fn clusters(&self) -> std::collections::BTreeMap<String, ClusterConfig> {
        let kubeconfig = Some(self.cluster.kubeconfig_path().to_owned());
        [(CLUSTER.to_owned(), ClusterConfig { kubeconfig, context: None })].into()
    }

    async fn add_stock(&self) {
        let stock = Client::new(self.stock.url()).token(&self.issuer.admin());
        let datacenter = json!({ "name": DATACENTER, "region": "uk", "cluster": CLUSTER });
        let _ = stock.post("/v1/datacenters", datacenter).await.expect(201);
        for (name, gpus, count) in [(SMALL, 1, 4), (LARGE, 2, 1)] {
            let _ = stock.post("/v1/gpu-specs", spec(name, gpus)).await.expect(201);
            let body = json!({ "gpu_spec": name, "datacenter": DATACENTER, "count": count });
            let _ = stock.post("/v1/stock/additions", body).await.expect(202);
        }
        eventually("the units are available", async || {
            let available = "select count(*) from stock.units where state = 'available'";
            (self.count(available).await == 5).then_some(())
        })
        .await;
        let gpu = Client::new(self.gpu.url()).token(&self.issuer.admin());
        let _ = gpu.post("/v1/services", service()).await.expect(201);
        let storage = Client::new(self.storage.url()).token(&self.issuer.admin());
        for (name, kind) in [(VOLUME, "volume"), (BUCKET, "bucket")] {
            let spec = json!({ "name": name, "kind": kind, "min_size_gib": 1, "max_size_gib": 100,
                "price_per_gib_month": "0.10", "currency": "EUR" });
            let _ = storage.post("/v1/storage-specs", spec).await.expect(201);
        }
    }
}

fn put(replicas: &mut Vec<Serving>, n: usize, serving: Serving) {
    if n < replicas.len() { replicas[n] = serving } else { replicas.push(serving) }
}

fn cluster_config(folder: &std::path::Path) -> devcluster::Config {
    let mut config = devcluster::Config::new(folder);
    config.journal = false;
    config.eviction_seconds = 1;
    config.node_grace_seconds = 2;
    config.nodes = NODES
        .map(|name| {
            let mut node = devcluster::NodeConfig::new(name).extended("nvidia.com/gpu", 4);
            node.fake = true;
            node
        })
        .to_vec();
    config
}

async fn kube_client(kubeconfig: PathBuf) -> kube::Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    kube::Client::try_from(config.unwrap()).unwrap()
}

fn spec(name: &str, gpus: i64) -> Value {
    json!({
        "name": name, "gpu_model": "NVIDIA-GeForce-RTX-3080", "gpu_count": gpus, "gpu_cores": 8704,
        "video_memory_mib": 10240, "cpu_millis": 1000, "memory_mib": 1024, "disk_gib": 1,
        "price_per_hour": "0.36", "currency": "EUR", "hold_price_fraction": "0.25",
        "allocation": { "kind": "device", "resource": "nvidia.com/gpu" }, "node_selector": {},
    })
}

fn service() -> Value {
    json!({
        "service": "shell", "version": "1", "description": "a shell",
        "template": {
            "image": "shell:1",
            "ports": [{ "port": 7860, "is_public": true, "is_probe": true }],
            "storage_mount_path": "/workspace/storage",
            "start_timeout_seconds": 60,
        },
    })
}
