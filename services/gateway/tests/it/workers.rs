//! Supervision: a panic in a worker does not stop the gateway.

use testkit::{Client, eventually};

use crate::platform::Platform;

#[tokio::test]
async fn every_worker_recovers_from_a_panic() {
    let platform = Platform::start().await;
    // a response shows that the gateway serves, and so that its workers are started
    platform.ready().await;
    let workers = &platform.process.workers;
    assert_eq!(
        workers.names(),
        [
            "gateway.activity.housekeeping",
            "gateway.connections.housekeeping",
            "gateway.metrics.serve",
            "gateway.rate_limits.housekeeping",
            "gateway.revocations.follow",
            "gateway.routes.follow",
        ]
    );
    for name in workers.names() {
        workers.inject_panic(&name);
        eventually("the worker runs again", async || {
            workers.status(&name).filter(|(running, failures)| *running && *failures == 1)
        })
        .await;
    }
    let metrics = Client::new(&format!("http://{}", platform.metrics)).get("/metrics").await.expect(200).text;
    for worker in workers.names() {
        let line = format!("worker_failures_total{{worker=\"{worker}\",cause=\"panic\"}} 1");
        assert!(metrics.contains(&line), "{line} is missing in {metrics}");
    }
    platform.ready().await;
    let _ = platform.member().get("/v1/me").await.expect(200);
}
