//! The use of a running instance, span by span, to decide whether it is idle. A span is returned only if the
//! source reports everything that it should about it.

use api::ErrorChain;
use db::Db;
use gpu_core::unit::PodRef;
use ids::{InstanceId, TenantId};
use jiff::{SignedDuration, Timestamp};

use super::{
    Monitoring,
    model::{Metric, Span, Window},
    prometheus::{Prometheus, QueryError},
    source, store,
};

/// Seconds of a step of the window: four values of Prometheus.
const STEP: i64 = 60;

/// A run that continues.
pub(crate) struct Measured<'a> {
    pub tenant: TenantId,
    pub instance: InstanceId,
    pub attempt: i64,
    pub cluster: &'a str,
    /// None if the cluster reports none.
    pub pod: Option<&'a PodRef>,
    pub since: Timestamp,
    pub(crate) has_gpus: bool,
}

/// The use in a span of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load {
    pub start: Timestamp,
    pub end: Timestamp,
    pub cpu_cores: f64,
    /// Use of the busiest GPU; none if the source never knows it, or there is no GPU.
    pub gpu_percent: Option<f64>,
}

impl Monitoring {
    /// Returns the use of an instance from `from` to `now`, in order. Empty if the source does not answer.
    pub(crate) async fn loads(
        &self,
        db: &Db,
        measured: &Measured<'_>,
        from: Timestamp,
        now: Timestamp,
    ) -> sqlx::Result<Vec<Load>> {
        let Some(prometheus) = self.prometheus.get(measured.cluster) else {
            let mut tx = db.worker().await?;
            let samples = store::samples(&mut tx, measured.tenant, measured.instance, from, now).await?;
            tx.commit().await?;
            return Ok(samples.iter().filter_map(sampled).collect());
        };
        let asked = ask(prometheus, measured, from, now).await;
        Ok(asked.unwrap_or_else(|error| {
            tracing::warn!(
                instance.id = %measured.instance, cluster = measured.cluster, error = %ErrorChain(&error),
                "cannot read whether the instance is idle; it is not stopped"
            );
            Vec::new()
        }))
    }
}

fn sampled(sample: &store::Sample) -> Option<Load> {
    let seconds = SignedDuration::try_from_secs_f64(sample.seconds).ok()?;
    let start = sample.at.checked_sub(seconds).ok()?;
    Some(Load { start, end: sample.at, cpu_cores: sample.cpu_cores?, gpu_percent: None })
}

async fn ask(
    prometheus: &Prometheus,
    measured: &Measured<'_>,
    from: Timestamp,
    now: Timestamp,
) -> Result<Vec<Load>, QueryError> {
    let Some(pod) = measured.pod else { return Ok(Vec::new()) };
    let Ok(window) = Window::new(Some(from), Some(now), Some(STEP), now) else { return Ok(Vec::new()) };
    let run = store::Run {
        attempt: measured.attempt,
        started_at: measured.since,
        ended_at: None,
        cluster: measured.cluster.to_owned(),
        pod: Some(pod.clone()),
    };
    let metrics: &[Metric] =
        if measured.has_gpus { &[Metric::CpuUsage, Metric::GpuUtilization] } else { &[Metric::CpuUsage] };
    let (mut cpu, mut gpus) = (Vec::new(), Vec::new());
    for (metric, answer) in source::ask(prometheus, metrics, &[run], &window, now.as_second()).await {
        let series = answer?.into_values();
        if metric == Metric::CpuUsage { cpu.extend(series.flatten()) } else { gpus.extend(series) }
    }
    if measured.has_gpus && gpus.is_empty() {
        return Ok(Vec::new());
    }
    Ok(cpu.into_iter().filter_map(|span| joined(span, &gpus)).collect())
}

/// Joins a span of the CPU with those of all GPUs, which end at the same times; none if one of them is missing.
fn joined(cpu: Span, gpus: &[Vec<Span>]) -> Option<Load> {
    let mut gpu_percent = None;
    for gpu in gpus {
        let same = |span: &&Span| (span.end - cpu.end).abs() < 0.5;
        let percent = gpu.iter().find(same)?.value;
        gpu_percent = Some(gpu_percent.map_or(percent, |highest: f64| highest.max(percent)));
    }
    Some(Load { start: timestamp(cpu.start)?, end: timestamp(cpu.end)?, cpu_cores: cpu.value, gpu_percent })
}

fn timestamp(seconds: f64) -> Option<Timestamp> {
    Timestamp::from_duration(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(end: f64, value: f64) -> Span {
        Span { start: end - 15.0, end, value }
    }

    #[test]
    fn a_span_needs_all_gpus() {
        let joined = |gpus: &[Vec<Span>]| joined(span(30.0, 0.5), gpus).map(|load| load.gpu_percent);
        assert_eq!(joined(&[]), Some(None));
        assert_eq!(joined(&[vec![span(15.0, 1.0), span(30.0, 2.0)], vec![span(30.0, 7.0)]]), Some(Some(7.0)));
        assert_eq!(joined(&[vec![span(30.0, 2.0)], vec![span(15.0, 7.0)]]), None);
    }
}
