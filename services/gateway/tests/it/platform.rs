//! A gateway on a free port, with upstreams that return what reached them.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use atelier_gateway::{App, Apps, Config, CookieKey, Limits, Services};
use auth::Role;
use axum::{
    Json, Router,
    body::Body,
    extract::{
        Path, Query, Request, State,
        ws::{Message, WebSocketUpgrade},
    },
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use ids::{InstanceId, TenantId, UserId};
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, Issuer};
use tokio::net::TcpListener;

/// The gateway's service token at the gpu service.
const GPU_TOKEN: &str = "gateway-to-gpu";

/// The state of the stand-in services.
#[derive(Default)]
pub(crate) struct Fixture {
    pub(crate) routes: Mutex<HashMap<String, Value>>,
    pub(crate) tickets: Mutex<HashMap<String, Value>>,
    /// Share links, by secret.
    pub(crate) links: Mutex<HashMap<String, Value>>,
    /// Those for one person: with the access token that opens them, and the URL of their ticket.
    pub(crate) personal_links: Mutex<HashMap<String, Value>>,
    /// Tickets of links, each for one use.
    pub(crate) link_tickets: Mutex<HashMap<String, Value>>,
    /// Reports of the instances in use.
    pub(crate) reports: Mutex<Vec<Value>>,
    pub(crate) refused_reports: AtomicUsize,
    pub(crate) asked_for_routes: AtomicUsize,
    pub(crate) gpu_away: AtomicBool,
    /// Changes of routes that were published.
    pub(crate) changes: Mutex<Vec<Value>>,
    pub(crate) published: tokio::sync::Notify,
    pub(crate) feed_away: AtomicBool,
    /// Whether the gateway follows the feed.
    pub(crate) is_followed: AtomicBool,
    pub(crate) not_ready: AtomicBool,
}

/// A gateway and its upstreams.
pub(crate) struct Platform {
    pub(crate) issuer: Issuer,
    pub(crate) fixture: Arc<Fixture>,
    pub(crate) address: SocketAddr,
    pub(crate) metrics: SocketAddr,
    pub(crate) pod: String,
    pub(crate) client: Client,
    pub(crate) process: Process,
    pub(crate) served: tokio::task::JoinHandle<()>,
}

/// An instance that exists.
#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) id: InstanceId,
    pub(crate) tenant: TenantId,
    /// Who opens it.
    pub(crate) user: UserId,
    pub(crate) host: String,
}

/// Returns the request as JSON.
async fn describe(service: &'static str, request: Request) -> Json<Value> {
    let (parts, body) = request.into_parts();
    let headers: serde_json::Map<_, _> = parts
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
        .collect();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    Json(json!({
        "service": service, "method": parts.method.as_str(), "uri": parts.uri.to_string(),
        "headers": headers, "bytes": body.len(),
    }))
}

/// Sends back every message.
async fn echo(upgrade: WebSocketUpgrade, headers: HeaderMap) -> Response {
    let seen = format!("{:?}", headers.get("authorization"));
    upgrade.protocols(["chat"]).on_upgrade(move |mut socket| async move {
        let _ = socket.send(Message::Text(seen.into())).await;
        while let Some(Ok(message)) = socket.recv().await {
            if matches!(message, Message::Close(_)) || socket.send(message).await.is_err() {
                break;
            }
        }
    })
}

/// A service that answers `/readyz`, and describes all other requests.
fn service(name: &'static str, fixture: &Arc<Fixture>) -> Router {
    let fixture = Arc::clone(fixture);
    let ready = move || async move {
        if fixture.not_ready.load(Ordering::SeqCst) {
            StatusCode::SERVICE_UNAVAILABLE
        } else {
            StatusCode::OK
        }
    };
    Router::new().route("/readyz", get(ready)).fallback(move |request| describe(name, request))
}

fn known(headers: &HeaderMap) -> bool {
    headers.get("authorization").is_some_and(|v| v == &format!("Bearer {GPU_TOKEN}"))
}

fn nothing() -> Response {
    api::Problem::not_found().into_response()
}

async fn route(
    State(fixture): State<Arc<Fixture>>,
    Path(label): Path<String>,
    headers: HeaderMap,
) -> Response {
    fixture.asked_for_routes.fetch_add(1, Ordering::SeqCst);
    if fixture.gpu_away.load(Ordering::SeqCst) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let route = fixture.routes.lock().unwrap().get(&label).cloned();
    route.filter(|_| known(&headers)).map_or_else(nothing, |route| Json(route).into_response())
}

