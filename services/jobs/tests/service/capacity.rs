//! The capacity of pools, as tenants see it, and the other pools in which a job could run.

use ids::TenantId;
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, pool, submit},
    fleet::Worker,
};

async fn capacity(client: &Client, pool: &str) -> Value {
    client.get(&format!("/v1/pools/{pool}/capacity")).await.expect(200).body
}

/// Counts of workers of the specification `small`.
fn small(counts: [u32; 6]) -> Value {
    let [firm, lent, idle, busy, reserved, closed] = counts;
    json!([{ "gpu_spec": "small", "firm": firm, "lent": lent, "idle": idle, "busy": busy, "reserved": reserved,
             "closed": closed }])
}

#[tokio::test]
async fn a_pool_tells_what_it_has_and_how_soon_it_has_room() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    let pool = pool(&admin).await;
    let member = fixture.member(&service, TenantId::new());
    for (name, node) in [("first", "node-1"), ("second", "node-1"), ("third", "node-2")] {
        let _ = Worker::start_on(&fixture, &service, &pool, name, node).await;
    }
    let empty = capacity(&member, &pool).await;
    assert_eq!((&empty["queued"], &empty["workers"]), (&json!([]), &small([3, 0, 3, 0, 0, 0])));
    assert_eq!(empty["next_hour"], json!([]));

    submit(&member, json!({})).await;
    let first = eventually("a job is seen on its worker", async || {
        let found = capacity(&member, &pool).await;
        (found["workers"] == small([3, 0, 2, 1, 0, 0])).then_some(found)
    })
    .await;
    // on the smaller node, and the fullest node first
    let nodes = json!([
        { "free_degree": 0.0, "workers": small([1, 0, 0, 1, 0, 0]) },
        { "free_degree": 1.0, "workers": small([2, 0, 2, 0, 0, 0]) },
    ]);
    assert_eq!(first["nodes"], nodes);
    assert_eq!(
        first["next_hour"],
        json!([{ "gpu_spec": "small", "level": "ordinary", "starts": 0, "ends": 1 }])
    );

    // workers that are silent get no jobs
    let mut conn = fixture.db.admin().await;
    let silent = "update jobs.workers set last_seen_at = now() - interval '20 s' where current_job is null";
    assert_eq!(sqlx::query(silent).execute(&mut conn).await.unwrap().rows_affected(), 2);
    conn.close().await.unwrap();
    let closed = eventually("the other workers are closed", async || {
        let found = capacity(&member, &pool).await;
        (found["workers"] == small([3, 0, 0, 1, 0, 2])).then_some(found)
    })
    .await;
    assert_eq!(closed["queued"], json!([]));
    service.stop().await;
}

#[tokio::test]
async fn jobs_that_wait_are_counted_by_level_and_foreseen() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let _worker = Worker::start(&fixture, &service, &pool, "first").await;
    for level in ["ordinary", "ordinary", "background", "urgent"] {
        submit(&member, json!({ "level": level })).await;
    }
    let found = eventually("one of the jobs has been assigned", async || {
        let found = capacity(&member, &pool).await;
        (found["workers"] == small([1, 0, 0, 1, 0, 0])).then_some(found)
    })
    .await;
    let sum = |rows: &Value, of: &str| -> u64 {
        rows.as_array().unwrap().iter().map(|row| row[of].as_u64().unwrap()).sum()
    };
    assert_eq!(sum(&found["queued"], "jobs"), 3, "{found}");
    let next = &found["next_hour"];
    assert_eq!((sum(next, "starts"), sum(next, "ends")), (3, 4), "{found}");
    let background = next.as_array().unwrap().iter().find(|row| row["level"] == "background").unwrap();
    assert_eq!((&background["starts"], &background["ends"]), (&json!(1), &json!(1)));
    service.stop().await;
}

#[tokio::test]
async fn a_dedicated_pool_is_seen_by_its_tenant_and_administrators_only() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    let shared = pool(&admin).await;
    let tenant = TenantId::new();
    let body = json!({ "name": "acme", "gpu_specs": ["small"], "tenant_id": tenant, "dedicated": true });
    let own = admin.post("/v1/platform-pools", body).await.expect(201).str("id").to_owned();
    let member = fixture.member(&service, tenant);
    let stranger = fixture.member(&service, TenantId::new());
    let names = async |client: &Client, query: &str| {
        let page = client.get(&format!("/v1/pools{query}")).await.expect(200).body;
        let items = page["items"].as_array().unwrap().iter();
        let names: Vec<_> = items.map(|pool| pool["name"].as_str().unwrap().to_owned()).collect();
        (names, page["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(names(&member, "").await.0, ["generation", "acme"]);
    let (first, cursor) = names(&member, "?limit=1").await;
    assert_eq!(first, ["generation"]);
    assert_eq!(
        names(&member, &format!("?limit=1&cursor={}", cursor.unwrap())).await,
        (vec!["acme".to_owned()], None)
    );
    assert_eq!(names(&stranger, "").await.0, ["generation"]);
    let path = format!("/v1/pools/{own}/capacity");
    stranger.get(&path).await.expect_problem(404, "not-found");
    stranger
        .get(&format!("/v1/pools/{}/capacity", ids::PoolId::new()))
        .await
        .expect_problem(404, "not-found");
    for client in [&member, &admin] {
        assert_eq!(capacity(client, &own).await["pool_id"], own);
        assert_eq!(capacity(client, &shared).await["pool_id"], shared);
    }
    service.stop().await;
}
