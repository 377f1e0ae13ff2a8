use std::collections::HashMap;

use std::sync::atomic::Ordering;

use auth::Role;
use ids::TenantId;
use serde_json::json;
use testkit::{Issuer, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::platform::Platform;

#[tokio::test]
async fn each_part_of_the_api_reaches_its_service() {
    let platform = Platform::start().await;
    let member = platform.member();
    for (path, service) in [
        ("/v1/stock?spec_name=4090&limit=2", "stock"),
        ("/v1/gpu-specs/3080-small-4-1/prices", "stock"),
        ("/v1/instances", "gpu"),
        ("/v1/services", "gpu"),
        ("/v1/storages/stor_x", "storage"),
        ("/v1/jobs/job_x", "jobs"),
        ("/v1/tenants", "identity"),
        ("/v1/me", "identity"),
    ] {
        let answer = member.get(path).await.expect(200);
        assert_eq!(answer.str("service"), service);
        assert_eq!(answer.str("uri"), path, "path and query arrive as they were sent");
        assert!(answer.header("x-request-id").is_some());
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    let posted = member.post("/v1/storages", json!({ "name": "x" })).await.expect(200);
    assert_eq!((posted.str("method"), posted.body["bytes"].as_u64()), ("POST", Some(12)));
}

#[tokio::test]
async fn forwarded_headers_are_set_and_the_token_passes_unchanged() {
    let platform = Platform::start().await;
    let token = platform.issuer.user(TenantId::new(), Role::Viewer);
    let answer = platform
        .client
        .token(&token)
        .header("x-request-id", "my-own-request-id")
        .header("x-atelier-tenant", "ten_x")
        .header("x-atelier-subject", "x.y.z")
        .header("x-forwarded-for", "6.6.6.6")
        .header("x-forwarded-proto", "gopher")
        .header("forwarded", "for=6.6.6.6")
        .header(
            "connection",
            "x-secret-hop, host, x-request-id, x-forwarded-for, x-forwarded-proto, x-forwarded-host",
        )
        .header("x-secret-hop", "1")
        .header("cookie", "atelier_session=x")
        .get("/v1/me")
        .await
        .expect(200);
    let headers = &answer.body["headers"];
    assert_eq!(headers["authorization"], format!("Bearer {token}"));
    assert_eq!(headers["x-request-id"], "my-own-request-id");
    assert_eq!(answer.header("x-request-id"), Some("my-own-request-id"));
    assert_eq!(headers["host"], platform.address.to_string());
    assert_eq!(headers["x-forwarded-for"], "127.0.0.1");
    assert_eq!(headers["x-forwarded-proto"], "http");
    assert_eq!(headers["x-forwarded-host"], platform.address.to_string());
    for gone in ["x-atelier-tenant", "x-atelier-subject", "forwarded", "x-secret-hop", "connection", "cookie"]
    {
        assert!(headers.get(gone).is_none(), "{gone} passed: {headers}");
    }
}

#[tokio::test]
async fn without_a_valid_token_only_sign_in_and_the_keys_are_forwarded() {
    let platform = Platform::start().await;
    let client = &platform.client;
    let mut expired = platform.issuer.claims(None, true);
    expired.exp -= 3600;
    let mut elsewhere = platform.issuer.claims(None, true);
    elsewhere.aud = "another".to_owned();
    let good = platform.issuer.admin();
    let changed = good.replacen(&good[good.len() - 6..], "AAAAAA", 1);
    for token in [
        platform.issuer.sign(&expired),
        platform.issuer.sign(&elsewhere),
        Issuer::start().await.admin(),
        changed,
        "rubbish".to_owned(),
        "eyJhbGciOiJub25lIn0.e30.".to_owned(),
    ] {
        let answer = client.token(&token).get("/v1/stock").await.expect_problem(401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    client.get("/v1/stock").await.expect_problem(401, "unauthenticated");
    client.header("authorization", "Basic eDp5").get("/v1/me").await.expect_problem(401, "unauthenticated");
    client.delete("/v1/sessions/current").await.expect_problem(401, "unauthenticated");
    client.get("/v1/sessions").await.expect_problem(401, "unauthenticated");
    for path in ["/v1/sessions", "/v1/sessions/refresh"] {
        assert_eq!(client.post(path, json!({})).await.expect(200).str("service"), "identity");
    }
    for path in ["/.well-known/jwks.json", "/.well-known/openid-configuration"] {
        assert_eq!(client.get(path).await.expect(200).str("service"), "identity");
    }
}

#[tokio::test]
async fn no_path_reaches_internal_operations() {
    let platform = Platform::start().await;
    let admin = platform.client.token(&platform.issuer.admin());
    for path in ["/internal/v1/routes/x", "/v1/internal", "/metrics", "/v1", "/V1/stock"] {
        admin.get(path).await.expect_problem(404, "no-such-route");
    }
    // reqwest would normalize these, so they are written by hand
    for path in [
        "/v1/../internal/v1/routes/x",
        "/v1/%2e%2e/internal/v1/routes/x",
        "/v1/stock/..%2f..%2finternal",
        "/v1/stock%2f..%2f..%2finternal",
        "//internal/v1/routes/x",
        "/v1//stock",
        "/v1/stock\\..\\internal",
        "/v1/stock/%00",
    ] {
        let status = crate::listener::raw_status(
            platform.address,
            &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n", platform.issuer.admin()),
        )
        .await;
        assert_eq!(status, 400, "{path}");
    }
}

#[tokio::test]
async fn an_unreachable_service_is_a_503_with_retry_after() {
    let url = format!("http://{}", testkit::NOBODY).parse().unwrap();
    let platform = Platform::with(|config| config.services["stock"] = url).await;
    let answer = platform.member().get("/v1/stock").await.expect_problem(503, "unavailable");
    assert_eq!(answer.header("retry-after"), Some("2"));
    assert!(!answer.text.contains(testkit::NOBODY), "the internal address is shown: {}", answer.text);
    let _ = platform.member().get("/v1/instances").await.expect(200);
    // availability is computed from this
    let metrics =
        testkit::Client::new(&format!("http://{}", platform.metrics)).get("/metrics").await.expect(200).text;
    for (upstream, route, failed) in [("stock", "/v1/stock", 1), ("gpu", "/v1/instances", 0)] {
        let line = format!(
            "gateway_api_requests_total{{upstream=\"{upstream}\",method=\"GET\",route=\"{route}\",outcome=\"failed\"}} {failed}\n"
        );
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
}

#[tokio::test]
async fn a_service_that_does_not_respond_in_time_is_a_504() {
    // accepts connections and never responds
    let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", mute.local_addr().unwrap()).parse().unwrap();
    let platform = Platform::with(|config| {
        config.services["stock"] = url;
        config.limits.answer_seconds = 1;
    })
    .await;
    platform.member().get("/v1/stock").await.expect_problem(504, "no-answer");
}

#[tokio::test]
async fn the_gateway_is_ready_while_a_service_is() {
    let platform = Platform::start().await;
    assert_eq!(platform.client.get("/healthz").await.expect(200).text, "ok\n");
    platform.ready().await;
    platform.fixture.not_ready.store(true, Ordering::SeqCst);
    let text = eventually("the gateway notices", async || {
        let answer = platform.client.get("/readyz").await;
        (answer.status == 503).then_some(answer.text)
    })
    .await;
    let services: Vec<_> = ::platform::routed().map(|service| service.name.as_str()).collect();
    assert_eq!(text, format!("waiting for {}\n", services.join(", ")));
    platform.fixture.not_ready.store(false, Ordering::SeqCst);
    platform.ready().await;
    let platform =
        Platform::with(|config| config.services["stock"] = "http://127.0.0.1:9".parse().unwrap()).await;
    platform.ready().await;
}

#[tokio::test]
async fn metrics_are_internal_and_the_document_is_public() {
    let platform = Platform::start().await;
    let inside = testkit::Client::new(&format!("http://{}", platform.metrics));
    let _ = platform.client.get("/healthz").await;
    let _ = platform.client.send("INVENTED".parse().unwrap(), "/healthz", &json!(null)).await.expect(405);
    let metrics = inside.get("/metrics").await.expect(200).text;
    assert!(!metrics.contains("INVENTED") && metrics.contains("method=\"_OTHER\""), "{metrics}");
    assert!(inside.get("/metrics").await.expect(200).text.contains("http_server_request_duration_seconds"));
    let document = platform.client.get("/openapi.json").await.expect(200).body;
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/v1/sessions"].is_object());
    assert!(document["paths"].as_object().unwrap().keys().all(|path| !path.starts_with("/internal")));
}

/// Sends a request by hand and returns the status and the problem of the response.
async fn post_raw(platform: &Platform, headers: &str, body: &str) -> (u16, String) {
    let token = platform.issuer.user(TenantId::new(), Role::Member);
    let request = format!(
        "POST /v1/storages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         connection: close\r\n{headers}\r\n\r\n{body}"
    );
    let text = crate::listener::raw(platform.address, &request).await;
    let status = text.split(' ').nth(1).unwrap_or_else(|| panic!("no response: {text:?}")).parse().unwrap();
    (status, text)
}

#[tokio::test]
async fn a_bad_body_is_the_fault_of_its_sender() {
    let platform = Platform::with(|config| {
        config.limits.body_seconds = 1;
        config.limits.body_bytes = 10_000;
    })
    .await;
    let (status, text) =
        post_raw(&platform, "transfer-encoding: chunked", "5\r\nhello\r\nnonsense\r\n").await;
    assert!(status == 400 && text.contains("bad-request"), "malformed: {text}");
    let (status, text) = post_raw(&platform, "content-length: 100", "only this").await;
    assert!(status == 408 && text.contains("body-too-slow"), "incomplete: {text}");
    let (status, text) = post_raw(&platform, "content-length: 10001", "").await;
    assert!(status == 413 && text.contains("body-too-large"), "declared: {text}");
    let chunk = format!("2711\r\n{}\r\n0\r\n\r\n", "x".repeat(10_001));
    let (status, text) = post_raw(&platform, "transfer-encoding: chunked", &chunk).await;
    assert!(status == 413 && text.contains("body-too-large"), "sent: {text}");
    let whole = platform.member().post("/v1/storages", json!("x".repeat(9_000))).await.expect(200);
    assert_eq!(whole.body["bytes"], 9_002);
}

#[tokio::test]
async fn a_request_is_repeated_when_the_service_closed_the_pooled_connection() {
    // answers one request on each connection without saying that it closes it, and drops the next
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut head = vec![0; 8192];
                let _ = stream.read(&mut head).await;
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                stream.write_all(answer).await.unwrap();
                // the next request arrives and gets no response
                let _ = stream.read(&mut head).await;
            });
        }
    });
    let platform = Platform::with(|config| config.services["storage"] = url).await;
    let member = platform.member();
    for _ in 0..10 {
        let _ = member.get("/v1/storages").await.expect(200);
        let _ = member.post("/v1/storages", json!({})).await.expect(200);
    }
}

