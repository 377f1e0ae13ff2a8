//! The service in a test: a database of its own, a development cluster, stand-ins of the other services.

use std::sync::Arc;

use atelier_gpu::{
    App, Apps, BudgetsConfig, Config, EventsConfig, HoldsConfig, IdleConfig, LogArchiveConfig,
    MonitoringConfig, PrometheusConfig, SshConfig, StreamsConfig, TerminalConfig,
};
use auth::Role;
use crds::{ClusterConfig, GpuUnit};
use db::{Db, queue::Outcome};
use encryption::EncryptionKey;
use ids::{InstanceId, TenantId, UnitId};
use instances::{MIGRATIONS, NAME};
use jiff::Timestamp;
use kube::api::{Api, PostParams};
use orders::reconcile::Reconciler;
use serde_json::{Value, json};
use service::Process;
use sqlx::PgConnection;
use testkit::{Client, Issuer, Response, TestDb, eventually};
use tokio::sync::{Mutex, OnceCell};

use crate::{
    neighbours::{Neighbours, SPEC},
    operator::Operator,
};

/// Name of the cluster in the services' configuration.
pub(crate) const CLUSTER: &str = "dev";
/// Name of a second cluster, in tests that have two.
pub(crate) const OTHER_CLUSTER: &str = "other";

pub(crate) struct Fixture {
    pub(crate) db: TestDb,
    /// For [`Fixture::execute`].
    superuser: OnceCell<Mutex<PgConnection>>,
    pub(crate) issuer: Issuer,
    pub(crate) neighbours: Arc<Neighbours>,
    pub(crate) operator: Operator,
    pub(crate) kube: kube::Client,
    pub(crate) tenant: TenantId,
    pub(crate) base: String,
    pub(crate) config: Config,
    pub(crate) app: App,
    pub(crate) process: Process,
    /// The service's database, as the service sees it.
    pub(crate) service_db: Db,
    /// The object store of logs, until a test stops it.
    pub(crate) objects: Option<devs3::Server>,
    /// Until a test stops it.
    pub(crate) cluster: Option<devcluster::Cluster>,
    folder: tempfile::TempDir,
}

/// Options of a test platform.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) units: usize,
    /// Whether all workers run. Otherwise the clusters are watched, and the test reconciles by itself.
    pub(crate) workers: bool,
    /// The clock of the service; the real one if absent.
    pub(crate) clock: Option<fn() -> Timestamp>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { units: 2, workers: true, clock: None }
    }
}

/// A replica of the service.
pub(crate) struct Replica {
    pub(crate) base: String,
    pub(crate) app: App,
    pub(crate) process: Process,
}

impl Replica {
    pub(crate) async fn start(config: &Config, workers: bool) -> Self {
        Self::with_clock(config, workers, None).await
    }

