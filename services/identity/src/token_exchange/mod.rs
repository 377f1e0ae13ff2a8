//! Credentials of callers become access tokens: the gateway asks, so that no other service ever sees an API key or the
//! secret of a browser's session.

mod http;

pub(crate) use http::routes;
