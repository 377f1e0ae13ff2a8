//! The suspension and deletion of tenants, which the other services carry out.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{Json, Router, extract::State, http::StatusCode, routing::put};
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::platform::{PASSWORD, Platform};

/// A stand-in service that answers as a test configures it.
#[derive(Clone)]
struct Participant(Arc<Mutex<Played>>);

struct Played {
    orders: Vec<Value>,
    /// Its answer; `None` for an error.
    progress: Option<Value>,
}

async fn carry_out(
    State(participant): State<Participant>,
    Json(order): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    let mut played = participant.0.lock().unwrap();
    played.orders.push(order);
    played.progress.clone().map(Json).ok_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl Participant {
    /// Starts it, and returns its address.
    async fn start() -> (Self, String) {
        let participant = Self(Arc::new(Mutex::new(Played { orders: Vec::new(), progress: Some(done()) })));
        let router = Router::new().route("/internal/v1/tenants/{id}", put(carry_out));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = participant.clone();
        tokio::spawn(async move { axum::serve(listener, router.with_state(state)).await });
        (participant, url)
    }

    fn answers(&self, progress: Option<Value>) {
        self.0.lock().unwrap().progress = progress;
    }

    fn last_order(&self) -> Option<Value> {
        self.0.lock().unwrap().orders.last().cloned()
    }

    /// Waits until it receives a state.
    async fn told(&self, state: &str) -> Value {
        eventually(&format!("it is told {state}"), async || {
            self.last_order().filter(|order| order["state"] == state)
        })
        .await
    }
}

fn done() -> Value {
    json!({ "done": true, "remaining": {} })
}

fn busy(kind: &str) -> Option<Value> {
    Some(json!({ "done": false, "remaining": { kind: 2 } }))
}

/// A platform with two services, and a tenant with an owner.
struct Studio {
    platform: Platform,
    admin: Client,
    gpu: Participant,
    storage: Participant,
    id: String,
}

impl Studio {
    async fn new() -> Self {
        let ((gpu, gpu_url), (storage, storage_url)) =
            (Participant::start().await, Participant::start().await);
        let endpoint =
            |url: String| peer::Endpoint { url: url.parse().unwrap(), token: "token".to_owned().into() };
        let participants = BTreeMap::from([
            ("gpu".to_owned(), endpoint(gpu_url)),
            ("storage".to_owned(), endpoint(storage_url)),
        ]);
        let platform = Platform::with(|config| config.participants = participants).await;
        let admin = platform.admin().await;
        let id = platform.tenant(&admin, "studio").await;
        let owner = platform.user(&admin, "owner@x.test").await;
        platform.member(&admin, &id, &owner, "owner").await;
        Self { platform, admin, gpu, storage, id }
    }

    fn path(&self) -> String {
        format!("/v1/tenants/{}", self.id)
    }

    async fn change(&self, change: Value) -> Value {
        self.admin.patch(&self.path(), "*", change).await.expect(200).body
    }

    async fn tenant(&self) -> Value {
        self.admin.get(&self.path()).await.expect(200).body
    }

    /// Begins the deletion and returns the path of the operation.
    async fn delete(&self, query: &str) -> String {
        let accepted = self.admin.delete(&format!("{}{query}", self.path())).await.expect(202);
        let location = accepted.header("location").unwrap().to_owned();
        assert!(location.ends_with(accepted.str("id")));
        location
    }

    async fn operation(&self, path: &str) -> Value {
        self.admin.get(path).await.expect(200).body
    }

    async fn ended(&self, path: &str, state: &str) -> Value {
        eventually(&format!("the operation has {state}"), async || {
            let operation = self.operation(path).await;
            (operation["state"] == state).then_some(operation)
        })
        .await
    }
}

#[tokio::test]
async fn a_suspension_is_carried_out_by_all_services_and_shows_how_far_they_are() {
    let studio = Studio::new().await;
    studio.gpu.answers(busy("instances"));
    studio.storage.answers(None);
    let suspended = studio.change(json!({ "state": "suspended", "stop_instances": true })).await;
    assert_eq!((&suspended["state"], &suspended["stop_instances"]), (&json!("suspended"), &json!(true)));
    let order = studio.gpu.told("suspended").await;
    assert_eq!((&order["stop_instances"], &order["delete_storages"]), (&json!(true), &json!(false)));
    let steps = eventually("both have answered", async || {
        let steps = studio.tenant().await["steps"].clone();
        (steps.as_array().unwrap().len() == 2).then_some(steps)
    })
    .await;
    assert_eq!(
        steps[0],
        json!({ "service": "gpu", "done": false, "remaining": { "instances": 2 }, "message": null })
    );
    assert_eq!((&steps[1]["service"], &steps[1]["done"]), (&json!("storage"), &json!(false)));
    assert!(steps[1]["message"].as_str().unwrap().contains("does not answer"));

    studio.gpu.answers(Some(done()));
    studio.storage.answers(Some(done()));
    eventually("both are done", async || {
        let tenant = studio.tenant().await;
        tenant["steps"].as_array().unwrap().iter().all(|step| step["done"] == true).then_some(())
    })
    .await;
    let generation = studio.gpu.last_order().unwrap()["generation"].as_i64().unwrap();
    let _ = studio.change(json!({ "state": "active" })).await;
    let order = studio.storage.told("active").await;
    assert!(order["generation"].as_i64().unwrap() > generation, "{order}");
    let refused = studio.admin.patch(&studio.path(), "*", json!({ "state": "deleting" })).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
}

#[tokio::test]
async fn a_tenant_is_deleted_when_no_service_has_anything_left_of_it() {
    let studio = Studio::new().await;
    studio.admin.delete(&studio.path()).await.expect_problem(409, "tenant-active");
    let _ = studio.change(json!({ "state": "suspended" })).await;
    let too_long = studio.admin.delete(&format!("{}?storage_grace_hours=2161", studio.path())).await;
    assert_eq!(too_long.status, 422);
    studio.gpu.answers(busy("instances"));
    studio.storage.answers(busy("storages"));
    let operation = studio.delete("?storage_grace_hours=0").await;
    let order = studio.storage.told("deleting").await;
    assert_eq!(order["delete_storages"], true);
    assert_eq!(studio.tenant().await["state"], "deleting");
    let deleting = studio.admin.get("/v1/tenants?state=deleting").await.expect(200);
    assert_eq!(deleting.body["items"][0]["id"], json!(studio.id));
    let progress = eventually("the operation shows how far the services are", async || {
        let operation = studio.operation(&operation).await;
        (operation["progress"]["services"][1]["remaining"]["storages"] == 2).then_some(operation)
    })
    .await;
    assert_eq!((&progress["kind"], &progress["target"]), (&json!("delete_tenant"), &json!(studio.id)));
    let session = json!({ "email": "owner@x.test", "password": PASSWORD, "tenant_id": studio.id });
    studio.platform.client.post("/v1/sessions", session).await.expect_problem(403, "tenant-suspended");

    studio.gpu.answers(Some(done()));
    // one service is enough to delay the deletion
    eventually("gpu is done", async || {
        (studio.operation(&operation).await["progress"]["services"][0]["done"] == true).then_some(())
    })
    .await;
    assert_eq!(studio.tenant().await["state"], "deleting");
    studio.storage.answers(Some(done()));
    studio.ended(&operation, "succeeded").await;
    studio.admin.get(&studio.path()).await.expect_problem(404, "not-found");
    let session = studio.platform.sign_in("owner@x.test").await;
    assert_eq!(session["tenant"], Value::Null, "the owner has an account and no tenant");
}

#[tokio::test]
async fn a_deletion_can_be_taken_back_while_the_storages_are_there() {
    let studio = Studio::new().await;
    let _ = studio.change(json!({ "state": "suspended" })).await;
    studio.storage.answers(busy("storages"));
    let first = studio.delete("").await;
    assert_eq!(studio.storage.told("deleting").await["delete_storages"], false);
    let at: jiff::Timestamp = studio.tenant().await["delete_storages_at"].as_str().unwrap().parse().unwrap();
    let second = studio.delete("?storage_grace_hours=1").await;
    studio.ended(&first, "cancelled").await;
    let sooner: jiff::Timestamp =
        studio.tenant().await["delete_storages_at"].as_str().unwrap().parse().unwrap();
    assert!(sooner < at, "{sooner} {at}");
    let tenant = studio.change(json!({ "state": "active" })).await;
    assert_eq!((&tenant["state"], &tenant["delete_storages_at"]), (&json!("active"), &Value::Null));
    studio.ended(&second, "cancelled").await;
    studio.storage.told("active").await;
    let _ = studio.platform.as_user("owner@x.test").await.get(&studio.path()).await.expect(200);
}

#[tokio::test]
async fn another_replica_goes_on_with_a_deletion() {
    let studio = Studio::new().await;
    let _ = studio.change(json!({ "state": "suspended" })).await;
    studio.storage.answers(busy("storages"));
    let operation = studio.delete("?storage_grace_hours=0").await;
    studio.storage.told("deleting").await;
    // the first replica stops before the deletion is complete
    studio.platform.process.shutdown.begin();
    studio.platform.process.shutdown.finish().await;
    let (client, _process) = studio.platform.replica().await;
    studio.storage.answers(Some(done()));
    let credentials = json!({ "email": crate::platform::ADMIN, "password": PASSWORD });
    let session = client.post("/v1/sessions", credentials).await.expect(200);
    let admin = client.token(session.str("access_token"));
    eventually("the tenant is deleted", async || {
        (admin.get(&operation).await.expect(200).str("state") == "succeeded").then_some(())
    })
    .await;
    admin.get(&studio.path()).await.expect_problem(404, "not-found");
}
