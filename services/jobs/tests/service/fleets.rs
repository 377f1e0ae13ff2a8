//! Workers that the platform runs itself.

use atelier_jobs::FleetConfig;
use ids::TenantId;
use peer::Endpoint;
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::{
    fixture::{Fixture, Service, fox, submit},
    fleet::{Worker, reaches},
    gpu::{Gpu, Instance},
};

/// A platform that runs workers.
pub(crate) struct Site {
    pub(crate) fixture: Fixture,
    pub(crate) gpu: Gpu,
    tenant: TenantId,
}

impl Site {
    pub(crate) async fn new() -> Self {
        let (mut fixture, gpu) = (Fixture::new().await, Gpu::start().await);
        let endpoint =
            Endpoint { url: gpu.url.parse().unwrap(), token: testkit::service_token("jobs").into() };
        fixture.config.fleet = Some(FleetConfig {
            gpu: endpoint.clone(),
            jobs_url: "http://jobs:8097".parse().unwrap(),
            idle_seconds: 0,
            silent_seconds: 900,
        });
        fixture.config.stock = Some(endpoint);
        Self { fixture, gpu, tenant: TenantId::new() }
    }

    /// Creates the pool. Returns its path.
    async fn pool(&self, admin: &Client, min: u32, max: u32) -> String {
        self.pool_with(admin, workers(min, max)).await
    }

    /// Creates the pool with these workers. Returns its path.
    pub(crate) async fn pool_with(&self, admin: &Client, workers: Value) -> String {
        let body = json!({ "name": "generation", "gpu_specs": ["small", "large"], "tenant_id": self.tenant,
                           "workers": workers });
        let id = admin.post("/v1/platform-pools", body).await.expect(201).str("id").to_owned();
        format!("/v1/platform-pools/{id}")
    }

    /// Lets the process of a worker register that has this instance.
    pub(crate) async fn register(&self, service: &Service, pool: &str, instance: &Instance) -> Worker {
        self.register_with(service, pool, instance, json!({})).await
    }

    /// As [`Self::register`], of a worker that has these models.
    pub(crate) async fn register_with(
        &self,
        service: &Service,
        pool: &str,
        instance: &Instance,
        models: Value,
    ) -> Worker {
        let admin = self.fixture.admin(service);
        let id = eventually("the worker has a node", async || {
            let workers = items(&admin, &format!("{pool}/workers")).await;
            let worker = workers.into_iter().find(|worker| worker["instance_id"] == instance.id.as_str())?;
            (worker["node"] == "node-1").then(|| worker["id"].as_str().unwrap().to_owned())
        })
        .await;
        let mut worker = Worker::with_token(service, &id, instance.token());
        worker.register_with(models).await;
        worker
    }

    /// Makes everything due that waits for a time.
    pub(crate) async fn pass_time(&self) {
        let mut conn = self.fixture.db.admin().await;
        let passed =
            "update jobs.workers set check_at = now(), created_at = created_at - interval '10 minutes'
                      where instance_id is not null";
        sqlx::query(passed).execute(&mut conn).await.unwrap();
    }
}

pub(crate) fn workers(min: u32, max: u32) -> Value {
    json!({ "service": "worker-webui", "version": "1.10", "min": min, "max": max })
}

pub(crate) async fn items(admin: &Client, path: &str) -> Vec<Value> {
    admin.get(path).await.expect(200).body["items"].as_array().unwrap().clone()
}

pub(crate) async fn patch(admin: &Client, pool: &str, workers: Value) -> Response {
    let etag = admin.get(pool).await.expect(200).header("etag").unwrap().to_owned();
    admin.patch(pool, &etag, json!({ "workers": workers })).await
}

