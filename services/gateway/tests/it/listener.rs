//! The listener: requests written to the socket by hand.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::platform::Platform;

/// Sends bytes, reads to the end, returns the status.
pub(crate) async fn raw_status(address: SocketAddr, request: &str) -> u16 {
    let text = raw(address, request).await;
    text.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {text:?}")).parse().unwrap()
}

pub(crate) async fn raw(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let platform = Platform::start().await;
    for (request, status) in [
        ("GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nhost: a@b\r\nconnection: close\r\n\r\n", 400),
        ("CONNECT localhost:1 HTTP/1.1\r\nhost: localhost:1\r\nconnection: close\r\n\r\n", 405),
        ("TRACE / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", 405),
        ("GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n", 400),
        ("GET http://localhost/healthz HTTP/1.1\r\nhost: other\r\nconnection: close\r\n\r\n", 200),
        ("GET /healthz HTTP/1.1\r\nhost: localhost.\r\nconnection: close\r\n\r\n", 200),
    ] {
        assert_eq!(raw_status(platform.address, request).await, status, "{request}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_or_too_slow_is_refused() {
    let platform = Platform::with(|config| {
        config.limits.head_bytes = 8192;
        config.limits.head_seconds = 1;
    })
    .await;
    let long = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "x".repeat(20_000));
    assert_eq!(raw_status(platform.address, &long).await, 431);
    // the head never ends: `raw` waits until the gateway closes the connection
    let answer = raw(platform.address, "GET /healthz HTTP/1.1\r\nhost: local").await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn an_address_has_a_number_of_connections() {
    let platform = Platform::with(|config| config.limits.connections_per_address = 2).await;
    let open = async || TcpStream::connect(platform.address).await.unwrap();
    let (mut one, _two) = (open().await, open().await);
    // a response shows that the gateway has counted a connection
    one.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(one.read(&mut [0; 1024]).await.unwrap() > 0);
    testkit::eventually("a third connection is closed", async || {
        let mut third = open().await;
        matches!(third.read(&mut [0; 1]).await, Ok(0) | Err(_)).then_some(())
    })
    .await;
    drop(one);
    testkit::eventually("a place is free again", async || {
        let mut next = open().await;
        next.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        matches!(next.read(&mut [0; 1024]).await, Ok(read) if read > 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let platform = Platform::with(|config| config.limits.head_seconds = 1).await;
    let whole = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for said in ["", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", whole] {
        let answer = tokio::time::timeout(Duration::from_secs(20), raw(platform.address, said)).await;
        let answer = answer.unwrap_or_else(|_| panic!("still open after {said:?}"));
        assert_eq!(answer.starts_with("HTTP/1.1 200"), said == whole, "{answer}");
    }
}

#[tokio::test]
async fn shutdown_lets_a_request_finish_and_closes_the_rest() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let opened = platform.cookie(&instance).await;
    let mut stream = TcpStream::connect(platform.address).await.unwrap();
    let head = format!(
        "POST /mirror HTTP/1.1\r\nhost: {}\r\ncookie: {opened}\r\ncontent-length: 6\r\n\r\none",
        instance.host
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).ends_with("one") {
        assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0, "{}", String::from_utf8_lossy(&seen));
    }
    platform.process.shutdown.begin();
    stream.write_all(b"two").await.unwrap();
    stream.read_to_end(&mut seen).await.unwrap();
    assert!(String::from_utf8_lossy(&seen).ends_with("onetwo"), "{}", String::from_utf8_lossy(&seen));
    platform.served.await.unwrap();
}

#[tokio::test]
async fn before_the_shutdown_requests_are_served_and_connections_ended() {
    let platform = Platform::start().await;
    let health = platform.client.get("/healthz").await.expect(200);
    assert_eq!(health.header("connection"), None);
    platform.ready().await;

    platform.process.shutdown.announce();
    let not_ready = platform.client.get("/readyz").await.expect(503);
    assert_eq!(not_ready.text, "shutting down\n");
    // the whole response arrives, and then the end of the connection
    let answer = raw(platform.address, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("connection: close"), "{answer}");
    let _ = platform.member().get("/v1/stock").await.expect(200);

    platform.process.shutdown.begin();
    platform.served.await.unwrap();
    assert!(TcpStream::connect(platform.address).await.is_err());
}
