//! Replicas that rest while nothing is in progress.

use serde_json::json;
use testkit::within;
use tokio::time::{Duration, Instant};

use crate::{
    attempts::Floor,
    fixture::{Fixture, submit},
};

/// Longest time until replicas without work rest.
const TO_REST: Duration = Duration::from_secs(60);

/// Waits until all replicas rest: nobody leads the pool, and both are to be woken.
async fn rests(fixture: &Fixture, replicas: i64) {
    let mut admin = fixture.db.admin().await;
    within(TO_REST, "the replicas rest", async || {
        let rests = "select (select count(*) from jobs.resting where until > now()) = $1
            and not exists (select from jobs.pools where leader is not null)";
        let rests: bool = sqlx::query_scalar(rests).bind(replicas).fetch_one(&mut admin).await.unwrap();
        rests.then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_ends_the_rest_of_all_replicas_at_once() {
    let mut fixture = Fixture::new().await;
    // the worker need not call meanwhile
    (fixture.config.scheduler.silent_ms, fixture.config.scheduler.lost_ms) = (300_000, 300_000);
    let floor = Floor::of(fixture).await;
    let second = floor.fixture.start().await;
    rests(&floor.fixture, 2).await;
    // the worker waits at one replica, and the job comes to the other
    let worker = floor.worker.through(&second);
    let poll = async {
        let begun = Instant::now();
        (worker.poll(None, 20).await.expect(200), begun.elapsed())
    };
    let job = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        submit(&floor.member, json!({})).await.str("id").to_owned()
    };
    let ((answer, took), job) = tokio::join!(poll, job);
    assert_eq!(answer.body["instruction"]["work"]["job_id"], job.as_str());
    assert!(took < Duration::from_secs(5), "{took:?}");
    floor.service.stop().await;
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_poll_is_cut_off_is_lost_although_the_replica_rests() {
    let mut fixture = Fixture::new().await;
    (fixture.config.scheduler.silent_ms, fixture.config.scheduler.lost_ms) = (1_000, 2_000);
    let floor = Floor::of(fixture).await;
    let present = "select coalesce(present_until > now() + interval '5 s', false) from jobs.workers";
    let mut admin = floor.fixture.db.admin().await;
    {
        let mut poll = std::pin::pin!(async {
            loop {
                let _ = floor.worker.poll(None, 15).await.expect(200);
            }
        });
        let vouched = within(TO_REST, "the replica vouches for the worker", async || {
            let is_present: bool = sqlx::query_scalar(present).fetch_one(&mut admin).await.unwrap();
            is_present.then_some(())
        });
        tokio::select! {
            () = &mut poll => {}
            () = vouched => {}
        }
    }
    let state = "select state from jobs.workers";
    within(Duration::from_secs(12), "the worker is lost", async || {
        let state: String = sqlx::query_scalar(state).fetch_one(&mut admin).await.unwrap();
        (state == "offline").then_some(())
    })
    .await;
    floor.service.stop().await;
}
