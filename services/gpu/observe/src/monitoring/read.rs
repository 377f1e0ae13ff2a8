//! The series of an instance from all sources, and what is missing and why.

use std::collections::BTreeMap;

use api::ErrorChain;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    Monitoring,
    model::{Metric, Span, Unit, Window, points},
    prometheus::QueryError,
    source::{self, Answer},
    store::{Run, Sample, seconds},
};

/// Where values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MetricSource {
    /// The Prometheus of the cluster.
    Prometheus,
    /// What the nodes of the cluster report themselves.
    Nodes,
}

/// Why there are no values of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MissingReason {
    /// The instance did not run in the window.
    NotRunning,
    /// The source has no value in the window.
    NoData,
    /// The source never has this metric.
    NotReported,
    /// The source does not know the pod: the run was recorded only when it had ended.
    PodUnknown,
    /// The source does not answer now. Try again.
    Unreachable,
    /// The source does not answer in time. Try again, or ask for a shorter window.
    TimedOut,
    /// The answer of the source cannot be used.
    UnexpectedAnswer,
}

/// A metric without values.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MissingMetric {
    /// The metric.
    metric: Metric,
    /// The source that has none; null if the instance did not run.
    source: Option<MetricSource>,
    /// Why.
    reason: MissingReason,
    /// The reason in a sentence for a person.
    message: &'static str,
}

impl MissingMetric {
    fn new(metric: Metric, source: Option<MetricSource>, reason: MissingReason) -> Self {
        let message = match reason {
            MissingReason::NotRunning => "The instance did not run in this window.",
            MissingReason::NoData => "There are no values in this window.",
            MissingReason::NotReported => {
                "The nodes of this datacenter do not report this metric; a Prometheus would be needed."
            }
            MissingReason::PodUnknown => "The pod of these runs was not recorded.",
            MissingReason::Unreachable => "Prometheus does not answer at the moment.",
            MissingReason::TimedOut => "Prometheus does not answer in time.",
            MissingReason::UnexpectedAnswer => "Prometheus gives an answer that cannot be used.",
        };
        Self { metric, source, reason, message }
    }
}

/// Values of one metric, and of one GPU.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MetricSeries {
    /// The metric.
    metric: Metric,
    /// Unit of the values.
    unit: Unit,
    /// Number of the GPU in its node; null for metrics that do not belong to a GPU.
    gpu: Option<String>,
    /// Where the values come from.
    source: MetricSource,
    /// A value for each step of the window: the average over the step (for `gpu_xid_error` the largest value), or null
    /// without data.
    values: Vec<Option<f64>>,
}

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) series: Vec<MetricSeries>,
    pub(super) missing: Vec<MissingMetric>,
}

/// No source answered. The cause is that of the first.
pub(super) struct AllFailed(pub(super) QueryError);

impl Monitoring {
    /// Whether the metrics of this run are those that its nodes report.
    pub(super) fn is_sampled(&self, run: &Run) -> bool {
        !self.prometheus.contains_key(&run.cluster)
    }