#[tokio::test]
async fn jobs_on_instances_of_their_own_tenant_cost_nothing_as_the_instances_are_charged() {
    let site = Site::new().await;
    site.gpu.set_price("small", "3.6", "USD");
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let body = json!({ "name": "acme", "gpu_specs": ["small"], "tenant_id": site.tenant, "dedicated": true,
                       "workers": workers(1, 1) });
    let id = admin.post("/v1/platform-pools", body).await.expect(201).str("id").to_owned();
    let pool = format!("/v1/platform-pools/{id}");
    let instance = site.gpu.have(1).await.remove(0);
    let worker = site.register(&service, &pool, &instance).await;
    let member = site.fixture.member(&service, site.tenant);
    let quote = eventually("there is a price", async || {
        let quote = member.post("/v1/jobs/quote", fox()).await.expect(200).body;
        quote["costs"][0].is_object().then_some(quote)
    })
    .await;
    assert_eq!((&quote["costs"][0]["p50"], &quote["costs"][0]["p90"]), (&json!("0"), &json!("0")));
    let job = submit(&member, json!({ "max_cost": { "amount": "0.000001", "currency": "USD" } })).await;
    let work = worker.work().await;
    let _ = worker.progress(&work, 1).await.expect(200);
    let mut conn = site.fixture.db.admin().await;
    let passed = "update jobs.attempts set assigned_at = now() - interval '100 s', working_at = now() - interval '60 s'";
    sqlx::query(passed).execute(&mut conn).await.unwrap();
    let _ = worker.complete(&work).await.expect(200);
    let done = reaches(&member, job.str("id"), "succeeded").await;
    assert_eq!(done.body["cost"], json!({ "amount": "0", "currency": "USD", "seconds": 60 }));
    // beside it is a worker that is not an instance: its jobs cost that worker's price
    let outside = Worker::start(&site.fixture, &service, &id, "outside").await;
    let (first, second) = (
        submit(&member, json!({})).await.str("id").to_owned(),
        submit(&member, json!({})).await.str("id").to_owned(),
    );
    let (own, other) = (worker.work().await, outside.work().await);
    let _ = outside.progress(&other, 1).await.expect(200);
    let _ = worker.complete(&own).await.expect(200);
    let _ = outside.complete(&other).await.expect(200);
    assert!([&first, &second].contains(&&other.job));
    let prices = async |job: &str| {
        let attempts = member.get(&format!("/v1/jobs/{job}/attempts")).await.expect(200);
        attempts.body["items"][0]["price_per_hour"].clone()
    };
    assert_eq!((prices(&own.job).await, prices(&other.job).await), (json!("0"), json!("3.6")));
    service.stop().await;
}

#[tokio::test]
async fn the_queue_decides_how_many_workers_a_pool_has() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let pool = site.pool(&admin, 1, 3).await;
    let instance = site.gpu.have(1).await.remove(0);
    let order = &instance.order;
    assert_eq!(order["tenant_id"], site.tenant.to_string());
    assert_eq!(
        (&order["gpu_spec"], &order["service"], &order["version"], &order["wait"]),
        (&json!("small"), &json!("worker-webui"), &json!("1.10"), &json!(true))
    );
    assert!(order.get("reaches_peers").is_none(), "only workers of a dedicated pool run programs together");
    assert!(order.get("runs_tenant_code").is_none(), "only they run programs at all");
    assert_eq!(order["env"], json!([{ "name": "ATELIER_JOBS_URL", "value": "http://jobs:8097/" }]));
    let worker = site.register(&service, &pool, &instance).await;
    let member = site.fixture.member(&service, TenantId::new());
    let mut jobs = Vec::new();
    for _ in 0..12 {
        jobs.push(submit(&member, json!({})).await.str("id").to_owned());
    }
    site.gpu.have(3).await;
    let work = worker.work().await;
    let _ = worker.complete(&work).await.expect(200);
    reaches(&member, &work.job, "succeeded").await;
    for job in jobs.iter().filter(|job| **job != work.job) {
        let _ = member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    }
    if let Some(next) = worker.poll(None, 0).await.expect(200).body["instruction"].as_object() {
        panic!("all other jobs are cancelled: {next:?}");
    }
    site.gpu.have(1).await;
    let status = admin.get(&pool).await.expect(200).body["status"].clone();
    assert_eq!((&status["desired"], &status["actual"]), (&json!(1), &json!(1)));
    service.stop().await;
}

