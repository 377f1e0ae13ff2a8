//! Fixtures of tests: a separate database, valid tokens, an HTTP client that follows the API's conventions, a collector
//! of traces, a bounded wait for a condition. For `[dev-dependencies]` only.
//!
//! No service may be started here: a test that needs several has them among its own dependencies.

#![expect(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test that cannot be set up must fail loudly"
)]

mod budget;
mod client;
mod collector;
mod database;
mod database_proxy;
mod documented;
mod issuer;
pub mod metrics;
mod registry;
mod valkey;
mod wait;

pub use budget::budget;
pub use client::{Client, Response};
pub use collector::{Collector, ReceivedLine, ReceivedSpan};
pub use database::TestDb;
pub use database_proxy::DatabaseProxy;
pub use documented::Documented;
pub use issuer::Issuer;
pub use registry::{Registry, RegistryAuth};
pub use valkey::{SlowProxy, Valkey};
pub use wait::{eventually, within};

/// The token of the caller `test`, which may call what every service may call.
pub const SERVICE_TOKEN: &str = "test-service-token-0123456789abcdef";

/// Services of the platform that have a token.
pub fn services() -> impl Iterator<Item = &'static str> + Clone {
    platform::services()
        .iter()
        .filter(|service| !service.calls.is_empty())
        .map(|service| service.name.as_str())
}

/// The token of a service of the platform.
#[must_use]
pub fn service_token(name: &str) -> String {
    format!("{name}-service-token-0123456789abcdef")
}

/// Callers for a service's configuration: those of the platform, and `test`.
#[must_use]
pub fn callers() -> auth::Callers {
    let own = services().map(|name| (name.to_owned(), service_token(name).into()));
    own.chain([("test".to_owned(), SERVICE_TOKEN.into())]).collect()
}

/// An address without a listener: its port is reserved. A free port that was bound and released may be taken by another test.
pub const NOBODY: &str = "127.0.0.1:1";

/// Serves a router on a free port of the loopback interface for as long as the runtime lives.
/// Returns its base URL, without a trailing slash.
pub async fn serve(router: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}")
}
