//! The services, started one after the other.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, sync::Arc};

use atelier_gateway::{CookieKey, Limits, Services};
use atelier_gpu::{
    Apps, BudgetsConfig, EventsConfig, HoldsConfig, IdleConfig, LogArchiveConfig, MonitoringConfig,
    SshConfig, StreamsConfig, TerminalConfig,
};
use atelier_identity::{BootstrapAdmin, PasskeyConfig, PasswordConfig, SessionConfig, SigningConfig};
use atelier_jobs::{EndedConfig, SchedulerConfig, StreamsConfig as JobStreamsConfig};
use atelier_operator::{
    controller::{self, Metrics, Options, election::LeaseSettings},
    settings::{Settings, TenantCode},
};
use atelier_stock::StockConfig;
use atelier_storage::{LimitsConfig, ObjectStoreConfig, ReconcileConfig};
use auth::{AuthConfig, RevocationSource};
use axum::Router;
use crds::ClusterConfig;
use encryption::EncryptionKey;
use jiff::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use peer::Endpoint;
use serde_json::{Value, json};
use service::{Process, TelemetryConfig};
use testkit::{Client, Collector, Response, TestDb, callers, eventually, service_token};
use tokio::net::TcpListener;

use super::{Forge, schemas};

/// The password of all users.
pub(crate) const PASSWORD: &str = "correct horse battery";
/// E-mail address of the administrator.
const ADMIN: &str = "admin@atelier.test";
/// The datacenter, and its cluster.
pub(crate) const DATACENTER: &str = "main";
/// The units of the datacenter. The tenants hold two each.
const UNITS: i64 = 6;

/// A service as the gateway's requests reach it.
#[derive(Debug)]
pub(crate) struct Service {
    /// Name of the service.
    pub(crate) name: &'static str,
    /// Its address, without a token.
    pub(crate) client: Client,
    /// The paths of its OpenAPI document.
    paths: Vec<String>,
}

/// The platform. It ends with the test's runtime.
pub(crate) struct Platform {
    /// The database of all services.
    pub(crate) db: Arc<TestDb>,
    /// The gateway, without a token.
    pub(crate) gateway: Client,
    /// The services behind it.
    pub(crate) services: Vec<Service>,
    /// The gateway, with the administrator's token.
    pub(crate) admin: Client,
    pub(crate) forge: Forge,
    /// The port of the readiness probes of all pods, whose addresses are local and whose process does not listen.
    pub(crate) probed: u16,
    _cluster: devcluster::Cluster,
    _objects: devs3::Server,
    _folder: tempfile::TempDir,
}

impl Platform {
    /// Starts everything, fills the catalogue and the stock, and waits until the stock is available.
    pub(crate) async fn start() -> Self {
        Self::on(Arc::new(TestDb::new())).await
    }

    /// As [`Self::start`], on a new database.
    pub(crate) async fn on(db: Arc<TestDb>) -> Self {
        Self::with(db, None).await
    }

    /// As [`Self::start`]. Everything is traced, and exported to `collector`.
    pub(crate) async fn traced(collector: &Collector) -> Self {
        let endpoint = collector.endpoint().parse().unwrap();
        let telemetry = TelemetryConfig { endpoint, sample_ratio: 1.0 };
        Self::with(Arc::new(TestDb::new()), Some(telemetry)).await
    }