#[tokio::test]
async fn an_order_whose_answer_is_lost_is_repeated_as_it_was() {
    let site = Site::new().await;
    site.gpu.lose_answer();
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let pool = site.pool(&admin, 1, 1).await;
    let instance = site.gpu.have(1).await.remove(0);
    site.register(&service, &pool, &instance).await;
    assert_eq!(site.gpu.orders(), 2);
    assert_eq!(items(&admin, &format!("{pool}/workers")).await.len(), 1);
    // the gpu service is unavailable for a while, and nothing is ordered twice
    site.gpu.set_away(true);
    let patched = patch(&admin, &pool, workers(2, 2)).await.expect(200);
    assert_eq!(patched.body["status"]["desired"], 2);
    eventually("the order is repeated", async || (site.gpu.orders() >= 4).then_some(())).await;
    site.gpu.set_away(false);
    site.gpu.have(2).await;
    assert_eq!(items(&admin, &format!("{pool}/workers")).await.len(), 2);
    service.stop().await;
}

#[tokio::test]
async fn what_a_replica_has_ordered_before_it_died_is_deleted_and_ordered_anew() {
    let site = Site::new().await;
    site.gpu.lose_answer();
    let first = site.fixture.start().await;
    let pool = site.pool(&site.fixture.admin(&first), 1, 1).await;
    let lost = site.gpu.have(1).await.remove(0);
    site.gpu.set_away(true);
    first.stop().await;
    site.gpu.set_away(false);
    // resets the state to before the answer
    let mut conn = site.fixture.db.admin().await;
    let unanswered = "update jobs.workers set stage = 'ordered' where instance_id is not null";
    sqlx::query(unanswered).execute(&mut conn).await.unwrap();
    site.pass_time().await;
    let second = site.fixture.start().await;
    let admin = site.fixture.admin(&second);
    let instance = eventually("another instance is ordered", async || {
        let instances = site.gpu.instances();
        (instances.len() == 1 && instances[0].id != lost.id).then(|| instances[0].clone())
    })
    .await;
    site.pass_time().await;
    eventually("the row of the first has gone", async || {
        let workers = items(&admin, &format!("{pool}/workers")).await;
        (workers.len() == 1 && workers[0]["instance_id"] == instance.id.as_str()).then_some(())
    })
    .await;
    Client::new(second.worker_api.base())
        .token(lost.token())
        .post("/worker/v1/register", json!({}))
        .await
        .expect_problem(401, "unauthenticated");
    site.register(&second, &pool, &instance).await;
    second.stop().await;
}

