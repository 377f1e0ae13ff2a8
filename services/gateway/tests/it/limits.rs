use auth::Role;
use ids::{InstanceId, TenantId};
use serde_json::json;
use testkit::{Client, Response};

use crate::platform::Platform;

/// Sends requests until one is refused. The others get `status`.
async fn refused(client: &Client, path: &str, status: u16) -> Response {
    for _ in 0..200 {
        let answer = client.get(path).await;
        if answer.status == 429 {
            return answer.expect_problem(429, "too-many-requests");
        }
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    panic!("no request to {path} was refused");
}

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
    for path in ["/.atelier/session?ticket=x", "/.atelier/share?link=x"] {
        platform.at(&instance).get(path).await.expect_problem(429, "too-many-requests");
    }
    let token = platform.issuer.user(TenantId::new(), Role::Member);
    let _ = platform.client.token(&token).get("/v1/me").await.expect(200);
}

#[tokio::test]
async fn requests_without_a_valid_token_are_limited_by_address() {
    for (token, path, status) in [("rubbish", "/v1/stock", 401), ("", "/.well-known/jwks.json", 200)] {
        let platform = Platform::with(|config| {
            config.limits.address_request_burst = 5;
            config.limits.address_requests_per_second = 1;
        })
        .await;
        let answer = refused(&platform.client.token(token), path, status).await;
        assert_eq!(answer.header("ratelimit-policy"), Some("\"address\";q=5;w=5"), "{token}");
    }
}

#[tokio::test]
async fn the_users_of_a_tenant_share_a_limit() {
    let platform = Platform::with(|config| {
        config.limits.tenant_request_burst = 5;
        config.limits.tenant_requests_per_second = 1;
    })
    .await;
    let tenant = TenantId::new();
    let user = || platform.client.token(&platform.issuer.user(tenant, Role::Member));
    let answer = refused(&user(), "/v1/stock", 200).await;
    assert_eq!(answer.header("ratelimit-policy"), Some("\"tenant\";q=5;w=5"));
    let _ = refused(&user(), "/v1/stock", 200).await;
    let _ = platform.member().get("/v1/stock").await.expect(200);
}

#[tokio::test]
async fn unknown_host_names_are_looked_up_only_so_often() {
    let platform = Platform::start().await;
    let mut answers = Vec::new();
    for _ in 0..80 {
        let host = format!("p8188-{}.localhost", InstanceId::new().k8s_name());
        answers.push(platform.client.header("host", &host).get("/").await.status);
    }
    let looked_up = answers.iter().filter(|status| **status == 401).count();
    assert!((60..75).contains(&looked_up), "{answers:?}");
    assert!(answers.iter().all(|status| matches!(status, 401 | 429)), "{answers:?}");
}
