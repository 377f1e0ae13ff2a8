//! The HTTP client of a service, with a time limit for every wait.

use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(2);
/// Longest silence while an answer is read.
const READ: Duration = Duration::from_secs(30);
const IDLE: Duration = Duration::from_secs(30);

/// A client with connect and read timeouts that follows no redirects. Make one per process and clone it: clones
/// share its connections.
///
/// # Errors
/// If the TLS configuration of the system cannot be used.
pub fn http_client() -> anyhow::Result<reqwest::Client> {
    Ok(reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .read_timeout(READ)
        .pool_idle_timeout(IDLE)
        .redirect(reqwest::redirect::Policy::none())
        .build()?)
}
