//! Spans of HTTP requests, by the semantic conventions:
//! <https://opentelemetry.io/docs/specs/semconv/http/http-spans/>.

use http::{Method, StatusCode};
use opentelemetry::trace::SpanKind;

use crate::{Span, child, method::known};

/// Begins the span of a call of another service.
pub fn call(method: &Method, host: &str, port: Option<u16>) -> Span {
    let mut span = child(SpanKind::Client, known(method));
    span.set("http.request.method", method_attribute(method));
    span.set("server.address", host);
    if let Some(port) = port {
        span.set_number("server.port", port);
    }
    span
}

/// Records the response of a call.
pub fn received(span: &mut Span, status: StatusCode) {
    span.set_number("http.response.status_code", status.as_u16());
    if status.is_client_error() || status.is_server_error() {
        span.fail(status.as_str());
    }
}

/// Records a request that was served and its response. `route` is the template of its path: never the path,
/// which may contain private data.
pub fn answered(span: &mut Span, method: &Method, route: Option<&str>, status: StatusCode) {
    span.set("http.request.method", method_attribute(method));
    if let Some(route) = route {
        span.rename(|| format!("{} {route}", known(method)));
        span.set("http.route", route);
        if route.starts_with('/') {
            span.set("url.path", route);
        }
    }
    span.set_number("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.fail(status.as_str());
    }
}

fn method_attribute(method: &Method) -> &'static str {
    match known(method) {
        "HTTP" => "_OTHER",
        name => name,
    }
}
