//! Jobs as tenants see them.

use ids::{JobId, TenantId};
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::eventually;

use crate::fixture::{Fixture, fox, pool, submit};

#[tokio::test]
async fn a_job_is_submitted_once_and_cancelled_once() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let once = member.key("the-same");
    let made = once.post("/v1/jobs", fox()).await.expect(202);
    let path = format!("/v1/jobs/{}", made.str("id"));
    assert_eq!(made.header("location"), Some(path.as_str()));
    let expected = json!({ "state": "queued", "level": "ordinary", "priority": 5, "kind": "generation",
        "application": "stable-diffusion", "method": "txt2img", "attempts": 0, "reason": null, "problem": null,
        "progress": null, "started_at": null, "ended_at": null });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&made.body[name], value, "{name}");
    }
    let again = once.post("/v1/jobs", fox()).await.expect(202);
    assert_eq!((again.str("id"), again.header("idempotency-replayed")), (made.str("id"), Some("true")));
    once.post(
        "/v1/jobs",
        json!({ "application": "stable-diffusion", "method": "txt2img",
        "parameters": { "prompt": "a dog" } }),
    )
    .await
    .expect_problem(422, "idempotency-key-reused");
    let read = member.get(&path).await.expect(200);
    assert_eq!(read.body, made.body);
    assert_eq!(member.get("/v1/jobs").await.expect(200).body["items"], json!([made.body]));

    for _ in 0..2 {
        let cancelled = member.post(&format!("{path}/cancel"), Value::Null).await.expect(202);
        assert_eq!(cancelled.str("state"), "cancelled");
        assert!(cancelled.body["ended_at"].is_string());
    }
    service.stop().await;
}

#[tokio::test]
async fn levels_follow_from_priorities() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    for (order, level) in [
        (json!({ "priority": 1 }), "background"),
        (json!({ "priority": 4 }), "ordinary"),
        (json!({ "priority": 9 }), "urgent"),
        (json!({ "priority": 9, "level": "background" }), "background"),
    ] {
        assert_eq!(submit(&member, order).await.str("level"), level);
    }
    // as the request (RFC 9218), unless the body says something
    for (header, order, level) in [
        ("u=1", json!({}), "urgent"),
        ("u=4", json!({}), "ordinary"),
        ("u=7, i", json!({}), "background"),
        ("u=9", json!({}), "ordinary"),
        ("u=1", json!({ "priority": 5 }), "ordinary"),
        ("u=7", json!({ "level": "urgent" }), "urgent"),
    ] {
        let asking = member.header("priority", header);
        assert_eq!(submit(&asking, order).await.str("level"), level, "{header}");
    }
    service.stop().await;
}

#[tokio::test]
async fn lists_are_filtered_and_in_a_stable_order() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let mut ids = Vec::new();
    for priority in [5, 9, 5, 0, 5] {
        ids.insert(0, submit(&member, json!({ "priority": priority })).await.str("id").to_owned());
    }
    let _ = member.post(&format!("/v1/jobs/{}/cancel", ids[0]), Value::Null).await.expect(202);
    let list = async |query: &str| -> Vec<String> {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = member.get(&format!("/v1/jobs?limit=2{query}{cursor}")).await.expect(200).body;
            let items = page["items"].as_array().unwrap().iter();
            found.extend(items.map(|job| job["id"].as_str().unwrap().to_owned()));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    };
    assert_eq!(list("").await, ids);
    assert_eq!(list("&state=cancelled").await, [ids[0].clone()]);
    assert_eq!(list("&state=queued&level=ordinary").await, [ids[2].clone(), ids[4].clone()]);
    assert_eq!(list("&level=urgent").await, [ids[3].clone()]);
    assert_eq!(list("&kind=training").await, Vec::<String>::new());
    assert_eq!(list("&application=stable-diffusion").await, ids);
    assert_eq!(list("&application=other").await, Vec::<String>::new());
    for (query, field) in [("limit=0", "limit"), ("cursor=x", "cursor"), ("state=lost", "state")] {
        let refused = member.get(&format!("/v1/jobs?{query}")).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], field, "{}", refused.text);
    }
    service.stop().await;
}

#[tokio::test]
async fn bad_input_is_named() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let member = fixture.member(&service, TenantId::new());
    member.post("/v1/jobs", fox()).await.expect_problem(409, "no-pool");
    let _ = pool(&fixture.admin(&service)).await;
    for (change, pointer) in [
        (json!({ "application": "paint" }), "/method"),
        (json!({ "method": "upscale" }), "/method"),
        (json!({ "priority": 10 }), "/priority"),
        (json!({ "deadline": "2020-01-01T00:00:00Z" }), "/deadline"),
        (json!({ "parameters": { "prompt": "" } }), "/parameters/prompt"),
        (json!({ "parameters": { "prompt": "x", "steps": 1000 } }), "/parameters/steps"),
        (json!({ "parameters": "a fox" }), "/parameters"),
    ] {
        let mut body = fox();
        for (name, value) in change.as_object().unwrap() {
            body[name] = value.clone();
        }
        let refused = member.post("/v1/jobs", body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
    let mut unknown = fox();
    unknown["colour"] = json!("red");
    member.post("/v1/jobs", unknown).await.expect_problem(422, "invalid-field");
    member.get(&format!("/v1/jobs/{}", JobId::new())).await.expect_problem(404, "not-found");
    service.stop().await;
}

#[tokio::test]
async fn jobs_are_deleted_long_after_their_end() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let mut paths = Vec::new();
    for _ in 0..3 {
        paths.push(format!("/v1/jobs/{}", submit(&member, json!({})).await.str("id")));
    }
    // the third is still queued
    for path in &paths[..2] {
        let _ = member.post(&format!("{path}/cancel"), Value::Null).await.expect(202);
    }
    let mut conn = fixture.db.admin().await;
    for (path, days) in paths.iter().zip([91, 89, 91]) {
        let id: JobId = path.trim_start_matches("/v1/jobs/").parse().unwrap();
        let aged = "update jobs.jobs set created_at = now() - make_interval(days => $2),
                        ended_at = ended_at - make_interval(days => $2) where id = $1";
        sqlx::query(aged).bind(id).bind(days).execute(&mut conn).await.unwrap();
    }
    conn.close().await.unwrap();
    service.stop().await;

    let service = fixture.start().await;
    let member = fixture.member(&service, tenant);
    eventually("the oldest is deleted", async || (member.get(&paths[0]).await.status == 404).then_some(()))
        .await;
    for path in &paths[1..] {
        let _ = member.get(path).await.expect(200);
    }
    service.stop().await;
}
