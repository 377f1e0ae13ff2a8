//! Checkpoints and base models: what workers have, and jobs that name them.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, Service, fox, pool, submit},
    fleet::{Worker, any_work, reaches},
    fleets::{Site, items, patch, workers},
};

/// A registered worker that has these models.
async fn worker(fixture: &Fixture, service: &Service, pool: &str, name: &str, models: Value) -> Worker {
    let mut worker = Worker::create(fixture, service, pool, name).await;
    worker.register_with(models).await;
    worker
}

async fn dedicated(admin: &Client, owner: TenantId) -> String {
    let body = json!({ "name": "acme", "gpu_specs": ["small"], "tenant_id": owner, "dedicated": true });
    admin.post("/v1/platform-pools", body).await.expect(201).str("id").to_owned()
}

/// Pool, kind, name and number of workers of each listed model.
async fn listed(client: &Client, query: &str) -> Vec<(String, String, String, i64)> {
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let items = items(client, &format!("/v1/base-models{query}")).await;
    let of_item = |item: &Value| {
        (text(item, "pool"), text(item, "kind"), text(item, "name"), item["workers"].as_i64().unwrap())
    };
    items.iter().map(of_item).collect()
}

fn item(pool: &str, kind: &str, name: &str, workers: i64) -> (String, String, String, i64) {
    (pool.to_owned(), kind.to_owned(), name.to_owned(), workers)
}

fn with_model(name: &str) -> Value {
    json!({ "parameters": { "prompt": "a fox", "model": name } })
}

/// The body of a job that names a model.
fn named(name: &str) -> Value {
    let mut body = fox();
    body["parameters"]["model"] = json!(name);
    body
}

#[tokio::test]
async fn what_workers_have_is_listed_to_those_who_may_use_it() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (admin, tenant) = (fixture.admin(&service), TenantId::new());
    let (shared, own) = (pool(&admin).await, dedicated(&admin, tenant).await);
    let (member, other) = (fixture.member(&service, tenant), fixture.member(&service, TenantId::new()));
    let both = json!({ "checkpoints": ["photo", "anime"], "base_models": ["sd15"] });
    let first = worker(&fixture, &service, &shared, "first", both.clone()).await;
    let second =
        worker(&fixture, &service, &shared, "second", json!({ "checkpoints": ["anime"], "base_models": [] }))
            .await;
    // a worker of a release that does not report models
    let _silent = worker(&fixture, &service, &shared, "silent", json!({})).await;
    let _own = worker(&fixture, &service, &own, "own", json!({ "checkpoints": ["secret"] })).await;
    let of_shared = [
        item("generation", "base_model", "sd15", 1),
        item("generation", "checkpoint", "anime", 2),
        item("generation", "checkpoint", "photo", 1),
    ];
    let secret = item("acme", "checkpoint", "secret", 1);
    let all = [&of_shared[..], std::slice::from_ref(&secret)].concat();
    assert_eq!(listed(&member, "").await, all);
    assert_eq!(listed(&admin, "").await, all);
    assert_eq!(listed(&other, "").await, of_shared, "a dedicated pool of another tenant is not there");
    assert_eq!(listed(&other, "?pool=acme").await, []);
    assert_eq!(listed(&member, "?pool=acme").await, [secret]);
    assert_eq!(listed(&member, "?kind=base_model").await, of_shared[..1]);
    member.get("/v1/base-models?kind=lora").await.expect_problem(422, "invalid-field");

    let (mut pages, mut query) = (Vec::new(), "?limit=1".to_owned());
    loop {
        let page = member.get(&format!("/v1/base-models{query}")).await.expect(200).body;
        pages.push(page["items"][0]["name"].as_str().unwrap().to_owned());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        query = format!("?limit=1&cursor={cursor}");
    }
    assert_eq!(pages, ["sd15", "anime", "photo", "secret"]);

    // a repeated report changes nothing, and neither does one of another session
    let changes = async || {
        let count = sqlx::query_scalar("select count(*) from jobs.pool_changes");
        let count: i64 = count.fetch_one(&mut fixture.db.admin().await).await.unwrap();
        count
    };
    let before = changes().await;
    let _ = first.report_models(both).await.expect(200);
    assert_eq!(changes().await, before);
    let changed = json!({ "checkpoints": ["anime", "flux"], "base_models": null });
    let _ = first.report_models(changed.clone()).await.expect(200);
    assert_eq!(changes().await, before + 1);
    let shown =
        admin.get(&format!("/v1/platform-pools/{shared}/workers/{}", first.id)).await.expect(200).body;
    assert_eq!((&shown["checkpoints"], &shown["base_models"]), (&changed["checkpoints"], &Value::Null));
    assert_eq!(listed(&other, "?kind=checkpoint").await.len(), 2);
    let _ = first.unregister().await.expect(200);
    first.report_models(changed).await.expect_problem(409, "attempt-not-yours");
    let many: Vec<String> = (0..1_001).map(|n| format!("m{n}")).collect();
    second.report_models(json!({ "checkpoints": many })).await.expect_problem(422, "invalid-field");
    let _ = second.report_models(json!({ "checkpoints": ["../x", "anime"] })).await.expect(200);

    // the models of an offline worker return with it; those of a deleted worker are removed
    assert_eq!(
        listed(&other, "").await,
        [item("generation", "checkpoint", "anime", 1), item("generation", "checkpoint", "flux", 0)]
    );
    let path = format!("/v1/platform-pools/{shared}/workers/{}", first.id);
    let _ = admin.delete(&path).await.expect(204);
    assert_eq!(listed(&other, "").await, [item("generation", "checkpoint", "anime", 1)]);
    service.stop().await;
}

