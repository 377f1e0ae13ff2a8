//! Everything around the service under test.

use atelier_jobs::{App, Config, EndedConfig, MIGRATIONS, NAME, SchedulerConfig};
use auth::Role;
use ids::TenantId;
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, Issuer, Response, TestDb};

/// A database and an issuer of tokens.
pub(crate) struct World {
    pub(crate) db: TestDb,
    pub(crate) issuer: Issuer,
    pub(crate) config: Config,
}

/// A running replica of the service.
pub(crate) struct Service {
    pub(crate) client: Client,
    /// The listener for workers.
    pub(crate) door: Client,
    pub(crate) process: Process,
}

impl Service {
    /// Shuts the replica down and waits for its workers.
    pub(crate) async fn stop(self) {
        self.process.shutdown.begin();
        self.process.shutdown.finish().await;
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::on(TestDb::new().await).await
    }

    pub(crate) async fn on(db: TestDb) -> Self {
        let issuer = Issuer::start().await;
        let config = Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            worker_listen: "127.0.0.1:0".parse().unwrap(),
            database: db.service(NAME, &MIGRATIONS).await,
            auth: issuer.config(),
            callers: testkit::callers(),
            ended: EndedConfig::default(),
            scheduler: SchedulerConfig::default(),
            audit: audit::RetentionConfig::default(),
            telemetry: None,
        };
        Self { db, issuer, config }
    }

    /// Starts a replica with its workers.
    pub(crate) async fn start(&self) -> Service {
        let process = Process::default();
        let app = App::new(self.config.clone(), process.clone()).unwrap();
        app.start_workers();
        let client = Client::new(&testkit::serve(app.router()).await);
        let door = Client::new(&testkit::serve(app.worker_router()).await);
        Service { client, door, process }
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
