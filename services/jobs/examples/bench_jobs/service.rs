//! Setup of the benchmarks of the service over HTTP: the service in this process, a pool, and members of
//! tenants.

use std::time::Duration;

use atelier_jobs::{
    App, Config, EndedConfig, LimitsConfig, MIGRATIONS, MqConfig, NAME, ProgressConfig, SchedulerConfig,
    StreamsConfig, WebhooksConfig,
};
use auth::Role;
use ids::TenantId;
use peer::Endpoint;
use reqwest::Client;
use serde_json::{Value, json};
use service::Process;
use testkit::{Issuer, TestDb, service_token};

/// A replica of the service with a database of its own.
pub(crate) struct Site {
    pub(crate) db: TestDb,
    pub(crate) issuer: Issuer,
    pub(crate) http: Client,
    /// Base URL of the API.
    pub(crate) base: String,
    /// Base URL of the listener for workers.
    pub(crate) worker_url: String,
    config: Config,
    process: Process,
}

impl Site {
    /// Starts it on the Postgres of `BENCH_POSTGRES`.
    pub(crate) async fn start() -> Self {
        let url = std::env::var("BENCH_POSTGRES").expect("BENCH_POSTGRES: run it with `cargo xtask bench`");
        let (db, issuer) = (TestDb::at(&url), Issuer::start().await);
        let any = "127.0.0.1:0".parse().unwrap();
        let config = Config {
            listen: any,
            worker_listen: any,
            database: db.service(NAME, &MIGRATIONS).await,
            auth: issuer.config(),
            storage: Endpoint {
                url: "http://127.0.0.1:1".parse().unwrap(),
                token: service_token(NAME).into(),
            },
            mq: None,
            callers: testkit::callers(),
            ended: EndedConfig::default(),
            limits: LimitsConfig { open_jobs_per_tenant: u32::MAX },
            scheduler: SchedulerConfig::default(),
            fleet: None,
            stock: None,
            cache: None,
            progress: ProgressConfig::default(),
            streams: StreamsConfig::default(),
            encryption_keys: Vec::new(),
            webhooks: WebhooksConfig::default(),
            audit: audit::RetentionConfig::default(),
            telemetry: None,
        };
        Self::serve(db, issuer, config).await
    }

    async fn serve(db: TestDb, issuer: Issuer, config: Config) -> Self {
        let process = Process::default();
        let app = App::new(config.clone(), process.clone()).unwrap();
        app.start_workers();
        let (base, worker_url) =
            (testkit::serve(app.router()).await, testkit::serve(app.worker_router()).await);
        let http = Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
        Self { db, issuer, http, base, worker_url, config, process }
    }

    /// Starts it with a message broker; the listener that authorizes the broker's users is started first.
    pub(crate) async fn with_broker(self, url: String) -> Self {
        let Self { db, issuer, mut config, process, .. } = self;
        process.shutdown.begin();
        process.shutdown.finish().await;
        let auth_listen = "127.0.0.1:0".parse().unwrap();
        config.mq = Some(MqConfig { url: url.into(), auth_listen, public_url: None, management_url: None });
        Self::serve(db, issuer, config).await
    }

    /// Base URL of a listener for the broker's authorization requests, which outlives replicas.
    pub(crate) async fn broker_listener(&self) -> String {
        let app = App::new(self.config.clone(), Process::default()).unwrap();
        testkit::serve(app.broker_router()).await
    }

    /// Creates the pool with this number of workers. Returns their tokens.
    pub(crate) async fn pool(&self, workers: usize) -> Vec<String> {
        let admin = self.issuer.admin();
        let body = json!({ "name": "bench", "gpu_specs": ["small"] });
        let pool = self.post(&admin, "/v1/platform-pools", &body).await;
        let path = format!("/v1/platform-pools/{}/workers", pool["id"].as_str().unwrap());
        let mut tokens = Vec::new();
        for n in 0..workers {
            let body =
                json!({ "name": format!("worker-{n}"), "gpu_spec": "small", "node": format!("node-{n}") });
            tokens.push(self.post(&admin, &path, &body).await["token"].as_str().unwrap().to_owned());
        }
        tokens
    }

    /// The access token of a member of a new tenant.
    pub(crate) fn member(&self) -> String {
        self.issuer.user(TenantId::new(), Role::Member)
    }

    /// Sends a request that must succeed, with a key of its own.
    pub(crate) async fn post(&self, token: &str, path: &str, body: &Value) -> Value {
        let key = TenantId::new().to_string();
        let request = self.http.post(format!("{}{path}", self.base)).bearer_auth(token);
        let answer = request.header("idempotency-key", key).json(body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }
}

/// The body of a job.
pub(crate) fn job(prompt: &str) -> Value {
    json!({ "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": prompt } })
}

/// The value that this share of all values does not exceed.
pub(crate) fn percentile(all: &mut [f64], share: f64) -> f64 {
    all.sort_by(f64::total_cmp);
    let last = all.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a list"
    )]
    let at = (last as f64 * share).round() as usize;
    all.get(at).copied().unwrap_or(f64::NAN)
}
