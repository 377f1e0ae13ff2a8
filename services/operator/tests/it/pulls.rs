//! Images that cannot be pulled at once, or never.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use testkit::eventually;

use crate::lab::{Lab, is_idle};

/// Why the container of a pod does not run.
fn waits_for(pod: &Pod) -> Option<String> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.first()?.state.as_ref()?.waiting.as_ref()?.reason.clone()
}

/// A registry that fails once does not fail the start.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_the_second_pull_gets_starts() {
    let lab = Lab::new(0, 0).await;
    let Some(cluster) = &lab.cluster else {
        eprintln!("skipped: an image cannot be pushed to a registry of this cluster");
        return;
    };
    let operator = lab.operator("one", None).await;
    lab.create_real_unit(0).await;
    let held = lab.held(0).await;
    let mut instance = lab.instance(0, 1);
    instance["image"] = json!("registry.test/late:1");
    lab.set_instance(0, Some(instance)).await;
    eventually("a pull has failed", async || {
        let pods = lab.pods(0).await;
        pods.iter().any(|pod| waits_for(pod).as_deref() == Some("ErrImagePull")).then_some(())
    })
    .await;
    cluster.add_image(devcluster::ImageConfig::new("registry.test/late:1", ["sh"]));
    let running = lab.running(0, 1).await;
    assert_eq!((running.node, running.last_failure), (held.node, None));
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_no_pull_gets_fails_the_start_with_the_words_of_the_registry() {
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator("one", None).await;
    lab.create_real_unit(0).await;
    let held = lab.held(0).await;
    let mut instance = lab.instance(0, 1);
    instance["image"] = json!("registry.invalid/nothing:1");
    let begun = Instant::now();
    lab.set_instance(0, Some(instance)).await;
    let failed = lab.until(0, "failed", |status| status.last_failure.is_some() && is_idle(status)).await;
    // counted from the whole second of the first failure
    let least = Duration::from_secs(Lab::settings().image_pull_seconds - 1);
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
    let failure = failed.last_failure.unwrap();
    assert_eq!(failure.reason, "ImagePullFailed");
    let words = "failed to pull and unpack image \"registry.invalid/nothing:1\"";
    assert!(failure.message.contains(words), "{}", failure.message);
    assert_eq!(failed.node, held.node);
    lab.end(operator, 1).await;
}
