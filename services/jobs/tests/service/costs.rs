//! What jobs cost: attempt by attempt, and as a feed for other services.

use ids::TenantId;
use peer::Endpoint;
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, Response, eventually};

use crate::{
    fixture::{Fixture, Service, fox, pool, submit},
    fleet::{Work, Worker, put_as, reaches},
    gpu::Gpu,
};

/// A service with prices, a pool of one worker, and a member of a tenant.
pub(crate) struct Till {
    pub(crate) fixture: Fixture,
    pub(crate) service: Service,
    gpu: Gpu,
    pub(crate) pool: String,
    pub(crate) tenant: TenantId,
    pub(crate) member: Client,
    pub(crate) worker: Worker,
}

impl Till {
    /// A second costs 0.001 USD at the ordinary level.
    pub(crate) async fn new() -> Self {
        let (mut fixture, gpu) = (Fixture::new().await, Gpu::start().await);
        gpu.set_price("small", "3.6", "USD");
        fixture.config.scheduler.retry_ms = 1;
        fixture.config.stock =
            Some(Endpoint { url: gpu.url.parse().unwrap(), token: testkit::service_token("jobs").into() });
        let service = fixture.start().await;
        let pool = pool(&fixture.admin(&service)).await;
        let tenant = TenantId::new();
        let member = fixture.member(&service, tenant);
        let worker = Worker::start(&fixture, &service, &pool, "first").await;
        let till = Self { fixture, service, gpu, pool, tenant, member, worker };
        till.have_price("3.6").await;
        till
    }

    /// Waits until the price of the stock service is stored.
    async fn have_price(&self, price: &str) {
        let mut conn = self.fixture.db.admin().await;
        eventually("the price is stored", async || {
            let found =
                "select true from jobs.pool_prices where gpu_spec = 'small' and price_per_hour = $1::numeric";
            sqlx::query_scalar::<_, bool>(found).bind(price).fetch_optional(&mut conn).await.unwrap()
        })
        .await;
        conn.close().await.unwrap();
    }

    /// From now on the stock service does not answer.
    pub(crate) fn gpu_away(&self) {
        self.gpu.set_away(true);
    }

    pub(crate) async fn execute(&self, sql: &'static str) {
        let mut conn = self.fixture.db.admin().await;
        sqlx::query(sql).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    }

    /// Makes the open attempt one that was assigned 100 s ago and has worked for 60 s.
    async fn pass_time(&self) {
        self.execute(
            "update jobs.attempts set assigned_at = now() - interval '100 s', working_at = now() - interval '60 s'
             where state = 'open'",
        )
        .await;
    }

    /// The worker gets a job that it works on for a minute.
    pub(crate) async fn work(&self) -> Work {
        let (work, _) = self.worker.instruction().await;
        let _ = self.worker.progress(&work, 1).await.expect(200);
        self.pass_time().await;
        work
    }

    /// Announces a checkpoint of 3 bytes, and uploads it.
    pub(crate) async fn store_checkpoint(&self, work: &Work, step: u32, content: &'static str) {
        let url = self.worker.request_checkpoint(work, step, &"0".repeat(64)).await.expect(200);
        assert_eq!(put_as(url.str("url"), "application/octet-stream", content).await, 200);
    }

    /// Deletes objects of the tenant's bucket, as its keys can.
    pub(crate) async fn delete_objects(&self, prefix: &str) {
        let storages = self.fixture.storage.token(&self.fixture.issuer.user(self.tenant, auth::Role::Member));
        let bucket = storages.get("/v1/storages").await.expect(200).body["items"][0]["id"].clone();
        let (bucket, tenant) = (bucket.as_str().unwrap(), self.tenant);
        let path = format!("/internal/v1/buckets/{bucket}/objects?tenant_id={tenant}&prefix={prefix}");
        let _ = self.fixture.storage.service("jobs").delete(&path).await.expect(200);
    }

    pub(crate) async fn attempts(&self, job: &str) -> Vec<Value> {
        let page = self.member.get(&format!("/v1/jobs/{job}/attempts")).await.expect(200);
        page.body["items"].as_array().unwrap().clone()
    }