#[tokio::test]
async fn a_job_that_names_what_no_pool_has_is_refused() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (admin, tenant) = (fixture.admin(&service), TenantId::new());
    let shared = pool(&admin).await;
    let member = fixture.member(&service, tenant);
    // no worker has reported yet
    let early = submit(&member, with_model("flux")).await.str("id").to_owned();
    let _ = member.post(&format!("/v1/jobs/{early}/cancel"), Value::Null).await.expect(202);

    let own = dedicated(&admin, tenant).await;
    let has = json!({ "checkpoints": ["anime", "XL base_1.0"], "base_models": ["sd15"] });
    let _shared = worker(&fixture, &service, &shared, "shared", has).await;
    let _own =
        worker(&fixture, &service, &own, "own", json!({ "checkpoints": ["secret"], "base_models": [] }))
            .await;
    let refused = member.post("/v1/jobs", named("flux")).await.expect_problem(422, "model-missing");
    assert_eq!(refused.body["errors"][0]["pointer"], "/parameters/model");
    assert_eq!(refused.body["models"], json!(["XL base_1.0", "anime", "secret"]));
    assert!(refused.str("next").contains("/v1/base-models"));
    member.post("/v1/jobs/quote", named("flux")).await.expect_problem(422, "model-missing");
    let mut elsewhere = named("anime");
    elsewhere["pool"] = json!("acme");
    let refused = member.post("/v1/jobs", elsewhere).await.expect_problem(422, "model-missing");
    assert_eq!(refused.body["models"], json!(["secret"]));
    let batch = json!({ "jobs": [named("flux"), named("anime"), fox()] });
    let batch = member.post("/v1/job-batches", batch).await.expect(202).body["items"].clone();
    assert_eq!(batch[0]["problem"]["type"].as_str().unwrap().rsplit('/').next(), Some("model-missing"));
    assert!(batch[1]["job"].is_object() && batch[2]["job"].is_object(), "{batch}");
    let other = fixture.member(&service, TenantId::new());
    let refused = other.post("/v1/jobs", named("secret")).await.expect_problem(422, "model-missing");
    assert_eq!(refused.body["models"], json!(["XL base_1.0", "anime"]), "that of others looks missing");

    // the job goes to a pool that has the model, and to the tenant's own pool first
    let pool_of = async |body: Value| {
        let job = member.post("/v1/jobs", body).await.expect(202).str("id").to_owned();
        let pool = sqlx::query_scalar("select pool_id from jobs.jobs where id = $1");
        let id: ids::JobId = job.parse().unwrap();
        let pool: uuid::Uuid = pool.bind(id.uuid()).fetch_one(&mut fixture.db.admin().await).await.unwrap();
        ids::PoolId::from_uuid(pool).to_string()
    };
    assert_eq!(pool_of(named("XL base_1.0")).await, shared);
    assert_eq!(pool_of(named("secret")).await, own);
    assert_eq!(pool_of(fox()).await, own);
    let images = crate::uploads::pictures(&member, 3).await;
    let mut training = json!({ "application": "dreambooth", "method": "train",
                               "parameters": { "images": images, "theme": "dog", "base_model": "sdxl" } });
    let refused = member.post("/v1/jobs", training.clone()).await.expect_problem(422, "model-missing");
    assert_eq!(
        (&refused.body["errors"][0]["pointer"], &refused.body["models"]),
        (&json!("/parameters/base_model"), &json!(["sd15"]))
    );
    training["parameters"]["base_model"] = json!("sd15");
    assert_eq!(pool_of(training).await, shared);

    // the models of a worker that does not report them are unknown
    let _silent = worker(&fixture, &service, &own, "silent", json!({})).await;
    assert_eq!(pool_of(named("flux")).await, own);
    service.stop().await;
}

