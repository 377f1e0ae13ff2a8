//! Two tenants that own one of everything that a tenant can own.

use std::collections::BTreeMap;

use futures::StreamExt;
use serde_json::{Value, json};
use sqlx::Connection;
use testkit::{Client, Response, eventually};
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::client::IntoClientRequest};
use uuid::Uuid;

use super::{
    platform::{DATACENTER, PASSWORD, Platform},
    requests::{in_an_hour, ssh_key},
};

/// A user of a tenant.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    /// User id.
    pub(crate) id: String,
    /// E-mail address.
    pub(crate) email: String,
    /// The tenant for which the user signs in.
    pub(crate) tenant: String,
    /// An access token.
    pub(crate) token: String,
}

/// A tenant.
#[derive(Debug)]
pub(crate) struct Tenant {
    /// Tenant id.
    pub(crate) id: String,
    /// Its owner.
    pub(crate) owner: Person,
    /// A member.
    pub(crate) member: Person,
    /// A viewer.
    pub(crate) viewer: Person,
    /// Values for ids, by [`super::Slot::kind`]: what the tenant owns, and what it may name.
    pub(crate) values: BTreeMap<&'static str, Vec<String>>,
    /// Keeps the terminal open.
    _terminal: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Person {
    /// Creates a user with a role in a tenant.
    pub(crate) async fn create(platform: &Platform, tenant: &str, email: &str, role: &str) -> Self {
        let new = json!({ "email": email, "password": PASSWORD });
        let id = platform.admin.post("/v1/users", new).await.expect(201).str("id").to_owned();
        let member = json!({ "user_id": id, "role": role });
        let _ = platform.admin.post(&format!("/v1/tenants/{tenant}/members"), member).await.expect(201);
        let mut person =
            Self { id, email: email.to_owned(), tenant: tenant.to_owned(), token: String::new() };
        person.sign_in(&platform.gateway).await.str("access_token").clone_into(&mut person.token);
        person
    }

    /// Signs in for the tenant: a new session.
    pub(crate) async fn sign_in(&self, gateway: &Client) -> Response {
        let body = json!({ "email": self.email, "password": PASSWORD, "tenant_id": self.tenant });
        gateway.post("/v1/sessions", body).await.expect(200)
    }
}

impl Tenant {
    /// Values of a kind.
    #[must_use]
    pub(crate) fn values(&self, kind: &str) -> &[String] {
        self.values.get(kind).unwrap_or_else(|| {
            panic!(
                "an operation takes an id of the kind {kind:?}: add what each tenant owns of it to {}",
                file!()
            )
        })
    }

