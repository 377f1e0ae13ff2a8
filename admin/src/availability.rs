//! `availability`: how many requests of a month the API answered and how fast, by service and by operation, from Prometheus.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
    time::Duration,
};

use anyhow::{Context, ensure};
use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use serde::{Deserialize, Serialize};
use url::Url;

/// A month of samples is read.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Fraction of all requests that must be answered without 5xx: the objective of deploy/helm/atelier/rules/slo.yaml.
const ANSWERED: f64 = 0.9999;
/// Fraction of those that must be answered within 0.1 s.
const FAST: f64 = 0.99;
/// Requests whose duration is meaningful: successful ones, without WebSockets.
const TIMED: &str = r#"job="atelier-gateway", route=~"/v1/.*", status!~"5..|101""#;

/// The outcomes of some of the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Counts {
    /// All.
    pub requests: f64,
    /// Requests answered with 5xx.
    pub failed: f64,
    /// Requests with a duration that counts.
    timed: f64,
    /// Those of them that took at most 0.1 s.
    fast: f64,
}

impl Counts {
    /// The share of requests that were not answered with 5xx. 1 without any.
    #[must_use]
    pub fn answered(&self) -> f64 {
        if self.requests > 0.0 { 1.0 - self.failed / self.requests } else { 1.0 }
    }

    /// The share of requests that took at most 0.1 s. 1 without any.
    #[must_use]
    pub fn in_time(&self) -> f64 {
        if self.timed > 0.0 { self.fast / self.timed } else { 1.0 }
    }

    /// Whether both objectives are met.
    #[must_use]
    pub fn meets_objectives(&self) -> bool {
        self.answered() >= ANSWERED && self.in_time() >= FAST
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.failed += other.failed;
        self.timed += other.timed;
        self.fast += other.fast;
    }
}

/// The requests of a month until now.
#[derive(Debug, Serialize)]
pub struct Report {
    /// First day, 00:00 UTC.
    pub from: Timestamp,
    /// End of the month, or now.
    pub to: Timestamp,
    /// All requests to operations of the API.
    pub all: Counts,
    /// By service.
    pub services: BTreeMap<String, Counts>,
    /// By operation: `GET /v1/instances`.
    pub operations: BTreeMap<String, Counts>,
}

/// A line of an answer of Prometheus to an instant query.
#[derive(Debug, Deserialize)]
struct Sample {
    metric: BTreeMap<String, String>,
    value: (f64, String),
}

#[derive(Debug, Deserialize)]
struct Answer {
    data: Data,
}

#[derive(Debug, Deserialize)]
struct Data {
    result: Vec<Sample>,
}

impl Sample {
    fn label(&self, name: &str) -> &str {
        self.metric.get(name).map_or("", String::as_str)
    }

    fn operation(&self) -> String {
        format!("{} {}", self.label("method"), self.label("route"))
    }

    fn value(&self) -> f64 {
        self.value.1.parse().unwrap_or_default()
    }
}

async fn query(
    http: &reqwest::Client,
    prometheus: &Url,
    query: &str,
    at: Timestamp,
) -> anyhow::Result<Vec<Sample>> {
    let url = prometheus.join("api/v1/query")?;
    let time = at.as_second().to_string();
    let form = [("query", query), ("time", &time)];
    let response =
        http.post(url).form(&form).timeout(TIMEOUT).send().await.context("Prometheus does not answer")?;
    let status = response.status();
    let text = response.text().await?;
    ensure!(status.is_success(), "Prometheus: {status} {text}");
    let answer: Answer =
        serde_json::from_str(&text).with_context(|| format!("not an answer of Prometheus: {text}"))?;
    Ok(answer.data.result)
}

/// Reads the counts of a month, `YYYY-MM`; the present one if absent. `prometheus` is its address, with a `/` at the end.
///
/// # Errors
/// If the month has not begun, or Prometheus does not answer.
pub async fn report(prometheus: &Url, month: Option<&str>, now: Timestamp) -> anyhow::Result<Report> {
    let first: Date = match month {
        Some(month) => format!("{month}-01")
            .parse()
            .with_context(|| format!("{month:?} is no month: write it as 2026-01"))?,
        None => now.to_zoned(TimeZone::UTC).date().first_of_month(),
    };
    let begin = |date: Date| Ok::<_, jiff::Error>(date.to_zoned(TimeZone::UTC)?.timestamp());
    let (from, to) = (begin(first)?, begin(first.checked_add(1.month())?)?.min(now));
    ensure!(from < to, "the month has not begun");
    let http = service::http_client()?;
    let window = to.duration_since(from).as_secs();
    let counted = format!(
        "sum by (upstream, method, route, outcome) (increase(gateway_api_requests_total[{window}s]))"
    );
    let timed = |metric: &str| {
        format!("sum by (method, route) (increase(http_server_request_duration_seconds_{metric}[{window}s]))")
    };

    let mut operations: BTreeMap<String, (String, Counts)> = BTreeMap::new();
    for sample in query(&http, prometheus, &counted, to).await? {
        let (service, counts) = operations.entry(sample.operation()).or_default();
        sample.label("upstream").clone_into(service);
        counts.requests += sample.value();
        if sample.label("outcome") == "failed" {
            counts.failed += sample.value();
        }
    }
    for sample in query(&http, prometheus, &timed(&format!("count{{{TIMED}}}")), to).await? {
        if let Some((_, counts)) = operations.get_mut(&sample.operation()) {
            counts.timed += sample.value();
        }
    }
    for sample in query(&http, prometheus, &timed(&format!("bucket{{{TIMED}, le=\"0.1\"}}")), to).await? {
        if let Some((_, counts)) = operations.get_mut(&sample.operation()) {
            counts.fast += sample.value();
        }
    }
    let (mut all, mut services) = (Counts::default(), BTreeMap::<String, Counts>::new());
    for (service, counts) in operations.values() {
        all.add(counts);
        services.entry(service.clone()).or_default().add(counts);
    }
    let operations = operations.into_iter().map(|(operation, (_, counts))| (operation, counts)).collect();
    Ok(Report { from, to, all, services, operations })
}

impl Display for Report {
    /// A table of all services, and of the operations that miss an objective.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} to {:.0}; objectives: {} % answered, {} % within 0.1 s",
            self.from,
            self.to,
            ANSWERED * 100.0,
            FAST * 100.0
        )?;
        writeln!(f, "{:<60} {:>12} {:>9} {:>10} {:>9}", "", "requests", "failed", "answered", "in 0.1 s")?;
        let missed = self.operations.iter().filter(|(_, counts)| !counts.meets_objectives());
        let all = "all".to_owned();
        let rows = [(&all, &self.all)].into_iter().chain(&self.services).chain(missed);
        for (name, counts) in rows {
            let Counts { requests, failed, .. } = counts;
            let (answered, in_time) = (counts.answered() * 100.0, counts.in_time() * 100.0);
            let mark = if counts.meets_objectives() { "" } else { "  missed" };
            writeln!(f, "{name:<60} {requests:>12.0} {failed:>9.0} {answered:>9.4}% {in_time:>8.2}%{mark}")?;
        }
        Ok(())
    }
}