    /// An attempt that may not be the last.
    pub(crate) async fn attempt(&self, job: &str, number: i64) -> Value {
        let attempts = self.attempts(job).await;
        attempts.into_iter().find(|attempt| attempt["attempt"] == number).unwrap()
    }

    /// All records of the feed.
    pub(crate) async fn usage(&self) -> Vec<Value> {
        let service = self.service.client.token(&testkit::service_token("gpu"));
        let feed = service.get("/internal/v1/job-usage").await.expect(200);
        assert_eq!(feed.body["complete"], true);
        feed.body["items"].as_array().unwrap().clone()
    }

    pub(crate) async fn cost(&self, job: &str) -> Value {
        self.member.get(&format!("/v1/jobs/{job}")).await.expect(200).body["cost"].clone()
    }

    async fn submit(&self, change: Value) -> String {
        submit(&self.member, change).await.str("id").to_owned()
    }
}

/// The state, charged seconds and reason of an attempt.
pub(crate) fn charged(attempt: &Value) -> (&str, i64, Option<&str>) {
    (
        attempt["state"].as_str().unwrap(),
        attempt["seconds"].as_i64().unwrap(),
        attempt["uncharged_reason"].as_str(),
    )
}

/// A number in a string.
fn number(value: &Value) -> rust_decimal::Decimal {
    value.as_str().unwrap().parse().unwrap()
}

#[track_caller]
pub(crate) fn assert_near(seconds: i64, expected: i64) {
    assert!((expected..expected + 10).contains(&seconds), "{seconds} s, not {expected}");
}

#[tokio::test]
async fn a_tenant_pays_for_work_whose_results_it_does_not_take() {
    let mut till = Till::new().await;
    let first = till.submit(json!({})).await;
    let work = till.work().await;
    let _ = till.worker.complete(&work).await.expect(200);
    reaches(&till.member, &first, "succeeded").await;
    till.fixture.change_objects(Fixture::fill_buckets).await;
    // full, deleted, and none allowed
    for code in ["storage-full", "storage-missing", "quota-exceeded"] {
        let job = till.submit(json!({})).await;
        let work = till.work().await;
        let ended = match code {
            "quota-exceeded" => till.worker.fail_with(&work, code, false).await,
            _ => till.worker.complete(&work).await,
        };
        assert_eq!(ended.expect(200).str("state"), "failed");
        let failed = till.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
        assert_eq!(failed.body["problem"]["code"], code);
        let (attempt, cost) = (till.attempt(&job, 1).await, till.cost(&job).await);
        let (state, seconds, reason) = charged(&attempt);
        assert_eq!((state, reason), ("failed", Some("loading")), "{code}");
        assert_near(seconds, 60);
        assert_eq!(cost["seconds"], seconds, "{code}");
        till.fixture.change_objects(Fixture::remove_buckets).await;
    }
    till.service.stop().await;
}

#[tokio::test]
async fn the_way_of_results_costs_nothing_once_the_worker_is_free() {
    let till = Till::new().await;
    let job = till.submit(json!({})).await;
    let work = till.work().await;
    let _ = till.worker.call(&work, "deliver", json!({})).await.expect(200);
    till.execute("update jobs.attempts set delivering_at = now() - interval '30 s'").await;
    let _ = till.worker.complete(&work).await.expect(200);
    let attempt = till.attempt(&job, 1).await;
    let (state, seconds, _) = charged(&attempt);
    assert_eq!(state, "succeeded");
    assert_near(seconds, 30);
    till.service.stop().await;
}

