//! Kills at each step: wherever a replica ends, another one carries on, and nothing is left over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use atelier_storage::Faults;
use axum::{Router, routing::get};
use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::fixture::{Fixture, make, remove, specs, state};

/// Waits until the fault has fired (true) or the work is done (false).
pub(crate) async fn fired_or(faults: &Faults, what: &str, mut done: impl AsyncFnMut() -> bool) -> bool {
    eventually(what, async || {
        if faults.fired() {
            return Some(true);
        }
        done().await.then_some(false)
    })
    .await
}

async fn is(client: &Client, id: &str, wanted: &str) -> bool {
    let seen = client.get(&format!("/v1/storages/{id}")).await;
    seen.body["state"] == wanted
}

/// Creates a storage with a replica that is killed after `n` effects; another one completes it. False if the first
/// one had completed it before.
async fn killed_while_creating(fixture: &Fixture, spec: &str, n: u32) -> bool {
    let faults = Faults::after(n);
    let doomed = fixture.start_doomed(&faults).await;
    let tenant = TenantId::new();
    let member = fixture.member_at(&doomed.client, tenant);
    let body = json!({ "name": "x", "storage_spec": spec, "size_gib": 1 });
    let ordered = member.post("/v1/storages", body).await.expect(202);
    let id = ordered.str("id");
    let killed = fired_or(&faults, "created or stopped", async || is(&member, id, "available").await).await;
    doomed.kill();
    let service = fixture.start().await;
    let member = fixture.member(&service, tenant);
    state(&member, id, "available").await;
    if spec == "archive" {
        assert_eq!(fixture.buckets(tenant).await.len(), 1, "one bucket, after {n} effects");
    }
    remove(&member, id).await;
    assert_eq!(fixture.user_keys(tenant).await, None, "no user is left, after {n} effects");
    service.stop().await;
    killed
}

/// The same while deleting.
async fn killed_while_deleting(fixture: &Fixture, spec: &str, n: u32) -> bool {
    let service = fixture.start().await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let made = make(&member, "x", spec, 1).await;
    let path = format!("/v1/storages/{}", made.str("id"));
    if spec == "archive" {
        let _ = member.post(&format!("{path}/credentials"), Value::Null).await.expect(201);
    }
    service.stop().await;
    let faults = Faults::after(n);
    let doomed = fixture.start_doomed(&faults).await;
    let member = fixture.member_at(&doomed.client, tenant);
    let ordered = member.delete(&path).await.expect(202);
    let killed =
        fired_or(&faults, "deleted or stopped", async || member.get(&path).await.status == 404).await;
    doomed.kill();
    let service = fixture.start().await;
    let member = fixture.member(&service, tenant);
    let operation = crate::fixture::ended(&member, ordered.str("operation_id")).await;
    assert_eq!(operation.str("state"), "succeeded", "after {n} effects: {}", operation.text);
    member.get(&path).await.expect_problem(404, "not-found");
    assert_eq!(fixture.user_keys(tenant).await, None, "no user, after {n} effects");
    assert!(fixture.buckets(tenant).await.is_empty(), "no bucket, after {n} effects");
    service.stop().await;
    killed
}

async fn specs_of(fixture: &Fixture) {
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    service.stop().await;
}

#[tokio::test]
async fn creating_a_bucket_survives_a_kill_at_every_step() {
    let fixture = Fixture::new().await;
    specs_of(&fixture).await;
    let mut n = 1;
    while killed_while_creating(&fixture, "archive", n).await {
        n += 1;
    }
    assert!(n > 3, "only {} effects", n - 1);
}

#[tokio::test]
async fn deleting_a_bucket_survives_a_kill_at_every_step() {
    let fixture = Fixture::new().await;
    specs_of(&fixture).await;
    let mut n = 1;
    while killed_while_deleting(&fixture, "archive", n).await {
        n += 1;
    }
    assert!(n > 6, "only {} effects", n - 1);
}

#[tokio::test]
async fn a_volume_survives_a_kill_at_every_step() {
    let fixture = Fixture::with_cluster().await;
    specs_of(&fixture).await;
    assert!(killed_while_creating(&fixture, "ssd", 1).await);
    assert!(!killed_while_creating(&fixture, "ssd", 2).await);
    assert!(killed_while_deleting(&fixture, "ssd", 1).await);
    assert!(!killed_while_deleting(&fixture, "ssd", 2).await);
    let left = fixture.gpu_storages().list(&kube::api::ListParams::default()).await.unwrap();
    assert!(left.items.is_empty(), "{left:?}");
}