    /// The UUIDs of everything that the tenant owns, and nobody else.
    #[must_use]
    pub(crate) fn uuids(&self, other: &Self) -> Vec<Uuid> {
        let people = [&self.owner.id, &self.member.id, &self.viewer.id];
        let others: Vec<&String> = other.values.values().flatten().collect();
        let values = self.values.values().flatten().filter(|value| !others.contains(value));
        let ids = values.chain(people).filter_map(|value| value.split_once('_')?.1.parse().ok());
        ids.collect()
    }
}

/// Creates the tenants `alpha` and `beta`.
pub(crate) async fn two_tenants(platform: &Platform) -> (Tenant, Tenant) {
    // which invite the owners of the others
    let hosts = (tenant(platform, "gamma").await, tenant(platform, "delta").await);
    // which was deleted by an operation
    let deleted = tenant(platform, "epsilon").await;
    let suspend = json!({ "state": "suspended" });
    let _ = platform.admin.patch(&format!("/v1/tenants/{deleted}"), "*", suspend).await.expect(200);
    let deletion = platform.admin.delete(&format!("/v1/tenants/{deleted}")).await.expect(202);
    let deletion = deletion.str("id").to_owned();
    let hosts = [hosts.0, hosts.1];
    let create = |name| create(platform, name, &hosts, &deletion);
    Box::pin(futures::future::join(create("alpha"), create("beta"))).await
}

async fn tenant(platform: &Platform, name: &str) -> String {
    platform.admin.post("/v1/tenants", json!({ "name": name })).await.expect(201).str("id").to_owned()
}

async fn first(client: &Client, path: &str) -> String {
    let list = client.get(path).await.expect(200);
    list.body["items"][0]["id"].as_str().unwrap_or_else(|| panic!("{path} is empty")).to_owned()
}

async fn create(platform: &Platform, name: &'static str, hosts: &[String; 2], deletion: &str) -> Tenant {
    let admin = &platform.admin;
    let id = tenant(platform, name).await;
    let person = async |role| Person::create(platform, &id, &format!("{role}@{name}.test"), role).await;
    let (owner, member, viewer) = (person("owner").await, person("member").await, person("viewer").await);
    let client = platform.gateway.token(&owner.token);

    for (path, terms) in [
        ("platform-quotas", json!({ "own_images": true })),
        ("platform-budgets", json!({ "amount": "500", "currency": "EUR" })),
        ("platform-storage-quotas", json!({ "storages": 50 })),
    ] {
        let path = format!("/v1/{path}/{id}?reason=isolation");
        let _ = admin.header("if-match", "*").put(&path, terms).await.expect(200);
    }

    let invite = async |by: &Client, tenant: &str, email: &str| {
        let invitation = json!({ "email": email, "role": "member" });
        let made = by.post(&format!("/v1/tenants/{tenant}/invitations"), invitation).await.expect(201);
        made.str("id").to_owned()
    };
    let invitations = vec![
        invite(&client, &id, &format!("guest@{name}.test")).await,
        invite(admin, &hosts[0], &owner.email).await,
        invite(admin, &hosts[1], &owner.email).await,
    ];

    let storage = async |name: &str, spec: &str| {
        let order =
            json!({ "name": name, "storage_spec": spec, "size_gib": 1, "datacenter": datacenter(spec) });
        let made = client.post("/v1/storages", order).await.expect(202).str("id").to_owned();
        state(&client, &format!("/v1/storages/{made}"), "available").await;
        made
    };
    let (bucket, volume) = (
        storage(&format!("{name}-bucket"), "archive").await,
        storage(&format!("{name}-volume"), "ssd").await,
    );
    let credentials = format!("/v1/storages/{bucket}/credentials");
    let credential = client.post(&credentials, Value::Null).await.expect(201);

    let key = json!({ "name": format!("{name}-key"), "public_key": ssh_key() });
    let user_key = client.post("/v1/ssh-keys", key).await.expect(201).str("id").to_owned();
    let order = json!({ "gpu_spec": "small", "service": "shell", "version": "1", "name": format!("{name}-runs"),
        "storage_id": volume, "public_ports": [{ "port": 8188 }], "env": [{ "name": "NAME", "value": name }],
        "secrets": [{ "name": "TOKEN", "value": format!("{name}-secret") }] });
    // with a key that the other tenant's requests repeat
    let running = client.key(name).post("/v1/instances", order).await.expect(202).str("id").to_owned();
    let path = format!("/v1/instances/{running}");
    let key = json!({ "name": format!("{name}-key"), "public_key": ssh_key() });
    let key = client.post(&format!("{path}/ssh-keys"), key).await.expect(201).str("id").to_owned();
    let image = json!({ "reference": "shell:1", "storage_mount_path": "/workspace/storage",
        "ports": [{ "port": platform.probed, "is_public": true }] });
    let order = json!({ "gpu_spec": "small", "image": image, "name": format!("{name}-held") });
    let held = client.post("/v1/instances", order).await.expect(202).str("id").to_owned();
    let held_path = format!("/v1/instances/{held}");
    state(&client, &path, "running").await;
    state(&client, &held_path, "running").await;
    let hold = json!({ "hold": { "for_seconds": 3600 } });
    let _ = client.post(&format!("{held_path}/stop"), hold).await.expect(202);
    state(&client, &held_path, "stopped").await;
    let _ = client.post(&format!("{path}/tickets"), Value::Null).await.expect(201);
    insert_ssh_session(platform, &id, &running, &owner.id, &key).await;

    let link = json!({ "name": format!("{name}-link"), "port": 8188, "expires_at": in_an_hour() });
    let link = client.post(&format!("{path}/share-links"), link).await.expect(201).str("id").to_owned();
    let api_key = json!({ "name": format!("{name}-key"), "scopes": ["instances:read"] });
    let api_key = client.post("/v1/api-keys", api_key).await.expect(201).str("id").to_owned();
    for person in [&owner, &viewer] {
        let _ = platform.gateway.token(&person.token).post("/v1/me/totp", Value::Null).await.expect(201);
    }
    let _ = owner.sign_in(&platform.gateway).await;
    let sessions = client.get("/v1/sessions").await.expect(200).body;
    let sessions = sessions["items"].as_array().unwrap().iter().filter(|session| session["current"] == false);
    let sessions: Vec<_> = sessions.map(|session| session["id"].as_str().unwrap().to_owned()).collect();

    insert_ways_to_sign_in(platform, name, &owner.id).await;
    let (passkey, account) =
        (first(&client, "/v1/me/passkeys").await, first(&client, "/v1/me/linked-accounts").await);

    let job =
        json!({ "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": name } });
    let job = client.post("/v1/jobs", job).await.expect(202).str("id").to_owned();
    let hook = json!({ "url": "https://hooks.invalid/", "events": ["job.expired"] });
    let hook = client.post("/v1/webhooks", hook).await.expect(201).str("id").to_owned();
    let artifact = insert_artifact(platform, &id, &job, &bucket).await;
    let upload = create_upload(&client).await;
    let model = insert_model(platform, &id, &job, &bucket).await;
    let deployment = insert_deployment(platform, &id, &model, &volume).await;
    let mq = json!({ "name": format!("{name}-farm") });
    let mq = client.post("/v1/mq-credentials", mq).await.expect(201).str("id").to_owned();
    let registry =
        json!({ "name": format!("{name}-images"), "registry": "ghcr.io", "username": name, "secret": "x" });
    let registry = client.post("/v1/registry-credentials", registry).await.expect(201).str("id").to_owned();
    let dead = insert_dead_message(platform, &id, &mq).await;
    let pool = first(admin, "/v1/platform-pools").await;
    let worker = first(admin, &format!("/v1/platform-pools/{pool}/workers")).await;
    let share = format!("/v1/platform-pools/{pool}/shares/{id}");
    let _ = admin.header("if-match", "*").put(&share, json!({ "weight": 200 })).await.expect(200);

