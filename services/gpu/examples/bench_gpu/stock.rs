//! A stand-in of the stock service: one specification, a queue without free units, and grants.

#![expect(clippy::disallowed_methods, reason = "benchmarks run on the real clock")]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use auth::{AuthState, Caller, HasAuth};
use axum::{
    Json, Router,
    extract::{Path, Query, State},
    routing::{get, put},
};
use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

/// Name of the specification.
pub(crate) const SPEC: &str = "3080-small-4-1";
/// Name of the cluster in the service's configuration.
pub(crate) const CLUSTER: &str = "bench";

#[derive(Clone)]
pub(crate) struct Stock {
    inner: Arc<Inner>,
    auth: AuthState,
}

struct Inner {
    url: String,
    spec: GpuSpecId,
    datacenter: DatacenterId,
    claims: Mutex<HashMap<InstanceId, (UnitId, Timestamp)>>,
    /// All grants, in their order.
    grants: watch::Sender<Vec<InstanceId>>,
}

impl HasAuth for Stock {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

impl Stock {
    pub(crate) async fn start(auth: AuthState) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let inner = Arc::new(Inner {
            url: format!("http://{}", listener.local_addr().unwrap()),
            spec: GpuSpecId::new(),
            datacenter: DatacenterId::new(),
            claims: Mutex::default(),
            grants: watch::Sender::new(Vec::new()),
        });
        let stock = Self { inner, auth };
        let router = Router::new()
            .route("/internal/v1/gpu-specs/{id}", get(gpu_spec))
            .route("/internal/v1/queue", get(entries))
            .route("/internal/v1/queue/{id}", put(claim_or_wait))
            .route("/internal/v1/queue-grants", get(grants))
            .with_state(stock.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        stock
    }

    pub(crate) fn url(&self) -> &str {
        &self.inner.url
    }

    /// Grants the unit to the instance.
    pub(crate) fn grant(&self, instance: InstanceId, unit: UnitId) {
        self.inner.claims.lock().unwrap().insert(instance, (unit, Timestamp::now()));
        self.inner.grants.send_modify(|grants| grants.push(instance));
    }
}

async fn gpu_spec(State(stock): State<Stock>, _: Caller, Path(_): Path<String>) -> Json<Value> {
    Json(
        json!({ "id": stock.inner.spec, "name": SPEC, "gpu_model": "RTX 3080", "gpu_count": 1, "gpu_cores": 8704,
            "video_memory_mib": 10_240, "cpu_millis": 4000, "memory_mib": 8192, "disk_gib": 50, "state": "active",
            "price_per_hour": "0.36", "currency": "EUR", "hold_price_fraction": "0.25", "node_selector": {},
            "allocation": { "kind": "device", "resource": "nvidia.com/gpu" }, "summary": "1 GPU",
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z" }),
    )
}

/// Returns an empty queue.
async fn entries(_: Caller) -> Json<Value> {
    Json(json!({ "items": [] }))
}

async fn claim_or_wait(State(stock): State<Stock>, _: Caller, Path(id): Path<InstanceId>) -> Json<Value> {
    let inner = stock.inner;
    let claim = inner.claims.lock().unwrap().get(&id).copied();
    let claim = claim.map(|(unit, claimed_at)| {
        json!({ "instance_id": id, "tenant_id": TenantId::new(), "unit_id": unit, "unit_name": unit.k8s_name(), "gpu_spec_id": inner.spec,
            "gpu_spec_name": SPEC, "datacenter_id": inner.datacenter, "datacenter_name": "dev-1", "cluster": CLUSTER,
            "node": "node-1", "price_per_hour": "0.36", "currency": "EUR", "hold_price_fraction": "0.25",
            "claimed_at": claimed_at })
    });
    Json(json!({ "claim": claim }))
}

#[derive(Deserialize)]
struct After {
    after: String,
    wait_seconds: u64,
}

async fn grants(State(stock): State<Stock>, _: Caller, Query(query): Query<After>) -> Json<Value> {
    let after: usize = query.after.parse().unwrap_or(0);
    let mut all = stock.inner.grants.subscribe();
    let wait = Duration::from_secs(query.wait_seconds);
    let _ = tokio::time::timeout(wait, all.wait_for(|all| all.len() > after)).await;
    let all = all.borrow();
    let items: Vec<Value> = all[after..]
        .iter()
        .map(|id| json!({ "at": "2026-01-01T00:00:00Z", "change": { "instance_id": id, "unit_id": UnitId::new() } }))
        .collect();
    Json(json!({ "items": items, "next_cursor": all.len().to_string(), "complete": true }))
}
