//! Requests that two programs could parse differently, and slow clients.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use auth::Role;
use axum::{Json, Router, extract::Request};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use ids::TenantId;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet, time::Instant};

use crate::{
    listener::{raw, raw_status},
    platform::Platform,
};

/// What reached the stock service: method, path, headers and body.
type Seen = Arc<Mutex<Vec<Value>>>;

/// A gateway whose stock service records what it receives.
async fn recorded() -> (Platform, Seen) {
    let seen = Seen::default();
    let recording = Arc::clone(&seen);
    let stock = Router::new().fallback(move |request: Request| {
        let seen = Arc::clone(&recording);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap();
            let trailers = body.trailers().cloned().unwrap_or_default();
            let names = |headers: &axum::http::HeaderMap| -> Vec<String> {
                headers.keys().map(ToString::to_string).collect()
            };
            let received = json!({
                "method": parts.method.as_str(), "uri": parts.uri.to_string(), "headers": names(&parts.headers),
                "host": parts.headers["host"].to_str().unwrap(), "trailers": names(&trailers),
                "body": String::from_utf8_lossy(&body.to_bytes()),
            });
            seen.lock().unwrap().push(received.clone());
            Json(received)
        }
    });
    let url = testkit::serve(stock).await.parse().unwrap();
    (Platform::with(|config| config.services["stock"] = url).await, seen)
}

fn token(platform: &Platform) -> String {
    platform.issuer.user(TenantId::new(), Role::Member)
}

const LAST: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn no_request_hides_in_the_body_of_another() {
    let (platform, seen) = recorded().await;
    let token = token(&platform);
    // a program that takes the body for empty or shorter would read a second request, which has no token
    let hidden = "GET /v1/stock/hidden HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for (head, refused) in [
        ("content-length: 4\r\ntransfer-encoding: chunked", false),
        ("transfer-encoding: chunked\r\ncontent-length: 4", false),
        ("transfer-encoding: Chunked", false),
        ("content-length: 5\r\ncontent-length: 60", true),
        ("content-length: 5, 60", true),
        ("content-length: +5", true),
        ("content-length: 0x5", true),
        ("content-length: -1", true),
        ("content-length: 5 5", true),
        ("content-length: 18446744073709551617", true),
        ("transfer-encoding: xchunked", true),
        ("transfer-encoding: chunked, identity", true),
        ("transfer-encoding: chunked\r\ntransfer-encoding: cow", true),
        ("transfer-encoding : chunked", true),
        ("transfer-encoding:\u{b}chunked", true),
        ("x: y\r\n transfer-encoding: chunked", true),
        ("x: y\rtransfer-encoding: chunked", true),
        ("content-length\u{0}: 5", true),
    ] {
        let request = format!(
            "POST /v1/stock/outer HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n{head}\r\n\r\n\
             0\r\n\r\n{hidden}{LAST}"
        );
        let answers = raw(platform.address, &request).await;
        let first = answers.split(' ').nth(1).unwrap_or_default();
        assert_eq!(first == "400", refused, "{head}: {answers}");
        let seen: Vec<Value> = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(seen.len(), usize::from(!refused), "{head}: {seen:?}");
        for one in seen {
            assert_eq!((&one["uri"], &one["body"]), (&json!("/v1/stock/outer"), &json!("")), "{head}");
        }
    }
}

#[tokio::test]
async fn malformed_heads_and_chunks_are_refused() {
    let (platform, seen) = recorded().await;
    let token = token(&platform);
    let authorization = format!("authorization: Bearer {token}");
    for (first_line, headers, body) in [
        ("GET /v1/stock HTTP/1.1", "host: localhost\r\nx y: 1", ""),
        ("GET /v1/stock HTTP/1.1", "host: localhost\r\nx: a\u{0}b", ""),
        ("GET /v1/stock HTTP/1.1", "host: localhost\r\n: empty", ""),
        ("GET /v1/stock HTTP/1.1", "host: local host", ""),
        ("GET /v1/stock HTTP/1.1", "host: localhost\r\nhost: other", ""),
        ("GET /v1/stock HTTP/1.1", "", ""),
        ("GET  /v1/stock HTTP/1.1", "host: localhost", ""),
        ("GET /v1/st ock HTTP/1.1", "host: localhost", ""),
        ("GET /v1/stock HTTP/3.7", "host: localhost", ""),
        ("GET /v1/stock", "host: localhost", ""),
        ("GET /v1/%2e%2e/internal HTTP/1.1", "host: localhost", ""),
        ("GET /v1/stock/..%2f HTTP/1.1", "host: localhost", ""),
        ("GET /v1//stock HTTP/1.1", "host: localhost", ""),
        ("GET http://localhost/v1/../internal HTTP/1.1", "host: localhost", ""),
        ("POST /v1/stock HTTP/1.1", "host: localhost\r\ntransfer-encoding: chunked", "-1\r\n\r\n0\r\n\r\n"),
        ("POST /v1/stock HTTP/1.1", "host: localhost\r\ntransfer-encoding: chunked", "0x1\r\na\r\n0\r\n\r\n"),
        (
            "POST /v1/stock HTTP/1.1",
            "host: localhost\r\ntransfer-encoding: chunked",
            "FFFFFFFFFFFFFFFFF\r\na\r\n0\r\n\r\n",
        ),
        ("POST /v1/stock HTTP/1.1", "host: localhost\r\ntransfer-encoding: chunked", "1\r\nab\r\n0\r\n\r\n"),
    ] {
        let request = format!("{first_line}\r\n{headers}\r\n{authorization}\r\n\r\n{body}");
        let request = request.replacen("\r\n\r\nauthorization", "\r\nauthorization", 1) + LAST;
        let status = raw_status(platform.address, &request).await;
        assert_eq!(status, 400, "{first_line} {headers} {body}");
        assert_eq!(*seen.lock().unwrap(), Vec::<Value>::new(), "{first_line} {headers} {body}");
    }
    let many: String = (0..200).map(|n| format!("x-{n}: 1\r\n")).collect();
    let request = format!("GET /v1/stock HTTP/1.1\r\nhost: localhost\r\n{authorization}\r\n{many}\r\n");
    assert_eq!(raw_status(platform.address, &request).await, 431);
}