#[tokio::test]
async fn a_job_costs_its_work_and_not_its_loading() {
    let till = Till::new().await;
    let job = till.submit(json!({})).await;
    let read = till.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
    assert_eq!((&read.body["cost"], &read.body["max_cost"]), (&Value::Null, &Value::Null));
    let work = till.work().await;
    let open = till.attempts(&job).await;
    assert_eq!(
        (&open[0]["state"], &open[0]["seconds"], &open[0]["cost"]),
        (&json!("open"), &Value::Null, &Value::Null)
    );
    for _ in 0..2 {
        assert_eq!(till.worker.complete(&work).await.expect(200).str("state"), "succeeded");
    }
    let attempts = till.attempts(&job).await;
    let [attempt] = &attempts[..] else { panic!("not one: {attempts:?}") };
    let (state, seconds, reason) = charged(attempt);
    assert_eq!((state, reason), ("succeeded", Some("loading")));
    assert_near(seconds, 60);
    assert_near(attempt["uncharged_seconds"].as_i64().unwrap(), 40);
    assert_eq!(
        (&attempt["price_per_hour"], &attempt["currency"], &attempt["level_factor"], &attempt["gpu_spec"]),
        (&json!("3.6"), &json!("USD"), &json!("1"), &json!("small"))
    );
    let cost = format!("0.{seconds:03}");
    assert_eq!(number(&attempt["cost"]), number(&json!(cost)));
    let shown = till.cost(&job).await;
    assert_eq!(shown, json!({ "amount": attempt["cost"], "currency": "USD", "seconds": seconds }));

    // the feed has it once, although `complete` was repeated
    let usage = till.usage().await;
    let [record] = &usage[..] else { panic!("not one: {usage:?}") };
    assert_eq!(
        (&record["job_id"], &record["attempt"], &record["version"], &record["kind"], &record["pool_id"]),
        (&json!(job), &json!(1), &json!(1), &json!("generation"), &json!(till.pool))
    );
    assert_eq!((&record["seconds"], &record["amount"]), (&json!(seconds), &attempt["cost"]));
    assert!(record["run_id"].as_str().unwrap().starts_with("run_"), "{record}");
    till.service.stop().await;
}

