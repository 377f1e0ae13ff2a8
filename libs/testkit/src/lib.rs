//! Fixtures of tests: a separate database, valid tokens, an HTTP client that follows the API's conventions, a
//! bounded wait for a condition. For `[dev-dependencies]` only.

#![expect(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test that cannot be set up must fail loudly"
)]

mod client;
mod database;
mod issuer;
mod wait;

pub use client::{Client, Response};
pub use database::TestDb;
pub use issuer::Issuer;
pub use wait::{eventually, within};

/// The token with which tests call internal operations, as caller `test`.
pub const SERVICE_TOKEN: &str = "test-service-token-0123456789abcdef";

/// Callers for a service's configuration: `test` with [`SERVICE_TOKEN`].
#[must_use]
pub fn callers() -> auth::Callers {
    std::iter::once(("test".to_owned(), secrecy::SecretString::from(SERVICE_TOKEN))).collect()
}

/// Serves a router on a free port of the loopback interface for as long as the runtime lives.
/// Returns its base URL, without a trailing slash.
pub async fn serve(router: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}")
}
