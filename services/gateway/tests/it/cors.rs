//! Pages of other origins.

use serde_json::json;

use crate::platform::Platform;

const TOOLS: &str = "https://tools.example";

#[tokio::test]
async fn without_configuration_no_other_origin_is_allowed() {
    let platform = Platform::start().await;
    let page = platform.member().header("origin", TOOLS);
    assert_eq!(page.get("/v1/me").await.expect(200).header("access-control-allow-origin"), None);
    let preflight = platform.client.header("origin", TOOLS).header("access-control-request-method", "POST");
    let answer = preflight.send("OPTIONS".parse().unwrap(), "/v1/instances", &json!(null)).await;
    answer.expect_problem(401, "unauthenticated");
}

#[tokio::test]
async fn pages_of_allowed_origins_may_call_the_api_with_a_token() {
    let platform = Platform::with(|config| config.cors.allowed_origins = vec![TOOLS.to_owned()]).await;
    let asked = platform
        .client
        .header("origin", TOOLS)
        .header("access-control-request-method", "PATCH")
        .header("access-control-request-headers", "authorization,idempotency-key,if-match");
    let preflight = asked.send("OPTIONS".parse().unwrap(), "/v1/instances", &json!(null)).await.expect(200);
    assert_eq!(preflight.header("access-control-allow-origin"), Some(TOOLS));
    let allowed = preflight.header("access-control-allow-headers").unwrap();
    for name in ["authorization", "idempotency-key", "if-match"] {
        assert!(allowed.split(',').any(|other| other.trim() == name), "{allowed}");
    }
    assert!(preflight.header("access-control-allow-methods").unwrap().contains("PATCH"));
    assert_eq!(preflight.header("access-control-max-age"), Some("600"));
    assert_eq!(preflight.header("x-content-type-options"), Some("nosniff"));

    for client in [platform.member(), platform.client.clone()] {
        // error responses can be read too
        let answer = client.header("origin", TOOLS).get("/v1/me").await;
        assert_eq!(answer.header("access-control-allow-origin"), Some(TOOLS));
        assert!(answer.header("access-control-expose-headers").unwrap().contains("etag"));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
    }
    for origin in ["https://tools.example.evil", "http://tools.example", "null"] {
        let other = platform.member().header("origin", origin).get("/v1/me").await.expect(200);
        assert_eq!(other.header("access-control-allow-origin"), None, "{origin}");
    }
    // instances set their own headers
    let instance = platform.instance();
    let opened = platform.opened(&instance).await.header("origin", TOOLS);
    assert_eq!(opened.get("/").await.expect(200).header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn a_wildcard_allows_all_origins_and_no_cookies() {
    let platform = Platform::with(|config| config.cors.allowed_origins = vec!["*".to_owned()]).await;
    let answer = platform.member().header("origin", TOOLS).get("/v1/me").await.expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}
