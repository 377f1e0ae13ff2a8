//! Files of buckets that the jobs service has laid onto volumes. The test plays the operator: it reads the address, and reports.

use atelier_storage::Faults;
use ids::{DeploymentId, StorageId, TenantId};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::{
    fixture::{Fixture, Service, make, remove, specs, state},
    kills::fired_or,
    objects::{bucket, upload},
};

const OBJECT: &str = "jobs/job_1/1/model.safetensors";
/// SHA-256 of `abc`.
const SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// A volume, and a bucket with the object.
struct Desk {
    fixture: Fixture,
    jobs: Client,
    tenant: TenantId,
    volume: String,
    bucket: String,
}

impl Desk {
    async fn new() -> (Self, Service) {
        let fixture = Fixture::with_cluster().await;
        let service = fixture.start().await;
        specs(&fixture.admin(&service)).await;
        let (tenant, jobs) = (TenantId::new(), service.client.service("jobs"));
        let namespace = json!({ "metadata": { "name": tenant.k8s_name() } });
        let namespace: Namespace = serde_json::from_value(namespace).unwrap();
        Api::all(fixture.cluster.clone().unwrap()).create(&PostParams::default(), &namespace).await.unwrap();
        let member = fixture.member(&service, tenant);
        let volume = make(&member, "models", "ssd", 5).await.str("id").to_owned();
        state(&member, &volume, "available").await;
        let bucket = bucket(&jobs, tenant).await;
        upload(&jobs, &bucket, tenant, OBJECT).await;
        (Self { fixture, jobs, tenant, volume, bucket }, service)
    }

    fn request(&self) -> Value {
        json!({ "tenant_id": self.tenant, "bucket_id": self.bucket, "object": OBJECT, "bytes": 3, "sha256": SHA256,
                "path": "models/Lora/dog.safetensors" })
    }

    async fn put(&self, id: DeploymentId, request: Value) -> Response {
        self.jobs.put(&format!("/internal/v1/storages/{}/downloads/{id}", self.volume), request).await
    }

    fn name(&self) -> String {
        self.volume.parse::<StorageId>().unwrap().k8s_name()
    }

    async fn wanted(&self) -> Vec<crds::Download> {
        self.fixture.gpu_storages().get(&self.name()).await.unwrap().spec.downloads
    }

    /// Waits until the cluster is asked for this attempt. Returns its address.
    async fn address(&self, id: DeploymentId, attempt: i64) -> String {
        let download = eventually("the cluster is asked", async || {
            let wanted = self.wanted().await;
            wanted.into_iter().find(|download| download.id == id.k8s_name() && download.attempt == attempt)
        })
        .await;
        assert_eq!((download.path.as_str(), download.bytes), ("models/Lora/dog.safetensors", 3));
        let secrets: Api<Secret> =
            Api::namespaced(self.fixture.cluster.clone().unwrap(), &self.tenant.k8s_name());
        let secret = secrets.get(&download.secret_name).await.unwrap();
        String::from_utf8(secret.data.unwrap()["url"].0.clone()).unwrap()
    }

    /// Waits until the cluster is asked for this attempt. Returns the content at its address.
    async fn asked(&self, id: DeploymentId, attempt: i64) -> String {
        reqwest::get(self.address(id, attempt).await).await.unwrap().text().await.unwrap()
    }

