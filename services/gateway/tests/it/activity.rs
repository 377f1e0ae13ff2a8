//! The gateway tells the gpu service which instances are in use.

use std::sync::atomic::Ordering;

use futures::StreamExt;
use ids::InstanceId;
use serde_json::Value;
use testkit::eventually;

use crate::{platform::Platform, websockets::connect};

impl Platform {
    /// What was reported about an instance since the last call: seconds since its last use.
    fn reported(&self, instance: InstanceId) -> Vec<u64> {
        let reports = std::mem::take(&mut *self.fixture.reports.lock().unwrap());
        let of = |report: &Value| {
            let found = report["instances"]
                .as_array()
                .unwrap()
                .iter()
                .find(|use_| use_["instance_id"] == instance.to_string());
            found.map(|use_| use_["seconds_ago"].as_u64().unwrap())
        };
        reports.iter().filter_map(of).collect()
    }

    /// Waits for a complete report that includes everything before this call.
    async fn next_reports(&self) -> usize {
        self.fixture.reports.lock().unwrap().clear();
        eventually("two reports", async || {
            let count = self.fixture.reports.lock().unwrap().len();
            (count >= 2).then_some(count)
        })
        .await
    }
}

#[tokio::test]
async fn the_use_of_instances_is_reported_until_it_is_heard() {
    let platform = Platform::start().await;
    let (instance, other) = (platform.instance(), platform.instance());
    platform.next_reports().await;
    assert!(platform.reported(instance.id).is_empty());
    platform.at(&instance).get("/").await.expect_problem(401, "not-opened");
    platform.next_reports().await;
    assert!(platform.reported(instance.id).is_empty(), "it was not opened");
    let opened = platform.opened(&instance).await;

    // a request while the gpu service is unavailable
    let _ = opened.get("/").await.expect(200);
    platform.next_reports().await;
    platform.next_reports().await;
    assert!(platform.reported(instance.id).is_empty(), "it was reported before");
    platform.fixture.gpu_away.store(true, Ordering::SeqCst);
    let _ = opened.get("/").await.expect(200);
    let refused = platform.fixture.refused_reports.load(Ordering::SeqCst);
    eventually("two reports are refused", async || {
        (platform.fixture.refused_reports.load(Ordering::SeqCst) >= refused + 2).then_some(())
    })
    .await;
    platform.fixture.gpu_away.store(false, Ordering::SeqCst);
    let ago = eventually("it is reported", async || platform.reported(instance.id).first().copied()).await;
    assert!(ago < 30);
    platform.next_reports().await;
    assert!(platform.reported(instance.id).is_empty(), "it is reported once");
    assert!(platform.reported(other.id).is_empty());

    // a WebSocket is open
    let cookie = platform.cookie(&instance).await;
    let (mut socket, _) = connect(&platform, &instance.host, "/ws", &[("cookie", &cookie)]).await.unwrap();
    assert!(socket.next().await.unwrap().is_ok());
    platform.next_reports().await;
    platform.next_reports().await;
    assert!(!platform.reported(instance.id).is_empty(), "it is open still");
    socket.close(None).await.unwrap();
    while let Some(Ok(_)) = socket.next().await {}
    drop(socket);
    platform.next_reports().await;
    platform.next_reports().await;
    assert!(platform.reported(instance.id).is_empty(), "it is closed");

    // shutdown
    platform.fixture.reports.lock().unwrap().clear();
    platform.process.shutdown.begin();
    eventually("the last report", async || {
        let reports = platform.fixture.reports.lock().unwrap();
        reports.last().filter(|report| report["has_ended"] == true).map(drop)
    })
    .await;
}
