//! A Prometheus, played: series of samples, and range queries of the form that the service sends, evaluated as Prometheus
//! evaluates them. It can be slow, fail, and answer nonsense.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Form, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use regex::Regex;
use serde_json::{Value, json};

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// It answers after this time.
    Slow(Duration),
    /// It answers with something other than a result.
    Nonsense,
    /// It refuses queries that contain this text.
    Refuses(&'static str),
    /// It ignores the pod filter and answers for all pods.
    AnswersAll,
}

type Labels = BTreeMap<String, String>;

struct Stored {
    labels: Labels,
    /// Time in seconds since 1970, and value; in order.
    samples: Vec<(i64, f64)>,
}

struct Inner {
    series: Vec<Stored>,
    fault: Fault,
    queries: Vec<String>,
}

#[derive(Clone)]
pub(crate) struct FakePrometheus {
    pub(crate) url: String,
    inner: Arc<Mutex<Inner>>,
}

pub(crate) const TOKEN: &str = "prometheus-token";

impl FakePrometheus {
    pub(crate) async fn start() -> Self {
        let inner = Inner { series: Vec::new(), fault: Fault::None, queries: Vec::new() };
        let inner = Arc::new(Mutex::new(inner));
        let router =
            Router::new().route("/prom/api/v1/query_range", post(query_range)).with_state(Arc::clone(&inner));
        Self { url: format!("{}/prom/", testkit::serve(router).await), inner }
    }

    /// Adds a series with a sample every 15 seconds from `from` to `to`.
    pub(crate) fn add(
        &self,
        name: &str,
        labels: &[(&str, &str)],
        from: i64,
        to: i64,
        value: impl Fn(i64) -> f64,
    ) {
        let named = [("__name__", name)];
        let labels = labels.iter().chain(&named).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let first = (from + 14) / 15 * 15;
        let samples = (first..=to).step_by(15).map(|at| (at, value(at))).collect();
        self.inner.lock().unwrap().series.push(Stored { labels, samples });
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.inner.lock().unwrap().fault = fault;
    }

    /// The queries since the last call.
    pub(crate) fn queries(&self) -> Vec<String> {
        std::mem::take(&mut self.inner.lock().unwrap().queries)
    }
}

async fn query_range(
    State(inner): State<Arc<Mutex<Inner>>>,
    headers: HeaderMap,
    Form(parameters): Form<HashMap<String, String>>,
) -> Response {
    let fault = inner.lock().unwrap().fault.clone();
    if headers.get("authorization").is_none_or(|value| value != &format!("Bearer {TOKEN}")) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let query = parameters["query"].clone();
    inner.lock().unwrap().queries.push(query.clone());
    let refused = |error: &str| {
        let body = json!({ "status": "error", "errorType": "bad_data", "error": error });
        (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
    };
    match &fault {
        Fault::Slow(time) => tokio::time::sleep(*time).await,
        Fault::Nonsense => return "<html><body>It works!</body></html>".into_response(),
        Fault::Refuses(text) if query.contains(text) => return refused("it is refused"),
        _ => {}
    }
    let number = |name: &str| parameters[name].parse::<i64>().unwrap();
    let (start, end, step) = (number("start"), number("end"), number("step"));
    if (end - start) / step >= 11_000 {
        return refused("exceeded maximum resolution of 11,000 points per timeseries");
    }
    let parsed = Query::parse(&query, fault == Fault::AnswersAll);
    let result = parsed.evaluate(&inner.lock().unwrap().series, start, end, step);
    axum::Json(json!({ "status": "success", "data": { "resultType": "matrix", "result": result } }))
        .into_response()
}

struct Query {
    aggregate: String,
    by: Vec<String>,
    function: String,
    range: i64,
    /// Label, and the anchored expression that its value matches.
    matchers: Vec<(String, Regex)>,
}

impl Query {
    /// Parses `sum by (a,b) (rate(name{label=~"…",other="…"}[60s]))`.
    fn parse(text: &str, any_pod: bool) -> Self {
        let form = Regex::new(r#"^(\w+) by \(([\w,]+)\) \((\w+)\((\w+)\{(.*)\}\[(\d+)s\]\)\)$"#).unwrap();
        let parts = form.captures(text).unwrap_or_else(|| panic!("{text}"));
        let selector = Regex::new(r#"(\w+)(=~?)("(?:[^"\\]|\\.)*")(?:,|$)"#).unwrap();
        let mut matchers = vec![("__name__".to_owned(), Regex::new(&format!("^{}$", &parts[4])).unwrap())];
        for matcher in selector.captures_iter(&parts[5]) {
            if any_pod && (matcher[1].contains("pod") || matcher[1].contains("namespace")) {
                continue;
            }
            // the escapes that occur here are those of JSON
            let value: String = serde_json::from_str(&matcher[3]).unwrap();
            let value = if &matcher[2] == "=" { regex::escape(&value) } else { value };
            matchers.push((matcher[1].to_owned(), Regex::new(&format!("^(?:{value})$")).unwrap()));
        }
        Self {
            aggregate: parts[1].to_owned(),
            by: parts[2].split(',').map(str::to_owned).collect(),
            function: parts[3].to_owned(),
            range: parts[6].parse().unwrap(),
            matchers,
        }
    }

    fn evaluate(&self, series: &[Stored], start: i64, end: i64, step: i64) -> Vec<Value> {
        let mut groups: BTreeMap<Labels, BTreeMap<i64, f64>> = BTreeMap::new();
        let empty = String::new();
        for stored in series {
            let label = |name: &String| stored.labels.get(name).unwrap_or(&empty);
            if !self.matchers.iter().all(|(name, value)| value.is_match(label(name))) {
                continue;
            }
            let key: Labels = self.by.iter().map(|name| (name.clone(), label(name).clone())).collect();
            let group = groups.entry(key).or_default();
            for at in (start..=end).step_by(usize::try_from(step).unwrap()) {
                let inside: Vec<_> =
                    stored.samples.iter().filter(|(time, _)| (at - self.range..=at).contains(time)).collect();
                let (Some(first), Some(last)) = (inside.first(), inside.last()) else { continue };
                let values = inside.iter().map(|(_, value)| *value);
                #[expect(clippy::cast_precision_loss, reason = "few and small numbers")]
                let value = match self.function.as_str() {
                    "avg_over_time" => values.sum::<f64>() / inside.len() as f64,
                    "max_over_time" => values.fold(f64::NEG_INFINITY, f64::max),
                    "rate" if inside.len() > 1 => (last.1 - first.1) / (last.0 - first.0) as f64,
                    "rate" => continue,
                    other => panic!("{other}"),
                };
                let sum = group.entry(at).or_insert(if self.aggregate == "max" { f64::MIN } else { 0.0 });
                *sum = if self.aggregate == "max" { sum.max(value) } else { *sum + value };
            }
        }
        let filled = groups.into_iter().filter(|(_, values)| !values.is_empty());
        filled
            .map(|(labels, values)| {
                let values: Vec<Value> =
                    values.into_iter().map(|(at, value)| json!([at, value.to_string()])).collect();
                json!({ "metric": labels, "values": values })
            })
            .collect()
    }
}