    async fn with(db: Arc<TestDb>, telemetry: Option<TelemetryConfig>) -> Self {
        db.create_with(&atelier_admin::schemas::all()).await;
        let folder = tempfile::tempdir().unwrap();
        let cluster = devcluster::Cluster::start(cluster_config(folder.path())).await.unwrap();
        let clusters = clusters(&cluster);
        start_operator(&cluster, telemetry.as_ref()).await;
        let objects = devs3::Server::start(devs3::Config {
            listen: localhost(),
            data_dir: folder.path().join("objects"),
            admin_access_key: "ADMIN".into(),
            admin_secret_key: "admin-secret".into(),
            region: "default".into(),
        })
        .await
        .unwrap();
        let identity = start_identity(&db, telemetry.clone()).await;
        let auth = |name| accepted(identity.client.base(), name);
        let stock = {
            let config = atelier_stock::Config {
                cache: None,
                listen: localhost(),
                database: db.service(atelier_stock::NAME, &atelier_stock::MIGRATIONS).await,
                auth: auth(atelier_stock::NAME),
                callers: callers(),
                clusters: clusters.clone(),
                stock: StockConfig::default(),
                audit: audit::RetentionConfig::default(),
                telemetry: telemetry.clone(),
            };
            let app = atelier_stock::App::new(config, Process::default()).unwrap();
            app.start_workers();
            Service::start(atelier_stock::NAME, app.router(), &atelier_stock::openapi()).await
        };
        let storage = {
            let config = atelier_storage::Config {
                listen: localhost(),
                database: db.service(atelier_storage::NAME, &atelier_storage::MIGRATIONS).await,
                auth: auth(atelier_storage::NAME),
                callers: callers(),
                gpu: None,
                clusters: clusters.clone(),
                datacenters: BTreeMap::new(),
                object_store: Some(ObjectStoreConfig {
                    endpoint: objects.endpoint.clone(),
                    public_endpoint: None,
                    access_key: "ADMIN".into(),
                    secret_key: "admin-secret".into(),
                    region: "default".into(),
                    allowed_origins: Vec::new(),
                }),
                limits: LimitsConfig::default(),
                audit: audit::RetentionConfig::default(),
                telemetry: telemetry.clone(),
                reconcile: ReconcileConfig::default(),
            };
            let app = atelier_storage::App::new(config, Process::default()).unwrap();
            app.start_workers();
            Service::start(atelier_storage::NAME, app.router(), &atelier_storage::openapi()).await
        };
        let gpu = {
            let config = atelier_gpu::Config {
                cache: None,
                listen: localhost(),
                database: db.service(atelier_gpu::NAME, &atelier_gpu::MIGRATIONS).await,
                auth: auth(atelier_gpu::NAME),
                callers: callers(),
                encryption_keys: encryption_keys(),
                stock: stock.endpoint("gpu"),
                storage: storage.endpoint("gpu"),
                identity: Some(identity.endpoint("gpu")),
                apps: Apps { scheme: "http".into(), domain: "localhost".into(), port: None },
                clusters,
                terminal: TerminalConfig::default(),
                streams: StreamsConfig::default(),
                events: EventsConfig::default(),
                holds: HoldsConfig::default(),
                budgets: BudgetsConfig::default(),
                log_archive: Some(log_archive(&objects)),
                ssh: Some(ssh(identity.endpoint("gpu"))),
                prometheus: [].into(),
                idle: IdleConfig::default(),
                audit: audit::RetentionConfig::default(),
                telemetry: telemetry.clone(),
                monitoring: MonitoringConfig::default(),
            };
            let app = atelier_gpu::App::new(config, Process::default()).unwrap();
            app.start_workers();
            Service::start(atelier_gpu::NAME, app.router(), &atelier_gpu::openapi()).await
        };
        let jobs = {
            let config = atelier_jobs::Config {
                cache: None,
                progress: atelier_jobs::ProgressConfig::default(),
                listen: localhost(),
                worker_listen: localhost(),
                database: db.service(atelier_jobs::NAME, &atelier_jobs::MIGRATIONS).await,
                auth: auth(atelier_jobs::NAME),
                storage: storage.endpoint(atelier_jobs::NAME),
                // nobody listens there: REST does not need it
                mq: Some(atelier_jobs::MqConfig {
                    url: "amqp://127.0.0.1:9/%2f".into(),
                    auth_listen: localhost(),
                    public_url: None,
                    management_url: None,
                }),
                callers: callers(),
                ended: EndedConfig::default(),
                limits: atelier_jobs::LimitsConfig::default(),
                scheduler: SchedulerConfig::default(),
                fleet: None,
                stock: None,
                streams: JobStreamsConfig::default(),
                encryption_keys: encryption_keys(),
                webhooks: atelier_jobs::WebhooksConfig::default(),
                audit: audit::RetentionConfig::default(),
                telemetry: telemetry.clone(),
            };
            let app = atelier_jobs::App::new(config, Process::default()).unwrap();
            app.start_workers();
            Service::start(atelier_jobs::NAME, app.router(), &atelier_jobs::openapi()).await
        };
        let auth = auth("gateway");
        let services = vec![identity, stock, gpu, storage, jobs];
        let started: Vec<_> = services.iter().map(|service| service.name).collect();
        assert_eq!(started, schemas(), "the services that are started here, and those of platform.toml");
        let gateway = start_gateway(&services, auth, telemetry).await;
        let admin = gateway.token(sign_in_administrator(&gateway).await.str("access_token"));
        let forge = Forge::new(&db, &encryption_keys()).await;
        let platform = Self {
            db,
            gateway,
            services,
            admin,
            forge,
            probed: answer_probes().await,
            _cluster: cluster,
            _objects: objects,
            _folder: folder,
        };
        platform.fill().await;
        platform
    }

