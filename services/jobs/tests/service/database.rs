//! Lost connections to Postgres, and leaders that hang.

use ids::TenantId;
use serde_json::json;
use sqlx::Connection as _;
use testkit::{DatabaseProxy, Response, TestDb, eventually};

use crate::{
    fixture::{Fixture, fox, pool, submit},
    fleet::{Work, Worker, reaches},
};

/// Repeats a call that failed because of the lost connection, as clients do.
async fn again(what: &str, call: impl AsyncFn() -> Response) -> Response {
    eventually(what, async || {
        let answer = call().await;
        (answer.status < 500).then_some(answer)
    })
    .await
}

#[tokio::test]
async fn lost_connections_lose_no_job_and_run_none_twice() {
    const JOBS: i64 = 12;
    let db = TestDb::new();
    let proxy = DatabaseProxy::start(db.upstream()).await;
    let fixture = Fixture::on(db.behind(&proxy)).await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    for n in 0..JOBS {
        let once = member.key(&format!("job-{n}"));
        proxy.cut();
        let job =
            again("the job is submitted", async || once.post("/v1/jobs", fox()).await).await.expect(202);
        proxy.cut();
        let answer = eventually("the worker gets the job", async || {
            let answer = worker.poll(None, 1).await;
            answer.body["instruction"]["work"].is_object().then_some(answer)
        })
        .await;
        let got = &answer.body["instruction"]["work"];
        assert_eq!((&got["job_id"], &got["attempt"]), (&job.body["id"], &json!(1)));
        let work = Work { job: job.str("id").to_owned(), attempt: 1 };
        proxy.cut();
        let _ = again("progress is stored", async || worker.progress(&work, 3).await).await.expect(200);
        proxy.cut();
        let ended = again("the job ends", async || worker.complete(&work).await).await.expect(200);
        assert_eq!(ended.str("state"), "succeeded");
    }
    let mut conn = fixture.db.admin().await;
    let counts: (i64, i64, i64) = sqlx::query_as(
        "select (select count(*) from jobs.jobs where state = 'succeeded'), (select count(*) from jobs.attempts),
                (select count(*) from jobs.artifacts)",
    )
    .fetch_one(&mut conn)
    .await
    .unwrap();
    assert_eq!(counts, (JOBS, JOBS, JOBS));
    conn.close().await.unwrap();
    service.stop().await;
}

#[tokio::test]
async fn a_leader_that_has_lost_its_lease_assigns_nothing() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    let first = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    // another process leads for a second, while this one still acts as leader
    let mut conn = fixture.db.admin().await;
    let taken = "update jobs.pools set leader = gen_random_uuid(), epoch = epoch + 1,
                                       leader_until = clock_timestamp() + interval '1 second'
                 returning extract(epoch from leader_until)::float8";
    let free: f64 = sqlx::query_scalar(taken).fetch_one(&mut conn).await.unwrap();
    let _ = worker.complete(&work).await.expect(200);
    reaches(&member, &first, "succeeded").await;
    let second = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    assert_eq!((work.job.as_str(), work.attempt), (second.as_str(), 1));
    let assigned = "select extract(epoch from assigned_at)::float8 from jobs.attempts where job_id = $1";
    let assigned: f64 = sqlx::query_scalar(assigned)
        .bind(second.parse::<ids::JobId>().unwrap())
        .fetch_one(&mut conn)
        .await
        .unwrap();
    assert!(assigned >= free, "assigned {} s before the lease was free", free - assigned);
    conn.close().await.unwrap();
    service.stop().await;
}
