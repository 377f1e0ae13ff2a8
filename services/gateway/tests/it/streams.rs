//! Bodies are streamed both ways.

use axum::body::Bytes;
use futures::StreamExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::platform::Platform;

/// Sends a body in pieces to an upstream that echoes it, and expects each piece back before it sends the next.
async fn mirror(request: reqwest::RequestBuilder) {
    let (pieces, body) = mpsc::channel::<Bytes>(1);
    let body = futures::stream::unfold(body, |mut body| async move {
        body.recv().await.map(|piece| (Ok::<_, std::io::Error>(piece), body))
    });
    pieces.send(Bytes::from_static(b"one")).await.unwrap();
    let response = request.body(reqwest::Body::wrap_stream(body)).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let mut answer = response.bytes_stream();
    assert_eq!(answer.next().await.unwrap().unwrap(), "one", "before the request has ended");
    for piece in ["two", "three"] {
        pieces.send(Bytes::from_static(piece.as_bytes())).await.unwrap();
        assert_eq!(answer.next().await.unwrap().unwrap(), piece);
    }
    drop(pieces);
    assert!(answer.next().await.is_none());
}

#[tokio::test]
async fn bodies_of_instances_are_streamed() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let request = reqwest::Client::new()
        .post(format!("http://{}/mirror", platform.address))
        .header("host", &instance.host)
        .header("cookie", platform.cookie(&instance).await);
    mirror(request).await;
}

#[tokio::test]
async fn a_large_body_is_forwarded_completely() {
    const SIZE: usize = 24 * 1024 * 1024;
    let platform = Platform::start().await;
    let instance = platform.instance();
    let body: Vec<u8> = (0..SIZE).map(|i| u8::try_from(i % 251).unwrap()).collect();
    let response = reqwest::Client::new()
        .post(format!("http://{}/mirror", platform.address))
        .header("host", &instance.host)
        .header("cookie", platform.cookie(&instance).await)
        .body(body.clone())
        .send()
        .await
        .unwrap();
    let back = response.bytes().await.unwrap();
    assert_eq!(back.len(), SIZE);
    assert!(back == body);
}

#[tokio::test]
async fn the_upstream_connection_ends_with_the_clients() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let left = CancellationToken::new();
    let told = left.clone();
    let slow = axum::Router::new().fallback(move || async move {
        let guard = told.drop_guard();
        let pieces = futures::stream::unfold(Some(guard), |guard| async move {
            tokio::task::yield_now().await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(&[0; 4096])), guard))
        });
        axum::body::Body::from_stream(pieces)
    });
    let upstream = testkit::serve(slow).await;
    platform.route(&instance, "running", Some(upstream.trim_start_matches("http://")));
    let mut response = reqwest::Client::new()
        .get(format!("http://{}/", platform.address))
        .header("host", &instance.host)
        .header("cookie", platform.cookie(&instance).await)
        .send()
        .await
        .unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    drop(response);
    tokio::time::timeout(std::time::Duration::from_secs(10), left.cancelled()).await.unwrap();
}