    /// Signs in as the administrator: a new session.
    pub(crate) async fn sign_in_administrator(&self) -> Response {
        sign_in_administrator(&self.gateway).await
    }

    /// Forged tokens.
    #[must_use]
    pub(crate) fn forge(&self) -> &Forge {
        &self.forge
    }

    /// The merged OpenAPI document.
    pub(crate) async fn document(&self) -> Value {
        self.gateway.get("/openapi.json").await.expect(200).body
    }

    /// The service with this path template; the gateway if it answers the path itself.
    #[must_use]
    pub(crate) fn service_of(&self, path: &str) -> &Client {
        let service = self.services.iter().find(|service| service.has(path));
        service.map_or(&self.gateway, |service| &service.client)
    }

    /// The catalogue and the stock.
    async fn fill(&self) {
        let admin = &self.admin;
        let datacenter = json!({ "name": DATACENTER, "region": "uk", "cluster": DATACENTER });
        let _ = admin.post("/v1/datacenters", datacenter).await.expect(201);
        let spec = json!({
            "name": "small", "gpu_model": "NVIDIA-GeForce-RTX-3080", "gpu_count": 1, "gpu_cores": 8704,
            "video_memory_mib": 10240, "cpu_millis": 1000, "memory_mib": 1024, "disk_gib": 1,
            "price_per_hour": "0.36", "currency": "EUR", "hold_price_fraction": "0.25",
            "allocation": { "kind": "device", "resource": "nvidia.com/gpu" }, "node_selector": {},
        });
        let _ = admin.post("/v1/gpu-specs", spec).await.expect(201);
        let stock = json!({ "gpu_spec": "small", "datacenter": DATACENTER, "count": UNITS });
        let _ = admin.post("/v1/stock/additions", stock).await.expect(202);
        let image = json!({
            "service": "shell", "version": "1", "description": "a shell",
            "template": {
                "image": "shell:1",
                "ports": [{ "port": self.probed, "is_public": true, "is_probe": true }],
                "storage_mount_path": "/workspace/storage",
                "start_timeout_seconds": 60,
            },
        });
        let _ = admin.post("/v1/services", image).await.expect(201);
        for (name, kind) in [("ssd", "volume"), ("archive", "bucket")] {
            let spec = json!({ "name": name, "kind": kind, "min_size_gib": 1, "max_size_gib": 100,
                "price_per_gib_month": "0.10", "currency": "EUR" });
            let _ = admin.post("/v1/storage-specs", spec).await.expect(201);
        }
        let pool = json!({ "name": "generation", "gpu_specs": ["3080-small-4-1"] });
        let pool = admin.post("/v1/platform-pools", pool).await.expect(201).str("id").to_owned();
        // its process never registers
        let worker = json!({ "name": "first", "gpu_spec": "3080-small-4-1", "node": "node-1" });
        let _ = admin.post(&format!("/v1/platform-pools/{pool}/workers"), worker).await.expect(201);
        eventually("the units are available", async || {
            let mut conn = self.db.admin().await;
            let available = "select count(*) from stock.units where state = 'available'";
            let available: i64 = sqlx::query_scalar(available).fetch_one(&mut conn).await.unwrap();
            (available == UNITS).then_some(())
        })
        .await;
    }
}

