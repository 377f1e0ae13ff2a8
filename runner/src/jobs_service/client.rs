//! Calls, and their repetition.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use reqwest::StatusCode;
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::error::Error;

/// Limit of a call, longer than a poll.
const TIMEOUT: Duration = Duration::from_secs(40);

/// The listener for workers, and the object store by the addresses that it signs.
#[derive(Clone)]
pub(crate) struct Client {
    pub(super) http: reqwest::Client,
    pub(super) base: Url,
    token: SecretString,
    /// Time for which transfers and results are repeated.
    pub(super) away: Duration,
}

impl Client {
    pub(crate) fn new(http: reqwest::Client, base: Url, token: SecretString, away: Duration) -> Self {
        Self { http, base, token, away }
    }

    pub(super) async fn call<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Error> {
        let url = format!("{}/worker/v1/{path}", self.base.as_str().trim_end_matches('/'));
        let request = self.http.post(url).timeout(TIMEOUT).bearer_auth(self.token.expose_secret());
        let response = request.json(body).send().await.map_err(|error| Error::Unavailable(error.into()))?;
        let status = response.status();
        let text = response.bytes().await.map_err(|error| Error::Unavailable(error.into()))?;
        if status.is_success() {
            return serde_json::from_slice(&text).map_err(|error| Error::Unavailable(error.into()));
        }
        Err(problem(status, &serde_json::from_slice(&text).unwrap_or_default()))
    }

    /// Repeats a call while the service does not answer.
    pub(super) async fn persist<T, R>(&self, call: impl FnMut() -> R) -> Result<T, Error>
    where
        R: Future<Output = Result<T, Error>>,
    {
        let delays = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(200))
            .with_max_delay(Duration::from_secs(10))
            .with_jitter()
            .without_max_times()
            .with_total_delay(Some(self.away));
        call.retry(delays)
            .when(|error| matches!(error, Error::Unavailable(_)))
            .notify(|error, _| tracing::warn!(error = format!("{error:?}"), "repeating a call"))
            .await
    }
}

/// The error of an RFC 9457 problem.
fn problem(status: StatusCode, problem: &Value) -> Error {
    let kind = problem["type"].as_str().unwrap_or_default();
    let code = kind.rsplit('/').next().unwrap_or_default();
    let detail = problem["detail"].as_str().unwrap_or_default();
    match (status, code) {
        (_, "attempt-not-yours") => Error::NotYours,
        _ if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
            Error::Refused { code: code.to_owned(), detail: detail.to_owned() }
        }
        _ => Error::Unavailable(anyhow::anyhow!("{status} {code}: {detail}")),
    }
}
