//! The HTTP client of all commands: bounded in every wait.

use std::time::Duration;

use reqwest::{Client, ClientBuilder, redirect::Policy};

/// A client that follows no redirects.
pub fn builder() -> ClientBuilder {
    Client::builder()
        .connect_timeout(Duration::from_secs(5))
        .timeout(Duration::from_secs(30))
        .redirect(Policy::none())
}

/// # Errors
/// If the TLS configuration of the system cannot be used.
pub fn client() -> reqwest::Result<Client> {
    builder().build()
}
