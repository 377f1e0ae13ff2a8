//! The client against the document of the service.

use std::time::Duration;

use atelier_gpu_api::{
    ActivityReport, Client, EnvVar, ManagedChange, ManagedOrder, OpenLinkRequest, RedeemRequest, Secret,
};
use ids::{InstanceId, TenantId};
use peer::Endpoint;
use testkit::Documented;

#[tokio::test]
async fn each_call_is_as_documented_and_understands_the_answer() {
    let service = Documented::start(include_str!("../../../../openapi/gpu.json")).await;
    let endpoint = Endpoint { url: service.url.parse().unwrap(), token: "token".into() };
    let client = Client::new(reqwest::Client::new(), endpoint);
    let (instance, tenant) = (InstanceId::new(), TenantId::new());
    let (host_label, wait) = (instance.k8s_name(), Duration::from_secs(1));

    client.route(&host_label).await.unwrap();
    client.route_changes("", wait).await.unwrap();
    client.events("latest", wait).await.unwrap();
    client.spent_tenants(None).await.unwrap();
    client.spent_tenants(Some(tenant)).await.unwrap();

    let ticket = RedeemRequest { ticket: "ticket".to_owned(), host_label: host_label.clone() };
    client.redeem(&ticket).await.unwrap();
    client.redeem_link(&ticket).await.unwrap();
    let link = OpenLinkRequest { secret: "secret".to_owned(), host_label };
    client.open_link(&link).await.unwrap();
    client.link_ticket(&link, &"token".into()).await.unwrap();
    let activity = ActivityReport {
        reporter: "gateway-1".to_owned(),
        instances: Vec::new(),
        is_complete: true,
        has_ended: false,
    };
    client.report_activity(&activity).await.unwrap();

    let order = ManagedOrder {
        tenant_id: tenant,
        name: Some("worker".to_owned()),
        gpu_spec: "small".to_owned(),
        service: "stable-diffusion-webui".to_owned(),
        version: Some("1.10".to_owned()),
        datacenter: Some("uk-1".to_owned()),
        env: vec![EnvVar { name: "A".to_owned(), value: "b".to_owned() }],
        secrets: vec![Secret { name: "C".to_owned(), value: "d".into() }],
        wait: false,
        interruptible: true,
        reaches_peers: true,
        runs_tenant_code: true,
    };
    client.put_instance(instance, &order).await.unwrap();
    client.instance(instance).await.unwrap();
    client.update_instance(instance, &ManagedChange { recall_rank: 1 }).await.unwrap();
    client.delete_instance(instance).await.unwrap();
    service.check();
}
