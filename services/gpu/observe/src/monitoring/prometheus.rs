//! The client of a Prometheus: range queries, bounded in number, time and size.

use std::{sync::Arc, time::Duration};

use reqwest::StatusCode;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use super::config::PrometheusConfig;
use super::{
    metrics::{MonitoringMetrics, Outcome},
    query::is_label,
};

/// Bytes of an answer that are read. A series of 4,000 values has about 120 kB.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// A Prometheus. Clones share its limit of queries.
#[derive(Clone)]
pub(super) struct Prometheus {
    pub(super) config: Arc<PrometheusConfig>,
    url: url::Url,
    http: reqwest::Client,
    permits: Arc<Semaphore>,
    metrics: MonitoringMetrics,
}

/// Why a query has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    #[error("Prometheus does not answer")]
    Unreachable(#[source] reqwest::Error),
    #[error("Prometheus does not answer in time")]
    TimedOut,
    #[error("Prometheus answers with status {status}: {message}")]
    Refused {
        status: StatusCode,
        /// Its error message, shortened.
        message: String,
    },
    #[error("the answer of Prometheus is not the result of a range query: {0}")]
    Unexpected(String),
    #[error("the answer of Prometheus is larger than {MAX_ANSWER} bytes")]
    TooLarge,
}

impl QueryError {
    fn outcome(&self) -> Outcome {
        match self {
            Self::Unreachable(_) => Outcome::Unreachable,
            Self::TimedOut => Outcome::TimedOut,
            Self::Refused { .. } | Self::Unexpected(_) | Self::TooLarge => Outcome::Unexpected,
        }
    }
}

/// The requested values: one every `step` seconds from `start` to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) step: i64,
}

/// A series of a result.
#[derive(Debug, Deserialize)]
pub(super) struct Series {
    metric: std::collections::HashMap<String, String>,
    values: Vec<(f64, String)>,
}

impl Series {
    /// Returns the value of a label; empty if it has none.
    pub(super) fn label(&self, name: &str) -> &str {
        self.metric.get(name).map_or("", String::as_str)
    }

    /// Returns times, in seconds since 1970, and values. Values that are not numbers are left out.
    pub(super) fn values(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let numbers = self.values.iter().filter_map(|(at, text)| Some((*at, text.parse::<f64>().ok()?)));
        numbers.filter(|(at, value)| at.is_finite() && value.is_finite())
    }
}

#[derive(Deserialize)]
struct Answer {
    status: String,
    data: Option<Data>,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
enum Data {
    Matrix(Vec<Series>),
}

impl Prometheus {
    pub(super) fn new(
        config: &PrometheusConfig,
        http: &reqwest::Client,
        metrics: MonitoringMetrics,
    ) -> anyhow::Result<Self> {
        let labels = [&config.gpu_namespace_label, &config.gpu_pod_label, &config.gpu_label];
        for label in labels.into_iter().chain(config.matchers.keys()) {
            anyhow::ensure!(is_label(label), "[prometheus]: {label:?} is not the name of a label");
        }
        let base = config.url.as_str().trim_end_matches('/');
        let url = format!("{base}/api/v1/query_range").parse()?;
        let permits = Arc::new(Semaphore::new(config.queries.max(1)));
        Ok(Self { config: Arc::new(config.clone()), url, http: http.clone(), permits, metrics })
    }

    /// Returns the deadline for the queries of a request that begins now.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_millis(self.config.timeout_ms.max(1))
    }

    pub(super) async fn query_range(
        &self,
        query: &str,
        range: Range,
        deadline: Instant,
    ) -> Result<Vec<Series>, QueryError> {
        let asked = timeout_at(deadline, self.ask(query, range, deadline)).await;
        let result = asked.unwrap_or(Err(QueryError::TimedOut));
        self.metrics.query(result.as_ref().map_or_else(QueryError::outcome, |_| Outcome::Succeeded));
        result
    }

    async fn ask(&self, query: &str, range: Range, deadline: Instant) -> Result<Vec<Series>, QueryError> {
        // never closed
        let _permit = self.permits.acquire().await.map_err(|_| QueryError::TimedOut)?;
        let left = deadline.saturating_duration_since(Instant::now());
        let parameters = [
            ("query", query.to_owned()),
            ("start", range.start.to_string()),
            ("end", range.end.to_string()),
            ("step", range.step.to_string()),
            // so that Prometheus stops, too
            ("timeout", format!("{}ms", left.as_millis().max(1))),
        ];
        let mut request = self.http.post(self.url.clone()).form(&parameters).timeout(left);
        if let Some(token) = &self.config.bearer_token {
            request = request.bearer_auth(SecretString::expose_secret(token));
        }
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(QueryError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        parse(status, &body)
    }
}

fn failed(error: reqwest::Error) -> QueryError {
    // an address may contain a password
    let error = error.without_url();
    if error.is_timeout() { QueryError::TimedOut } else { QueryError::Unreachable(error) }
}

fn parse(status: StatusCode, body: &[u8]) -> Result<Vec<Series>, QueryError> {
    let answer = serde_json::from_slice::<Answer>(body);
    if !status.is_success() {
        let message = answer.ok().and_then(|answer| answer.error).unwrap_or_default();
        return Err(QueryError::Refused { status, message: message.chars().take(200).collect() });
    }
    let unexpected = |what: String| QueryError::Unexpected(what);
    let answer = answer.map_err(|error| unexpected(error.to_string()))?;
    match answer.data {
        Some(Data::Matrix(series)) if answer.status == "success" => Ok(series),
        _ => Err(unexpected(format!("status {:?}", answer.status))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_not_taken_for_values() {
        let ok = StatusCode::OK;
        let series = parse(
            ok,
            br#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"pod":"a"},"values":[[1.5,"2"],[2,"NaN"],[3,"+Inf"],[4,"x"],[5,"-1e3"]]}]}}"#,
        )
        .unwrap();
        assert_eq!(series[0].values().collect::<Vec<_>>(), [(1.5, 2.0), (5.0, -1000.0)]);
        assert_eq!((series[0].label("pod"), series[0].label("namespace")), ("a", ""));
        for body in [
            "",
            "<html>not found</html>",
            "{}",
            "[]",
            r#"{"status":"success"}"#,
            r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#,
            r#"{"status":"success","data":{"resultType":"matrix","result":{}}}"#,
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[["now",1]]}]}}"#,
            r#"{"status":"error","data":{"resultType":"matrix","result":[]}}"#,
        ] {
            assert!(matches!(parse(ok, body.as_bytes()), Err(QueryError::Unexpected(_))), "{body}");
        }
        let refused = br#"{"status":"error","errorType":"bad_data","error":"too many points"}"#;
        let refused = parse(StatusCode::BAD_REQUEST, refused).unwrap_err().to_string();
        assert!(refused.contains("400") && refused.contains("too many points"), "{refused}");
    }
}
