//! Progress of attempts in the cache: with a Valkey or Redis that replicas share, that is killed, slow, emptied and damaged, and in memory.

use std::time::{Duration, Instant};

use auth::Role;
use cache::CacheConfig;
use ids::{JobId, TenantId};
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, SlowProxy, Valkey, eventually};

use crate::{
    fixture::{Fixture, Service, pool, submit},
    fleet::{Work, Worker, reaches},
    streams::Stream,
};

/// Longer than a test.
const NEVER_MS: u32 = 600_000;

fn at(url: &str) -> CacheConfig {
    CacheConfig { url: url.into(), key: ("A".repeat(43) + "=").into() }
}

/// Two replicas, a worker of the first, and its job that runs.
struct Shop {
    fixture: Fixture,
    one: Service,
    two: Service,
    tenant: TenantId,
    worker: Worker,
    work: Work,
    step: u32,
}

impl Shop {
    async fn open(cache: Option<CacheConfig>, store_ms: Option<u32>) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.config.cache = cache;
        fixture.config.progress.store_ms = store_ms;
        fixture.config.scheduler.silent_ms = NEVER_MS;
        fixture.config.scheduler.lost_ms = NEVER_MS;
        let (one, two) = (fixture.start().await, fixture.start().await);
        let pool = pool(&fixture.admin(&one)).await;
        let tenant = TenantId::new();
        let worker = Worker::start(&fixture, &one, &pool, "first").await;
        let job = submit(&fixture.member(&one, tenant), json!({})).await.str("id").to_owned();
        let work = worker.work().await;
        assert_eq!(work.job, job);
        let _ = worker.progress(&work, 1).await.expect(200);
        Self { fixture, one, two, tenant, worker, work, step: 1 }
    }

    fn member(&self, replica: &Service) -> Client {
        self.fixture.member(replica, self.tenant)
    }

    /// The step in the row of the job.
    async fn row(&self) -> u32 {
        let mut conn = self.fixture.db.admin().await;
        let step = sqlx::query_scalar::<_, i32>("select step from jobs.progress where job_id = $1");
        let step = step.bind(self.work.job.parse::<JobId>().unwrap()).fetch_one(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        step.try_into().unwrap()
    }

    /// Reports the next step.
    async fn report(&mut self) -> u32 {
        self.step += 1;
        assert_eq!(self.worker.progress(&self.work, self.step).await.expect(200).str("state"), "running");
        self.step
    }

    /// Reports steps until one is in the cache only: a machine that is too busy writes some.
    async fn report_unwritten(&mut self) -> u32 {
        for _ in 0..100 {
            let step = self.report().await;
            if self.row().await < step {
                return step;
            }
        }
        panic!("every report was written");
    }

    /// The step that a replica tells.
    async fn told(&self, replica: &Service) -> u32 {
        let path = format!("/v1/jobs/{}", self.work.job);
        let told = self.member(replica).get(&path).await.expect(200);
        u32::try_from(told.body["progress"]["step"].as_u64().unwrap()).unwrap()
    }

    /// Waits until a replica tells this step.
    async fn tells(&self, replica: &Service, step: u32) {
        eventually("the newest report is told", async || (self.told(replica).await == step).then_some(()))
            .await;
    }

    /// The name of the report in the store.
    fn name(&self) -> String {
        format!("atelier:jobs:progress:{}:{}", self.tenant, self.work.job)
    }

    /// Ends the job, which then tells no progress.
    async fn succeed(self) {
        assert_eq!(self.worker.complete(&self.work).await.expect(200).str("state"), "succeeded");
        for replica in [&self.one, &self.two] {
            let read = reaches(&self.member(replica), &self.work.job, "succeeded").await;
            assert_eq!(read.body["progress"], Value::Null);
        }
        self.worker.progress(&self.work, 19).await.expect_problem(409, "attempt-not-yours");
        self.one.stop().await;
        self.two.stop().await;
    }
}

#[tokio::test]
async fn a_report_in_the_cache_is_told_by_all_replicas() {
    let store = Valkey::start().await;
    let mut shop = Shop::open(Some(at(&store.url())), Some(NEVER_MS)).await;
    let token = shop.fixture.issuer.user(shop.tenant, Role::Viewer);
    let path = format!("/v1/jobs/{}/events", shop.work.job);
    let mut stream = Stream::open(&shop.two, &token, &path, None).await;
    let _ = stream.until("job.progress").await;
    let step = shop.report_unwritten().await;
    shop.tells(&shop.two, step).await;
    let told = eventually("the list tells it, too", async || {
        let list = shop.member(&shop.two).get("/v1/jobs").await.expect(200);
        let told = list.body["items"][0]["progress"].clone();
        (told["step"] == step).then_some(told)
    })
    .await;
    assert_eq!(told, json!({ "phase": "working", "step": step, "steps": 20 }));
    // the stream tells the steps in their order
    let mut before = 0;
    while before < step {
        let told = tokio::time::timeout(Duration::from_secs(30), stream.until("job.progress")).await;
        let told = told.expect("a report is streamed").pop().unwrap().data["step"].as_u64().unwrap();
        assert!(told > before.into(), "{told} after {before}");
        before = u32::try_from(told).unwrap();
    }
    assert!(shop.row().await < step);
    assert_eq!(store.names().await, [shop.name()]);
    // another tenant, whatever it asks for
    let stranger = shop.fixture.member(&shop.two, TenantId::new());
    let _ = stranger.get(&format!("/v1/jobs/{}", shop.work.job)).await.expect(404);
    // a worker that is told to stop is told so by a report that is not written
    let job = format!("/v1/jobs/{}/cancel", shop.work.job);
    let _ = shop.member(&shop.one).post(&job, Value::Null).await.expect(202);
    assert_eq!(shop.worker.progress(&shop.work, step).await.expect(200).str("state"), "cancelling");
    let _ = shop.worker.leave(&shop.work).await.expect(200);
    let read = reaches(&shop.member(&shop.two), &shop.work.job, "cancelled").await;
    assert_eq!(read.body["progress"], Value::Null, "of an attempt that has ended");
    shop.one.stop().await;
    shop.two.stop().await;
}

