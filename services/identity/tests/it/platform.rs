//! The service as tests run it: real routes, workers and database, on a free port.

use std::{collections::BTreeMap, net::SocketAddr};

use atelier_identity::{
    App, BootstrapAdmin, Config, MIGRATIONS, NAME, PasswordConfig, SessionConfig, SigningConfig,
};
use auth::AuthConfig;
use encryption::EncryptionKey;
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, TestDb, eventually};
use tokio::net::TcpListener;

pub(crate) const ADMIN: &str = "admin@atelier.test";
pub(crate) const PASSWORD: &str = "correct horse battery";

/// A replica, and what further replicas need.
pub(crate) struct Platform {
    pub(crate) db: TestDb,
    pub(crate) client: Client,
    pub(crate) process: Process,
    config: Config,
}

/// Starts a replica on a free port and waits until it is ready.
async fn replica(mut config: Config) -> (Client, Process) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    config.listen = listener.local_addr().unwrap();
    let process = Process::default();
    let app = App::new(config, process.clone()).unwrap();
    app.start_workers();
    let router = app.router().into_make_service_with_connect_info::<SocketAddr>();
    let client = Client::new(&format!("http://{}", listener.local_addr().unwrap()));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    eventually("the service is ready", async || (client.get("/readyz").await.status == 200).then_some(()))
        .await;
    (client, process)
}

impl Platform {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts it with a changed configuration.
    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let db = TestDb::new();
        let mut config = Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            database: db.service(NAME, &MIGRATIONS).await,
            auth: AuthConfig {
                issuer: "http://atelier.test".to_owned(),
                audience: "atelier".to_owned(),
                jwks_url: None,
                keys_seconds: 300,
                claims: auth::ClaimNames::default(),
                revocations: None,
            },
            callers: testkit::callers(),
            participants: BTreeMap::new(),
            encryption_keys: vec![EncryptionKey {
                id: "first".to_owned(),
                key: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".into(),
            }],
            bootstrap_admin: Some(BootstrapAdmin { email: ADMIN.to_owned(), password: PASSWORD.into() }),
            sessions: SessionConfig::default(),
            signing: SigningConfig { poll_seconds: 1, ..SigningConfig::default() },
            passwords: PasswordConfig::default(),
            public_url: None,
            oidc_providers: Vec::new(),
            passkeys: None,
            audit: audit::RetentionConfig::default(),
            telemetry: None,
        };
        change(&mut config);
        let (client, process) = replica(config.clone()).await;
        Self { db, client, process, config }
    }

    /// The configuration.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Another replica on the same database.
    pub(crate) async fn replica(&self) -> (Client, Process) {
        replica(self.config.clone()).await
    }

    /// Signs in and returns the response.
    pub(crate) async fn sign_in(&self, email: &str) -> Value {
        let body = json!({ "email": email, "password": PASSWORD });
        self.client.post("/v1/sessions", body).await.expect(200).body
    }

    /// A client of the user.
    pub(crate) async fn as_user(&self, email: &str) -> Client {
        let session = self.sign_in(email).await;
        self.client.token(session["access_token"].as_str().unwrap())
    }

    /// A client of the first administrator.
    pub(crate) async fn admin(&self) -> Client {
        self.as_user(ADMIN).await
    }

    /// Creates a user and returns the id.
    pub(crate) async fn user(&self, admin: &Client, email: &str) -> String {
        let body = json!({ "email": email, "password": PASSWORD });
        admin.post("/v1/users", body).await.expect(201).str("id").to_owned()
    }

    /// Creates a tenant and returns the id.
    pub(crate) async fn tenant(&self, admin: &Client, name: &str) -> String {
        admin.post("/v1/tenants", json!({ "name": name })).await.expect(201).str("id").to_owned()
    }

    /// Adds the user to the tenant.
    pub(crate) async fn member(&self, admin: &Client, tenant: &str, user: &str, role: &str) {
        let body = json!({ "user_id": user, "role": role });
        let _ = admin.post(&format!("/v1/tenants/{tenant}/members"), body).await.expect(201);
    }
}
