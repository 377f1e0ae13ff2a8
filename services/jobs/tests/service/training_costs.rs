//! What trainings cost: their checkpoints, and what their tenant does to their inputs.

use serde_json::{Value, json};
use sqlx::Connection as _;

use crate::{
    costs::{Till, assert_near, charged},
    fixture::Fixture,
    fleet::{Work, Worker, put},
    uploads::{create, pictures, training},
};

#[tokio::test]
async fn a_training_pays_until_its_last_stored_checkpoint_unless_it_fails() {
    let till = Till::new().await;
    let images = pictures(&till.member, 3).await;
    let job = till.member.post("/v1/jobs", training(&images)).await.expect(202).str("id").to_owned();
    // a worker that reports its end has stored its last checkpoint, 20 s ago
    let first = till.work().await;
    till.store_checkpoint(&first, 100, "one").await;
    till.execute("update jobs.checkpoints set created_at = now() - interval '20 s'").await;
    let _ = till.worker.fail(&first, true).await.expect(200);
    let attempt = till.attempt(&job, 1).await;
    let (state, seconds, reason) = charged(&attempt);
    assert_eq!((state, reason), ("failed", Some("failed")));
    assert_near(seconds, 40);
    assert_eq!(till.cost(&job).await["seconds"], seconds);

    // of one that is lost only the checkpoint before the last is known to be stored, 30 s ago
    let second = till.work().await;
    till.store_checkpoint(&second, 200, "two").await;
    till.store_checkpoint(&second, 300, "six").await;
    till.execute(
        "update jobs.checkpoints set created_at = now() - interval '30 s' where attempt = 2 and step = 200",
    )
    .await;
    let mut worker = Worker::with_token(&till.service, &till.worker.id, &till.worker.token);
    worker.register().await;
    let (third, _) = worker.instruction().await;
    let attempts = till.attempts(&job).await;
    let (state, seconds, reason) = charged(&attempts[1]);
    assert_eq!((state, reason), ("lost", Some("lost")));
    assert_near(seconds, 30);
    assert_eq!(till.usage().await.len(), 2);

    // in the end it fails: nothing is charged, and what was is taken back
    let _ = worker.fail(&third, false).await.expect(200);
    let all = till.attempts(&job).await;
    assert!(all.iter().all(|one| one["seconds"] == 0 && one["uncharged_reason"] == "job_failed"), "{all:?}");
    assert_eq!(till.cost(&job).await, json!({ "amount": "0", "currency": "USD", "seconds": 0 }));
    let usage = till.usage().await;
    let versions = |attempt: i64| -> Vec<_> {
        let own = usage.iter().filter(|record| record["attempt"] == attempt);
        own.map(|record| (record["run_id"].clone(), record["version"].clone(), record["correction"].clone()))
            .collect()
    };
    for attempt in [1, 2] {
        let versions = versions(attempt);
        assert_eq!(versions.len(), 2, "{usage:?}");
        assert_eq!(versions[0].0, versions[1].0);
        assert_eq!((&versions[1].1, &versions[1].2), (&json!(2), &json!("job_failed")));
    }
    assert_eq!(usage.len(), 4);
    till.service.stop().await;
}

