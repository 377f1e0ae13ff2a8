//! `atelier-admin drain`, through the gateway.

use std::time::Duration;

use crate::support::{Person, Platform};
use atelier_admin::{Gateway, drain};
use serde_json::json;
use testkit::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_datacenter_is_empty_and_takes_nothing_until_it_is_active_again() {
    let platform = Platform::start().await;
    let tenant = platform.admin.post("/v1/tenants", json!({ "name": "studio" })).await.expect(201);
    let person = Person::create(&platform, tenant.str("id"), "ann@studio.test", "member").await;
    let member = platform.gateway.token(&person.token);
    let order = json!({ "gpu_spec": "small", "service": "shell", "version": "1" });
    let created = member.post("/v1/instances", order.clone()).await.expect(202);
    let path = format!("/v1/instances/{}", created.str("id"));
    let is = async |state: &str| (member.get(&path).await.body["state"] == state).then_some(());
    eventually("the instance runs", async || is("running").await).await;

    let token = platform.sign_in_administrator().await.str("access_token").to_owned();
    let gateway = Gateway::new(platform.gateway.base(), token.into()).unwrap();
    let mut request = drain::Request {
        datacenter: "main".to_owned(),
        stop: None,
        timeout: Duration::ZERO,
        poll: Duration::from_millis(100),
    };
    // without a reason to stop it, the instance goes on
    let mut told = Vec::new();
    assert_eq!(drain::drain(&gateway, &request, |used| told.push(used)).await.unwrap(), 1);
    assert_eq!(told, [1]);
    is("running").await.unwrap();
    let refused = member.post("/v1/instances", order.clone()).await;
    assert!(refused.status == 202 || refused.status == 409, "{}", refused.body);
    if refused.status == 202 {
        let path = format!("/v1/instances/{}", refused.str("id"));
        eventually("the start is refused", async || {
            (member.get(&path).await.body["reason"] == "stock_exhausted").then_some(())
        })
        .await;
    }

    request.stop = Some("maintenance of the power supply".to_owned());
    request.timeout = Duration::from_secs(60);
    told.clear();
    assert_eq!(drain::drain(&gateway, &request, |used| told.push(used)).await.unwrap(), 0);
    assert_eq!(told, [1, 0]);
    eventually("the instance is stopped", async || is("stopped").await).await;
    assert_eq!(member.get(&path).await.body["reason"], "stopped_by_administrator");

    drain::undo(&gateway, "main").await.unwrap();
    let _ = member.post(&format!("{path}/start"), json!({})).await.expect(202);
    eventually("the instance runs again", async || is("running").await).await;
}