#[tokio::test]
async fn work_that_outlasts_its_lease_is_not_started_twice() {
    let mut fixture = Fixture::new().await;
    specs_of(&fixture).await;
    let asked = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&asked);
    // replicas also ask for "/" from time to time: whether it answers
    let silent = Router::new().route("/", get(async || ())).fallback(move || {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<()>()
    });
    fixture.objects.endpoint = testkit::serve(silent).await;
    fixture.config.object_store = Some(fixture.objects.clone());
    let replicas = [fixture.start().await, fixture.start().await];
    let member = fixture.member(&replicas[0], TenantId::new());
    let body = json!({ "name": "x", "storage_spec": "archive", "size_gib": 1 });
    let _ = member.post("/v1/storages", body).await.expect(202);
    let mut admin = fixture.db.admin().await;
    eventually("the lease has been renewed beyond its first end", async || {
        let renewed =
            "select coalesce(lease_until > updated_at + interval '2.5 seconds', false) from storage.storages";
        let renewed: bool = sqlx::query_scalar(renewed).fetch_one(&mut admin).await.unwrap();
        renewed.then_some(())
    })
    .await;
    assert_eq!(asked.load(Ordering::SeqCst), 1, "a second replica has started");
}

#[tokio::test]
async fn a_replica_that_waits_for_the_database_shuts_down() {
    let mut fixture = Fixture::new().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    fixture.config.database.url = format!("postgres://{}/none", silent.local_addr().unwrap());
    let mut replicas = Vec::new();
    for _ in 0..8 {
        replicas.push(fixture.start().await);
    }
    let told = std::time::Instant::now();
    futures::future::join_all(replicas.into_iter().map(crate::fixture::Service::stop)).await;
    // each has waited for a connection once, which takes 5 s, and not twice
    assert!(told.elapsed() < Duration::from_secs(9), "{:?}", told.elapsed());
}

#[tokio::test]
async fn several_replicas_share_the_work() {
    let fixture = Fixture::new().await;
    specs_of(&fixture).await;
    let replicas = [fixture.start().await, fixture.start().await, fixture.start().await];
    let tenant = TenantId::new();
    let mut ids = Vec::new();
    for n in 0..12 {
        let member = fixture.member(&replicas[n % 3], tenant);
        let body = json!({ "name": format!("s{n}"), "storage_spec": "archive", "size_gib": 1 });
        ids.push(member.post("/v1/storages", body).await.expect(202).str("id").to_owned());
    }
    let member = fixture.member(&replicas[0], tenant);
    for id in &ids {
        state(&member, id, "available").await;
    }
    assert_eq!(fixture.buckets(tenant).await.len(), 12);
    for id in &ids {
        let _ = member.delete(&format!("/v1/storages/{id}")).await.expect(202);
    }
    eventually("all are deleted", async || {
        let left = member.get("/v1/storages").await.expect(200);
        left.body["items"].as_array().unwrap().is_empty().then_some(())
    })
    .await;
    assert_eq!(fixture.user_keys(tenant).await, None, "the user is removed with the last bucket");
}

#[tokio::test]
async fn a_bucket_is_created_while_the_last_one_is_deleted() {
    let fixture = Fixture::new().await;
    specs_of(&fixture).await;
    let service = fixture.start().await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let mut last = make(&member, "b0", "archive", 1).await;
    for n in 1..12 {
        let path = format!("/v1/storages/{}", last.str("id"));
        let body = json!({ "name": format!("b{n}"), "storage_spec": "archive", "size_gib": 1 });
        let (deleting, ordered) = tokio::join!(member.delete(&path), member.post("/v1/storages", body));
        let (deleting, ordered) = (deleting.expect(202), ordered.expect(202));
        for order in [&deleting, &ordered] {
            let operation = crate::fixture::ended(&member, order.str("operation_id")).await;
            assert_eq!(operation.str("state"), "succeeded", "{}", operation.text);
        }
        last = state(&member, ordered.str("id"), "available").await;
        let credentials = format!("/v1/storages/{}/credentials", ordered.str("id"));
        let _ = member.post(&credentials, Value::Null).await.expect(201);
    }
    remove(&member, last.str("id")).await;
    assert_eq!(fixture.user_keys(tenant).await, None);
}