#[tokio::test]
async fn the_clock_of_a_worker_decides_nothing() {
    let till = Till::new().await;
    let job = till.submit(json!({})).await;
    let work = till.work().await;
    let (past, long) = ("2020-01-01T00:00:00Z", 1_000_000);
    for (what, body, pointer) in [
        ("progress", json!({ "phase": "working", "at": past }), "/at"),
        ("complete", json!({ "artifacts": [], "ended_at": past }), "/ended_at"),
        ("complete", json!({ "artifacts": [], "usage": { "seconds": long } }), "/usage"),
        ("leave", json!({ "left_at": past }), "/left_at"),
    ] {
        let refused = till.worker.call(&work, what, body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let _ = till.worker.complete_with(&work, &[]).await.expect(200);
    let attempt = till.attempt(&job, 1).await;
    assert_near(attempt["seconds"].as_i64().unwrap(), 60);
    assert_near(attempt["uncharged_seconds"].as_i64().unwrap(), 40);
    till.service.stop().await;
}

#[tokio::test]
async fn tries_without_results_cost_nothing() {
    let till = Till::new().await;
    let job = till.submit(json!({})).await;
    let failed = till.work().await;
    let _ = till.worker.fail(&failed, true).await.expect(200);
    let lost = till.work().await;
    assert_eq!(lost.attempt, 2);
    // another process of the worker
    let mut worker = Worker::with_token(&till.service, &till.worker.id, &till.worker.token);
    worker.register().await;
    let (done, _) = worker.instruction().await;
    let _ = worker.progress(&done, 1).await.expect(200);
    till.pass_time().await;
    let _ = worker.complete(&done).await.expect(200);
    let attempts = till.attempts(&job).await;
    let all: Vec<_> = attempts.iter().map(charged).collect();
    assert_eq!(all[1..], [("lost", 0, Some("lost")), ("failed", 0, Some("failed"))]);
    assert_eq!((all[0].0, &attempts[1]["cost"]), ("succeeded", &json!("0")));
    assert_near(attempts[2]["uncharged_seconds"].as_i64().unwrap(), 100);
    assert_eq!(till.usage().await.len(), 1);
    assert_eq!(till.cost(&job).await["seconds"], all[0].1);

    // attempts of another tenant are not found
    let stranger = till.fixture.member(&till.service, TenantId::new());
    stranger.get(&format!("/v1/jobs/{job}/attempts")).await.expect_problem(404, "not-found");
    till.service.stop().await;
}

#[tokio::test]
async fn a_cancelled_job_costs_what_it_worked_and_a_failed_one_nothing() {
    let till = Till::new().await;
    let cancelled = till.submit(json!({})).await;
    let work = till.work().await;
    let _ = till.member.post(&format!("/v1/jobs/{cancelled}/cancel"), Value::Null).await.expect(202);
    let _ = till.worker.leave(&work).await.expect(200);
    let attempt = till.attempts(&cancelled).await.remove(0);
    let (state, seconds, reason) = charged(&attempt);
    assert_eq!((state, reason), ("cancelled", Some("loading")));
    assert_near(seconds, 60);

    let failed = till.submit(json!({})).await;
    let work = till.work().await;
    let _ = till.worker.fail(&work, false).await.expect(200);
    assert_eq!(charged(&till.attempts(&failed).await[0]), ("failed", 0, Some("job_failed")));
    assert_eq!(till.cost(&failed).await, json!({ "amount": "0", "currency": "USD", "seconds": 0 }));

    // an attempt that was cancelled while it loaded has no work
    let loading = till.submit(json!({})).await;
    let (work, _) = till.worker.instruction().await;
    let _ = till.member.post(&format!("/v1/jobs/{loading}/cancel"), Value::Null).await.expect(202);
    let _ = till.worker.leave(&work).await.expect(200);
    assert_eq!(charged(&till.attempts(&loading).await[0]).1, 0);
    assert_eq!(till.usage().await.len(), 1);
    till.service.stop().await;
}

#[tokio::test]
async fn an_attempt_keeps_the_price_and_the_factor_of_its_assignment() {
    let till = Till::new().await;
    let admin = till.fixture.admin(&till.service);
    let path = format!("/v1/platform-pools/{}", till.pool);
    let read = admin.get(&path).await.expect(200);
    let factors = json!({ "urgent": "1.5", "ordinary": "1", "background": "0.4" });
    assert_eq!(read.body["level_factors"], factors);
    let job = till.submit(json!({ "level": "background" })).await;
    let first = till.work().await;
    // both change while it runs
    till.gpu.set_price("small", "7.2", "USD");
    till.execute("update jobs.pool_prices set read_at = now() - interval '1 hour'").await;
    till.have_price("7.2").await;
    let etag = read.header("etag").unwrap().to_owned();
    let change = json!({ "level_factors": { "urgent": "2", "ordinary": "1", "background": "0.25" } });
    let changed = admin.patch(&path, &etag, change.clone()).await.expect(200);
    assert_eq!(changed.body["level_factors"], change["level_factors"]);
    let wrong = json!({ "level_factors": { "urgent": "101", "ordinary": "1.0001", "background": "-1" } });
    let etag = changed.header("etag").unwrap().to_owned();
    let refused = admin.patch(&path, &etag, wrong).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"].as_array().unwrap().len(), 3);
    let _ = till.worker.fail(&first, true).await.expect(200);
    let second = till.work().await;
    let _ = till.worker.complete(&second).await.expect(200);
    let attempts = till.attempts(&job).await;
    let prices: Vec<_> =
        attempts.iter().map(|one| (one["price_per_hour"].clone(), one["level_factor"].clone())).collect();
    assert_eq!(prices, [(json!("7.2"), json!("0.25")), (json!("3.6"), json!("0.4"))]);
    let seconds = attempts[0]["seconds"].as_i64().unwrap();
    // 0.0005 a second
    let cost = format!("0.{:04}", seconds * 5);
    assert_eq!(number(&attempts[0]["cost"]), number(&json!(cost)));
    till.service.stop().await;
}

#[tokio::test]
async fn nothing_is_charged_while_the_price_is_not_known() {
    let till = Till::new().await;
    till.gpu_away();
    till.execute("delete from jobs.pool_prices").await;
    let job = till.submit(json!({})).await;
    let work = till.work().await;
    let _ = till.worker.complete(&work).await.expect(200);
    let attempt = till.attempts(&job).await.remove(0);
    assert_eq!(charged(&attempt), ("succeeded", 0, Some("no_price")));
    assert_eq!((&attempt["cost"], &attempt["level_factor"]), (&Value::Null, &Value::Null));
    assert_eq!(till.cost(&job).await, Value::Null);
    assert_eq!(till.usage().await, Vec::<Value>::new());
    let metrics = till.service.client.get("/metrics").await;
    assert!(metrics.text.contains("jobs_unpriced_attempts_total 1"), "{}", metrics.text);
    till.service.stop().await;
}

#[tokio::test]
async fn a_job_that_is_recalled_costs_nothing() {
    let till = Till::new().await;
    let job = till.submit(json!({})).await;
    let work = till.work().await;
    // as the fleet does when an instance has claimed the unit
    till.execute("update jobs.workers set leave_by = now() + interval '10 s'").await;
    till.execute("update jobs.jobs set leave_by = now() + interval '7 s', generation = generation + 1").await;
    assert_eq!(till.worker.leave(&work).await.expect(200).str("state"), "queued");
    assert_eq!(charged(&till.attempt(&job, 1).await), ("preempted", 0, Some("recalled")));
    till.service.stop().await;
}

fn limit(amount: &str, currency: &str) -> Value {
    json!({ "max_cost": { "amount": amount, "currency": currency } })
}

async fn refused(till: &Till, change: Value) -> Response {
    let mut body = fox();
    body["max_cost"] = change["max_cost"].clone();
    till.member.post("/v1/jobs", body).await.expect_problem(422, "invalid-field")
}

#[tokio::test]
async fn a_job_is_stopped_when_it_costs_as_much_as_it_may() {
    let till = Till::new().await;
    // 40 s, of which the first attempt has used none
    let job = till.submit(limit("0.04", "USD")).await;
    let shown = till.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
    assert_eq!(shown.body["max_cost"], json!({ "amount": "0.04", "currency": "USD" }));
    let (work, _) = till.worker.instruction().await;
    let _ = till.worker.progress(&work, 1).await.expect(200);
    assert_eq!(till.worker.poll(Some(&work), 0).await.expect(200).body["instruction"], Value::Null);
    till.execute(
        "update jobs.attempts set working_at = working_at - interval '45 s', stop_at = stop_at - interval '45 s',
             assigned_at = assigned_at - interval '45 s'",
    )
    .await;
    assert_eq!(till.worker.stop(&work).await, "preempted");
    assert_eq!(till.worker.leave(&work).await.expect(200).str("state"), "failed");
    let failed = reaches(&till.member, &job, "failed").await;
    assert_eq!(failed.body["problem"]["code"], "max-cost-reached");
    assert_eq!(failed.body["cost"], json!({ "amount": "0.04", "currency": "USD", "seconds": 40 }));
    assert_eq!(charged(&till.attempts(&job).await[0]), ("failed", 40, Some("max_cost")));
    // the worker is free, and a job without a limit goes on
    let next = till.submit(json!({})).await;
    assert_eq!(till.work().await.job, next);
    till.service.stop().await;
}

#[tokio::test]
async fn a_limit_that_cannot_be_compared_is_refused() {
    let till = Till::new().await;
    for (change, pointer) in [
        (limit("0", "USD"), "/max_cost/amount"),
        (limit("0.0000001", "USD"), "/max_cost/amount"),
        (limit("1", "dollars"), "/max_cost/currency"),
        (limit("1", "EUR"), "/max_cost/currency"),
    ] {
        assert_eq!(refused(&till, change).await.body["errors"][0]["pointer"], pointer);
    }
    till.gpu_away();
    till.execute("delete from jobs.pool_prices").await;
    let unknown = refused(&till, limit("1", "USD")).await;
    assert_eq!(unknown.body["errors"][0]["pointer"], "/max_cost");
    till.service.stop().await;
}

#[tokio::test]
async fn a_quote_tells_time_and_cost_and_makes_nothing() {
    let till = Till::new().await;
    let ask = async |change: Value| {
        let mut body = fox();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        till.member.post("/v1/jobs/quote", body).await
    };
    // a class without history is estimated at 15 s, or 45 s
    let quote = ask(json!({})).await.expect(200).body;
    assert_eq!((&quote["work_seconds_p50"], &quote["work_seconds_p90"]), (&json!(15.0), &json!(45.0)));
    let price = json!([{ "gpu_spec": "small", "currency": "USD", "p50": "0.015", "p90": "0.045" }]);
    assert_eq!(quote["costs"], price);
    let urgent = ask(json!({ "level": "urgent" })).await.expect(200).body;
    assert_eq!(urgent["costs"][0]["p50"], "0.0225");
    let times = |quote: &Value| {
        ["p10", "p50", "p90"].map(|part| {
            quote["expected"]["start"][part].as_str().unwrap().parse::<jiff::Timestamp>().unwrap()
        })
    };
    assert!(times(&quote).is_sorted(), "{quote}");
    assert!(quote["expected"]["end"]["p90"].is_string(), "{quote}");
    // behind others it starts later
    for n in 0..6 {
        till.submit(json!({ "parameters": { "prompt": n.to_string() } })).await;
    }
    let later = eventually("the queue is seen", async || {
        let later = ask(json!({})).await.expect(200).body;
        (times(&later)[1].duration_since(times(&quote)[1]).as_secs() > 30).then_some(later)
    })
    .await;
    assert!(
        later["expected"]["start"]["p10"].as_str() < later["expected"]["start"]["p90"].as_str(),
        "{later}"
    );
    assert_eq!(
        till.member.get("/v1/jobs?limit=200").await.expect(200).body["items"].as_array().unwrap().len(),
        6
    );
    ask(json!({ "parameters": { "prompt": "" } })).await.expect_problem(422, "invalid-field");
    till.service.stop().await;
}

#[tokio::test]
async fn a_job_that_waits_is_told_where_it_would_start_and_what_that_costs() {
    let till = Till::new().await;
    let admin = till.fixture.admin(&till.service);
    till.gpu.set_price("large", "7.2", "USD");
    let body = json!({ "name": "second", "gpu_specs": ["large"] });
    let second = admin.post("/v1/platform-pools", body).await.expect(201).str("id").to_owned();
    // not available for this tenant, or for this application
    let body =
        json!({ "name": "third", "gpu_specs": ["large"], "tenant_id": TenantId::new(), "dedicated": true });
    let _ = admin.post("/v1/platform-pools", body).await.expect(201);
    let body = json!({ "name": "fourth", "gpu_specs": ["large"], "applications": ["dreambooth"] });
    let _ = admin.post("/v1/platform-pools", body).await.expect(201);
    let _idle = Worker::start_with(&till.fixture, &till.service, &second, "other", "large").await;
    for n in 0..4 {
        till.submit(json!({ "parameters": { "prompt": n.to_string() } })).await;
    }
    let job = till.submit(json!({ "pool": "generation" })).await;
    let found = eventually("prices of both pools are known", async || {
        let found = till.member.get(&format!("/v1/jobs/{job}/explanation")).await.expect(200).body;
        let is_known = |way: &Value| way["costs"].as_array().is_some_and(|costs| costs.len() == 1);
        (found["position"].is_number() && found["elsewhere"].as_array()?.iter().all(is_known))
            .then_some(found)
    })
    .await;
    let ways = found["elsewhere"].as_array().unwrap();
    let told = |way: &Value| {
        let cost = &way["costs"][0];
        [&way["pool"], &way["level"], &cost["gpu_spec"], &cost["p50"]]
            .map(|part| part.as_str().unwrap().to_owned())
    };
    let expected = [["generation", "urgent", "small", "0.0225"], ["second", "ordinary", "large", "0.03"]];
    assert_eq!(ways.iter().map(told).collect::<Vec<_>>(), expected);
    let start = |of: &Value| of["expected_start"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let (own, urgent, other) = (start(&found), start(&ways[0]), start(&ways[1]));
    assert!(other < urgent && urgent < own, "{found}");
    till.service.stop().await;
}

#[tokio::test]
async fn a_gang_pays_for_all_of_its_workers() {
    let till = Till::new().await;
    let tenant = TenantId::new();
    let body = json!({ "name": "acme", "gpu_specs": ["small"], "tenant_id": tenant, "dedicated": true,
                       "applications": ["command"] });
    let admin = till.fixture.admin(&till.service);
    let pool = admin.post("/v1/platform-pools", body).await.expect(201).str("id").to_owned();
    let mut workers = Vec::new();
    for name in ["one", "two"] {
        workers.push(Worker::start(&till.fixture, &till.service, &pool, name).await);
    }
    let member = till.fixture.member(&till.service, tenant);
    let body = json!({ "application": "command", "method": "run", "parameters": { "command": ["true"] },
                       "gang": { "size": 2 } });
    eventually("there is a price", async || {
        let quote = member.post("/v1/jobs/quote", body.clone()).await.expect(200);
        let of_one = till.member.post("/v1/jobs/quote", fox()).await.expect(200);
        let price = |quote: &Response| quote.body["costs"][0]["p90"].as_str()?.parse::<f64>().ok();
        let seconds = |quote: &Response| quote.body["work_seconds_p90"].as_f64();
        let per_second = |quote: &Response| Some(price(quote)? / seconds(quote)?);
        ((per_second(&quote)? / per_second(&of_one)? - 2.0).abs() < 0.01).then_some(())
    })
    .await;
    let job = member.post("/v1/jobs", body).await.expect(202).str("id").to_owned();
    let (work, gang) = workers[0].instruction().await;
    let lead = &workers[usize::from(gang["gang"]["rank"] != 0)];
    let _ = lead.progress(&work, 1).await.expect(200);
    till.execute(
        "update jobs.attempts set working_at = now() - interval '10 seconds',
                                  assigned_at = now() - interval '20 seconds' where working_at is not null",
    )
    .await;
    let _ = lead.complete_with(&work, &[]).await.expect(200);
    let done = reaches(&member, &job, "succeeded").await;
    assert_eq!(done.body["cost"], json!({ "amount": "0.02", "currency": "USD", "seconds": 10 }));
    let attempts = member.get(&format!("/v1/jobs/{job}/attempts")).await.expect(200);
    assert_eq!(attempts.body["items"][0]["price_per_hour"], "7.2");
    till.service.stop().await;
}

#[tokio::test]
async fn a_limit_below_the_quote_is_refused() {
    let till = Till::new().await;
    // half of the known jobs of the class take 15 s or less
    for amount in ["0.000001", "0.014999"] {
        let refused = refused(&till, limit(amount, "USD")).await;
        assert_eq!(refused.body["errors"][0]["pointer"], "/max_cost/amount");
        assert!(
            refused.body["errors"][0]["detail"].as_str().unwrap().contains("0.015 USD"),
            "{}",
            refused.body
        );
    }
    // the worker has another job, so this one waits
    let busy = till.submit(json!({})).await;
    reaches(&till.member, &busy, "assigned").await;
    let job = till.submit(limit("0.015", "USD")).await;
    let mut urgent = limit("0.015", "USD");
    urgent["level"] = json!("urgent");
    let mut body = fox();
    body.as_object_mut().unwrap().extend(urgent.as_object().unwrap().clone());
    till.member.post("/v1/jobs", body.clone()).await.expect_problem(422, "invalid-field");
    let batch = till.member.post("/v1/job-batches", json!({ "jobs": [body, fox()] })).await.expect(202);
    assert!(batch.body["items"][0]["problem"].is_object() && batch.body["items"][1]["job"].is_object());
    // the level is not changed to urgent either
    let path = format!("/v1/jobs/{job}");
    let etag = till.member.get(&path).await.expect(200).header("etag").unwrap().to_owned();
    let patch = till.member.patch(&path, &etag, json!({ "level": "urgent" })).await;
    let refused = patch.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/level");
    till.service.stop().await;
}
