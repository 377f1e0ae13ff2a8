//! Endpoints with unusual answers.

use serde_json::{Value, json};
use testkit::eventually;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{
    endpoint::{create, deliveries, start},
    fixture::{Fixture, submit},
};

/// Starts an endpoint that answers one message, and then keeps or closes the connection. Returns its URL.
async fn answering(answer: String, is_endless: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut received = Vec::new();
        while !received.ends_with(b"}") {
            stream.read_buf(&mut received).await.unwrap();
        }
        let _ = stream.write_all(answer.as_bytes()).await;
        if is_endless {
            std::future::pending::<()>().await;
        }
    });
    url
}

#[tokio::test]
async fn whatever_an_endpoint_answers_is_recorded() {
    const CLOSED: &str = "connection: close\r\n\r\n";
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let cases: Vec<(String, bool, Value)> = [
        // the status of the final head counts, not an interim response or a body that never ends
        (
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n",
            false,
            json!([204, null, null]),
        ),
        (
            "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 503 Busy\r\nretry-after: 70\r\n",
            false,
            json!([503, "refused", 70]),
        ),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n", true, json!([200, null, null])),
        ("HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n", false, json!([200, null, null])),
        ("HTTP/1.1 500 Oh\r\ncontent-length: 10000000000\r\n", true, json!([500, "refused", null])),
        ("HTTP/1.0 202 Old\r\n", false, json!([202, null, null])),
        ("HTTP/1.1 299 Strange\r\n", false, json!([299, null, null])),
        // redirects are not followed
        ("HTTP/1.1 307 Moved\r\nlocation: http://169.254.169.254/\r\n", false, json!([307, "refused", null])),
        ("HTTP/1.1 308 Moved\r\nlocation: /hook\r\nretry-after: 90\r\n", false, json!([308, "refused", 90])),
        ("HTTP/1.1 304 Same\r\n", false, json!([304, "refused", null])),
        ("HTTP/1.1 413 Large\r\nretry-after:   80  \r\n", false, json!([413, "refused", 80])),
        (
            "HTTP/1.1 429 Slow\r\nretry-after: 100\r\nretry-after: 200\r\n",
            false,
            json!([429, "refused", 100]),
        ),
        ("HTTP/1.1 429 Slow\r\nretry-after: 100, 200\r\n", false, json!([429, "refused", null])),
        ("HTTP/1.1 429 Slow\r\nretry-after: 1.5\r\n", false, json!([429, "refused", null])),
        ("HTTP/1.1 429 Slow\r\nretry-after: 0x10\r\n", false, json!([429, "refused", null])),
        ("HTTP/1.1 429 Slow\r\nretry-after: +10\r\n", false, json!([429, "refused", null])),
        ("HTTP/1.1 429 Slow\r\nretry-after: \r\n", false, json!([429, "refused", null])),
        ("HTTP/1.1 429 Slow\r\nretry-after: \u{661}\r\n", false, json!([429, "refused", null])),
        (
            "HTTP/1.1 503 Busy\r\nretry-after: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
            false,
            json!([503, "refused", 0]),
        ),
        (
            "HTTP/1.1 503 Busy\r\nretry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\n",
            false,
            json!([503, "refused", 86_400]),
        ),
    ]
    .into_iter()
    .map(|(head, is_endless, expected)| (format!("{head}{CLOSED}"), is_endless, expected))
    .collect();
    for (answer, is_endless, expected) in cases {
        let url = answering(answer.clone(), is_endless).await;
        let (hook, _) = create(&member, &url, json!([])).await;
        let _ = submit(&member, json!({})).await;
        let attempt = eventually("the answer is recorded", async || {
            let newest = deliveries(&member, &hook).await.into_iter().next()?;
            newest["attempts"].get(0).cloned()
        })
        .await;
        let seen = json!([attempt["status"], attempt["error"], attempt["retry_after_seconds"]]);
        assert_eq!(seen, expected, "{answer:?}");
        let _ = member.delete(&hook).await.expect(204);
    }
    service.stop().await;
}
