//! The log of a process: exported to the collector, and kept for readers. There is only one case, as a process has one log.

use atelier_service::{Front, Process, TelemetryConfig};
use axum::{Router, routing::get};
use testkit::{Client, Collector, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_exported_and_kept_with_their_requests() {
    atelier_service::start_logging();
    let collector = Collector::start().await;
    let config = TelemetryConfig { endpoint: collector.endpoint().parse().unwrap(), sample_ratio: 0.0 };
    let process = Process::default().traced("test", Some(&config)).unwrap();
    let routes = Router::new().route(
        "/work",
        get(|| async {
            tracing::warn!(unit.name = "a1", "unit has no place");
            "done"
        }),
    );
    let front = Front::new(&process, || async { Ok(()) });
    let client = Client::new(&testkit::serve(front.serve(routes)).await);
    let answer = client.get("/work").await.expect(200);
    let request = answer.header("x-request-id").unwrap().to_owned();

    let line = eventually("the line is exported", async || {
        collector.lines().into_iter().find(|line| line.message == "unit has no place")
    })
    .await;
    assert_eq!(line.severity, "WARN");
    assert_eq!(line.attributes["unit.name"], "a1");
    assert_eq!(line.attributes["request.id"], request);
    assert_eq!(line.resource["service.name"], "test");

    let kept = client.get(&format!("/logz?limit=10&level=warn&request_id={request}")).await.expect(200).body;
    let lines = kept["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 1, "{kept}");
    assert_eq!(
        (&lines[0]["message"], &lines[0]["fields"]["unit.name"]),
        (&"unit has no place".into(), &"a1".into())
    );

    // the last lines are exported when the process ends
    tracing::info!("the last line");
    process.shutdown.begin();
    process.shutdown.finish().await;
    assert!(collector.lines().iter().any(|line| line.message == "the last line"));
}
