//! What tenants are entitled to in a pool.

use ids::{PoolId, TenantId};
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, fox, pool, submit},
    fleet::{Worker, any_work},
};

/// The path of a tenant's share.
fn path(pool: &str, tenant: TenantId) -> String {
    format!("/v1/platform-pools/{pool}/shares/{tenant}")
}

/// Sets a share.
async fn set(admin: &Client, pool: &str, tenant: TenantId, share: Value) {
    let _ = admin.header("if-match", "*").put(&path(pool, tenant), share).await.expect(200);
}

#[tokio::test]
async fn administrators_set_shares() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    let pool = pool(&admin).await;
    let (first, second) = (TenantId::new(), TenantId::new());
    let shares = format!("/v1/platform-pools/{pool}/shares");
    assert_eq!(admin.get(&shares).await.expect(200).body["items"], json!([]));
    assert_eq!(admin.get(&path(&pool, first)).await.expect(204).text, "");

    let given = json!({ "weight": 300, "guarantee": 2, "limit": 8 });
    let set = admin.header("if-match", "*").put(&path(&pool, first), given).await.expect(200);
    let expected = json!({
        "tenant_id": first, "share": { "weight": 300, "guarantee": 2, "limit": 8, "urgent": 1 },
    });
    assert_eq!((&set.body, set.header("etag")), (&expected, Some("\"1\"")));
    // what is left out has its default
    let again =
        admin.header("if-match", "\"1\"").put(&path(&pool, first), json!({ "urgent": 0 })).await.expect(200);
    assert_eq!(again.body["share"], json!({ "weight": 100, "guarantee": 0, "limit": null, "urgent": 0 }));
    admin
        .header("if-match", "\"1\"")
        .put(&path(&pool, first), json!({}))
        .await
        .expect_problem(412, "changed-meanwhile");
    let read = admin.get(&path(&pool, first)).await.expect(200);
    assert_eq!((&read.body, read.header("etag")), (&again.body, Some("\"2\"")));

    for (share, pointer) in [
        (json!({ "weight": 0 }), "/weight"),
        (json!({ "guarantee": 10_001 }), "/guarantee"),
        (json!({ "guarantee": 3, "limit": 2 }), "/limit"),
        (json!({ "urgent": 10_001 }), "/urgent"),
    ] {
        let refused = admin.header("if-match", "*").put(&path(&pool, second), share).await;
        let refused = refused.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let nowhere = path(&PoolId::new().to_string(), first);
    admin.header("if-match", "*").put(&nowhere, json!({})).await.expect_problem(404, "not-found");
    admin.get(&format!("/v1/platform-pools/{}/shares", PoolId::new())).await.expect_problem(404, "not-found");
    admin.get(&nowhere).await.expect_problem(404, "not-found");

    let _ = admin.header("if-match", "*").put(&path(&pool, second), json!({})).await.expect(200);
    let page = admin.get(&format!("{shares}?limit=1")).await.expect(200);
    let cursor = page.str("next_cursor");
    let rest = admin.get(&format!("{shares}?limit=1&cursor={cursor}")).await.expect(200);
    let tenants = [&page, &rest].map(|page| page.body["items"][0]["tenant_id"].clone());
    let mut sorted = [first, second];
    sorted.sort();
    assert_eq!(tenants, sorted.map(|tenant| json!(tenant)));

    let member = fixture.member(&service, first);
    member.get(&shares).await.expect_problem(403, "forbidden");
    let own = member.get(&format!("/v1/pools/{pool}/share")).await.expect(200).body;
    assert_eq!(own["share"], again.body["share"]);
    let _ = admin.delete(&path(&pool, first)).await.expect(204);
    admin.delete(&path(&pool, first)).await.expect_problem(404, "not-found");
    let own = member.get(&format!("/v1/pools/{pool}/share")).await.expect(200).body;
    assert_eq!(own["share"], json!({ "weight": 100, "guarantee": 0, "limit": null, "urgent": 1 }));
    service.stop().await;
}

