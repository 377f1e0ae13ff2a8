//! A stand-in of the gpu service, the internal API by which workers are ordered, and of the stock service, as far as it lends.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::{get, put},
};
use serde_json::{Value, json};
use testkit::eventually;
use tokio::time::{sleep, timeout};

/// An instance that was ordered.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) order: Value,
    state: &'static str,
    is_deleted: bool,
    /// When it leaves its unit, which another has claimed.
    leave_by: Option<jiff::Timestamp>,
    pub(crate) rank: i64,
}

#[derive(Default)]
struct Inner {
    instances: BTreeMap<String, Instance>,
    /// Orders that came, repeated ones included.
    orders: usize,
    is_away: bool,
    stock_is_away: bool,
    loses_answer: bool,
    refuses: bool,
    /// Instances of events, oldest first.
    events: Vec<String>,
    /// Spare units, by specification.
    spare: BTreeMap<String, i64>,
    /// Units that are wanted back, by specification.
    wanted_back: BTreeMap<String, i64>,
    /// How often spare units were asked for.
    asked: usize,
    /// What is said of tenants that may start nothing, and after which time.
    spent: Vec<Value>,
    thinks: Duration,
    /// Prices per hour and currencies, by specification.
    prices: BTreeMap<String, (String, String)>,
}

/// The service.
#[derive(Clone, Default)]
pub(crate) struct Gpu {
    inner: Arc<Mutex<Inner>>,
    pub(crate) url: String,
}

impl Gpu {
    pub(crate) async fn start() -> Self {
        let mut gpu = Self::default();
        let instance = put(order).get(read).patch(change).delete(delete);
        let router = Router::new()
            .route("/internal/v1/instances/{id}", instance)
            .route("/internal/v1/events", get(events))
            .route("/internal/v1/allowances", get(spent))
            .route("/internal/v1/spare-units", get(spare))
            .route("/internal/v1/gpu-specs/{name}", get(spec))
            .with_state(gpu.clone());
        gpu.url = testkit::serve(router).await;
        gpu
    }

    fn with<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.inner.lock().unwrap())
    }

    /// Answers nothing, or again.
    pub(crate) fn set_away(&self, is_away: bool) {
        self.with(|inner| inner.is_away = is_away);
    }

    /// Does not answer what the stock has, or does again.
    pub(crate) fn set_stock_away(&self, is_away: bool) {
        self.with(|inner| inner.stock_is_away = is_away);
    }

    /// Carries out the next order, and does not answer it.
    pub(crate) fn lose_answer(&self) {
        self.with(|inner| inner.loses_answer = true);
    }

    /// Refuses orders, or not any more.
    pub(crate) fn set_refuses(&self, refuses: bool) {
        self.with(|inner| inner.refuses = refuses);
    }

    /// Stops an instance, as its user may.
    pub(crate) fn stop(&self, id: &str) {
        self.with(|inner| {
            inner.instances.get_mut(id).unwrap().state = "stopped";
            inner.events.push(id.to_owned());
        });
    }

    /// Sets the number of spare units of a specification in the stock.
    pub(crate) fn set_spare(&self, gpu_spec: &str, units: i64) {
        self.with(|inner| inner.spare.insert(gpu_spec.to_owned(), units));
    }

    /// Sets how many units of a specification the stock wants back.
    pub(crate) fn want_back(&self, gpu_spec: &str, units: i64) {
        self.with(|inner| inner.wanted_back.insert(gpu_spec.to_owned(), units));
    }

    /// Lets a specification have a price per hour.
    pub(crate) fn set_price(&self, gpu_spec: &str, price: &str, currency: &str) {
        let price = (price.to_owned(), currency.to_owned());
        self.with(|inner| inner.prices.insert(gpu_spec.to_owned(), price));
    }

    /// Takes this long to say who may start nothing.
    pub(crate) fn set_thinks(&self, thinks: Duration) {
        self.with(|inner| inner.thinks = thinks);
    }

    /// Says that this tenant, and no other, may start nothing; or that all may.
    pub(crate) fn set_spent(&self, tenant: Option<(ids::TenantId, &str, Option<&str>)>) {
        type Spent<'a> = (ids::TenantId, &'a str, Option<&'a str>);
        let item = |(tenant, reason, renews_at): Spent<'_>| json!({ "tenant_id": tenant, "reason": reason, "message": "Nothing is left.", "renews_at": renews_at });
        self.with(|inner| inner.spent = tenant.map(item).into_iter().collect());
    }

    /// Gives the unit of an instance to another one.
    pub(crate) fn recall(&self, id: &str, leave_by: jiff::Timestamp) {
        self.with(|inner| {
            inner.instances.get_mut(id).unwrap().leave_by = Some(leave_by);
            inner.events.push(id.to_owned());
        });
    }

    /// How often spare units were asked for.
    pub(crate) fn asked(&self) -> usize {
        self.with(|inner| inner.asked)
    }

    pub(crate) fn orders(&self) -> usize {
        self.with(|inner| inner.orders)
    }

    /// The instances that are not deleted, in the order of their ids.
    pub(crate) fn instances(&self) -> Vec<Instance> {
        self.with(|inner| inner.instances.values().filter(|one| !one.is_deleted).cloned().collect())
    }

    /// Waits until there are this many.
    pub(crate) async fn have(&self, count: usize) -> Vec<Instance> {
        eventually(&format!("there are {count} instances"), async || {
            Some(self.instances()).filter(|instances| instances.len() == count)
        })
        .await
    }
}

