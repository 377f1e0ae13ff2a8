//! The access log: one line per request, with what its handler has added to the span.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use atelier_service::{Front, Process};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::ConnectInfo,
    http::Request,
    routing::{get, post},
};
use serde_json::Value;
use tower::ServiceExt;
use tracing::Span;
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'l> MakeWriter<'l> for Log {
    type Writer = Self;
    fn make_writer(&'l self) -> Self {
        self.clone()
    }
}

impl Log {
    /// The lines so far, each with the fields of its span.
    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn front() -> Router {
    let named = || async {
        Span::current().record("tenant.id", "ten_1");
        Span::current().record("user.id", "usr_1");
        "hello"
    };
    let streamed = || async {
        let parts = ["one", "two", "three"].map(|part| Ok::<_, io::Error>(Bytes::from(part)));
        Body::from_stream(futures::stream::iter(parts))
    };
    let routes = Router::new().route("/v1/things/{id}", post(named)).route("/v1/log", get(streamed));
    Front::new(&Process::default(), || async { Ok(()) }).wrap(routes)
}

#[tokio::test]
async fn a_request_has_one_line_with_its_caller_and_bytes() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut request = Request::post("/v1/things/7?secret=1")
        .header("content-length", "3")
        .header("x-request-id", "request-1")
        .header("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        .body(Body::from("abc"))
        .unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([203, 0, 113, 7], 1))));
    let response = front().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let (line, span) = (&lines[0], &lines[0]["span"]);
    for (name, expected) in [
        ("request.id", "request-1"),
        ("trace.id", "4bf92f3577b34da6a3ce929d0e0e4736"),
        ("http.method", "POST"),
        ("http.route", "/v1/things/{id}"),
        ("tenant.id", "ten_1"),
        ("user.id", "usr_1"),
    ] {
        assert_eq!(span[name], expected, "{name} in {line}");
    }
    assert_eq!((&line["http.status"], &line["http.response.bytes"]), (&200.into(), &5.into()), "{line}");
    assert_eq!(
        (&line["http.request.bytes"], &line["client.address"]),
        (&3.into(), &"203.0.113.7".into()),
        "{line}"
    );
    assert!(line["took_ms"].is_number() && line["answered_ms"].is_number(), "{line}");
    assert!(!line.to_string().contains("secret"), "{line}");
}

#[tokio::test]
async fn a_stream_is_logged_when_it_ends() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    for (read, bytes) in [(true, 11), (false, 0)] {
        log.0.lock().unwrap().clear();
        let response = front().oneshot(Request::get("/v1/log").body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(log.lines(), Vec::<Value>::new(), "it has not ended");
        if read {
            let _ = axum::body::to_bytes(response.into_body(), 1024).await.unwrap();
        } else {
            drop(response);
        }
        let lines = log.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["http.response.bytes"], bytes, "{lines:?}");
        assert_eq!(lines[0]["span"]["tenant.id"], Value::Null);
    }
}
