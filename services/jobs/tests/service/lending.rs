//! Workers on units that nobody else uses, and what happens when somebody does.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    fixture::{Service, submit},
    fleet::{Work, Worker, reaches},
    fleets::{Site, items, patch, workers},
    gpu::Instance,
};

fn lending(lent_max: u32) -> Value {
    let mut workers = workers(0, 1);
    workers["lent_max"] = json!(lent_max);
    workers
}

/// The lent instances, once there are this many.
async fn lent(site: &Site, count: usize) -> Vec<Instance> {
    eventually(&format!("there are {count} lent instances"), async || {
        let all = site.gpu.instances().into_iter();
        let lent: Vec<Instance> = all.filter(|instance| instance.order["interruptible"] == true).collect();
        (lent.len() == count).then_some(lent)
    })
    .await
}

/// Submits this number of jobs. Returns their ids.
async fn submit_all(member: &Client, count: usize) -> Vec<String> {
    let mut jobs = Vec::new();
    for _ in 0..count {
        jobs.push(submit(member, json!({})).await.str("id").to_owned());
    }
    jobs
}

/// A pool that lends one unit, which a job runs on.
async fn lent_job(site: &Site, service: &Service, member: &Client) -> (String, Instance, Worker, Work) {
    site.gpu.set_spare("small", 1);
    let pool = site.pool_with(&site.fixture.admin(service), lending(1)).await;
    submit_all(member, 8).await;
    let instance = lent(site, 1).await.remove(0);
    let worker = site.register(service, &pool, &instance).await;
    let work = worker.work().await;
    (pool, instance, worker, work)
}

#[tokio::test]
async fn spare_units_are_lent_as_far_as_there_are_any() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    site.gpu.set_spare("small", 1);
    site.gpu.set_spare("large", 1);
    let pool = site.pool_with(&admin, lending(3)).await;
    let member = site.fixture.member(&service, TenantId::new());
    let jobs = submit_all(&member, 20).await;
    let instances = lent(&site, 2).await;
    let mut specs: Vec<_> = instances.iter().map(|one| one.order["gpu_spec"].as_str().unwrap()).collect();
    specs.sort_unstable();
    assert_eq!(specs, ["large", "small"]);
    assert!(instances.iter().all(|one| one.order["wait"] == false));
    let firm = eventually("there is a firm worker", async || {
        site.gpu.instances().into_iter().find(|one| one.order["interruptible"] == false)
    })
    .await;
    assert_eq!(firm.order["wait"], true);
    let status = admin.get(&pool).await.expect(200).body["status"].clone();
    let lent_counts = (&status["lent_desired"], &status["lent_actual"]);
    assert_eq!(lent_counts, (&json!(3), &json!(2)));
    // the stock is asked now and then while there are too few
    let asked = site.gpu.asked();
    eventually("the stock is asked again", async || (site.gpu.asked() >= asked + 2).then_some(())).await;

    // with nothing to do they are returned
    for job in &jobs {
        let _ = member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    }
    let small = instances.iter().find(|one| one.order["gpu_spec"] == "small").unwrap();
    site.register(&service, &pool, small).await;
    eventually("the idle one is returned", async || {
        site.gpu.instances().iter().all(|one| one.id != small.id).then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn a_unit_that_the_stock_wants_back_is_returned_after_its_job() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let member = site.fixture.member(&service, TenantId::new());
    let (_, instance, worker, work) = lent_job(&site, &service, &member).await;
    site.gpu.set_spare("small", 0);
    site.gpu.want_back("small", 1);
    // when it is asked for the second time, the first answer has come
    let asked = site.gpu.asked();
    eventually("the stock is asked what it wants back", async || {
        (site.gpu.asked() >= asked + 2).then_some(())
    })
    .await;
    let _ = worker.complete(&work).await.expect(200);
    eventually("its instance is deleted, although jobs wait", async || {
        site.gpu.instances().iter().all(|one| one.id != instance.id).then_some(())
    })
    .await;
    reaches(&member, &work.job, "succeeded").await;
    service.stop().await;
}

#[tokio::test]
async fn nothing_is_lent_or_returned_while_the_stock_does_not_answer() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let member = site.fixture.member(&service, TenantId::new());
    site.gpu.set_stock_away(true);
    site.gpu.set_spare("small", 1);
    let pool = site.pool_with(&site.fixture.admin(&service), lending(1)).await;
    submit_all(&member, 8).await;
    eventually("the stock is asked twice", async || (site.gpu.asked() >= 2).then_some(())).await;
    let firm = site.gpu.have(1).await.remove(0);
    assert_eq!(firm.order["interruptible"], false);

    site.gpu.set_stock_away(false);
    let instance = lent(&site, 1).await.remove(0);
    let worker = site.register(&service, &pool, &instance).await;
    let work = worker.work().await;
    site.gpu.want_back("small", 1);
    site.gpu.set_stock_away(true);
    let asked = site.gpu.asked();
    eventually("the stock is asked again", async || (site.gpu.asked() >= asked + 2).then_some(())).await;
    let _ = worker.complete(&work).await.expect(200);
    let next = worker.work().await;

    site.gpu.set_stock_away(false);
    let asked = site.gpu.asked();
    eventually("the stock answers", async || (site.gpu.asked() >= asked + 2).then_some(())).await;
    let _ = worker.complete(&next).await.expect(200);
    eventually("its instance is deleted, although jobs wait", async || {
        site.gpu.instances().iter().all(|one| one.id != instance.id).then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn a_recalled_worker_leaves_its_job_to_others() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let member = site.fixture.member(&service, TenantId::new());
    let (pool, instance, worker, work) = lent_job(&site, &service, &member).await;
    site.gpu.set_spare("small", 0);
    // another than the shown one would be taken first: it has nothing to do
    eventually("the gpu service knows that it is busy", async || {
        (site.gpu.instances().iter().find(|one| one.id == instance.id)?.rank > 0).then_some(())
    })
    .await;
    site.gpu.recall(&instance.id, site.fixture.in_seconds(20));
    assert_eq!(worker.stop(&work).await, "preempted");
    let shown = items(&site.fixture.admin(&service), &format!("{pool}/workers")).await;
    let shown = shown.iter().find(|one| one["id"] == worker.id.as_str()).unwrap();
    assert_eq!((&shown["tenure"], &shown["stage"]), (&json!("lent"), &json!("draining")));
    assert!(shown["leave_by"].is_string(), "{shown}");
    let _ = worker.leave(&work).await.expect(200);
    let again = reaches(&member, &work.job, "queued").await;
    assert_eq!((&again.body["reason"], &again.body["not_before"]), (&json!("recalled"), &Value::Null));
    // long before it has to
    eventually("its instance is deleted", async || {
        site.gpu.instances().iter().all(|one| one.id != instance.id).then_some(())
    })
    .await;
    let status = site.fixture.admin(&service).get(&pool).await.expect(200).body["status"].clone();
    assert_eq!((&status["problem"], &status["retry_at"]), (&Value::Null, &Value::Null));
    service.stop().await;
}

#[tokio::test]
async fn a_worker_that_does_not_leave_in_time_loses_its_job_without_a_failure() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let member = site.fixture.member(&service, TenantId::new());
    let (_, instance, worker, work) = lent_job(&site, &service, &member).await;
    site.gpu.recall(&instance.id, site.fixture.in_seconds(4));
    let again = reaches(&member, &work.job, "queued").await;
    assert_eq!(again.body["reason"], "recalled");
    let refused = worker.progress(&work, 3).await.status;
    assert!(matches!(refused, 401 | 409), "{refused}: its session has ended, or its token is gone already");
    service.stop().await;
}

#[tokio::test]
async fn a_recall_while_nobody_looks_is_no_failure_either() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let tenant = TenantId::new();
    let (pool, instance, _, work) = lent_job(&site, &service, &site.fixture.member(&service, tenant)).await;
    service.stop().await;
    // the gpu service has stopped it meanwhile
    site.gpu.recall(&instance.id, site.fixture.in_seconds(-10));
    site.gpu.stop(&instance.id);
    site.pass_time().await;
    let service = site.fixture.start().await;
    let again = reaches(&site.fixture.member(&service, tenant), &work.job, "queued").await;
    assert_eq!(again.body["reason"], "recalled");
    let status = site.fixture.admin(&service).get(&pool).await.expect(200).body["status"].clone();
    assert_eq!(status["problem"], Value::Null);
    service.stop().await;
}