#[tokio::test]
async fn what_is_forwarded_is_written_anew() {
    let (platform, seen) = recorded().await;
    let token = token(&platform);
    // bare line feeds, chunk extensions and trailers are accepted, but not forwarded
    let request = format!(
        "POST http://localhost/v1/stock?a=b HTTP/1.1\nhost: ignored\nauthorization: Bearer {token}\n\
         connection: x-private, close\nx-private: 1\nx_forwarded_for: 1.2.3.4\nte: trailers\n\
         transfer-encoding: chunked\n\n1;name=value\r\na\r\n0\r\nx-trailer: 1\r\nauthorization: Bearer x\r\n\r\n"
    );
    assert_eq!(raw_status(platform.address, &request).await, 200);
    let seen = seen.lock().unwrap().pop().unwrap();
    assert_eq!(
        (&seen["uri"], &seen["body"], &seen["host"]),
        (&json!("/v1/stock?a=b"), &json!("a"), &json!("localhost"))
    );
    assert_eq!(seen["trailers"], json!([]));
    for gone in ["x-private", "x_forwarded_for", "te", "connection", "transfer-encoding"] {
        assert!(!seen["headers"].as_array().unwrap().contains(&json!(gone)), "{gone}: {seen}");
    }
}

#[tokio::test]
async fn each_of_several_pipelined_requests_needs_its_own_token() {
    let (platform, seen) = recorded().await;
    let token = token(&platform);
    let request = format!(
        "GET /v1/stock/a HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n\
         GET /v1/stock/b HTTP/1.1\r\nhost: localhost\r\n\r\n{LAST}"
    );
    let answers = raw(platform.address, &request).await;
    let statuses: Vec<_> =
        answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "401", "200"]);
    let uris: Vec<_> = seen.lock().unwrap().iter().map(|one| one["uri"].clone()).collect();
    assert_eq!(uris, ["/v1/stock/a"]);
}

#[tokio::test]
async fn a_request_over_http2_is_forwarded_under_its_authority() {
    let (platform, seen) = recorded().await;
    let stream = TcpStream::connect(platform.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = |path: &str| {
        hyper::Request::post(format!("http://{}{path}", platform.address))
            .header("host", "other.test")
            .header("authorization", format!("Bearer {}", token(&platform)))
            .body(Full::new(axum::body::Bytes::from("body")))
            .unwrap()
    };
    let (one, two) = (request("/v1/stock/1"), request("/v1/../internal"));
    let answer = sender.send_request(one).await.unwrap();
    assert_eq!(answer.status(), 200);
    let received = seen.lock().unwrap().pop().unwrap();
    assert_eq!(
        (&received["host"], &received["body"]),
        (&json!(platform.address.to_string()), &json!("body"))
    );
    assert_eq!(sender.send_request(two).await.unwrap().status(), 400);
    assert!(seen.lock().unwrap().is_empty());
}

/// Sends the bytes one by one until the gateway closes the connection. Returns how long that took.
async fn dribble(address: SocketAddr, begin: String) -> Duration {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(begin.as_bytes()).await.unwrap();
    let mut interval = tokio::time::interval(Duration::from_millis(200));
    while begun.elapsed() < Duration::from_secs(20) {
        interval.tick().await;
        if stream.write_all(b"x").await.is_err() {
            break;
        }
    }
    begun.elapsed()
}

#[tokio::test]
async fn slow_clients_are_dropped_and_delay_no_one_else() {
    let platform = Platform::with(|config| {
        config.limits.head_seconds = 2;
        config.limits.body_seconds = 2;
        config.limits.connections = 600;
        config.limits.connections_per_address = 600;
    })
    .await;
    let token = token(&platform);
    let head = "GET /v1/stock HTTP/1.1\r\nhost: localhost\r\nx: ".to_owned();
    let body = format!(
        "POST /v1/stock HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-length: 1000\r\n\r\n"
    );
    let mut slow = JoinSet::new();
    for n in 0..500 {
        let begin = if n % 2 == 0 { head.clone() } else { body.clone() };
        slow.spawn(dribble(platform.address, begin));
    }
    let member = platform.member();
    let mut answered = 0;
    while slow.try_join_next().is_none() {
        let _ = member.get("/v1/stock").await.expect(200);
        answered += 1;
    }
    assert!(answered > 0);
    for took in slow.join_all().await {
        assert!(took < Duration::from_secs(15), "a slow client was served for {took:?}");
    }
}
