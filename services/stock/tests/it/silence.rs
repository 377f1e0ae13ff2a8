//! Two clusters, one of which goes away: the other is untouched.

use std::{
    future::pending,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Json, Router, routing::get};
use serde_json::{Value, json};
use testkit::eventually;

use crate::fixture::{Fixture, Replica, instance, tenant};

/// A cluster that tells its version while it `answers`, and takes all other requests without an answer.
pub(crate) async fn cluster(folder: &Path, name: &str, answers: &Arc<AtomicBool>) -> PathBuf {
    let answers = Arc::clone(answers);
    let version = move || async move {
        if !answers.load(Ordering::SeqCst) {
            pending::<()>().await;
        }
        let text =
            ["gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"];
        let mut info = json!({ "major": "1", "minor": "36" });
        for name in text {
            info[name] = json!("");
        }
        Json(info)
    };
    let router = Router::new().route("/version", get(version)).fallback(pending::<()>);
    let url = testkit::serve(router).await;
    let config = json!({
        "clusters": [{ "name": "a", "cluster": { "server": url } }], "users": [{ "name": "a", "user": {} }],
        "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }], "current-context": "a",
    });
    let file = folder.join(name);
    std::fs::write(&file, config.to_string()).unwrap();
    file
}

/// Claims a unit in any datacenter. Returns the instance and the unit's cluster.
async fn claim(replica: &Replica, spec_id: &str, node: Option<&str>) -> (String, String) {
    let holder = instance();
    let body = json!({
        "instance_id": holder, "tenant_id": tenant(), "gpu_spec_id": spec_id, "preferred_node": node,
    });
    let claim = replica.service.post("/internal/v1/claims", body).await.expect(201);
    (holder, claim.str("cluster").to_owned())
}

/// Waits until claims go to a cluster.
async fn until_claims_go_to(replica: &Replica, spec_id: &str, wanted: &str) {
    eventually("the claims go there", async || {
        let (holder, cluster) = claim(replica, spec_id, None).await;
        replica.release(&holder).await;
        (cluster == wanted).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_claim_without_a_datacenter_avoids_a_silent_cluster() {
    let (folder, main, other) =
        (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(true)));
    let mut fixture = Fixture::with_cluster(Some(cluster(folder.path(), "main", &main).await)).await;
    fixture.other = Some(cluster(folder.path(), "other", &other).await);
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "0.25").await;
    let _ = replica.datacenter("uk-1").await;
    let west = replica.datacenter_in("us-1", "other").await;
    fixture.units("a", "uk-1", 2).await;
    fixture.units("a", "us-1", 9).await;
    until_claims_go_to(&replica, &spec_id, "other").await;

    other.store(false, Ordering::SeqCst);
    until_claims_go_to(&replica, &spec_id, "main").await;
    // a node of the same name in the silent cluster is not meant
    let near = claim(&replica, &spec_id, Some("node-1")).await;
    let (last, cluster) = claim(&replica, &spec_id, None).await;
    assert_eq!((near.1.as_str(), cluster.as_str()), ("main", "main"));
    // rather there than not at all; and whoever asks for it gets it
    assert_eq!(claim(&replica, &spec_id, None).await.1, "other");
    let body: Value = json!({
        "instance_id": instance(), "tenant_id": tenant(), "gpu_spec_id": spec_id, "datacenter_id": west,
    });
    let asked = replica.service.post("/internal/v1/claims", body).await.expect(201);
    assert_eq!(asked.str("cluster"), "other");
    replica.release(&last).await;

    other.store(true, Ordering::SeqCst);
    until_claims_go_to(&replica, &spec_id, "other").await;
    fixture.assert_sound().await;
}
