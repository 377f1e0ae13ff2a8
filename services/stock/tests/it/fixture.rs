//! A stock service of its own for each test: database, cluster, tokens, clients.

use std::{collections::BTreeMap, path::PathBuf};

use atelier_stock::{App, Config, MIGRATIONS, NAME, StockConfig};
use auth::Role;
use cache::CacheConfig;
use crds::ClusterConfig;
use db::DbConfig;
use ids::TenantId;
use serde_json::{Value, json};
use service::Process;
use sqlx::{Connection, PgConnection};
use testkit::{Client, Issuer, Response, TestDb, callers, eventually};

/// A database, an issuer, and any number of replicas of the service.
pub(crate) struct Fixture {
    pub(crate) db: TestDb,
    pub(crate) database: DbConfig,
    pub(crate) issuer: Issuer,
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Of a second cluster, `other`.
    pub(crate) other: Option<PathBuf>,
    pub(crate) config: StockConfig,
    pub(crate) cache: Option<CacheConfig>,
}

/// One replica, with a client for each kind of caller.
pub(crate) struct Replica {
    pub(crate) admin: Client,
    pub(crate) service: Client,
    /// The service in the request of an administrator.
    pub(crate) on_behalf: Client,
    pub(crate) base: Client,
    pub(crate) process: Process,
}

impl Fixture {
    /// Without a cluster: its workers do not run.
    pub(crate) async fn new() -> Self {
        Self::with_cluster(None).await
    }

    pub(crate) async fn with_cluster(kubeconfig: Option<PathBuf>) -> Self {
        let db = TestDb::new();
        let database = db.service(NAME, &MIGRATIONS).await;
        let config =
            StockConfig { hold_deadline_seconds: 60, compare_every_seconds: 3600, ..StockConfig::default() };
        Self { db, database, issuer: Issuer::start().await, kubeconfig, other: None, config, cache: None }
    }

    fn service_config(&self) -> Config {
        let cluster = |kubeconfig| ClusterConfig { kubeconfig, context: None };
        let mut clusters = BTreeMap::from([("main".to_owned(), cluster(self.kubeconfig.clone()))]);
        clusters.extend(self.other.clone().map(|other| ("other".to_owned(), cluster(Some(other)))));
        Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            database: self.database.clone(),
            auth: self.issuer.config(),
            callers: callers(),
            clusters,
            cache: self.cache.clone(),
            stock: self.config.clone(),
            audit: audit::RetentionConfig::default(),
            telemetry: None,
        }
    }

    /// A replica that serves requests; with a cluster, its workers run too.
    pub(crate) async fn replica(&self) -> Replica {
        let process = Process::default();
        let app = App::new(self.service_config(), process.clone()).unwrap();
        if self.kubeconfig.is_some() {
            app.start_workers();
        }
        let base = Client::new(&testkit::serve(app.router()).await);
        self.clients(base, process)
    }

    /// A replica in a runtime of its own: ending the runtime ends the replica like `kill -9`.
    pub(crate) async fn doomed(&self) -> (Replica, tokio::runtime::Runtime) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (config, process) = (self.service_config(), Process::default());
        let started = process.clone();
        let serving = runtime.spawn(async move {
            let app = App::new(config, started).unwrap();
            app.start_workers();
            testkit::serve(app.router()).await
        });
        let base = Client::new(&serving.await.unwrap());
        let replica = self.clients(base, process);
        (replica, runtime)
    }

    fn clients(&self, base: Client, process: Process) -> Replica {
        let (admin, service) = (self.issuer.admin(), base.service("gpu"));
        Replica { admin: base.token(&admin), on_behalf: service.on_behalf(&admin), service, base, process }
    }

    /// A client of a tenant's user.
    pub(crate) fn user(&self, replica: &Replica, role: Role) -> Client {
        replica.base.token(&self.issuer.user(TenantId::new(), role))
    }

    /// Runs a statement as a superuser.
    pub(crate) async fn sql(&self, statement: &'static str) -> u64 {
        let mut conn = self.db.admin().await;
        let done = sqlx::query(statement).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        done.rows_affected()
    }

    /// One number, as a superuser.
    pub(crate) async fn count(&self, query: &'static str) -> i64 {
        let mut conn = self.db.admin().await;
        let count = sqlx::query_scalar(query).fetch_one(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        count
    }

    /// The database as one of the service's roles.
    pub(crate) async fn role(&self, role: &str) -> PgConnection {
        let options: sqlx::postgres::PgConnectOptions = self.database.url.parse().unwrap();
        let options = options
            .username(&format!("atelier_{NAME}_{role}"))
            .password("test")
            .options([("search_path", NAME)]);
        PgConnection::connect_with(&options).await.unwrap()
    }

    /// Inserts free units, without a cluster.
    pub(crate) async fn units(&self, spec: &str, datacenter: &str, count: i64) {
        let mut conn = self.db.admin().await;
        sqlx::query(
            "insert into stock.units (id, gpu_spec_id, datacenter_id, state, held, node)
             select gen_random_uuid(), s.id, d.id, 'available', true, 'node-' || n % 4
             from generate_series(1, $3) n, stock.gpu_specs s, stock.datacenters d
             where s.name = $1 and d.name = $2",
        )
        .bind(spec)
        .bind(datacenter)
        .bind(count)
        .execute(&mut conn)
        .await
        .unwrap();
        conn.close().await.unwrap();
    }

    /// Asserts that the kept counts are those of the units and that no instance holds two units.
    pub(crate) async fn assert_sound(&self) {
        let off = self
            .count(
                "select count(*) from (
                     select gpu_spec_id, datacenter_id, sum(a) a, sum(i) i, sum(u) u, sum(c) c from (
                         select gpu_spec_id, datacenter_id, (state = 'available')::int a, (state = 'inactive')::int i,
                             (state = 'used')::int u, (state in ('making', 'removing'))::int c from stock.units
                         union all
                         select gpu_spec_id, datacenter_id, -available, -inactive, -used, -changing
                         from stock.stock_counts) x
                     group by 1, 2) y where a <> 0 or i <> 0 or u <> 0 or c <> 0",
            )
            .await;
        assert_eq!(off, 0, "the counts are wrong");
        let twice = self
            .count(
                "select count(*) from (select holder_instance from stock.units where holder_instance is not null
                 group by 1 having count(*) > 1) x",
            )
            .await;
        assert_eq!(twice, 0, "an instance holds two units");
    }
}