#[tokio::test]
async fn rows_follow_the_cache() {
    let store = Valkey::start().await;
    let mut shop = Shop::open(Some(at(&store.url())), Some(300)).await;
    let step = shop.report_unwritten().await;
    eventually("the row follows", async || (shop.row().await == step).then_some(())).await;
    // what another transaction holds is written later
    let mut conn = shop.fixture.db.admin().await;
    let mut tx = conn.begin().await.unwrap();
    let step = shop.report_unwritten().await;
    let _ = sqlx::query("select from jobs.progress for update").execute(&mut *tx).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    tx.rollback().await.unwrap();
    eventually("the row follows", async || (shop.row().await == step).then_some(())).await;
    conn.close().await.unwrap();
    shop.succeed().await;
    // a replica that ends in order leaves nothing in the cache only
    let mut shop = Shop::open(Some(at(&store.url())), Some(NEVER_MS)).await;
    let step = shop.report_unwritten().await;
    let one = std::mem::replace(&mut shop.one, shop.fixture.start().await);
    one.stop().await;
    assert_eq!(shop.row().await, step);
}

#[tokio::test]
async fn a_cache_that_is_lost_or_damaged_shows_an_older_report_and_no_wrong_one() {
    let store = Valkey::start().await;
    let mut shop = Shop::open(Some(at(&store.url())), Some(NEVER_MS)).await;
    let _ = shop.report_unwritten().await;
    let () = store.run("FLUSHALL", "SYNC").await;
    assert_eq!(shop.told(&shop.two).await, shop.row().await);
    let step = shop.report_unwritten().await;
    shop.tells(&shop.two, step).await;
    // damaged, made up, and of another job
    let bytes: Vec<u8> = store.run("GET", shop.name()).await;
    let mut damaged = bytes;
    *damaged.last_mut().unwrap() ^= 1;
    let made_up = json!({ "attempt": 1, "at": "2099-01-01T00:00:00Z",
                          "progress": { "phase": "working", "step": 999, "steps": 20 } });
    for wrong in [damaged, made_up.to_string().into_bytes()] {
        let () = store.run("SET", (shop.name(), wrong)).await;
        assert_eq!(shop.told(&shop.two).await, shop.row().await);
    }
    // newer than anything of the other job
    let foreign = Shop::open(Some(at(&store.url())), Some(NEVER_MS)).await;
    let _ = shop.report_unwritten().await;
    let bytes: Vec<u8> = store.run("GET", shop.name()).await;
    let () = store.run("SET", (foreign.name(), bytes)).await;
    assert_eq!(foreign.told(&foreign.two).await, 1);
    shop.succeed().await;
}

#[tokio::test]
async fn reports_are_written_while_the_cache_is_away_or_slow() {
    let store = Valkey::start().await;
    let proxy = SlowProxy::start(format!("127.0.0.1:{}", store.port())).await;
    let mut shop = Shop::open(Some(at(&format!("redis://{}", proxy.address()))), Some(NEVER_MS)).await;
    let _ = shop.report_unwritten().await;
    proxy.hold_back(Duration::from_secs(20));
    let begun = Instant::now();
    for _ in 0..5 {
        let step = shop.report().await;
        assert_eq!(shop.row().await, step, "a report that the cache has not confirmed");
        assert_eq!((shop.told(&shop.one).await, shop.told(&shop.two).await), (step, step));
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    proxy.hold_back(Duration::ZERO);
    let _ = shop.report_unwritten().await;
    drop(store);
    for _ in 0..5 {
        let step = shop.report().await;
        assert_eq!(shop.row().await, step);
        assert_eq!((shop.told(&shop.one).await, shop.told(&shop.two).await), (step, step));
    }
    shop.succeed().await;
}

#[tokio::test]
async fn without_a_store_reports_are_in_the_memory_of_their_replica_for_a_second() {
    let mut shop = Shop::open(None, None).await;
    let step = shop.report_unwritten().await;
    assert_eq!(shop.told(&shop.one).await, step);
    shop.tells(&shop.two, step).await;
    assert_eq!(shop.row().await, step);
    shop.succeed().await;
    // or are all written at once
    let mut shop = Shop::open(None, Some(0)).await;
    for _ in 0..3 {
        let step = shop.report().await;
        assert_eq!(shop.row().await, step);
        assert_eq!(shop.told(&shop.two).await, step);
    }
    shop.succeed().await;
}
