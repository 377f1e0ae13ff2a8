//! The service as a test sees it: its own database, a development cluster, neighbours that are played.

use std::sync::Arc;

use atelier_gpu::{App, Apps, Config, MIGRATIONS, TerminalConfig, app, instance::Reconciler};
use auth::Role;
use crds::{ClusterConfig, GpuUnit};
use ids::{InstanceId, TenantId, UnitId};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use service::{Metrics, Shutdown};
use testkit::{Answer, Client, Issuer, SERVICE_TOKEN, TestDb, eventually};

use crate::{
    neighbours::{Neighbours, SPEC},
    operator::Operator,
};

/// Name of the cluster in the services' configuration.
pub(crate) const CLUSTER: &str = "dev";

pub(crate) struct World {
    pub(crate) db: TestDb,
    pub(crate) issuer: Issuer,
    pub(crate) neighbours: Arc<Neighbours>,
    pub(crate) operator: Operator,
    pub(crate) kube: kube::Client,
    pub(crate) tenant: TenantId,
    pub(crate) base: String,
    pub(crate) config: Config,
    pub(crate) reconciler: Reconciler,
    shutdown: Shutdown,
    /// Until a test stops it.
    pub(crate) cluster: Option<devcluster::Cluster>,
    _folder: tempfile::TempDir,
}

/// How a world is to be.
#[derive(Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) units: usize,
    /// Whether the service's worker runs; without, a test takes each look itself.
    pub(crate) worker: bool,
}

impl Default for Wish {
    fn default() -> Self {
        Self { units: 2, worker: true }
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(Wish::default()).await
    }

    pub(crate) async fn with(wish: Wish) -> Self {
        let (db, issuer) = (TestDb::new().await, Issuer::start().await);
        let folder = tempfile::tempdir().unwrap();
        let mut config = devcluster::Config::new(folder.path());
        config.journal = false;
        config.nodes = vec![devcluster::NodeConfig::new("node-1")];
        config.images = vec![devcluster::ImageConfig::new("shell:*", ["sh"])];
        let cluster = devcluster::start(config).await.unwrap();
        let kubeconfig = kube::config::Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
        let kube_config =
            kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
                .await
                .unwrap();
        let kube = kube::Client::try_from(kube_config).unwrap();
        let definitions = Api::all(kube.clone());
        for definition in crds::definitions() {
            definitions.create(&PostParams::default(), &definition).await.unwrap();
        }
        let neighbours = Neighbours::start(&issuer).await;
        let operator = Operator::new(kube.clone());
        for _ in 0..wish.units {
            let unit = UnitId::new();
            operator.make_unit(&unit.k8s_name()).await;
            neighbours.add_unit(unit);
        }
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            database: db.service("gpu", &MIGRATIONS).await,
            auth: issuer.config(),
            callers: testkit::callers(),
            stock: neighbours.endpoint(),
            storage: neighbours.endpoint(),
            apps: Apps { scheme: "http".into(), domain: "localhost".into(), port: Some(8080) },
            clusters: [(
                CLUSTER.to_owned(),
                ClusterConfig { kubeconfig: Some(cluster.kubeconfig_path().to_owned()), context: None },
            )]
            .into(),
            terminal: TerminalConfig { idle_seconds: 60 },
        };
        let shutdown = Shutdown::default();
        let (base, reconciler) = serve(&config, &shutdown, wish.worker).await;
        let world = Self {
            tenant: TenantId::new(),
            db,
            issuer,
            neighbours,
            operator,
            kube,
            base,
            config,
            reconciler,
            shutdown,
            cluster: Some(cluster),
            _folder: folder,
        };
        let _ = world.admin().post("/v1/services", service()).await.expect(201);
        world
    }

    /// One more replica of the service, on the same database.
    pub(crate) async fn replica(&self) -> (String, Shutdown) {
        let shutdown = Shutdown::default();
        let (base, _) = serve(&self.config, &shutdown, true).await;
        (base, shutdown)
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
        Client::new(&self.base).token(SERVICE_TOKEN)
    }

    /// An order without a storage.
    pub(crate) fn order() -> Value {
        json!({ "gpu_spec": SPEC, "service": "shell", "version": "1" })
    }

    /// Orders an instance and lets the operator bring it up.
    pub(crate) async fn running(&self) -> InstanceId {
        let id = self.ordered(Self::order()).await;
        self.brought_up(id).await;
        id
    }

    /// Orders an instance.
    pub(crate) async fn ordered(&self, order: Value) -> InstanceId {
        self.member().post("/v1/instances", order).await.expect(202).str("id").parse().unwrap()
    }

    /// Lets the operator bring an instance up that was ordered, and waits until the service knows.
    pub(crate) async fn brought_up(&self, id: InstanceId) {
        let unit = self.unit_of(id).await;
        self.operator.ready(&unit).await;
        self.in_state(id, "running").await;
    }

    /// The unit whose spec names the instance, once there is one.
    pub(crate) async fn unit_of(&self, id: InstanceId) -> String {
        let units: Api<GpuUnit> = Api::all(self.kube.clone());
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

    /// The instance once it is in a state.
    pub(crate) async fn in_state(&self, id: InstanceId, state: &str) -> Answer {
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

    /// Sends a command, which must be accepted; gives its operation.
    pub(crate) async fn act(&self, id: InstanceId, what: &str) -> String {
        let answer = self.member().post(&format!("/v1/instances/{id}/{what}"), Value::Null).await;
        answer.expect(202).str("operation_id").to_owned()
    }

    pub(crate) async fn usage(&self, id: InstanceId) -> Value {
        self.member().get(&format!("/v1/instances/{id}/usage")).await.expect(200).body
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

async fn serve(config: &Config, shutdown: &Shutdown, worker: bool) -> (String, Reconciler) {
    let App { router, worker: works, woken, reconciler, clusters } =
        app(config.clone(), Metrics::default(), shutdown.token()).await.unwrap();
    if worker {
        works.run(woken, shutdown);
    } else {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        clusters.follow(&sender, shutdown);
        // nobody listens to wakes but the test, which looks by itself
        tokio::spawn(async move { while receiver.recv().await.is_some() {} });
        tokio::spawn(async move {
            let _woken = woken;
            std::future::pending::<()>().await;
        });
    }
    let clusters = clusters.clone();
    eventually("the units are listed", async || clusters.unsynced().is_empty().then_some(())).await;
    (testkit::serve(router).await, reconciler)
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
