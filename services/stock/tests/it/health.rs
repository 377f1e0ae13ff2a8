//! `/statusz`: what the service reports about itself.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::Value;
use testkit::eventually;

use crate::{fixture::Fixture, silence::cluster};

fn dependency(report: &Value, name: &str) -> Value {
    let all = report["dependencies"].as_array().unwrap();
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {report}")).clone()
}

#[tokio::test]
async fn a_cluster_that_goes_away_degrades_the_service() {
    let (folder, answers) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(true)));
    let fixture = Fixture::with_cluster(Some(cluster(folder.path(), "main", &answers).await)).await;
    let replica = fixture.replica().await;
    let report = eventually("the service works", async || {
        let report = replica.base.get("/statusz").await.expect(200).body;
        // the two are asked at their own pace
        let works = |name| dependency(&report, name)["state"] == "ok";
        (works("cluster:main") && works("postgres")).then_some(report)
    })
    .await;
    assert_eq!(report["module"], "stock");
    assert!(dependency(&report, "postgres")["latency_ms"].as_f64().unwrap() > 0.0, "{report}");
    assert!(report["queues"].as_array().unwrap().iter().any(|queue| queue["name"] == "units"), "{report}");
    let workers = report["workers"].as_array().unwrap();
    assert!(workers.iter().any(|worker| worker["name"] == "stock.silence.follow.main"), "{report}");

    answers.store(false, Ordering::SeqCst);
    let report = eventually("it is degraded", async || {
        let report = replica.base.get("/statusz").await.expect(200).body;
        (report["state"] == "degraded").then_some(report)
    })
    .await;
    assert_eq!(dependency(&report, "cluster:main")["last_error"]["message"], "no answer within 700 ms");
    assert_eq!(dependency(&report, "postgres")["state"], "ok");
}

#[tokio::test]
async fn without_its_database_it_is_unavailable_and_shows_no_password() {
    let mut fixture = Fixture::new().await;
    fixture.database.url = "postgres://someone:planted-in-the-url@127.0.0.1:1/atelier".into();
    let replica = fixture.replica().await;
    let answer = replica.base.get("/statusz").await.expect(200);
    assert_eq!(answer.str("state"), "unavailable");
    assert_eq!(dependency(&answer.body, "postgres")["state"], "failed");
    assert!(!answer.text.contains("planted-in-the-url"), "{}", answer.text);
}