#[tokio::test]
async fn a_checkpoint_that_was_only_announced_is_not_paid() {
    let mut till = Till::new().await;
    let images = pictures(&till.member, 3).await;
    let job = till.member.post("/v1/jobs", training(&images)).await.expect(202).str("id").to_owned();
    let announce = async |till: &Till, work: &Work, step| {
        let _ = till.worker.request_checkpoint(work, step, &"0".repeat(64)).await.expect(200);
    };
    let paid = async |till: &Till, number| charged(&till.attempt(&job, number).await).1;
    // the worker is lost
    let first = till.work().await;
    announce(&till, &first, 100).await;
    announce(&till, &first, 200).await;
    till.worker.register().await;
    // nor does it count when the worker reports the end, and takes no place of one that was stored
    let second = till.work().await;
    assert_eq!(paid(&till, 1).await, 0);
    till.store_checkpoint(&second, 100, "one").await;
    till.execute("update jobs.checkpoints set created_at = now() - interval '30 s' where attempt = 2").await;
    for step in [200, 300] {
        announce(&till, &second, step).await;
    }
    let _ = till.worker.fail(&second, true).await.expect(200);
    assert_near(paid(&till, 2).await, 30);
    let (third, _) = till.worker.instruction().await;
    let inputs = till.worker.inputs(&third).await.expect(200);
    let steps: Vec<_> = inputs.body["checkpoints"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(steps, [100]);
    till.service.stop().await;
}

#[tokio::test]
async fn what_a_tenant_does_to_inputs_and_checkpoints_takes_back_nothing() {
    let mut till = Till::new().await;
    let mut paid = 0;
    // a checkpoint goes, an input goes, the bucket goes
    for (what, code) in [
        ("checkpoints", ""),
        ("uploads", "input-missing"),
        ("replaced", "input-missing"),
        ("file", "storage-refused"),
        ("bucket", "storage-not-available"),
    ] {
        let mut images = pictures(&till.member, 2).await;
        let picture = create(&till.member, "2.png").await;
        assert_eq!(put(picture.str("put_url"), "abc").await, 200);
        images.push(picture.str("id").to_owned());
        let job = till.member.post("/v1/jobs", training(&images)).await.expect(202).str("id").to_owned();
        let first = till.work().await;
        till.store_checkpoint(&first, 100, "abc").await;
        till.execute("update jobs.checkpoints set created_at = now() - interval '20 s'").await;
        let _ = till.worker.fail(&first, true).await.expect(200);
        assert_near(charged(&till.attempt(&job, 1).await).1, 40);

        let (second, _) = till.worker.instruction().await;
        match what {
            "checkpoints" => {
                let inputs = till.worker.inputs(&second).await.expect(200);
                assert_eq!(inputs.body["checkpoints"].as_array().unwrap().len(), 1);
                till.delete_objects(&format!("jobs/{job}/0/")).await;
                let inputs = till.worker.inputs(&second).await.expect(200);
                assert_eq!(inputs.body["checkpoints"], json!([]), "it begins anew");
                till.worker.upload(&second, "model.safetensors").await;
                let done = till.worker.complete_with(&second, &["model.safetensors"]).await.expect(200);
                assert_eq!(done.str("state"), "succeeded");
                continue;
            }
            "uploads" => till.delete_objects("jobs/uploads/").await,
            // the hash of the picture was not announced
            "replaced" => {
                let inputs = till.worker.inputs(&second).await.expect(200).body["uploads"][2].clone();
                let read = async || {
                    let get = reqwest::Client::new().get(inputs["url"].as_str().unwrap());
                    let get = get.header("if-match", inputs["etag"].as_str().unwrap());
                    get.send().await.unwrap().status().as_u16()
                };
                assert_eq!(read().await, 200);
                assert_eq!(put(picture.str("put_url"), "xyz").await, 200);
                assert_eq!(read().await, 412);
                let refused = till.worker.inputs(&second).await.expect_problem(422, code);
                assert!(refused.str("detail").contains(picture.str("id")), "{}", refused.text);
            }
            "bucket" => {
                till.fixture.change_objects(Fixture::remove_buckets).await;
                till.worker.inputs(&second).await.expect_problem(409, code);
            }
            _ => {}
        }
        let _ = till.worker.call(&second, "progress", json!({ "phase": "loading" })).await.expect(200);
        let _ = till.worker.fail_with(&second, code, false).await.expect(200);
        let failed = till.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
        assert_eq!((failed.str("state"), &failed.body["problem"]["code"]), ("failed", &json!(code)));
        let (first, second) = (till.attempt(&job, 1).await, till.attempt(&job, 2).await);
        assert_near(charged(&first).1, 40);
        assert_eq!(charged(&second).1, 0, "it has not worked");
        assert_eq!(failed.body["cost"]["seconds"], first["seconds"], "{what}");
        paid += 1;
    }
    assert_eq!(paid, 4);
    let usage = till.usage().await;
    assert!(usage.iter().all(|record| record["correction"] == Value::Null), "{usage:?}");
    let mut conn = till.fixture.db.admin().await;
    let losses = "select count(*) from jobs.attempts where lost_node is not null";
    assert_eq!(sqlx::query_scalar::<_, i64>(losses).fetch_one(&mut conn).await.unwrap(), 0);
    conn.close().await.unwrap();
    till.service.stop().await;
}
