//! What a Prometheus answers for the runs of one instance: spans of time with values, of each metric and GPU.
//!
//! Prometheus is asked for more values than the response has points, each over a range of time of its own. A value counts
//! only if its range lies within the run of the pod that it names: never for another pod of the same name, before or after it.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use gpu_core::unit::PodRef;

use super::{
    model::{Metric, Span, Window},
    prometheus::{Prometheus, QueryError, Range, Series},
    query::{Exporter, Source, query},
    store::Run,
};

/// Values per step: less than one such part is lost at each end of a run.
const PARTS: i64 = 4;
/// Queries of a request at a time.
const PARALLEL: usize = 4;
/// Series of a metric that are read.
const MAX_SERIES: usize = 4096;

/// The answer for one metric: its spans by GPU (none for metrics that are not of a GPU).
pub(super) type Answer = Result<BTreeMap<Option<String>, Vec<Span>>, QueryError>;

/// Asks for metrics of runs that have a pod. `now` is in seconds since 1970.
pub(super) async fn ask(
    prometheus: &Prometheus,
    metrics: &[Metric],
    runs: &[Run],
    window: &Window,
    now: i64,
) -> Vec<(Metric, Answer)> {
    let deadline = prometheus.deadline();
    let mut pods: Vec<PodRef> = runs.iter().filter_map(|run| run.pod.clone()).collect();
    pods.sort_unstable();
    pods.dedup();
    let pods = &pods;
    let answers = stream::iter(metrics.iter().copied()).map(|metric| async move {
        let plan = Plan::new(metric, prometheus, window, now);
        let Some(range) = plan.range else { return (metric, Ok(BTreeMap::new())) };
        let query = query(metric, pods, plan.lookback, &prometheus.config);
        let answer = prometheus.query_range(&query, range, deadline).await;
        (metric, answer.and_then(|series| spans(&series, &plan, runs)))
    });
    let mut answers: Vec<_> = answers.buffer_unordered(PARALLEL).collect().await;
    answers.sort_unstable_by_key(|(metric, _)| *metric);
    answers
}

/// Which values of a metric are asked for.
struct Plan<'a> {
    source: Source,
    labels: (&'a str, &'a str),
    gpu_label: &'a str,
    /// Seconds between two values.
    resolution: i64,
    /// Seconds of data behind each value.
    lookback: i64,
    /// None if nothing lies in the past.
    range: Option<Range>,
}

impl<'a> Plan<'a> {
    fn new(metric: Metric, prometheus: &'a Prometheus, window: &Window, now: i64) -> Self {
        let config = &prometheus.config;
        let source = Source::of(metric);
        // at least a scrape interval apart: values closer together would be the same
        let scrape_interval = i64::from(config.scrape_interval_seconds.max(1));
        let resolution = (window.step / PARTS).max(scrape_interval).min(window.step);
        let (start, end) = (window.start + resolution, window.end().min(now));
        Self {
            source,
            labels: source.pod_labels(config),
            gpu_label: &config.gpu_label,
            resolution,
            lookback: source.range(resolution, scrape_interval),
            range: (start <= end).then_some(Range { start, end, step: resolution }),
        }
    }
}

/// Extracts the spans that belong to the runs from the answer.
fn spans(series: &[Series], plan: &Plan<'_>, runs: &[Run]) -> Answer {
    if series.len() > MAX_SERIES {
        return Err(QueryError::Unexpected(format!("{} series", series.len())));
    }
    let mut found: BTreeMap<Option<String>, Vec<Span>> = BTreeMap::new();
    #[expect(clippy::cast_precision_loss, reason = "seconds are exact in an f64")]
    let (resolution, lookback) = (plan.resolution as f64, plan.lookback as f64);
    for series in series {
        let pod = PodRef::new(series.label(plan.labels.0), series.label(plan.labels.1));
        let own: Vec<&Run> = runs.iter().filter(|run| run.pod.as_ref() == Some(&pod)).collect();
        if own.is_empty() {
            tracing::warn!(pod = pod.name(), "Prometheus answers with a pod that was not asked for");
            continue;
        }
        let gpu = (plan.source.exporter == Exporter::Dcgm).then(|| series.label(plan.gpu_label).to_owned());
        let spans = found.entry(gpu).or_default();
        for (at, value) in series.values() {
            let inside = |run: &&Run| run.start() <= at - lookback && at <= run.end();
            if own.iter().any(inside) {
                spans.push(Span { start: at - resolution, end: at, value: value * plan.source.factor });
            }
        }
    }
    found.retain(|_, spans| !spans.is_empty());
    Ok(found)
}