#[tokio::test]
async fn a_tenant_runs_on_no_more_workers_than_its_limit() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (admin, tenant) = (fixture.admin(&service), TenantId::new());
    let pool = pool(&admin).await;
    set(&admin, &pool, tenant, json!({ "limit": 1 })).await;
    let member = fixture.member(&service, tenant);
    let one = Worker::start(&fixture, &service, &pool, "one").await;
    let two = Worker::start(&fixture, &service, &pool, "two").await;
    let jobs = [submit(&member, json!({})).await, submit(&member, json!({})).await];
    let (first, work) = any_work(&[&one, &two]).await;
    let other = if first == 0 { &two } else { &one };
    let waiting = jobs.iter().map(|job| job.str("id")).find(|id| *id != work.job).unwrap();
    let why = eventually("the second job is over the limit", async || {
        let found = member.get(&format!("/v1/jobs/{waiting}/explanation")).await.expect(200).body;
        (found["code"] == "quota").then_some(found)
    })
    .await;
    assert_eq!(why["message"], "The tenant's jobs run on 1 workers, and may run on 1.");
    let used = member.get(&format!("/v1/pools/{pool}/share")).await.expect(200).body;
    let expected = json!({
        "share": { "weight": 100, "guarantee": 0, "limit": 1, "urgent": 1 },
        "workers": 1, "urgent_workers": 0, "queued": 1,
    });
    assert_eq!(used, expected);
    assert_eq!(other.poll(None, 0).await.expect(200).body["instruction"], Value::Null);

    set(&admin, &pool, tenant, json!({ "limit": 2 })).await;
    assert_eq!(other.work().await.job, waiting);
    service.stop().await;
}

/// Lets a worker run a job of the owner, then others' jobs wait with the owner's. Returns whether the owner is next.
async fn owner_is_next(share: Value) -> bool {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (admin, owner) = (fixture.admin(&service), TenantId::new());
    let pool = pool(&admin).await;
    set(&admin, &pool, owner, share).await;
    let worker = Worker::start(&fixture, &service, &pool, "one").await;
    let owner = fixture.member(&service, owner);
    let _ = submit(&owner, json!({ "parameters": { "prompt": "a fox", "steps": 150 } })).await;
    let work = worker.work().await;
    let other = submit(&fixture.member(&service, TenantId::new()), json!({})).await;
    let owed = submit(&owner, json!({})).await;
    let _ = worker.complete_with(&work, &[]).await.expect(200);
    let next = worker.work().await.job;
    assert!([other.str("id"), owed.str("id")].contains(&&*next));
    service.stop().await;
    next == owed.str("id")
}

#[tokio::test]
async fn what_is_guaranteed_comes_before_what_others_have_used_less_of() {
    assert!(!owner_is_next(json!({})).await);
    assert!(owner_is_next(json!({ "guarantee": 1 })).await);
}

#[tokio::test]
async fn another_leader_knows_the_shares() {
    let fixture = Fixture::new().await;
    let first = fixture.start().await;
    let (admin, tenant) = (fixture.admin(&first), TenantId::new());
    let pool = pool(&admin).await;
    set(&admin, &pool, tenant, json!({ "limit": 0 })).await;
    let held_back = submit(&fixture.member(&first, tenant), json!({})).await;
    first.stop().await;

    let second = fixture.start().await;
    let worker = Worker::start(&fixture, &second, &pool, "one").await;
    let other = submit(&fixture.member(&second, TenantId::new()), json!({})).await;
    let work = worker.work().await;
    assert_eq!(work.job, other.str("id"));
    let _ = worker.complete_with(&work, &[]).await.expect(200);
    set(&fixture.admin(&second), &pool, tenant, json!({ "limit": 1 })).await;
    assert_eq!(worker.work().await.job, held_back.str("id"));
    second.stop().await;
}

#[tokio::test]
async fn weights_divide_what_is_not_guaranteed() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (admin, heavy, light) = (fixture.admin(&service), TenantId::new(), TenantId::new());
    let pool = pool(&admin).await;
    set(&admin, &pool, heavy, json!({ "weight": 300 })).await;
    let [before, heavy, light] =
        [TenantId::new(), heavy, light].map(|tenant| fixture.member(&service, tenant));
    let mut workers = Vec::new();
    for n in 0..8 {
        let worker = Worker::start(&fixture, &service, &pool, &format!("worker-{n}")).await;
        let _ = submit(&before, json!({ "parameters": { "prompt": "a fox", "steps": 150 } })).await;
        let work = worker.work().await;
        workers.push((worker, work));
    }
    let batch = json!({ "jobs": vec![fox(); 8] });
    let sent = heavy.post("/v1/job-batches", batch.clone()).await.expect(202);
    let _ = light.post("/v1/job-batches", batch).await.expect(202);
    let of_heavy: Vec<&str> = sent.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["job"]["id"].as_str().unwrap())
        .collect();
    let mut started = 0;
    for (worker, work) in &workers {
        let _ = worker.complete_with(work, &[]).await.expect(200);
        let job = worker.work().await.job;
        started += usize::from(of_heavy.contains(&job.as_str()));
    }
    assert_eq!(started, 6, "of 8, with three times the weight");
    service.stop().await;
}