/// The feed of changes; the cursor is the number of those that were read.
async fn route_changes(
    State(fixture): State<Arc<Fixture>>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let away = || fixture.gpu_away.load(Ordering::SeqCst) || fixture.feed_away.load(Ordering::SeqCst);
    let read: usize = query["after"].parse().unwrap_or_default();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(query["wait_seconds"].parse().unwrap());
    loop {
        let published = fixture.published.notified();
        if away() || !known(&headers) {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        let changes = fixture.changes.lock().unwrap().clone();
        let is_first = !fixture.is_followed.swap(true, Ordering::SeqCst);
        if changes.len() > read || is_first || tokio::time::Instant::now() >= deadline {
            let items: Vec<_> = changes[read.min(changes.len())..]
                .iter()
                .map(|change| json!({ "at": "2026-01-01T00:00:00Z", "change": change }))
                .collect();
            let page = json!({ "items": items, "next_cursor": changes.len().to_string(), "complete": true });
            return Json(page).into_response();
        }
        let _ = tokio::time::timeout_at(deadline, published).await;
    }
}

async fn redeem(
    State(fixture): State<Arc<Fixture>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let ticket = body["ticket"].as_str().unwrap();
    let mut tickets = fixture.tickets.lock().unwrap();
    let fits = tickets.get(ticket).is_some_and(|t| t["label"] == body["host_label"]) && known(&headers);
    if fits { Json(tickets.remove(ticket).unwrap()["redeemed"].clone()).into_response() } else { nothing() }
}

async fn open_link(
    State(fixture): State<Arc<Fixture>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let link = fixture.links.lock().unwrap().get(body["secret"].as_str().unwrap()).cloned();
    let link = link.filter(|link| link["label"] == body["host_label"] && known(&headers));
    link.map_or_else(nothing, |link| Json(link["opened"].clone()).into_response())
}

async fn link_ticket(
    State(fixture): State<Arc<Fixture>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let link = fixture.personal_links.lock().unwrap().get(body["secret"].as_str().unwrap()).cloned();
    let subject = headers.get("x-atelier-subject").and_then(|value| value.to_str().ok());
    let is_for = |link: &Value| link["label"] == body["host_label"] && link["token"].as_str() == subject;
    let link = link.filter(|link| is_for(link) && known(&headers));
    link.map_or_else(nothing, |link| Json(json!({ "url": link["url"] })).into_response())
}

async fn redeem_link(
    State(fixture): State<Arc<Fixture>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let ticket = body["ticket"].as_str().unwrap();
    let mut tickets = fixture.link_tickets.lock().unwrap();
    let fits = tickets.get(ticket).is_some_and(|t| t["label"] == body["host_label"]) && known(&headers);
    if fits { Json(tickets.remove(ticket).unwrap()["opened"].clone()).into_response() } else { nothing() }
}

async fn activity(
    State(fixture): State<Arc<Fixture>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    if fixture.gpu_away.load(Ordering::SeqCst) || !known(&headers) {
        fixture.refused_reports.fetch_add(1, Ordering::SeqCst);
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    fixture.reports.lock().unwrap().push(body);
    StatusCode::NO_CONTENT.into_response()
}

/// What runs in an instance.
fn pod() -> Router {
    let cookies = || async {
        let set = |text: &'static str| ("set-cookie", text);
        (
            axum::response::AppendHeaders([
                set("mine=1; Path=/; Domain=localhost"),
                set("atelier_session=stolen; Path=/"),
            ]),
            "cookies",
        )
    };
    Router::new()
        .route("/ws", any(echo))
        .route("/cookies", get(cookies))
        .route("/mirror", post(|request: Request| async { Body::new(request.into_body()) }))
        .route("/metrics", get(|| async { "the instance's own" }))
        .fallback(|request| describe("pod", request))
}

impl Platform {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let (issuer, fixture) = (Issuer::start().await, Arc::new(Fixture::default()));
        let internal = Router::new()
            .route("/internal/v1/routes/{label}", get(route))
            .route("/internal/v1/route-changes", get(route_changes))
            .route("/internal/v1/tickets/redeem", post(redeem))
            .route("/internal/v1/share-links/open", post(open_link))
            .route("/internal/v1/share-links/tickets", post(link_ticket))
            .route("/internal/v1/share-links/redeem", post(redeem_link))
            .route("/internal/v1/instance-activity", post(activity))
            .route("/v1/instances/{id}/terminal", any(echo))
            .route("/v1/instances/{id}/log", post(|r: Request| async { Body::new(r.into_body()) }))
            .with_state(Arc::clone(&fixture));
        let mut urls: HashMap<_, url::Url> = HashMap::new();
        for name in ::platform::routed().map(|service| service.name.as_str()) {
            let service = service(name, &fixture);
            let service = if name == "gpu" { service.merge(internal.clone()) } else { service };
            urls.insert(name, testkit::serve(service).await.parse().unwrap());
        }
        let (public, internal_listener) = (
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        );
        let (address, metrics) = (public.local_addr().unwrap(), internal_listener.local_addr().unwrap());
        let mut config = Config {
            listen: address,
            metrics_listen: metrics,
            public_url: format!("http://localhost:{}", address.port()).parse().unwrap(),
            apps: Apps::default(),
            auth: issuer.config(),
            services: Services::new(|name| urls[name].clone()),
            gpu_token: GPU_TOKEN.into(),
            cookie_keys: vec![CookieKey {
                id: "first".to_owned(),
                key: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".into(),
            }],
            cache: None,
            limits: Limits {
                requests_per_second: 10_000,
                request_burst: 10_000,
                address_requests_per_second: 10_000,
                address_request_burst: 10_000,
                ..Limits::default()
            },
            activity_seconds: 1,
            drain_seconds: 0,
            tls: None,
            proxy_protocol: None,
            hsts_seconds: 3600,
            cors: atelier_gateway::Cors::default(),
            console: None,
            modules: [].into(),
            telemetry: None,
        };
        change(&mut config);
        let process = Process::default();
        let app = App::new(config, process.clone()).unwrap();
        let served = tokio::spawn(async move { app.serve_on(public, internal_listener).await.unwrap() });
        Self {
            issuer,
            fixture,
            address,
            metrics,
            pod: testkit::serve(pod()).await.trim_start_matches("http://").to_owned(),
            client: Client::new(&format!("http://{address}")),
            process,
            served,
        }
    }

    /// Waits until the gateway has read the revocations and reaches a service.
    pub(crate) async fn ready(&self) {
        testkit::eventually("the gateway is ready", async || {
            (self.client.get("/readyz").await.status == 200).then_some(())
        })
        .await;
    }

    /// A client of a member of some tenant.
    pub(crate) fn member(&self) -> Client {
        self.client.token(&self.issuer.user(TenantId::new(), Role::Member))
    }

    /// An instance that runs in the pod.
    pub(crate) fn instance(&self) -> Instance {
        let (id, tenant) = (InstanceId::new(), TenantId::new());
        let host = format!("{}.localhost:{}", id.k8s_name(), self.address.port());
        let instance = Instance { id, tenant, user: UserId::new(), host };
        self.route(&instance, "running", Some(&self.pod));
        instance
    }

    /// Sets what the gpu service returns for the instance.
    pub(crate) fn route(&self, instance: &Instance, state: &str, address: Option<&str>) {
        let route = json!({
            "instance_id": instance.id, "tenant_id": instance.tenant, "address": address, "state": state,
        });
        self.fixture.routes.lock().unwrap().insert(instance.id.k8s_name(), route);
        self.publish(json!({ "instance_id": instance.id }));
    }

    /// Publishes a change of routes.
    pub(crate) fn publish(&self, change: Value) {
        self.fixture.changes.lock().unwrap().push(change);
        self.fixture.published.notify_waiters();
    }

    /// A new ticket for the instance.
    #[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
    pub(crate) fn ticket(&self, instance: &Instance) -> String {
        let ticket = format!("ticket-{}", UserId::new());
        let redeemed = json!({
            "instance_id": instance.id, "tenant_id": instance.tenant, "user_id": instance.user,
            "session_id": null, "rights_at": jiff::Timestamp::now(),
        });
        let label = instance.host.split('.').next();
        let entry = json!({ "label": label, "redeemed": redeemed });
        self.fixture.tickets.lock().unwrap().insert(ticket.clone(), entry);
        ticket
    }

    /// A client at the instance's host name, without a cookie.
    pub(crate) fn at(&self, instance: &Instance) -> Client {
        self.client.header("host", &instance.host)
    }

    /// Exchanges a new ticket for a cookie (`name=value`).
    pub(crate) async fn cookie(&self, instance: &Instance) -> String {
        let ticket = self.ticket(instance);
        let answer = self.at(instance).get(&format!("/.atelier/session?ticket={ticket}")).await.expect(303);
        answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }

    /// A client that has opened the instance.
    pub(crate) async fn opened(&self, instance: &Instance) -> Client {
        self.at(instance).header("cookie", &self.cookie(instance).await)
    }
}
