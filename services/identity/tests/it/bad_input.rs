use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::platform::{PASSWORD, Platform};

#[tokio::test]
async fn invalid_fields_are_refused() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let long = "x".repeat(300);
    for (path, body) in [
        ("/v1/sessions", json!({})),
        ("/v1/sessions", json!({ "email": 7, "password": "x" })),
        ("/v1/sessions", json!({ "email": "a@b", "password": "x", "more": 1 })),
        ("/v1/sessions", json!({ "email": "a@b", "password": "x", "tenant_id": "nope" })),
        ("/v1/sessions/refresh", json!({ "refresh_token": null })),
        ("/v1/users", json!({ "email": "no address", "password": PASSWORD })),
        ("/v1/users", json!({ "email": "a@b", "password": "short" })),
        ("/v1/users", json!({ "email": "a@b", "password": long })),
        ("/v1/users", json!({ "email": "long@name", "password": "LONG@NAME" })),
        ("/v1/users", json!({ "email": "a@b", "password": PASSWORD, "display_name": "" })),
        ("/v1/users", json!({ "email": "a@b", "password": PASSWORD, "display_name": "a\nb" })),
        ("/v1/tenants", json!({ "name": "" })),
        ("/v1/tenants", json!({ "name": " x" })),
        ("/v1/tenants", json!({ "name": long })),
        ("/v1/tenants", json!([])),
    ] {
        admin.post(path, body).await.expect_problem(422, "invalid-field");
    }
    for path in [
        "/v1/users?limit=0",
        "/v1/users?limit=201",
        "/v1/users?cursor=%21",
        "/v1/tenants?state=x",
        "/v1/users?x=1",
    ] {
        admin.get(path).await.expect_problem(422, "invalid-field");
    }
    assert_eq!(admin.get("/v1/tenants").await.body["items"], json!([]), "nothing was created");
}

#[tokio::test]
async fn a_nul_character_is_not_a_server_error() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    for (path, body) in [
        ("/v1/sessions", json!({ "email": "a\u{0}@b", "password": "x\u{0}" })),
        ("/v1/users", json!({ "email": "a\u{0}@b", "password": PASSWORD })),
        ("/v1/tenants", json!({ "name": "a\u{0}b" })),
    ] {
        let status = admin.post(path, body).await.status;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
    for path in ["/v1/users?email_prefix=%00", "/v1/tenants?name_prefix=%00"] {
        let status = admin.get(path).await.status;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
}

#[tokio::test]
async fn writes_need_a_key_and_unknown_paths_are_404() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let http = reqwest::Client::new();
    let token = platform.sign_in(crate::platform::ADMIN).await["access_token"].as_str().unwrap().to_owned();
    let answer = http
        .post(format!("{}/v1/tenants", admin.base()))
        .bearer_auth(token)
        .json(&json!({ "name": "x" }))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 400);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["type"], "https://atelier.dev/problems/idempotency-key-required");
    admin.get("/v1/nothing").await.expect_problem(404, "no-such-route");
    admin.delete("/v1/users").await.expect_problem(405, "method-not-allowed");
}

#[test]
fn the_committed_document_is_current() {
    let committed = include_str!("../../../../openapi/identity.json");
    let now = atelier_identity::openapi().to_pretty_json().unwrap();
    assert_eq!(committed.trim(), now.trim(), "run `cargo xtask openapi`");
}

/// Reads one response and returns its status.
async fn response(stream: &mut TcpStream) -> u16 {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().split('\r').next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_body_that_is_refused_unread_does_not_end_the_connection() {
    let platform = Platform::start().await;
    let address = platform.client.base().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    for bytes in [20_000, 200_000, 400_000] {
        let head = format!("POST /v1/users HTTP/1.1\r\nhost: {address}\r\ncontent-length: {bytes}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; bytes]).await.unwrap();
        assert_eq!(response(&mut stream).await, 401, "{bytes}");
        let next = format!("GET /v1/me HTTP/1.1\r\nhost: {address}\r\n\r\n");
        stream.write_all(next.as_bytes()).await.unwrap();
        assert_eq!(response(&mut stream).await, 401, "the next request after {bytes}");
    }
}