impl Service {
    async fn start(name: &'static str, router: Router, document: &impl serde::Serialize) -> Self {
        Self { name, client: Client::new(&testkit::serve(router).await), paths: paths(document) }
    }

    /// Whether it has this path template.
    #[must_use]
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.iter().any(|known| known == path)
    }

    /// The service, as the service `caller` calls it.
    fn endpoint(&self, caller: &str) -> Endpoint {
        Endpoint { url: self.client.base().parse().unwrap(), token: service_token(caller).into() }
    }
}

/// Accepts connections to a port on all addresses. Returns the port.
async fn answer_probes() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    port
}

fn paths(document: &impl serde::Serialize) -> Vec<String> {
    let document = serde_json::to_value(document).unwrap();
    document["paths"].as_object().unwrap().keys().cloned().collect()
}

fn localhost() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn encryption_keys() -> Vec<EncryptionKey> {
    vec![EncryptionKey { id: "1".into(), key: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".into() }]
}

/// The issuer of the tokens that the service `name` accepts: the identity service at `identity`.
fn accepted(identity: &str, name: &str) -> AuthConfig {
    AuthConfig {
        jwks_url: Some(format!("{identity}/.well-known/jwks.json")),
        revocations: Some(RevocationSource {
            url: identity.to_owned(),
            token: service_token(name).into(),
            grace_seconds: 60,
        }),
        ..issuer()
    }
}

fn issuer() -> AuthConfig {
    AuthConfig {
        issuer: "http://atelier.test".into(),
        audience: "atelier".into(),
        jwks_url: None,
        keys_seconds: 300,
        claims: auth::ClaimNames::default(),
        revocations: None,
    }
}

async fn start_identity(db: &TestDb, telemetry: Option<TelemetryConfig>) -> Service {
    let listener = TcpListener::bind(localhost()).await.unwrap();
    let config = atelier_identity::Config {
        public_url: Some("https://atelier.test".parse().unwrap()),
        passkeys: Some(PasskeyConfig { rp_id: "atelier.test".into(), origins: Vec::new() }),
        oidc_providers: Vec::new(),
        audit: audit::RetentionConfig::default(),
        telemetry,
        listen: listener.local_addr().unwrap(),
        database: db.service(atelier_identity::NAME, &atelier_identity::MIGRATIONS).await,
        auth: issuer(),
        callers: callers(),
        participants: BTreeMap::new(),
        encryption_keys: encryption_keys(),
        bootstrap_admin: Some(BootstrapAdmin { email: ADMIN.into(), password: PASSWORD.into() }),
        sessions: SessionConfig::default(),
        signing: SigningConfig { poll_seconds: 1, ..SigningConfig::default() },
        passwords: PasswordConfig::default(),
    };
    let base = format!("http://{}", config.listen);
    let app = atelier_identity::App::new(config, Process::default()).unwrap();
    app.start_workers();
    // sign-ins are counted by the peer's address
    let router = app.router().into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let client = Client::new(&base);
    let ready = async || (client.get("/readyz").await.status == 200).then_some(());
    eventually("the identity service is ready", ready).await;
    Service { name: atelier_identity::NAME, client, paths: paths(&atelier_identity::openapi()) }
}

async fn sign_in_administrator(gateway: &Client) -> Response {
    gateway.post("/v1/sessions", json!({ "email": ADMIN, "password": PASSWORD })).await.expect(200)
}

async fn start_gateway(services: &[Service], auth: AuthConfig, telemetry: Option<TelemetryConfig>) -> Client {
    let public = TcpListener::bind(localhost()).await.unwrap();
    let internal = TcpListener::bind(localhost()).await.unwrap();
    let base = format!("http://{}", public.local_addr().unwrap());
    // one of a service that is not started here
    let nowhere = "http://127.0.0.1:9";
    let url = |name| {
        let started = services.iter().find(|service| service.name == name);
        started.map_or(nowhere, |one| one.client.base()).parse().unwrap()
    };
    let many = 1_000_000;
    let config = atelier_gateway::Config {
        cache: None,
        listen: public.local_addr().unwrap(),
        metrics_listen: internal.local_addr().unwrap(),
        public_url: base.parse().unwrap(),
        apps: atelier_gateway::Apps::default(),
        console: None,
        auth,
        services: Services::new(url),
        gpu_token: service_token("gateway").into(),
        cookie_keys: vec![CookieKey {
            id: "first".into(),
            key: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".into(),
        }],
        limits: Limits {
            requests_per_second: many,
            request_burst: many,
            sign_ins_per_minute: many,
            sign_in_burst: many,
            tenant_requests_per_second: many,
            tenant_request_burst: many,
            address_requests_per_second: many,
            address_request_burst: many,
            ..Limits::default()
        },
        activity_seconds: 1,
        drain_seconds: 0,
        tls: None,
        proxy_protocol: None,
        hsts_seconds: 3600,
        cors: atelier_gateway::Cors::default(),
        modules: BTreeMap::new(),
        telemetry,
    };
    let app = atelier_gateway::App::new(config, Process::default()).unwrap();
    tokio::spawn(async move { app.serve_on(public, internal).await.unwrap() });
    Client::new(&base)
}

fn cluster_config(folder: &Path) -> devcluster::Config {
    let mut config = devcluster::Config::new(folder.join("cluster"));
    config.journal = false;
    config.nodes = vec![devcluster::NodeConfig::new("node-1").extended("nvidia.com/gpu", 8)];
    config.images = vec![devcluster::ImageConfig::new("shell:*", ["sleep", "1000"])];
    config
}

fn clusters(cluster: &devcluster::Cluster) -> BTreeMap<String, ClusterConfig> {
    let kubeconfig = Some(cluster.kubeconfig_path().to_owned());
    [(DATACENTER.to_owned(), ClusterConfig { kubeconfig, context: None })].into()
}

async fn start_operator(cluster: &devcluster::Cluster, telemetry: Option<&TelemetryConfig>) {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let kube = kube::Client::try_from(config.unwrap()).unwrap();
    controller::install(&kube).await.unwrap();
    let process = Process::default().traced(atelier_operator::NAME, telemetry).unwrap();
    let options = Options {
        identity: "operator".into(),
        concurrency: 16,
        lease: LeaseSettings::default(),
        clock: Timestamp::now,
        hook: None,
        tracer: process.tracer.clone(),
    };
    let tenant_code = TenantCode { accept_default_runtime: true, ..TenantCode::default() };
    let settings = Settings { tenant_code, ..Settings::default() };
    let replica = controller::Replica::new(kube, settings, options, Metrics::default());
    process.workers.start(atelier_operator::NAME, replica.tasks());
}

fn log_archive(objects: &devs3::Server) -> LogArchiveConfig {
    LogArchiveConfig {
        endpoint: objects.endpoint.clone(),
        region: "default".into(),
        bucket: "logs".into(),
        access_key: "ADMIN".into(),
        secret_key: "admin-secret".into(),
        days: 14,
        bytes_per_instance: 64 * 1024 * 1024,
        interval_seconds: 60,
        hold_seconds: 60,
        collections: 1,
        follows: 2,
    }
}

fn ssh(identity: Endpoint) -> SshConfig {
    SshConfig {
        listen: localhost(),
        host: "127.0.0.1".into(),
        port: None,
        host_key_file: None,
        identity,
        connections: 10,
        connections_per_tenant: 10,
        auth_attempts: 5,
        handshake_seconds: 20,
        idle_seconds: 60,
    }
}