    let terminal = Terminal::open(&client, &owner.token, &format!("{path}/terminal?command=cat")).await;

    let units = admin.get(&format!("/v1/stock-units?datacenter={DATACENTER}")).await.expect(200).body;
    let values = BTreeMap::from([
        ("ten", vec![id.clone()]),
        ("usr", vec![viewer.id.clone(), member.id.clone()]),
        ("inv", invitations),
        ("inst", vec![running, held]),
        ("stor", vec![bucket, volume]),
        ("access_key_id", vec![credential.str("access_key_id").to_owned()]),
        ("sshk", vec![key, user_key]),
        ("term", vec![terminal.session]),
        ("share", vec![link]),
        ("akey", vec![api_key]),
        ("ses", sessions),
        ("pkey", vec![passkey]),
        ("acct", vec![account]),
        (
            "op",
            vec![
                first(&client, "/v1/instance-operations").await,
                first(&client, "/v1/storage-operations").await,
                first(admin, "/v1/stock-operations").await,
                deletion.to_owned(),
            ],
        ),
        // what the platform owns
        ("provider", vec!["none".to_owned()]),
        ("unit", vec![units["items"][0]["id"].as_str().unwrap().to_owned()]),
        ("dc", vec![first(admin, "/v1/datacenters").await]),
        ("spec", vec![first(admin, "/v1/gpu-specs").await]),
        ("img", vec![first(admin, "/v1/services").await]),
        ("sspec", vec![first(admin, "/v1/storage-specs").await]),
        ("job", vec![job]),
        ("art", vec![artifact]),
        ("upl", vec![upload]),
        ("mdl", vec![model]),
        ("dpl", vec![deployment]),
        ("mqc", vec![mq]),
        ("rcr", vec![registry]),
        ("mqd", vec![dead]),
        ("hook", vec![hook]),
        ("pool", vec![pool]),
        ("work", vec![worker]),
        ("get_datacenter.id", vec![DATACENTER.to_owned()]),
        ("get_storage_spec.id", vec![first(admin, "/v1/storage-specs").await]),
    ]);
    Tenant { id, owner, member, viewer, values, _terminal: terminal.socket }
}