impl Replica {
    /// Creates a datacenter in the cluster `main`; returns its id.
    pub(crate) async fn datacenter(&self, name: &str) -> String {
        self.datacenter_in(name, "main").await
    }

    pub(crate) async fn datacenter_in(&self, name: &str, cluster: &str) -> String {
        let body = json!({ "name": name, "region": "uk", "cluster": cluster });
        self.admin.post("/v1/datacenters", body).await.expect(201).str("id").to_owned()
    }

    /// Creates a specification; returns its id.
    pub(crate) async fn spec(&self, name: &str, price: &str) -> String {
        self.admin.post("/v1/gpu-specs", spec(name, price)).await.expect(201).str("id").to_owned()
    }

    /// Adds stock; returns the operation's id.
    pub(crate) async fn add(&self, spec: &str, datacenter: &str, count: i64) -> String {
        let body = json!({ "gpu_spec": spec, "datacenter": datacenter, "count": count });
        self.admin.post("/v1/stock/additions", body).await.expect(202).str("id").to_owned()
    }

    /// Waits until the operation has ended, and returns it.
    pub(crate) async fn ended(&self, operation: &str) -> Value {
        let path = format!("/v1/stock-operations/{operation}");
        eventually("the operation has ended", async || {
            let answer = self.admin.get(&path).await.expect(200);
            answer.body["finished_at"].is_string().then_some(answer.body)
        })
        .await
    }

    /// Returns `[available, inactive, used, total]` of the only row of stock.
    pub(crate) async fn numbers(&self) -> [i64; 4] {
        let page = self.admin.get("/v1/stock").await.expect(200);
        let Some(row) = page.body["items"].get(0) else { return [0; 4] };
        ["available", "inactive", "used", "total"].map(|name| row[name].as_i64().unwrap())
    }

    /// Waits until the only row of stock has these numbers.
    pub(crate) async fn until_numbers(&self, wanted: [i64; 4]) {
        eventually("the stock has the wanted numbers", async || {
            (self.numbers().await == wanted).then_some(())
        })
        .await;
    }

    pub(crate) async fn claim(&self, instance: &str, spec_id: &str) -> Response {
        self.service
            .post(
                "/internal/v1/claims",
                json!({ "instance_id": instance, "tenant_id": tenant(), "gpu_spec_id": spec_id }),
            )
            .await
    }

    pub(crate) async fn release(&self, instance: &str) {
        let _ = self.service.delete(&format!("/internal/v1/claims/{instance}")).await.expect(204);
    }
}

/// The tenant of claims for which it does not matter.
pub(crate) fn tenant() -> &'static str {
    "ten_01939f0a7c3d7e6b8a1f4f0d5c2b1a00"
}

/// A new instance's id.
pub(crate) fn instance() -> String {
    ids::InstanceId::new().to_string()
}

/// A valid specification.
pub(crate) fn spec(name: &str, price: &str) -> Value {
    json!({
        "name": name, "gpu_model": "NVIDIA-GeForce-RTX-3080", "gpu_count": 1, "gpu_cores": 8704,
        "video_memory_mib": 10240, "cpu_millis": 4000, "memory_mib": 8192, "disk_gib": 50,
        "price_per_hour": price, "currency": "USD",
        "allocation": { "kind": "device", "resource": "nvidia.com/gpu" },
        "node_selector": {},
    })
}
