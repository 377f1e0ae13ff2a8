//! Credentials of callers become access tokens: only the gateway calls this, so that no other service ever
//! sees an API key or the secret of a browser's session.

mod http;

pub(crate) use http::routes;