#[tokio::test]
async fn a_worker_whose_instance_fails_is_replaced_after_a_delay() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let pool = site.pool(&admin, 1, 1).await;
    let instance = site.gpu.have(1).await.remove(0);
    let worker = site.register(&service, &pool, &instance).await;
    let member = site.fixture.member(&service, TenantId::new());
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    site.gpu.stop(&instance.id);
    let lost = reaches(&member, &job, "queued").await;
    assert_eq!(lost.body["reason"], "worker_lost");
    worker.progress(&work, 1).await.expect_problem(401, "unauthenticated");
    let status = admin.get(&pool).await.expect(200).body["status"].clone();
    assert_eq!(status["problem"], "Its node was lost.");
    assert!(status["retry_at"].is_string(), "{status}");
    let next = eventually("the worker is replaced", async || {
        site.gpu.instances().into_iter().find(|other| other.id != instance.id)
    })
    .await;
    let worker = site.register(&service, &pool, &next).await;
    assert_eq!(worker.work().await.job, job);
    eventually("the failure is forgotten", async || {
        admin.get(&pool).await.expect(200).body["status"]["problem"].is_null().then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn a_worker_that_does_not_register_is_replaced() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let pool = site.pool(&admin, 1, 1).await;
    let silent = site.gpu.have(1).await.remove(0);
    let age = async |seconds: i32| {
        let mut conn = site.fixture.db.admin().await;
        site.pass_time().await;
        let age = "update jobs.workers set silent_since = now() - make_interval(secs => $1)
                   where silent_since is not null and stage = 'placed'";
        sqlx::query(age).bind(f64::from(seconds)).execute(&mut conn).await.unwrap().rows_affected()
    };
    eventually("its silence is noted", async || (age(600).await == 1).then_some(())).await;
    // a worker that registers is no longer silent
    let worker = site.register(&service, &pool, &silent).await;
    assert_eq!(age(1_000).await, 0);
    let _ = worker.unregister().await.expect(200);
    eventually("its silence is noted again", async || (age(1_000).await == 1).then_some(())).await;
    let next = eventually("the worker is replaced", async || {
        site.gpu.instances().into_iter().find(|other| other.id != silent.id)
    })
    .await;
    let status = admin.get(&pool).await.expect(200).body["status"].clone();
    assert!(status["problem"].as_str().unwrap().contains("no process"), "{status}");
    site.register(&service, &pool, &next).await;
    eventually("the failure is forgotten", async || {
        admin.get(&pool).await.expect(200).body["status"]["problem"].is_null().then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn a_drained_worker_ends_its_job_and_gets_no_other() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let pool = site.pool(&admin, 1, 1).await;
    let instance = site.gpu.have(1).await.remove(0);
    let worker = site.register(&service, &pool, &instance).await;
    let member = site.fixture.member(&service, TenantId::new());
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    let next = submit(&member, json!({})).await.str("id").to_owned();
    let _ = patch(&admin, &pool, Value::Null).await.expect(200);
    eventually("the worker is draining", async || {
        let workers = items(&admin, &format!("{pool}/workers")).await;
        (workers[0]["stage"] == "draining").then_some(())
    })
    .await;
    assert_eq!(site.gpu.instances().len(), 1);
    let _ = worker.complete(&work).await.expect(200);
    reaches(&member, &job, "succeeded").await;
    site.gpu.have(0).await;
    let waits = member.get(&format!("/v1/jobs/{next}")).await.expect(200);
    assert_eq!((waits.str("state"), &waits.body["attempts"]), ("queued", &json!(0)));
    service.stop().await;
}

#[tokio::test]
async fn a_refused_order_is_the_pools_problem() {
    let site = Site::new().await;
    site.gpu.set_refuses(true);
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let pool = site.pool(&admin, 1, 1).await;
    let problem = eventually("the pool has a problem", async || {
        admin.get(&pool).await.expect(200).body["status"]["problem"].as_str().map(str::to_owned)
    })
    .await;
    assert_eq!(problem, "The quota of the tenant is exceeded.");
    assert_eq!(site.gpu.orders(), 1, "there is a delay");
    site.gpu.set_refuses(false);
    // a change triggers the next try immediately
    let _ = patch(&admin, &pool, workers(1, 2)).await.expect(200);
    site.gpu.have(1).await;
    service.stop().await;
}

#[tokio::test]
async fn only_sensible_pools_have_workers() {
    let mut site = Site::new().await;
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let mut body = json!({ "name": "a", "gpu_specs": ["small"], "workers": workers(1, 2) });
    let refused = admin.post("/v1/platform-pools", body.clone()).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/tenant_id");
    body["tenant_id"] = json!(site.tenant);
    body["workers"] = workers(3, 2);
    let refused = admin.post("/v1/platform-pools", body.clone()).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/workers/min");
    let plain = json!({ "name": "plain", "gpu_specs": ["small"] });
    let plain = admin.post("/v1/platform-pools", plain).await.expect(201).str("id").to_owned();
    let plain = format!("/v1/platform-pools/{plain}");
    patch(&admin, &plain, workers(0, 1)).await.expect_problem(422, "invalid-field");
    let stale = json!({ "workers": null });
    admin.patch(&plain, "\"7\"", stale).await.expect_problem(412, "changed-meanwhile");
    service.stop().await;

    site.fixture.config.fleet = None;
    let service = site.fixture.start().await;
    body["workers"] = workers(1, 2);
    let admin = site.fixture.admin(&service);
    let refused = admin.post("/v1/platform-pools", body).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/workers");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_a_dedicated_pool_reach_each_other() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let body = json!({ "name": "acme", "gpu_specs": ["small"], "tenant_id": site.tenant, "dedicated": true,
                       "applications": ["command"], "workers": workers(2, 2) });
    let _ = site.fixture.admin(&service).post("/v1/platform-pools", body).await.expect(201);
    let instances = eventually("two instances are ordered", async || {
        let instances = site.gpu.instances();
        (instances.len() == 2).then_some(instances)
    })
    .await;
    assert!(instances.iter().all(|one| one.order["reaches_peers"] == true));
    assert!(
        instances.iter().all(|one| one.order["runs_tenant_code"] == true),
        "it may run programs of the tenant"
    );
}