/// An open terminal.
struct Terminal {
    session: String,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Terminal {
    async fn open(client: &Client, token: &str, path: &str) -> Self {
        let url = format!("{}{path}", client.base().replace("http:", "ws:"));
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        let first = socket.next().await.unwrap().unwrap();
        let first: Value = serde_json::from_str(first.to_text().unwrap()).unwrap();
        Self { session: first["session"]["id"].as_str().unwrap().to_owned(), socket }
    }
}

fn datacenter(spec: &str) -> Value {
    if spec == "ssd" { DATACENTER.into() } else { Value::Null }
}

async fn state(client: &Client, path: &str, state: &str) {
    eventually(&format!("{path} is {state}"), async || {
        let seen = client.get(path).await.expect(200);
        (seen.str("state") == state).then_some(())
    })
    .await;
}

/// A passkey and an account of a provider, which no authenticator and no provider of these tests has made.
async fn insert_ways_to_sign_in(platform: &Platform, name: &str, user: &str) {
    let user: Uuid = user.split_once('_').unwrap().1.parse().unwrap();
    let mut conn = platform.db.admin().await;
    sqlx::query(
        "insert into identity.passkeys (id, user_id, credential_id, credential, name) values ($1, $2, $3, '{}', $4)",
    )
    .bind(Uuid::now_v7())
    .bind(user)
    .bind(name.as_bytes())
    .bind(format!("{name}-passkey"))
    .execute(&mut conn)
    .await
    .unwrap();
    sqlx::query("insert into identity.oidc_accounts (id, issuer, subject, user_id) values ($1, 'https://x.test', $2, $3)")
        .bind(Uuid::now_v7())
        .bind(name)
        .bind(user)
        .execute(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
}

/// A result of a job, as its worker would have uploaded it into the bucket. Returns its id.
async fn insert_artifact(platform: &Platform, tenant: &str, job: &str, bucket: &str) -> String {
    let id = ids::ArtifactId::new();
    let mut conn = platform.db.admin().await;
    sqlx::query(
        "insert into jobs.artifacts (id, job_id, attempt, tenant_id, name, content_type, sha256, bytes, storage_id)
         values ($1, $2, 1, $3, '0.png', 'image/png', sha256(''), 0, $4)",
    )
    .bind(id)
    .bind(job.parse::<ids::JobId>().unwrap())
    .bind(tenant.parse::<ids::TenantId>().unwrap())
    .bind(bucket.parse::<ids::StorageId>().unwrap())
    .execute(&mut conn)
    .await
    .unwrap();
    conn.close().await.unwrap();
    id.to_string()
}

/// Creates an upload, when the tenant's bucket for them is ready. Returns its id.
async fn create_upload(client: &Client) -> String {
    let body = json!({ "name": "0.png", "content_type": "image/png", "bytes": 3 });
    eventually("the upload is created", async || {
        let answer = client.post("/v1/uploads", body.clone()).await;
        (answer.status < 500).then(|| answer.expect(201).str("id").to_owned())
    })
    .await
}

/// The model of a job, as if that were a training. Returns its id.
async fn insert_model(platform: &Platform, tenant: &str, job: &str, bucket: &str) -> String {
    let id = ids::ModelId::new();
    let mut conn = platform.db.admin().await;
    sqlx::query(
        "insert into jobs.models (id, tenant_id, name, kind, base_model, job_id, attempt, storage_id, file, sha256, bytes)
         values ($1, $2, 'dog', 'lora', 'default', $3, 1, $4, 'model.safetensors', sha256(''), 0)",
    )
    .bind(id)
    .bind(tenant.parse::<ids::TenantId>().unwrap())
    .bind(job.parse::<ids::JobId>().unwrap())
    .bind(bucket.parse::<ids::StorageId>().unwrap())
    .execute(&mut conn)
    .await
    .unwrap();
    conn.close().await.unwrap();
    id.to_string()
}

/// A model on a volume, as if it had been laid there. Returns the id of the deployment.
async fn insert_deployment(platform: &Platform, tenant: &str, model: &str, volume: &str) -> String {
    let id = ids::DeploymentId::new();
    let mut conn = platform.db.admin().await;
    sqlx::query(
        "insert into jobs.deployments (id, tenant_id, model_id, storage_id, path, state, finished_at)
         values ($1, $2, $3, $4, 'models/Lora/dog.safetensors', 'deployed', now())",
    )
    .bind(id)
    .bind(tenant.parse::<ids::TenantId>().unwrap())
    .bind(model.parse::<ids::ModelId>().unwrap())
    .bind(volume.parse::<ids::StorageId>().unwrap())
    .execute(&mut conn)
    .await
    .unwrap();
    conn.close().await.unwrap();
    id.to_string()
}

/// A message that was refused. There is no broker here. Returns its id.
async fn insert_dead_message(platform: &Platform, tenant: &str, credential: &str) -> String {
    let id = ids::DeadMessageId::new();
    let mut conn = platform.db.admin().await;
    sqlx::query(
        "insert into jobs.mq_dead (id, tenant_id, credential_id, code, detail, properties, body, bytes)
         values ($1, $2, $3, 'malformed', 'the body is not valid', jsonb_build_object('user_id', $4::text, 'headers', '{}'::jsonb),
                 '{', 1)",
    )
    .bind(id)
    .bind(tenant.parse::<ids::TenantId>().unwrap())
    .bind(credential.parse::<ids::MqCredentialId>().unwrap())
    .bind(credential)
    .execute(&mut conn)
    .await
    .unwrap();
    conn.close().await.unwrap();
    id.to_string()
}

/// A connection over SSH that has ended. Pods of this cluster run no process to connect to.
async fn insert_ssh_session(platform: &Platform, tenant: &str, instance: &str, user: &str, key: &str) {
    let uuid = |id: &str| id.split_once('_').unwrap().1.parse::<Uuid>().unwrap();
    let mut conn = platform.db.admin().await;
    sqlx::query(
        "insert into gpu.ssh_sessions (id, tenant_id, instance_id, user_id, key_id, key_owner, fingerprint,
            client_address, ended_at, end_reason, shells)
         values ($1, $2, $3, $4, $5, 'instance', 'SHA256:x', '192.0.2.1', now(), 'closed', 1)",
    )
    .bind(Uuid::now_v7())
    .bind(uuid(tenant))
    .bind(uuid(instance))
    .bind(uuid(user))
    .bind(uuid(key))
    .execute(&mut conn)
    .await
    .unwrap();
    conn.close().await.unwrap();
}