    async fn report(&self, id: DeploymentId, attempt: i64, phase: &str, reason: Option<&str>) {
        let status = json!({ "id": id.k8s_name(), "attempt": attempt, "phase": phase, "reason": reason,
                             "message": reason.map(|_| "as reported") });
        let patch = Patch::Merge(json!({ "status": { "downloads": [status] } }));
        self.fixture
            .gpu_storages()
            .patch_status(&self.name(), &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    async fn reaches(&self, id: DeploymentId, state: &str) -> Response {
        eventually(&format!("the download is {state}"), async || {
            let read = self.put(id, self.request()).await.expect(200);
            (read.str("state") == state).then_some(read)
        })
        .await
    }

    async fn secrets(&self) -> usize {
        let secrets: Api<Secret> =
            Api::namespaced(self.fixture.cluster.clone().unwrap(), &self.tenant.k8s_name());
        secrets.list(&Default::default()).await.unwrap().items.len()
    }

    /// Waits until nothing of downloads is left in the cluster.
    async fn is_clear(&self) {
        eventually("nothing is left in the cluster", async || {
            (self.wanted().await.is_empty() && self.secrets().await == 0).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_file_is_laid_onto_a_volume_after_a_failed_attempt() {
    let (desk, service) = Desk::new().await;
    let id = DeploymentId::new();
    assert_eq!(desk.put(id, desk.request()).await.expect(200).str("state"), "pending");
    assert_eq!(desk.asked(id, 1).await, "abc");
    desk.report(id, 1, "Failed", Some("Unreachable")).await;
    assert_eq!(desk.asked(id, 2).await, "abc");
    desk.report(id, 2, "Pending", Some("Downloading")).await;
    eventually("it is told what happens", async || {
        let read = desk.put(id, desk.request()).await.expect(200);
        (read.body["reason"] == "downloading").then_some(())
    })
    .await;
    desk.report(id, 2, "Done", None).await;
    let done = desk.reaches(id, "done").await;
    assert!(done.body["finished_at"].is_string() && done.body["reason"].is_null(), "{}", done.text);
    desk.is_clear().await;

    let other = DeploymentId::new();
    let _ = desk.put(other, desk.request()).await.expect(200);
    assert_eq!(desk.asked(other, 1).await, "abc");
    desk.report(other, 1, "Failed", Some("VolumeFull")).await;
    let failed = desk.reaches(other, "failed").await;
    assert_eq!((failed.str("reason"), failed.str("message")), ("volume_full", "as reported"));
    desk.is_clear().await;
    service.stop().await;
}

#[tokio::test]
async fn an_attempt_whose_address_has_expired_is_followed_by_one_with_a_fresh_address() {
    let (desk, service) = Desk::new().await;
    let signed_at = |address: &str| {
        let (_, rest) = address.split_once("X-Amz-Date=").unwrap();
        rest.split('&').next().unwrap().to_owned()
    };
    let id = DeploymentId::new();
    let _ = desk.put(id, desk.request()).await.expect(200);
    let expired = desk.address(id, 1).await;
    // what a pod reports of an address that the object store refuses
    desk.report(id, 1, "Failed", Some("UrlRefused")).await;
    let fresh = desk.address(id, 2).await;
    assert!(signed_at(&fresh) > signed_at(&expired), "{fresh} after {expired}");
    assert_eq!(desk.asked(id, 2).await, "abc");
    desk.report(id, 2, "Done", None).await;
    let _ = desk.reaches(id, "done").await;
    service.stop().await;
}

#[tokio::test]
async fn a_download_survives_a_kill_at_every_step() {
    let (mut desk, service) = Desk::new().await;
    service.stop().await;
    let mut n = 1;
    loop {
        let faults = Faults::after(n);
        let doomed = desk.fixture.start_doomed(&faults).await;
        desk.jobs = doomed.client.service("jobs");
        let id = DeploymentId::new();
        let _ = desk.put(id, desk.request()).await.expect(200);
        let is_asked = async || desk.wanted().await.iter().any(|download| download.id == id.k8s_name());
        let killed = fired_or(&faults, "asked or stopped", is_asked).await;
        doomed.kill();
        if n == 1 {
            assert_eq!((desk.secrets().await, desk.wanted().await), (1, vec![]), "killed after the Secret");
        }
        let service = desk.fixture.start().await;
        desk.jobs = service.client.service("jobs");
        assert_eq!(desk.asked(id, 1).await, "abc", "after {n} effects");
        desk.report(id, 1, "Done", None).await;
        let _ = desk.reaches(id, "done").await;
        desk.is_clear().await;
        service.stop().await;
        if !killed {
            break;
        }
        n += 1;
    }
    assert!(n > 1, "not killed");
}

#[tokio::test]
async fn a_download_that_is_deleted_or_whose_volume_is_deleted_leaves_nothing() {
    let (desk, service) = Desk::new().await;
    let id = DeploymentId::new();
    let _ = desk.put(id, desk.request()).await.expect(200);
    desk.asked(id, 1).await;
    let path = format!("/internal/v1/storages/{}/downloads/{id}?tenant_id=", desk.volume);
    let _ = desk.jobs.delete(&format!("{path}{}", TenantId::new())).await.expect(204);
    assert_eq!(
        desk.put(id, desk.request()).await.expect(200).str("state"),
        "pending",
        "another tenant's call"
    );
    for _ in 0..2 {
        let _ = desk.jobs.delete(&format!("{path}{}", desk.tenant)).await.expect(204);
    }
    desk.is_clear().await;

    let id = DeploymentId::new();
    let _ = desk.put(id, desk.request()).await.expect(200);
    desk.asked(id, 1).await;
    remove(&desk.fixture.member(&service, desk.tenant), &desk.volume).await;
    desk.put(id, desk.request()).await.expect_problem(404, "not-found");
    service.stop().await;
}

#[tokio::test]
async fn what_cannot_be_downloaded_is_refused_or_fails() {
    let (desk, service) = Desk::new().await;
    let id = DeploymentId::new();
    for (member, value) in [
        ("path", json!("../x.safetensors")),
        ("path", json!("/x")),
        ("path", json!("a\nb")),
        ("sha256", json!("abc")),
        ("bytes", json!(-1)),
        ("object", json!("other/x")),
    ] {
        let mut request = desk.request();
        request[member] = value;
        desk.put(id, request).await.expect_problem(422, "invalid-field");
    }
    let mut foreign = desk.request();
    foreign["tenant_id"] = json!(TenantId::new());
    desk.put(id, foreign).await.expect_problem(404, "not-found");
    let onto_bucket = format!("/internal/v1/storages/{}/downloads/{id}", desk.bucket);
    desk.jobs.put(&onto_bucket, desk.request()).await.expect_problem(422, "invalid-field");
    let _ = desk.put(id, desk.request()).await.expect(200);
    let mut other = desk.request();
    other["path"] = json!("models/Lora/cat.safetensors");
    desk.put(id, other).await.expect_problem(422, "invalid-field");

    let gone = DeploymentId::new();
    let mut request = desk.request();
    request["object"] = json!("jobs/job_1/1/none.safetensors");
    let failed = eventually("it fails", async || {
        let read = desk.put(gone, request.clone()).await.expect(200);
        (read.str("state") == "failed").then_some(read)
    })
    .await;
    assert_eq!(failed.str("reason"), "object_gone");
    service.stop().await;
}
