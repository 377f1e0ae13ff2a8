//! A client of the public API, signed in as one user. Records the slowest call.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::access::SignIn;

/// Milliseconds, method and path of the slowest call.
type Slowest = Arc<Mutex<(f64, String)>>;

/// Longest time that an operation may take.
const OPERATION_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct Api {
    http: reqwest::Client,
    pub base: String,
    pub token: Option<String>,
    slowest: Slowest,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub etag: Option<String>,
    pub location: Option<String>,
    pub body: Value,
    pub text: String,
}

impl Api {
    pub fn new(base: &str) -> anyhow::Result<Self> {
        let http = crate::http::client()?;
        Ok(Self { http, base: base.to_owned(), token: None, slowest: Slowest::default() })
    }

    /// A client for the user, with the same record of calls.
    pub async fn sign_in(&self, who: &SignIn) -> anyhow::Result<Self> {
        let credentials = json!({ "email": who.email, "password": who.password });
        // not recorded: hashing a password is slow on purpose
        let answer = self.http.post(format!("{}/v1/sessions", self.base)).json(&credentials).send().await?;
        let status = answer.status();
        let body: Value = answer.json().await?;
        ensure!(status.is_success(), "{} cannot sign in: {body}", who.email);
        let token = body["access_token"].as_str().context("no access token")?.to_owned();
        Ok(Self { token: Some(token), ..self.clone() })
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        etag: Option<&str>,
        body: Option<Value>,
    ) -> anyhow::Result<Answer> {
        self.send_once(method, path, etag, body, Uuid::new_v4()).await
    }

    /// Like [`Self::send`]. A request that is repeated with the same key has no second effect.
    pub async fn send_once(
        &self,
        method: Method,
        path: &str,
        etag: Option<&str>,
        body: Option<Value>,
        key: Uuid,
    ) -> anyhow::Result<Answer> {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if method != Method::GET {
            request = request.header("idempotency-key", key.to_string());
        }
        if let Some(etag) = etag {
            request = request.header("if-match", etag);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let begun = Instant::now();
        let response = request.send().await?;
        let status = response.status().as_u16();
        let header = |name| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let (etag, location) = (header("etag"), header("location"));
        let text = response.text().await?;
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        let mut slowest = self.slowest.lock().unwrap_or_else(PoisonError::into_inner);
        if took > slowest.0 {
            *slowest = (took, format!("{method} {path}"));
        }
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Answer { status, etag, location, body, text })
    }

    /// The slowest call of all clients with the same origin.
    pub fn slowest(&self) -> (f64, String) {
        self.slowest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::GET, path, None, None).await?.with(200, path)
    }

    pub async fn post(&self, path: &str, body: Value, status: u16) -> anyhow::Result<Value> {
        self.send(Method::POST, path, None, Some(body)).await?.with(status, path)
    }

    /// POST without a body: an action on a resource.
    pub async fn act(&self, path: &str, status: u16) -> anyhow::Result<Value> {
        self.send(Method::POST, path, None, None).await?.with(status, path)
    }

    pub async fn delete(&self, path: &str, status: u16) -> anyhow::Result<Value> {
        self.send(Method::DELETE, path, None, None).await?.with(status, path)
    }

    /// PATCH of the current version.
    pub async fn patch(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        let read = self.send(Method::GET, path, None, None).await?;
        let etag = read.etag.context("no ETag")?;
        self.send(Method::PATCH, path, Some(&etag), Some(body)).await?.with(200, path)
    }

    /// All items of a list, page by page.
    pub async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let join = if path.contains('?') { '&' } else { '?' };
            let page = self.get(&format!("{path}{join}limit=100{cursor}")).await?;
            items.extend(page["items"].as_array().context("no items")?.iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(items),
            }
        }
    }

    /// Fails unless the path answers 404.
    pub async fn expect_missing(&self, path: &str) -> anyhow::Result<()> {
        let answer = self.send(Method::GET, path, None, None).await?;
        ensure!(answer.status == 404, "{path} still exists: {}", answer.text);
        Ok(())
    }

    /// Follows an operation until it has succeeded.
    pub async fn follow(&self, collection: &str, id: &Value) -> anyhow::Result<Value> {
        let id = id.as_str().context("no operation id")?;
        let begun = Instant::now();
        loop {
            let operation = self.get(&format!("/v1/{collection}/{id}")).await?;
            match operation["state"].as_str() {
                Some("succeeded") => return Ok(operation),
                Some("failed" | "cancelled") => bail!("the operation did not succeed: {operation}"),
                _ => ensure!(begun.elapsed() < OPERATION_LIMIT, "the operation takes too long: {operation}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Answer {
    pub fn with(self, status: u16, path: &str) -> anyhow::Result<Value> {
        ensure!(self.status == status, "{path}: expected {status}, got {}: {}", self.status, self.text);
        Ok(self.body)
    }
}

/// A string member of a JSON object.
pub fn text<'a>(value: &'a Value, name: &str) -> anyhow::Result<&'a str> {
    value[name].as_str().with_context(|| format!("no string `{name}` in {value}"))
}
