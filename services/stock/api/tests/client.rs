//! The client against the document of the service.

use atelier_stock_api::{ClaimPatch, ClaimRequest, Client, WaitRequest};
use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId};
use jiff::Timestamp;
use peer::Endpoint;
use testkit::Documented;

#[tokio::test]
async fn each_call_is_as_documented_and_understands_the_answer() {
    let service = Documented::start(include_str!("../../../../openapi/stock.json")).await;
    let endpoint = Endpoint { url: service.url.parse().unwrap(), token: "token".into() };
    let client = Client::new(reqwest::Client::new(), endpoint);
    let (instance, tenant, spec) = (InstanceId::new(), TenantId::new(), GpuSpecId::new());
    let datacenter = Some(DatacenterId::new());
    let subject = "token".into();

    let claim = ClaimRequest {
        instance_id: instance,
        tenant_id: tenant,
        gpu_spec_id: spec,
        datacenter_id: datacenter,
        preferred_node: None,
        interruptible: false,
        recall_rank: 0,
    };
    client.claim(&claim).await.unwrap();
    client.find_claim(instance).await.unwrap();
    let patch = ClaimPatch { claimed_at: Timestamp::UNIX_EPOCH, recall_rank: 1 };
    client.update_claim(instance, &patch).await.unwrap();
    let wait = WaitRequest {
        tenant_id: tenant,
        gpu_spec_id: spec,
        datacenter_id: datacenter,
        preferred_node: None,
        attempt: 1,
        priority: 0,
    };
    client.claim_or_wait(instance, &wait).await.unwrap();
    client.release(instance, Timestamp::UNIX_EPOCH, 1).await.unwrap();
    client.queue_entries(&[instance], Some(&subject)).await.unwrap();
    client.queue_grants("", 1).await.unwrap();
    client.quote(spec, datacenter, &subject).await.unwrap();
    client.spare_units("small").await.unwrap();
    client.gpu_spec("small", None).await.unwrap();
    client.datacenter("uk-1", &subject).await.unwrap();
    client.find_datacenter("uk-1").await.unwrap();
    service.check();
}