#[tokio::test]
async fn a_job_that_was_recalled_twice_waits_for_a_firm_worker() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let member = site.fixture.member(&service, TenantId::new());
    site.gpu.set_spare("small", 1);
    let pool = site.pool_with(&site.fixture.admin(&service), lending(1)).await;
    let job = submit(&member, json!({ "priority": 6 })).await.str("id").to_owned();
    submit_all(&member, 8).await;
    let mut left = Vec::new();
    for _ in 0..2 {
        let instance = eventually("a unit is lent", async || {
            let fresh = |one: &Instance| one.order["interruptible"] == true && !left.contains(&one.id);
            site.gpu.instances().into_iter().find(fresh)
        })
        .await;
        let worker = site.register(&service, &pool, &instance).await;
        let work = worker.work().await;
        assert_eq!(work.job, job, "it is the first of its tenant");
        site.gpu.recall(&instance.id, site.fixture.in_seconds(20));
        worker.stop(&work).await;
        let _ = worker.leave(&work).await.expect(200);
        left.push(instance.id);
    }
    let instance = eventually("a unit is lent again", async || {
        let fresh = |one: &Instance| one.order["interruptible"] == true && !left.contains(&one.id);
        site.gpu.instances().into_iter().find(fresh)
    })
    .await;
    let lent = site.register(&service, &pool, &instance).await;
    assert_ne!(lent.work().await.job, job);
    let firm = eventually("there is a firm worker", async || {
        site.gpu.instances().into_iter().find(|one| one.order["interruptible"] == false)
    })
    .await;
    let firm = site.register(&service, &pool, &firm).await;
    assert_eq!(firm.work().await.job, job);
    service.stop().await;
}

#[tokio::test]
async fn a_unit_that_is_gone_before_it_is_claimed_is_no_failure() {
    let site = Site::new().await;
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    site.gpu.set_spare("small", 1);
    let pool = site.pool_with(&admin, lending(1)).await;
    let member = site.fixture.member(&service, TenantId::new());
    submit_all(&member, 8).await;
    let instance = lent(&site, 1).await.remove(0);
    site.gpu.set_spare("small", 0);
    site.gpu.stop(&instance.id);
    lent(&site, 0).await;
    let status = admin.get(&pool).await.expect(200).body["status"].clone();
    assert_eq!(status["problem"], Value::Null);
    service.stop().await;
}

#[tokio::test]
async fn lending_needs_a_firm_worker_and_a_stock() {
    let mut site = Site::new().await;
    let service = site.fixture.start().await;
    let admin = site.fixture.admin(&service);
    let pool = site.pool_with(&admin, lending(1)).await;
    let mut none = lending(1);
    none["max"] = json!(0);
    let refused = patch(&admin, &pool, none).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/workers/max");
    service.stop().await;
    site.fixture.config.stock = None;
    let service = site.fixture.start().await;
    let refused = patch(&site.fixture.admin(&service), &pool, lending(2)).await;
    let refused = refused.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/workers/lent_max");
    service.stop().await;
}
