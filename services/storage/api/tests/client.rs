//! The client against the document of the service.

use atelier_storage_api::{
    AttachRequest, AttachmentMode, Client, DeliveryRequest, DownloadRequest, NewStorage, UrlKind, UrlRequest,
};
use ids::{DeploymentId, InstanceId, StorageId, TenantId};
use peer::Endpoint;
use testkit::Documented;

const OBJECT: &str = "jobs/a/result.png";

#[tokio::test]
async fn each_call_is_as_documented_and_understands_the_answer() {
    let service = Documented::start(include_str!("../../../../openapi/storage.json")).await;
    let endpoint = Endpoint { url: service.url.parse().unwrap(), token: "token".into() };
    let client = Client::new(reqwest::Client::new(), endpoint);
    let (storage, bucket, instance) = (StorageId::new(), StorageId::new(), InstanceId::new());
    let (tenant, deployment, subject) = (TenantId::new(), DeploymentId::new(), "token".into());

    client.find(storage, &subject).await.unwrap();
    client.spec("ssd", &subject).await.unwrap();
    let new = NewStorage {
        name: "models".to_owned(),
        storage_spec: "ssd".to_owned(),
        size_gib: Some(10),
        datacenter: Some("uk-1".to_owned()),
    };
    client.create(&new, "key", &subject).await.unwrap();
    let attach = AttachRequest { tenant_id: tenant, mode: AttachmentMode::ReadWrite };
    client.attach(storage, instance, &attach).await.unwrap();
    client.detach(storage, instance).await.unwrap();

    client.output_bucket(tenant).await.unwrap();
    let url = UrlRequest {
        tenant_id: tenant,
        kind: UrlKind::Upload,
        object: OBJECT.to_owned(),
        content_type: "image/png".to_owned(),
        bytes: 1,
    };
    client.sign_url(bucket, &url).await.unwrap();
    client.objects(bucket, tenant, "jobs/a/").await.unwrap();
    client.delete_objects(bucket, tenant, "jobs/a/").await.unwrap();
    client
        .deliver(bucket, &DeliveryRequest { tenant_id: tenant, object: OBJECT.to_owned(), bytes: 1 })
        .await
        .unwrap();
    client.delete_staged(bucket, tenant, "jobs/a/").await.unwrap();

    let download = DownloadRequest {
        tenant_id: tenant,
        bucket_id: bucket,
        object: OBJECT.to_owned(),
        path: "models/a.safetensors".to_owned(),
        bytes: 1,
        sha256: "00".to_owned(),
    };
    client.put_download(storage, deployment, &download).await.unwrap();
    client.delete_download(storage, deployment, tenant).await.unwrap();
    service.check();
}
