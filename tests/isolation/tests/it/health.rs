//! The health of the whole platform, as an administrator reads it.

use crate::support::{PASSWORD, Platform};
use testkit::eventually;

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
    assert_eq!(names, ["gateway", "gpu", "identity", "jobs", "stock", "storage"]);
    for (module, dependencies) in [
        (1, vec!["cluster:main", "identity", "object_store", "postgres", "stock", "storage"]),
        (2, vec!["postgres"]),
        (3, vec!["identity", "postgres"]),
        (4, vec!["cluster:main", "identity", "postgres"]),
        (5, vec!["cluster:main", "identity", "object_store", "postgres"]),
    ] {
        let report = &modules[module]["replicas"][0]["report"];
        let named = |one: &serde_json::Value| one["name"].as_str().unwrap().to_owned();
        let mut found: Vec<_> = report["dependencies"].as_array().unwrap().iter().map(named).collect();
        found.sort();
        assert_eq!(found, dependencies, "{}", names[module]);
        assert!(!report["workers"].as_array().unwrap().is_empty(), "{report}");
    }
    let secrets =
        ["admin-secret", PASSWORD, &testkit::service_token("gpu"), &testkit::service_token("gateway")];
    for secret in secrets {
        assert!(!answer.text.contains(secret), "{secret} in {}", answer.text);
    }
}
