//! The health of the whole platform, as an administrator reads it.

use crate::support::{PASSWORD, Platform};
use ::platform::{GATEWAY, Service};
use testkit::eventually;

/// What a service depends on besides what its entry in platform.toml says.
const FURTHER: [(&str, &str); 2] = [("gpu", "stock"), ("gpu", "storage")];

/// What a service depends on, by name.
fn dependencies(service: &Service) -> Vec<&'static str> {
    let listed = [
        (service.schema, "postgres"),
        // from which all others read revocations
        (service.schema && service.name != "identity", "identity"),
        (service.clusters, "cluster:main"),
        (service.object_store, "object_store"),
    ];
    let listed = listed.into_iter().filter(|(has, _)| *has).map(|(_, dependency)| dependency);
    let further = FURTHER.iter().filter(|(name, _)| *name == service.name).map(|(_, dependency)| *dependency);
    let mut all: Vec<_> = listed.chain(further).collect();
    all.sort_unstable();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn all_modules_report_and_none_shows_a_secret() {
    let platform = Platform::start().await;
    let answer = eventually("the platform is well", async || {
        let answer = platform.admin.get("/v1/platform/health").await.expect(200);
        (answer.str("state") == "ok").then_some(answer)
    })
    .await;
    let modules = answer.body["modules"].as_array().unwrap();
    let names: Vec<_> = modules.iter().map(|module| module["name"].as_str().unwrap()).collect();
    let routed = ::platform::routed().map(|service| service.name.as_str());
    let mut expected: Vec<_> = routed.chain([GATEWAY]).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    for module in modules.iter().filter(|module| module["name"] != GATEWAY) {
        let service = ::platform::service(module["name"].as_str().unwrap()).unwrap();
        let report = &module["replicas"][0]["report"];
        let named = |one: &serde_json::Value| one["name"].as_str().unwrap().to_owned();
        let mut found: Vec<_> = report["dependencies"].as_array().unwrap().iter().map(named).collect();
        found.sort();
        assert_eq!(found, dependencies(service), "{}", service.name);
        assert!(!report["workers"].as_array().unwrap().is_empty(), "{report}");
    }
    let secrets =
        ["admin-secret", PASSWORD, &testkit::service_token("gpu"), &testkit::service_token("gateway")];
    for secret in secrets {
        assert!(!answer.text.contains(secret), "{secret} in {}", answer.text);
    }
}
