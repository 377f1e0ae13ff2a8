//! The management API of the broker.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

/// Longest time of a call.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// Calls it as the user of its address. Paths are below `/api`, by segments.
pub(super) struct Management {
    http: Client,
    url: Url,
}

impl Management {
    /// # Errors
    /// If it is not the address of a server.
    pub(super) fn new(url: &SecretString) -> anyhow::Result<Self> {
        let url: Url = url.expose_secret().parse().context("mq.management_url")?;
        ensure!(!url.cannot_be_a_base(), "mq.management_url is not the address of a server");
        Ok(Self { http: service::http_client()?, url })
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> anyhow::Result<T> {
        let response = answered(self.request(Method::GET, path)).await?;
        Ok(response.json().await.map_err(reqwest::Error::without_url)?)
    }

    pub(super) async fn put(&self, path: &[&str], body: &Value) -> anyhow::Result<()> {
        answered(self.request(Method::PUT, path).json(body)).await.map(drop)
    }

    /// Deletes an object, which may be gone already. The broker passes the reason to its clients.
    pub(super) async fn delete(&self, path: &[&str], reason: &str) -> anyhow::Result<()> {
        answered(self.request(Method::DELETE, path).header("x-reason", reason)).await.map(drop)
    }

    fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("api").extend(path);
        }
        self.http.request(method, url).timeout(CALL_LIMIT)
    }
}

/// Sends a request. An object to delete may be gone.
async fn answered(request: RequestBuilder) -> anyhow::Result<reqwest::Response> {
    let response = request.send().await.map_err(reqwest::Error::without_url)?;
    let status = response.status();
    ensure!(
        status.is_success() || status == StatusCode::NOT_FOUND,
        "the management API of the broker answers {status}"
    );
    Ok(response)
}
