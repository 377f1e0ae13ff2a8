//! A client of the public API, with an administrator's token.

use std::time::Duration;

use anyhow::{Context, ensure};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use uuid::Uuid;

const TIMEOUT: Duration = Duration::from_secs(30);

/// The public API of a platform.
pub struct Gateway {
    http: reqwest::Client,
    base: String,
    token: SecretString,
}

impl Gateway {
    /// The API at this address, for the owner of an access token or API key.
    ///
    /// # Errors
    /// If no client can be made.
    pub fn new(base: &str, token: SecretString) -> anyhow::Result<Self> {
        Ok(Self { http: service::http_client()?, base: base.trim_end_matches('/').to_owned(), token })
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(self.send(Method::GET, path, None, None).await?.0)
    }

    pub(crate) async fn post(&self, path: &str) -> anyhow::Result<Value> {
        Ok(self.send(Method::POST, path, None, None).await?.0)
    }

    /// Changes the version that is there now.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let (_, etag) = self.send(Method::GET, path, None, None).await?;
        let etag = etag.context("no ETag")?;
        Ok(self.send(Method::PATCH, path, Some(&etag), Some(body)).await?.0)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        etag: Option<&str>,
        body: Option<&Value>,
    ) -> anyhow::Result<(Value, Option<String>)> {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.base)).timeout(TIMEOUT);
        request = request.bearer_auth(self.token.expose_secret());
        if method != Method::GET {
            request = request.header("idempotency-key", Uuid::new_v4().to_string());
        }
        if let Some(etag) = etag {
            request = request.header("if-match", etag);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        let status = response.status();
        let etag = response.headers().get("etag").and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let text = response.text().await?;
        ensure!(status.is_success(), "{method} {path}: {status} {text}");
        Ok((serde_json::from_str(&text).unwrap_or(Value::Null), etag))
    }
}
