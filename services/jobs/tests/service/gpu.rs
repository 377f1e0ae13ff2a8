//! A stand-in of the gpu service: the internal API by which workers are ordered.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::put,
};
use serde_json::{Value, json};
use testkit::eventually;

/// An instance that was ordered.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) order: Value,
    state: &'static str,
    is_deleted: bool,
}

#[derive(Default)]
struct Inner {
    instances: BTreeMap<String, Instance>,
    /// Orders that came, repeated ones included.
    orders: usize,
    is_away: bool,
    loses_answer: bool,
    refuses: bool,
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
        let instance = put(order).get(read).delete(delete);
        let router = Router::new().route("/internal/v1/instances/{id}", instance).with_state(gpu.clone());
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
        self.with(|inner| inner.instances.get_mut(id).unwrap().state = "stopped");
    }

    pub(crate) fn orders(&self) -> usize {
        self.with(|inner| inner.orders)
    }

    /// The instances that are not deleted, in the order of their ids.
    pub(crate) fn instances(&self) -> Vec<Instance> {
        self.with(|inner| inner.instances.values().filter(|one| !one.is_deleted).cloned().collect())
    }

    /// Waits until there are so many.
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
        json!({ "id": self.id, "tenant_id": self.order["tenant_id"], "state": self.state, "reason": null,
                "message": (self.state == "stopped").then_some("Its node was lost."),
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

async fn order(State(gpu): State<Gpu>, Path(id): Path<String>, Json(order): Json<Value>) -> Response {
    gpu.with(|inner| {
        inner.orders += 1;
        if inner.is_away {
            return away();
        }
        if inner.refuses {
            return problem(StatusCode::CONFLICT, "quota-exceeded", "The quota of the tenant is exceeded.");
        }
        let new = || Instance { id: id.clone(), order: order.clone(), state: "running", is_deleted: false };
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
