//! Names of HTTP methods in spans.

use http::Method;

/// The name of a span without a route: the method, or `HTTP` for one that a client has invented.
pub(crate) fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::CONNECT => "CONNECT",
        Method::TRACE => "TRACE",
        // clients can invent methods
        _ => "HTTP",
    }
}
