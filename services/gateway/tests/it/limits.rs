use auth::Role;
use ids::TenantId;
use serde_json::json;

use crate::platform::Platform;

#[tokio::test]
async fn each_user_has_a_separate_allowance() {
    let platform = Platform::with(|config| {
        config.limits.requests_per_second = 1;
        config.limits.request_burst = 3;
    })
    .await;
    let (one, two) = (platform.member(), platform.member());
    let first = one.get("/v1/me").await.expect(200);
    assert_eq!(first.header("ratelimit-policy"), Some("\"user\";q=3;w=3"));
    assert_eq!(first.header("ratelimit"), Some("\"user\";r=2"));
    let mut refused = None;
    for _ in 0..3 {
        refused = Some(one.get("/v1/me").await);
    }
    let refused = refused.unwrap().expect_problem(429, "too-many-requests");
    assert_eq!(refused.header("ratelimit"), Some("\"user\";r=0;t=1"));
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&seconds));
    let _ = two.get("/v1/me").await.expect(200);
    testkit::eventually("the allowance is replenished", async || {
        (one.get("/v1/me").await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn signing_in_is_limited_by_address() {
    let platform = Platform::with(|config| config.limits.sign_in_burst = 2).await;
    for _ in 0..2 {
        let _ = platform.client.post("/v1/sessions", json!({})).await.expect(200);
    }
    platform.client.post("/v1/sessions", json!({})).await.expect_problem(429, "too-many-requests");
    let instance = platform.instance();
    platform.at(&instance).get("/.atelier/session?ticket=x").await.expect_problem(429, "too-many-requests");
    let token = platform.issuer.user(TenantId::new(), Role::Member);
    let _ = platform.client.token(&token).get("/v1/me").await.expect(200);
}
