//! An endpoint of a tenant, to which webhooks are sent.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ids::TenantId;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::Connection as _;
use testkit::{Client, eventually};
use tokio::net::TcpListener;

use crate::fixture::{Fixture, Service, pool};

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) id: String,
    timestamp: String,
    signatures: Vec<String>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// HMAC (RFC 2104) with SHA-256, as Standard Webhooks has it.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let pad = |with: u8| {
            let mut block = [with; 64];
            block.iter_mut().zip(&key).for_each(|(byte, key)| *byte ^= key);
            block
        };
        let content = format!("{}.{}.{}", self.id, self.timestamp, self.body);
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(content).finalize();
        let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
        self.signatures.contains(&format!("v1,{}", STANDARD.encode(outer)))
    }
}

/// The next statuses of its answers; then it answers with 204.
#[derive(Clone, Default)]
pub(crate) struct Endpoint {
    received: Arc<Mutex<Vec<Received>>>,
    answers: Arc<Mutex<VecDeque<Answer>>>,
}

/// A status, and the header `Retry-After`.
type Answer = (u16, Option<String>);

impl Endpoint {
    /// Starts one on a free port. Returns its URL.
    pub(crate) async fn start(answers: &[u16]) -> (Self, String) {
        let endpoint = Self::default();
        endpoint.answer(answers);
        let url = testkit::serve(endpoint.router()).await;
        (endpoint, url)
    }

    /// Starts one on this port of the loopback interface.
    pub(crate) async fn on(port: u16) -> Self {
        let endpoint = Self::default();
        let (listener, router) = (TcpListener::bind(("127.0.0.1", port)).await.unwrap(), endpoint.router());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        endpoint
    }

    fn router(&self) -> Router {
        Router::new().fallback(receive).with_state(self.clone())
    }

    /// The statuses of the next answers.
    pub(crate) fn answer(&self, statuses: &[u16]) {
        self.answers.lock().unwrap().extend(statuses.iter().map(|status| (*status, None)));
    }

    /// Sets the status and the `Retry-After` of the next answer.
    pub(crate) fn answer_later(&self, status: u16, retry_after: &str) {
        self.answers.lock().unwrap().push_back((status, Some(retry_after.to_owned())));
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// The received requests, once there are at least this many.
    pub(crate) async fn count(&self, count: usize) -> Vec<Received> {
        eventually(&format!("{count} messages came"), async || {
            let received = self.received();
            (received.len() >= count).then_some(received)
        })
        .await
    }
}

async fn receive(State(endpoint): State<Endpoint>, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    endpoint.received.lock().unwrap().push(Received {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signatures: header("webhook-signature").split(' ').map(str::to_owned).collect(),
        body: String::from_utf8(body.to_vec()).unwrap(),
    });
    let (status, retry_after) = endpoint.answers.lock().unwrap().pop_front().unwrap_or((204, None));
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer.headers_mut().insert("location", "/elsewhere".parse().unwrap());
    if let Some(retry_after) = retry_after {
        answer.headers_mut().insert("retry-after", retry_after.parse().unwrap());
    }
    answer
}

/// A replica, and a member of a tenant that can submit jobs.
pub(crate) async fn start(fixture: &Fixture) -> (Service, Client) {
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    (service, member)
}

/// Creates a webhook. Returns its path and secret.
pub(crate) async fn create(member: &Client, url: &str, events: Value) -> (String, String) {
    let made = member.post("/v1/webhooks", json!({ "url": url, "events": events })).await.expect(201);
    (format!("/v1/webhooks/{}", made.str("id")), made.str("secret").to_owned())
}

/// The deliveries of a webhook, newest first.
pub(crate) async fn deliveries(member: &Client, hook: &str) -> Vec<Value> {
    let list = member.get(&format!("{hook}/deliveries")).await.expect(200);
    list.body["items"].as_array().unwrap().clone()
}

/// The deliveries of a webhook, once there are some and all are in this state.
pub(crate) async fn all_are(member: &Client, hook: &str, state: &str) -> Vec<Value> {
    eventually(&format!("deliveries are {state}"), async || {
        let items = deliveries(member, hook).await;
        (!items.is_empty() && items.iter().all(|item| item["state"] == state)).then_some(items)
    })
    .await
}

/// The newest delivery of a webhook, once it has this many attempts.
pub(crate) async fn attempted(member: &Client, hook: &str, count: usize) -> Value {
    eventually(&format!("{count} attempts are recorded"), async || {
        let newest = deliveries(member, hook).await.into_iter().next()?;
        (newest["attempts"].as_array()?.len() == count).then_some(newest)
    })
    .await
}

/// Makes deliveries due that wait for their next attempt.
pub(crate) async fn make_due(fixture: &Fixture) {
    execute(fixture, "update jobs.webhook_deliveries set wake_at = now() where wake_at is not null").await;
}

pub(crate) async fn execute(fixture: &Fixture, sql: &'static str) {
    let mut conn = fixture.db.admin().await;
    let _ = sqlx::query(sql).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}
