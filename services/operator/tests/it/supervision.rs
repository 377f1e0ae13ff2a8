//! Panics in workers and in the reconcile of one object.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atelier_operator::App;
use atelier_operator::controller::{Hook, Step, Verdict};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::json;
use service::{Process, Workers};
use testkit::eventually;
use tower::ServiceExt as _;

use crate::lab::Lab;

/// Injects a panic and waits until the worker runs again.
async fn panic_once(workers: &Workers, name: &str) {
    let (_, failed) = workers.status(name).unwrap();
    workers.inject_panic(name);
    eventually("the worker has been restarted", async || {
        (workers.status(name).unwrap() == (true, failed + 1)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_is_started_and_stopped_after_a_panic_in_each_worker() {
    let lab = Lab::new(1, 2).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(1).await;
    let node = lab.held(0).await.node;
    let workers = &operator.process.workers;
    let names = workers.names();
    for name in [
        "operator.election.reconcile",
        "operator.objects.reconcile",
        "operator.gpuunits.follow",
        "operator.pods.follow",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} is missing in {names:?}");
    }
    assert_eq!(names.len(), 14, "{names:?}");
    for (attempt, name) in (1..).zip(&names) {
        panic_once(workers, name).await;
        lab.set_instance(0, Some(lab.instance(0, attempt))).await;
        assert_eq!(lab.running(0, attempt).await.node, node, "after a panic in {name}");
        lab.set_instance(0, None).await;
        assert_eq!(lab.held(0).await.node, node, "after a panic in {name}");
    }
    testkit::metrics::assert_documented(&operator.process.metrics.text());
    lab.end(operator, 1).await;
}

/// Panics at every write for one object, until it is cured.
fn poison(name: String, cured: Arc<AtomicBool>) -> Hook {
    Arc::new(move |step, _, object| {
        assert!(
            step == Step::After || object != name || cured.load(Ordering::SeqCst),
            "poison object {object}"
        );
        Verdict::Continue
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poison_object_does_not_stop_others() {
    const UNITS: usize = 4;
    let lab = Lab::new(1, UNITS).await;
    let cured = Arc::new(AtomicBool::default());
    let mut operator = lab.operator("one", Some(poison(lab.unit_name(0), Arc::clone(&cured)))).await;
    operator.leads().await;
    lab.create_units(UNITS).await;
    // more panics than there are lanes
    let panics = || {
        let text = operator.process.metrics.text();
        let line = text
            .lines()
            .find(|line| line.starts_with("operator_reconciles_total{kind=\"unit\",outcome=\"panic\"}"))?;
        line.rsplit(' ').next()?.parse::<u64>().ok()
    };
    eventually("the poison object is retried", async || panics().filter(|panics| *panics >= 4)).await;
    for n in 1..UNITS {
        lab.held(n).await;
        lab.set_instance(n, Some(lab.instance(n, 1))).await;
        lab.running(n, 1).await;
    }
    assert_eq!(lab.status(0).await.conditions, [], "nothing was written for the poison object");
    assert!(operator.is_leading());
    assert_eq!(operator.process.workers.status("operator.objects.reconcile"), Some((true, 0)));

    cured.store(true, Ordering::SeqCst);
    lab.held(0).await;
    lab.end(operator, UNITS).await;
}

async fn get(app: &App, path: &str) -> (StatusCode, String) {
    let request = Request::get(path).body(Body::empty()).unwrap();
    let response = app.router().oneshot(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_process_is_ready_while_its_watches_are_synced_and_its_workers_run() {
    let lab = Lab::new(0, 0).await;
    let config = serde_json::from_value(json!({
        "listen": "127.0.0.1:0", "kubeconfig": lab.kubeconfig(), "lease_seconds": 3, "identity": "one",
    }));
    let process = Process::default();
    let app = App::new(&config.unwrap(), process.clone()).await.unwrap();
    assert_eq!(get(&app, "/readyz").await.0, StatusCode::SERVICE_UNAVAILABLE, "no watch has synced");
    app.start_workers();
    eventually("the process is ready", async || {
        (get(&app, "/readyz").await.0 == StatusCode::OK).then_some(())
    })
    .await;
    let workers = &process.workers;
    assert_eq!(workers.names().len(), 15, "{:?}", workers.names());
    panic_once(workers, "operator.records.retention").await;
    for _ in 0..3 {
        panic_once(workers, "operator.election.reconcile").await;
    }
    let (status, cause) = get(&app, "/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(cause.contains("operator.election.reconcile") && cause.contains("injected"), "{cause}");
    assert_eq!(get(&app, "/healthz").await.0, StatusCode::OK, "it may still recover");
    process.shutdown.begin();
    process.shutdown.finish().await;
}
