//! Groups: jobs of a tenant that belong on one node.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, pool, submit},
    fleet::{Worker, any_work, reaches},
};

/// Waits for an explanation. Returns until when.
async fn waits_because(member: &Client, job: &str, message: &str) -> Value {
    eventually("the job waits for its node", async || {
        let why = member.get(&format!("/v1/jobs/{job}/explanation")).await.expect(200);
        let found = why.body["code"] == "group_node" && why.body["message"] == message;
        found.then(|| why.body["until"].clone())
    })
    .await
}

#[tokio::test]
async fn a_strict_group_has_a_node_of_its_own() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let one = Worker::start_on(&fixture, &service, &pool, "one", "node-1").await;
    let two = Worker::start_on(&fixture, &service, &pool, "two", "node-2").await;
    let workers = [&one, &two];
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let group = |name: &str| json!({ "group": name });

    let job = submit(&member, group("campaign")).await;
    assert_eq!((job.str("group"), job.str("group_mode")), ("campaign", "strict"));
    let (its, work) = any_work(&workers).await;
    // its node is busy, and the other one is idle
    let second = submit(&member, group("campaign")).await.str("id").to_owned();
    waits_because(&member, &second, "The node of the group has no idle worker.").await;
    // a group of the same name of another tenant is another group
    let stranger = fixture.member(&service, TenantId::new());
    let strange = submit(&stranger, group("campaign")).await.str("id").to_owned();
    let other = 1 - its;
    let theirs = workers[other].work().await;
    assert_eq!(theirs.job, strange);
    let _ = workers[its].complete(&work).await.expect(200);
    let work = workers[its].work().await;
    assert_eq!(work.job, second);
    for (n, work) in [(its, &work), (other, &theirs)] {
        let _ = workers[n].complete(work).await.expect(200);
        assert_eq!(workers[n].poll(None, 0).await.expect(200).body["instruction"], json!(null));
    }

    // while jobs of both groups run, a third one waits; the next scheduler knows why, and until when
    submit(&member, group("campaign")).await;
    submit(&stranger, group("campaign")).await;
    let (work, theirs) = (workers[its].work().await, workers[other].work().await);
    let third = submit(&member, group("other")).await.str("id").to_owned();
    let all_held = "Other groups hold all nodes.";
    let until = waits_because(&member, &third, all_held).await;
    assert!(until.is_string(), "{until}");
    service.stop().await;
    let service = fixture.start().await;
    let member = fixture.member(&service, tenant);
    let workers = [&one.through(&service), &two.through(&service)];
    assert_eq!(waits_because(&member, &third, all_held).await, until);
    // it gets the first node on which no job of its group runs
    let _ = workers[its].complete(&work).await.expect(200);
    assert_eq!(workers[its].work().await.job, third);
    // who only prefers a node does not wait for one
    let _ = workers[other].complete(&theirs).await.expect(200);
    let loose = submit(&member, json!({ "group": "other", "group_mode": "prefer" })).await;
    assert_eq!(workers[other].work().await.job, loose.str("id"));
    let found = member.get("/v1/jobs?group=other").await.expect(200);
    assert_eq!(found.body["items"].as_array().unwrap().len(), 2);
    service.stop().await;
}

#[tokio::test]
async fn groups_of_two_tenants_alternate_on_one_node() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let worker = Worker::start(&fixture, &service, &pool, "one").await;
    let members = [(); 2].map(|()| fixture.member(&service, TenantId::new()));
    let mut jobs = Vec::new();
    for _ in 0..3 {
        for member in &members {
            jobs.push(submit(member, json!({ "group": "campaign" })).await.str("id").to_owned());
        }
    }
    let mut order = Vec::new();
    for _ in &jobs {
        let work = worker.work().await;
        order.push(jobs.iter().position(|job| *job == work.job).unwrap() % 2);
        let _ = worker.complete(&work).await.expect(200);
    }
    assert_eq!(order.iter().sum::<usize>(), 3, "{order:?}");
    // who used the worker for longer waits for more jobs of the other
    assert!(order.windows(2).filter(|pair| pair[0] != pair[1]).count() >= 2, "{order:?}");
    service.stop().await;
}

#[tokio::test]
async fn ten_minutes_without_a_job_count_from_the_last_one_whoever_leads() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let worker = Worker::start(&fixture, &service, &pool, "one").await;
    let member = fixture.member(&service, TenantId::new());
    let job = submit(&member, json!({ "group": "campaign" })).await.str("id").to_owned();
    let _ = worker.complete(&worker.work().await).await.expect(200);
    reaches(&member, &job, "succeeded").await;
    service.stop().await;
    let mut conn = fixture.db.admin().await;
    let used = "update jobs.group_nodes set used_at = used_at - interval '9 minutes 58 seconds'
                where used_at > now() - interval '1 minute'";
    assert_eq!(sqlx::query(used).execute(&mut conn).await.unwrap().rows_affected(), 1);
    let service = fixture.start().await;
    eventually("the group has left its node", async || {
        let held = sqlx::query_scalar::<_, i64>("select count(*) from jobs.group_nodes");
        (held.fetch_one(&mut conn).await.unwrap() == 0).then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn a_group_whose_node_is_lost_gets_another() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let one = Worker::start_on(&fixture, &service, &pool, "one", "node-1").await;
    let member = fixture.member(&service, TenantId::new());
    let first = submit(&member, json!({ "group": "campaign" })).await.str("id").to_owned();
    let work = one.work().await;
    let _ = one.complete(&work).await.expect(200);
    reaches(&member, &first, "succeeded").await;
    let _ = one.unregister().await.expect(200);
    let two = Worker::start_on(&fixture, &service, &pool, "two", "node-2").await;
    let second = submit(&member, json!({ "group": "campaign" })).await.str("id").to_owned();
    waits_because(&member, &second, "The node of the group has no idle worker.").await;
    // a minute later
    let work = loop {
        let answer = two.poll(None, 20).await.expect(200);
        if let Some(job) = answer.body["instruction"]["work"]["job_id"].as_str() {
            break job.to_owned();
        }
    };
    assert_eq!(work, second);
    service.stop().await;
}

#[tokio::test]
async fn a_group_has_a_valid_name() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    for (change, field) in [
        (json!({ "group": "" }), "/group"),
        (json!({ "group": "x".repeat(129) }), "/group"),
        (json!({ "group": "a\u{0}b" }), "/group"),
        (json!({ "group_mode": "prefer" }), "/group_mode"),
    ] {
        let mut body = crate::fixture::fox();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let refused = member.post("/v1/jobs", body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], field);
    }
    // the same characters are the same group
    let made = submit(&member, json!({ "group": "Ko\u{308}ln" })).await;
    assert_eq!(made.str("group"), "K\u{f6}ln");
    let found = member.get("/v1/jobs?group=Ko%CC%88ln").await.expect(200);
    assert_eq!(found.body["items"][0]["id"], made.body["id"]);
    service.stop().await;
}