    pub(crate) async fn with_clock(config: &Config, workers: bool, clock: Option<fn() -> Timestamp>) -> Self {
        let process = Process::default();
        let app = match clock {
            Some(clock) => App::with_clock(config.clone(), process.clone(), clock),
            None => App::new(config.clone(), process.clone()),
        };
        let app = app.unwrap();
        if workers {
            app.start_workers();
        } else {
            app.start_watches();
        }
        eventually("the units are listed", async || app.clusters().unsynced().is_empty().then_some(())).await;
        Self { base: testkit::serve(app.router()).await, app, process }
    }
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        Self::build(setup, false, None).await
    }

    /// With logs in an object store.
    pub(crate) async fn with_kept_logs() -> Self {
        Self::build(Setup::default(), true, None).await
    }

    /// With a Prometheus in the cluster.
    pub(crate) async fn with_prometheus(setup: Setup, prometheus: PrometheusConfig) -> Self {
        Self::build(setup, false, Some(prometheus)).await
    }

    async fn build(setup: Setup, logs_are_kept: bool, prometheus: Option<PrometheusConfig>) -> Self {
        let (db, issuer) = (TestDb::new(), Issuer::start().await);
        let folder = tempfile::tempdir().unwrap();
        let (cluster, kube) = start_cluster(folder.path()).await;
        let neighbours = Neighbours::start(&issuer).await;
        let objects = if logs_are_kept { Some(start_objects(folder.path(), 0).await) } else { None };
        let operator = Operator::new(kube.clone());
        for _ in 0..setup.units {
            let unit = UnitId::new();
            operator.make_unit(&unit.k8s_name()).await;
            neighbours.add_unit(unit);
        }
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            database: db.service(NAME, &MIGRATIONS).await,
            auth: issuer.config(),
            callers: testkit::callers(),
            encryption_keys: vec![EncryptionKey {
                id: "1".into(),
                key: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".into(),
            }],
            stock: neighbours.endpoint(),
            storage: neighbours.endpoint(),
            identity: Some(neighbours.endpoint()),
            apps: Apps { scheme: "http".into(), domain: "localhost".into(), port: Some(8080) },
            clusters: [(
                CLUSTER.to_owned(),
                ClusterConfig { kubeconfig: Some(cluster.kubeconfig_path().to_owned()), context: None },
            )]
            .into(),
            terminal: TerminalConfig { idle_seconds: 60, reconnect_seconds: 60 },
            streams: StreamsConfig {
                logs_per_tenant: 2,
                terminals_per_tenant: 2,
                events_per_tenant: 3,
                slow_reader_seconds: 1,
                heartbeat_seconds: 1,
            },
            events: EventsConfig::default(),
            holds: HoldsConfig { max_seconds: 3600 },
            budgets: BudgetsConfig { start_ahead_seconds: 60, ..BudgetsConfig::default() },
            log_archive: objects.as_ref().map(|objects| log_archive(&objects.endpoint)),
            prometheus: prometheus.map(|prometheus| (CLUSTER.to_owned(), prometheus)).into_iter().collect(),
            monitoring: MonitoringConfig { sample_seconds: 1, days: 7 },
            idle: IdleConfig::default(),
            audit: audit::RetentionConfig::default(),
            cache: None,
            telemetry: None,
            ssh: Some(SshConfig {
                listen: ([127, 0, 0, 1], 0).into(),
                host: "127.0.0.1".into(),
                port: None,
                host_key_file: None,
                identity: neighbours.endpoint(),
                connections: 200,
                connections_per_tenant: 30,
                auth_attempts: 5,
                handshake_seconds: 20,
                idle_seconds: 60,
            }),
        };
        let Replica { base, app, process } = Replica::with_clock(&config, setup.workers, setup.clock).await;
        let fixture = Self {
            tenant: TenantId::new(),
            db,
            superuser: OnceCell::new(),
            service_db: Db::connect(NAME, &config.database).unwrap(),
            issuer,
            neighbours,
            operator,
            kube,
            base,
            config,
            app,
            process,
            objects,
            cluster: Some(cluster),
            folder,
        };
        let _ = fixture.admin().post("/v1/services", service()).await.expect(201);
        fixture
    }

    /// The folder with all files of the test.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Starts one more replica of the service, on the same database.
    pub(crate) async fn replica(&self) -> Replica {
        Replica::start(&self.config, true).await
    }

    /// Reconciles an instance once, as the queue does. Returns false if another worker has leased it.
    pub(crate) async fn reconcile(&self, id: InstanceId) -> bool {
        reconcile(&self.app, &self.service_db, id).await
    }

    /// Executes a statement as the database's administrator. Returns the number of changed rows.
    pub(crate) async fn execute(&self, statement: &'static str) -> u64 {
        let mut superuser =
            self.superuser.get_or_init(async || Mutex::new(self.db.admin().await)).await.lock().await;
        sqlx::query(statement).execute(&mut *superuser).await.unwrap().rows_affected()
    }

    pub(crate) fn admin(&self) -> Client {
        Client::new(&self.base).token(&self.issuer.admin())
    }

    pub(crate) fn member(&self) -> Client {
        self.user(self.tenant, Role::Member)
    }

    pub(crate) fn user(&self, tenant: TenantId, role: Role) -> Client {
        Client::new(&self.base).token(&self.issuer.user(tenant, role))
    }

    /// The gateway.
    pub(crate) fn gateway(&self) -> Client {
        Client::new(&self.base).service("gateway")
    }

    /// The identity service.
    pub(crate) fn identity(&self) -> Client {
        Client::new(&self.base).service("identity")
    }

    /// The jobs service.
    pub(crate) fn jobs(&self) -> Client {
        Client::new(&self.base).service("jobs")
    }

    /// An order without a storage.
    pub(crate) fn order() -> Value {
        json!({ "gpu_spec": SPEC, "service": "shell", "version": "1" })
    }

    /// Orders an instance; the operator brings it up.
    pub(crate) async fn running(&self) -> InstanceId {
        let id = self.ordered(Self::order()).await;
        self.brought_up(id).await;
        id
    }

    /// Orders an instance.
    pub(crate) async fn ordered(&self, order: Value) -> InstanceId {
        self.member().post("/v1/instances", order).await.expect(202).str("id").parse().unwrap()
    }

    /// The operator brings up an ordered instance. Waits until the service has seen it.
    pub(crate) async fn brought_up(&self, id: InstanceId) {
        let unit = self.unit_of(id).await;
        self.operator.ready(&unit).await;
        self.in_state(id, "running").await;
    }

    /// The unit that names the instance in its spec, once there is one.
    pub(crate) async fn unit_of(&self, id: InstanceId) -> String {
        Self::unit_in(&self.kube, id).await
    }

    /// The unit of a cluster that names the instance in its spec, once there is one.
    pub(crate) async fn unit_in(kube: &kube::Client, id: InstanceId) -> String {
        let units: Api<GpuUnit> = Api::all(kube.clone());
        eventually("a unit names the instance", async || {
            let all = units.list(&kube::api::ListParams::default()).await.unwrap();
            all.items
                .into_iter()
                .find(|unit| unit.spec.instance.as_ref().is_some_and(|i| i.id == id.k8s_name()))
                .and_then(|unit| unit.metadata.name)
        })
        .await
    }

    /// Waits until the unit's spec names nothing.
    pub(crate) async fn emptied(&self, unit: &str) {
        eventually("the unit is emptied", async || {
            self.operator.unit(unit).await.spec.instance.is_none().then_some(())
        })
        .await;
    }

    /// Waits until the unit's spec does not name the instance.
    pub(crate) async fn emptied_of(&self, unit: &str, id: InstanceId) {
        eventually("the instance has left the unit", async || {
            let present = self.operator.unit(unit).await.spec.instance;
            present.is_none_or(|present| present.id != id.k8s_name()).then_some(())
        })
        .await;
    }

    /// The instance once it is in a state.
    pub(crate) async fn in_state(&self, id: InstanceId, state: &str) -> Response {
        let path = format!("/v1/instances/{id}");
        let member = self.member();
        eventually(&format!("the instance is {state}"), async || {
            let answer = member.get(&path).await;
            (answer.status == 200 && answer.body["state"] == state).then_some(answer)
        })
        .await
    }

    pub(crate) async fn gone(&self, id: InstanceId) {
        let path = format!("/v1/instances/{id}");
        let member = self.member();
        eventually("the instance is gone", async || (member.get(&path).await.status == 404).then_some(()))
            .await;
    }

    /// An operation once it has ended.
    pub(crate) async fn ended(&self, operation: &str) -> Value {
        let path = format!("/v1/instance-operations/{operation}");
        let member = self.member();
        eventually("the operation has ended", async || {
            let body = member.get(&path).await.expect(200).body;
            (!body["finished_at"].is_null()).then_some(body)
        })
        .await
    }

    /// Sends a command, which must be accepted. Returns its operation.
    pub(crate) async fn act(&self, id: InstanceId, what: &str) -> String {
        let answer = self.member().post(&format!("/v1/instances/{id}/{what}"), Value::Null).await;
        answer.expect(202).str("operation_id").to_owned()
    }

    pub(crate) async fn usage(&self, id: InstanceId) -> Value {
        self.member().get(&format!("/v1/instances/{id}/usage")).await.expect(200).body
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.process.shutdown.begin();
    }
}