impl Instance {
    /// The token that its process gets.
    pub(crate) fn token(&self) -> &str {
        let secret = &self.order["secrets"][0];
        assert_eq!(secret["name"], "ATELIER_WORKER_TOKEN");
        secret["value"].as_str().unwrap()
    }

    fn answer(&self) -> Value {
        let node = (self.state == "running").then_some("node-1");
        let reason = match (self.state, self.leave_by) {
            ("stopped", Some(_)) => json!("recalled"),
            ("stopped", None) if self.order["interruptible"] == true => json!("stock_exhausted"),
            _ => json!(null),
        };
        let recalled = self.leave_by.map(|by| json!({ "leave_by": by }));
        json!({ "id": self.id, "tenant_id": self.order["tenant_id"], "state": self.state, "reason": reason,
                "message": (self.state == "stopped").then_some("Its node was lost."), "recalled": recalled,
                "gpu_spec": self.order["gpu_spec"], "datacenter": "dev-1", "node": node, "attempt": 1 })
    }
}

fn problem(status: StatusCode, kind: &str, detail: &str) -> Response {
    let body = json!({ "type": format!("https://atelier.dev/problems/{kind}"), "title": kind, "status": status.as_u16(),
                       "detail": detail });
    (status, [("content-type", "application/problem+json")], body.to_string()).into_response()
}