    /// Returns the series of runs of one instance. `samples` are those of the instance in the window.
    pub(super) async fn read(
        &self,
        window: &Window,
        runs: &[Run],
        samples: &[Sample],
        now: Timestamp,
    ) -> Result<Found, AllFailed> {
        let mut found = Found::default();
        if runs.is_empty() {
            let missing = |metric| MissingMetric::new(metric, None, MissingReason::NotRunning);
            found.missing.extend(Metric::ALL.into_iter().map(missing));
            return Ok(found);
        }
        let mut spans = Spans::default();
        let (mut is_answered, mut failure) = (false, None);
        for (name, prometheus) in self.prometheus.iter() {
            let own: Vec<Run> = runs.iter().filter(|run| run.cluster == *name).cloned().collect();
            if own.is_empty() {
                continue;
            }
            if own.iter().all(|run| run.pod.is_none()) {
                is_answered = true;
                spans.lack(MetricSource::Prometheus, Metric::ALL, MissingReason::PodUnknown);
                continue;
            }
            let mut failures = Vec::new();
            for (metric, answer) in source::ask(prometheus, &Metric::ALL, &own, window, now.as_second()).await
            {
                match spans.add_answer(metric, answer) {
                    Ok(()) => is_answered = true,
                    Err(error) => failures.push(error),
                }
            }
            if let Some(error) = failures.first() {
                let (cluster, queries) = (name.as_str(), failures.len());
                tracing::warn!(cluster, queries, error = %ErrorChain(error), "metrics not read from Prometheus");
            }
            failure = failure.or(failures.into_iter().next());
        }
        let sampled: Vec<&Run> = runs.iter().filter(|run| self.is_sampled(run)).collect();
        if !sampled.is_empty() {
            is_answered = true;
            spans.add_samples(&sampled, samples);
        }
        match failure {
            Some(cause) if !is_answered => return Err(AllFailed(cause)),
            _ => {}
        }
        found.missing = spans.missing;
        let series = spans.found.into_iter().map(|((metric, source, gpu), spans)| MetricSeries {
            metric,
            unit: metric.unit(),
            gpu,
            source,
            values: points(metric, window, &spans),
        });
        found.series = series.collect();
        Ok(found)
    }
}

/// Spans by metric, source and GPU.
#[derive(Default)]
struct Spans {
    found: BTreeMap<(Metric, MetricSource, Option<String>), Vec<Span>>,
    missing: Vec<MissingMetric>,
}

impl Spans {
    fn lack(
        &mut self,
        source: MetricSource,
        metrics: impl IntoIterator<Item = Metric>,
        reason: MissingReason,
    ) {
        let missing = |metric| MissingMetric::new(metric, Some(source), reason);
        self.missing.extend(metrics.into_iter().map(missing));
    }

    /// Adds the answer of a Prometheus. An error is marked, and returned.
    fn add_answer(&mut self, metric: Metric, answer: Answer) -> Result<(), QueryError> {
        let source = MetricSource::Prometheus;
        match answer {
            Ok(series) if series.is_empty() => self.lack(source, [metric], MissingReason::NoData),
            Ok(series) => {
                for (gpu, spans) in series {
                    self.found.entry((metric, source, gpu)).or_default().extend(spans);
                }
            }
            Err(error) => {
                let reason = match &error {
                    QueryError::Unreachable(_) => MissingReason::Unreachable,
                    QueryError::TimedOut => MissingReason::TimedOut,
                    QueryError::Refused { .. } | QueryError::Unexpected(_) | QueryError::TooLarge => {
                        MissingReason::UnexpectedAnswer
                    }
                };
                self.lack(source, [metric], reason);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Adds the samples that lie in these runs.
    fn add_samples(&mut self, runs: &[&Run], samples: &[Sample]) {
        let source = MetricSource::Nodes;
        for metric in Metric::ALL {
            if !metric.is_reported_by_nodes() {
                self.lack(source, [metric], MissingReason::NotReported);
                continue;
            }
            let values = samples.iter().filter_map(|sample| {
                let end = seconds(sample.at);
                Some(Span { start: end - sample.seconds, end, value: sampled(sample, metric)? })
            });
            let spans: Vec<Span> = values
                .flat_map(|span| runs.iter().filter_map(move |run| span.clipped(run.start(), run.end())))
                .collect();
            if spans.is_empty() {
                self.lack(source, [metric], MissingReason::NoData);
            } else {
                self.found.insert((metric, source, None), spans);
            }
        }
    }
}

fn sampled(sample: &Sample, metric: Metric) -> Option<f64> {
    match metric {
        Metric::CpuUsage => sample.cpu_cores,
        Metric::MemoryUsed => sample.memory_bytes,
        Metric::DiskUsed => sample.disk_bytes,
        Metric::NetworkReceived => sample.network_received,
        Metric::NetworkSent => sample.network_sent,
        Metric::GpuUtilization
        | Metric::GpuMemoryUsed
        | Metric::GpuMemoryFree
        | Metric::GpuTemperature
        | Metric::GpuPower
        | Metric::GpuXidError
        | Metric::DiskRead
        | Metric::DiskWritten => None,
    }
}