/// An object store for logs. Port 0: any free port.
pub(crate) async fn start_objects(folder: &std::path::Path, port: u16) -> devs3::Server {
    let config = devs3::Config {
        listen: ([127, 0, 0, 1], port).into(),
        data_dir: folder.join("objects"),
        admin_access_key: "ADMIN".into(),
        admin_secret_key: "secret-of-admin".into(),
        region: "default".into(),
    };
    devs3::Server::start(config).await.unwrap()
}

fn log_archive(endpoint: &str) -> LogArchiveConfig {
    LogArchiveConfig {
        endpoint: endpoint.to_owned(),
        region: "default".into(),
        bucket: "logs".into(),
        access_key: "ADMIN".into(),
        secret_key: "secret-of-admin".into(),
        days: 14,
        bytes_per_instance: 64 * 1024 * 1024,
        interval_seconds: 1,
        hold_seconds: 0,
        collections: 4,
        follows: 4,
    }
}

/// A development cluster with our definitions, and its administrator.
pub(crate) async fn start_cluster(folder: &std::path::Path) -> (devcluster::Cluster, kube::Client) {
    let mut config = devcluster::Config::new(folder);
    config.journal = false;
    config.nodes = vec![devcluster::NodeConfig::new("node-1")];
    config.images = vec![devcluster::ImageConfig::new("shell:*", ["sh"])];
    let cluster = devcluster::Cluster::start(config).await.unwrap();
    let kubeconfig = kube::config::Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    let kube = kube::Client::try_from(config).unwrap();
    let definitions = Api::all(kube.clone());
    for definition in crds::definitions() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    (cluster, kube)
}

/// Reconciles an instance once, as the queue does. Returns false if another worker has leased it.
pub(crate) async fn reconcile(app: &App, db: &Db, id: InstanceId) -> bool {
    reconcile_by(app.reconciler(), app, db, id).await
}

/// As [`reconcile`], by another reconciler than the service's own.
pub(crate) async fn reconcile_by(reconciler: &Reconciler, app: &App, db: &Db, id: InstanceId) -> bool {
    let Some(leased) = app.queue().lease(id).await.unwrap() else { return false };
    let after = match Box::pin(reconciler.reconcile(leased)).await {
        Ok(Outcome::Released) => return true,
        Ok(Outcome::Done) => None,
        Ok(Outcome::RequeueAfter(after)) => Some(after),
        Err(_) => Some(std::time::Duration::ZERO),
    };
    let mut tx = db.worker().await.unwrap();
    leased.release(&mut tx, after).await.unwrap();
    tx.commit().await.unwrap();
    true
}

/// An entry of the catalogue that the development cluster can run.
pub(crate) fn service() -> Value {
    json!({
        "service": "shell", "version": "1", "description": "a shell",
        "template": {
            "image": "shell:1",
            "ports": [{ "port": 7860, "is_public": true, "is_probe": true, "base_url": "/ping" }],
            "env": [{ "name": "MODE", "value": "plain" }, { "name": "LEVEL", "value": "1" }],
            "storage_mount_path": "/workspace/storage",
            "start_timeout_seconds": 60,
        },
    })
}