/// Systems write the same name in different code points: macOS decomposes it.
#[tokio::test]
async fn names_that_look_the_same_are_the_same() {
    const COMPOSED: &str = "mod\u{e8}le \u{30ac}";
    const DECOMPOSED: &str = "mode\u{300}le \u{30ab}\u{3099}";
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let has = json!({ "checkpoints": [DECOMPOSED, COMPOSED], "base_models": ["No Label"] });
    let worker = worker(&fixture, &service, &pool, "first", has).await;
    assert_eq!(listed(&member, "").await, [item("generation", "checkpoint", COMPOSED, 1)]);
    let mut models = Vec::new();
    for name in [COMPOSED, DECOMPOSED] {
        let job = submit(&member, with_model(name)).await;
        let (work, instruction) = worker.instruction().await;
        assert_eq!(
            (work.job.as_str(), &instruction["parameters"]["model"]),
            (job.str("id"), &json!(COMPOSED))
        );
        let _ = worker.complete(&work).await.expect(200);
        let loaded: Option<uuid::Uuid> = sqlx::query_scalar("select model from jobs.jobs where id = $1")
            .bind(job.str("id").parse::<ids::JobId>().unwrap().uuid())
            .fetch_one(&mut fixture.db.admin().await)
            .await
            .unwrap();
        models.push(loaded);
    }
    assert_eq!(models[0], models[1], "the worker has loaded it");
    let upload = json!({ "name": "cafe\u{301}.png", "content_type": "image/png", "bytes": 3 });
    assert_eq!(member.post("/v1/uploads", upload).await.expect(201).str("name"), "caf\u{e9}.png");
    service.stop().await;
}