fn away() -> Response {
    problem(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Away.")
}

fn not_found() -> Response {
    problem(StatusCode::NOT_FOUND, "not-found", "Not found.")
}

async fn spent(State(gpu): State<Gpu>) -> Response {
    sleep(gpu.with(|inner| inner.thinks)).await;
    gpu.with(
        |inner| {
            if inner.is_away { away() } else { Json(json!({ "items": inner.spent })).into_response() }
        },
    )
}

async fn order(State(gpu): State<Gpu>, Path(id): Path<String>, Json(order): Json<Value>) -> Response {
    gpu.with(|inner| {
        inner.orders += 1;
        if inner.is_away {
            return away();
        }
        if inner.refuses {
            return problem(StatusCode::CONFLICT, "quota-exceeded", "The quota of the tenant is exceeded.");
        }
        let new = || Instance {
            id: id.clone(),
            order: order.clone(),
            state: "running",
            is_deleted: false,
            leave_by: None,
            rank: 0,
        };
        let instance = inner.instances.entry(id.clone()).or_insert_with(new).clone();
        if std::mem::take(&mut inner.loses_answer) {
            return StatusCode::BAD_GATEWAY.into_response();
        }
        match instance {
            instance if instance.order != order => {
                problem(StatusCode::CONFLICT, "instance-exists", "Another order has the id.")
            }
            instance if instance.is_deleted => not_found(),
            instance => Json(instance.answer()).into_response(),
        }
    })
}

async fn read(State(gpu): State<Gpu>, Path(id): Path<String>) -> Response {
    gpu.with(|inner| match inner.instances.get(&id) {
        _ if inner.is_away => away(),
        Some(instance) if !instance.is_deleted => Json(instance.answer()).into_response(),
        _ => not_found(),
    })
}

async fn change(State(gpu): State<Gpu>, Path(id): Path<String>, Json(change): Json<Value>) -> Response {
    gpu.with(|inner| match inner.instances.get_mut(&id) {
        Some(instance) if instance.leave_by.is_none() => {
            instance.rank = change["recall_rank"].as_i64().unwrap();
            StatusCode::NO_CONTENT.into_response()
        }
        _ => not_found(),
    })
}

/// A cursor is the number of events before it.
async fn events(State(gpu): State<Gpu>, Query(query): Query<BTreeMap<String, String>>) -> Response {
    let after = match query["after"].as_str() {
        "latest" => gpu.with(|inner| inner.events.len()),
        cursor => cursor.parse().unwrap(),
    };
    let wait = async {
        while gpu.with(|inner| inner.events.len()) <= after {
            sleep(Duration::from_millis(20)).await;
        }
    };
    if query["after"] != "latest" {
        let _ = timeout(Duration::from_secs(1), wait).await;
    }
    let found = gpu.with(|inner| inner.events.clone());
    let items: Vec<Value> = found[after..].iter().map(|id| json!({ "instance_id": id })).collect();
    Json(json!({ "items": items, "next_cursor": found.len().to_string() })).into_response()
}

async fn spare(State(gpu): State<Gpu>, Query(query): Query<BTreeMap<String, String>>) -> Response {
    gpu.with(|inner| {
        inner.asked += 1;
        if inner.stock_is_away {
            return away();
        }
        let gpu_spec = &query["gpu_spec"];
        let units = inner.spare.get(gpu_spec).copied().unwrap_or_default();
        let lent = |one: &&Instance| !one.is_deleted && one.order["interruptible"] == true;
        let lent: Vec<&String> = inner.instances.values().filter(lent).map(|one| &one.id).collect();
        let wanted = |units: &i64| json!({ "units": units, "instances": lent });
        let wanted: Vec<Value> = inner.wanted_back.get(gpu_spec).map(wanted).into_iter().collect();
        Json(json!({ "units": units, "wanted_back": wanted })).into_response()
    })
}

async fn spec(State(gpu): State<Gpu>, Path(name): Path<String>) -> Response {
    gpu.with(|inner| match inner.prices.get(&name) {
        _ if inner.is_away => away(),
        Some((price, currency)) => Json(json!({
            "id": ids::GpuSpecId::derived(&[&name]), "name": name, "gpu_model": "model", "gpu_count": 1, "gpu_cores": 8704,
            "video_memory_mib": 10_240, "cpu_millis": 4000, "memory_mib": 8192, "disk_gib": 50, "state": "active",
            "price_per_hour": price, "currency": currency, "hold_price_fraction": null, "node_selector": {},
            "allocation": { "kind": "device", "resource": "nvidia.com/gpu" }, "summary": "1 GPU",
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        }))
        .into_response(),
        None => not_found(),
    })
}

async fn delete(State(gpu): State<Gpu>, Path(id): Path<String>) -> Response {
    gpu.with(|inner| {
        if inner.is_away {
            return away();
        }
        if let Some(instance) = inner.instances.get_mut(&id) {
            instance.is_deleted = true;
        }
        StatusCode::NO_CONTENT.into_response()
    })
}
