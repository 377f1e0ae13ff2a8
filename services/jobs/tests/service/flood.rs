//! A tenant that sends very many jobs.

use ids::TenantId;
use serde_json::json;
use testkit::Client;

use crate::{
    fixture::{Fixture, fox, pool, submit},
    fleet::Worker,
};

/// Jobs of the tenant that sends too many.
const FLOOD: usize = 20_000;
/// Maximum number of jobs of a request.
const BATCH: usize = 1_000;
/// Jobs of each other tenant that start.
const STARTS: usize = 6;

/// Submits `count` jobs. Returns their ids, in order.
async fn send(member: &Client, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    while ids.len() < count {
        let jobs = vec![fox(); BATCH.min(count - ids.len())];
        let batch = member.post("/v1/job-batches", json!({ "jobs": jobs })).await.expect(202);
        let items = batch.body["items"].as_array().unwrap();
        ids.extend(items.iter().map(|item| item["job"]["id"].as_str().unwrap().to_owned()));
    }
    ids
}

/// Lets one tenant submit `flood` jobs and two others [`STARTS`] + 1 each, then frees workers one by one. Each turn is three starts,
/// one for each tenant if they share equally. Returns the turns in which the jobs of the two others start.
async fn turns(flood: usize) -> [Vec<usize>; 2] {
    let mut fixture = Fixture::new().await;
    (fixture.config.scheduler.silent_ms, fixture.config.scheduler.lost_ms) = (600_000, 600_000);
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let [heavy, first, second, before] = std::array::from_fn(|_| fixture.member(&service, TenantId::new()));
    // jobs of another class of duration, so that the jobs of the other tenants are charged alike
    let long = json!({ "parameters": { "prompt": "a fox", "steps": 150 } });
    let mut workers = Vec::new();
    for n in 0..3 * STARTS {
        let worker = Worker::start(&fixture, &service, &pool, &format!("worker-{n}")).await;
        submit(&before, long.clone()).await;
        let work = worker.work().await;
        workers.push((worker, work));
    }
    let sent = send(&heavy, flood).await;
    let others = [send(&first, STARTS + 1).await, send(&second, STARTS + 1).await];
    let mut turns = [Vec::new(), Vec::new()];
    for (start, (worker, work)) in workers.iter().enumerate() {
        let _ = worker.complete_with(work, &[]).await.expect(200);
        let job = worker.work().await.job;
        for (jobs, turns) in others.iter().zip(&mut turns) {
            if jobs.contains(&job) {
                turns.push(start / 3);
            }
        }
    }
    let explained = async |member: &Client, job: &String| {
        let found = member.get(&format!("/v1/jobs/{job}/explanation")).await.expect(200).body;
        (found["code"] == "behind_own", found["ahead_of_own"].as_u64().unwrap())
    };
    let ahead = u64::try_from(flood - STARTS - 1).unwrap();
    assert_eq!(explained(&heavy, &sent[flood - 1]).await, (true, ahead));
    for (member, jobs) in [&first, &second].into_iter().zip(&others) {
        assert_eq!(explained(member, &jobs[STARTS]).await, (false, 0));
    }
    service.stop().await;
    turns
}

#[tokio::test]
async fn a_flood_of_one_tenant_does_not_delay_the_jobs_of_others() {
    let few = turns(2 * STARTS).await;
    assert_eq!(few, [const { [0, 1, 2, 3, 4, 5] }; 2]);
    assert_eq!(turns(FLOOD).await, few);
}