#[tokio::test]
async fn a_job_starts_on_workers_that_have_what_it_names() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let anime =
        worker(&fixture, &service, &pool, "anime", json!({ "checkpoints": ["anime"], "base_models": [] }))
            .await;
    let photo =
        worker(&fixture, &service, &pool, "photo", json!({ "checkpoints": ["photo"], "base_models": [] }))
            .await;
    let mut taken = Vec::new();
    for _ in 0..3 {
        submit(&member, with_model("photo")).await;
        let (on, work) = any_work(&[&anime, &photo]).await;
        assert_eq!(on, 1);
        taken.push(work);
        if taken.len() < 3 {
            let _ = photo.complete(&taken[taken.len() - 1]).await.expect(200);
        }
    }
    // its worker is busy, the other one idle and without it
    let waiting = submit(&member, with_model("photo")).await.str("id").to_owned();
    eventually("the job waits for a worker that has the model", async || {
        let why = member.get(&format!("/v1/jobs/{waiting}/explanation")).await.expect(200);
        (why.body["code"] == "busy").then_some(())
    })
    .await;
    assert_eq!(anime.poll(None, 0).await.expect(200).body["instruction"], Value::Null);
    // the other worker gets the model
    let both = json!({ "checkpoints": ["anime", "photo"], "base_models": [] });
    let _ = anime.report_models(both).await.expect(200);
    let (work, instruction) = anime.instruction().await;
    assert_eq!((&work.job, &instruction["parameters"]["model"]), (&waiting, &json!("photo")));

    // the model is removed while a job waits for it
    let waiting = submit(&member, with_model("photo")).await.str("id").to_owned();
    let _ = anime.report_models(json!({ "checkpoints": ["anime"], "base_models": [] })).await.expect(200);
    let _ = photo.report_models(json!({ "checkpoints": [], "base_models": [] })).await.expect(200);
    eventually("no worker has the model", async || {
        let why = member.get(&format!("/v1/jobs/{waiting}/explanation")).await.expect(200);
        (why.body["code"] == "model_missing").then_some(())
    })
    .await;
    // jobs that run go on
    let _ = anime.complete(&work).await.expect(200);
    let _ = photo.complete(&taken[2]).await.expect(200);
    let plain = submit(&member, json!({})).await.str("id").to_owned();
    let (on, work) = any_work(&[&anime, &photo]).await;
    assert_eq!(work.job, plain, "the job that waits does not stop others");
    let _ = [&anime, &photo][on].complete(&work).await.expect(200);
    reaches(&member, &plain, "succeeded").await;
    let capacity = member.get(&format!("/v1/pools/{pool}/capacity")).await.expect(200).body;
    let total = capacity["workers"].as_array().unwrap();
    assert_eq!(
        (total.len(), &total[0]["firm"]),
        (1, &json!(2)),
        "one line for a GPU specification: {capacity}"
    );
    service.stop().await;
}

#[tokio::test]
async fn a_pool_without_workers_lacks_what_its_image_is_known_to_lack() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let pool = site.pool_with(&admin, workers(0, 1)).await;
    let member = site.fixture.member(&service, TenantId::new());
    // no worker of the image has reported: one is ordered for the job
    let unknown = submit(&member, with_model("flux")).await.str("id").to_owned();
    let instance = site.gpu.have(1).await.remove(0);
    let has = json!({ "checkpoints": ["anime"], "base_models": [] });
    let _worker = site.register_with(&service, &pool, &instance, has).await;
    // it does not have the model: it gets no such job, and no other worker is ordered for the job
    eventually("the job is known to wait for what is not there", async || {
        let why = member.get(&format!("/v1/jobs/{unknown}/explanation")).await.expect(200);
        (why.body["code"] == "model_missing").then_some(())
    })
    .await;
    site.gpu.have(0).await;
    eventually("what the worker had is known", async || {
        let of_image = [item("generation", "checkpoint", "anime", 0)];
        (listed(&member, "").await == of_image).then_some(())
    })
    .await;
    member.post("/v1/jobs", named("flux")).await.expect_problem(422, "model-missing");
    let _ = member.post(&format!("/v1/jobs/{unknown}/cancel"), Value::Null).await.expect(202);
    let known = submit(&member, with_model("anime")).await.str("id").to_owned();
    let instance = site.gpu.have(1).await.remove(0);
    let worker = site.register(&service, &pool, &instance).await;
    assert_eq!(worker.work().await.job, known);

    // the models of another image are unknown
    let mut other = workers(0, 1);
    other["version"] = json!("1.11");
    let _ = patch(&admin, &pool, other).await.expect(200);
    submit(&member, with_model("flux")).await;
    service.stop().await;
}