/// A service that refuses bodies without reading them breaks the connection on which they are sent. Nobody else notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_bodies_of_one_caller_fail_no_request_of_ten_thousand_others() {
    let refuse = axum::routing::get(|| async { "{}" }).post(|| async { axum::http::StatusCode::FORBIDDEN });
    let service = testkit::serve(axum::Router::new().route("/v1/storages", refuse)).await;
    let platform = Platform::with(|config| {
        config.services["storage"] = service.parse().unwrap();
        config.limits.requests_per_second = 1_000_000;
        config.limits.request_burst = 1_000_000;
    })
    .await;
    let url = format!("http://{}/v1/storages", platform.address);
    let disturber = platform.issuer.user(TenantId::new(), Role::Member);
    let stop = tokio_util::sync::CancellationToken::new();
    let disturbing: Vec<_> = (0..4)
        .map(|nth| {
            let (url, disturber, stop) = (url.clone(), disturber.clone(), stop.clone());
            tokio::spawn(async move {
                let (http, mut refused) = (reqwest::Client::new(), HashMap::new());
                for round in 0.. {
                    if stop.is_cancelled() {
                        break;
                    }
                    // 20 to 200 KB, and now and then more than the gateway takes
                    let size = if round % 10 == 0 { 1_000_000 } else { 20_000 * (1 + (round + nth) % 10) };
                    let request = http.post(&url).bearer_auth(&disturber).body(vec![b'x'; size]);
                    let status = request.send().await.map(|answer| answer.status().as_u16());
                    *refused.entry(status.unwrap_or(0)).or_insert(0) += 1;
                }
                refused
            })
        })
        .collect();
    let others: Vec<_> = (0..10)
        .map(|_| {
            let (url, token) = (url.clone(), platform.issuer.user(TenantId::new(), Role::Member));
            tokio::spawn(async move {
                let (http, mut failed) = (reqwest::Client::new(), Vec::new());
                for _ in 0..1_000 {
                    match http.get(&url).bearer_auth(&token).send().await {
                        Ok(answer) if answer.status() == 200 => {}
                        other => failed.push(format!("{other:?}")),
                    }
                }
                failed
            })
        })
        .collect();
    for other in others {
        assert_eq!(other.await.unwrap(), [""; 0]);
    }
    stop.cancel();
    let mut refused = HashMap::new();
    for disturber in disturbing {
        for (status, count) in disturber.await.unwrap() {
            *refused.entry(status).or_insert(0) += count;
        }
    }
    // the client with large bodies always gets the status for a body that is too large; only its other requests may fail
    assert!(refused[&413] > 10 && refused[&403] > 50, "{refused:?}");
    assert!(refused.keys().all(|status| matches!(status, 403 | 413 | 503)), "{refused:?}");
}
