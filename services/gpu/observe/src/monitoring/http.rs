//! `/v1/instances/{id}/metrics`.

use api::{Json, Path, Problem, ProblemType, Query};
use auth::Member;
use axum::extract::State;
use ids::InstanceId;
use instances::meter;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    Parts,
    model::Window,
    read::{AllFailed, MetricSeries, MissingMetric},
    store::{self, Run},
};

/// Runs of a window for which metrics are read.
const MAX_RUNS: i64 = 200;

/// The window of the metrics.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MetricsQuery {
    /// Beginning of the window; an hour before `to` if absent. At most 31 days before `to`.
    from: Option<Timestamp>,
    /// End of the window; now if absent or later than now.
    to: Option<Timestamp>,
    /// Seconds of a step; chosen by the server if absent. A series has at most 1000 values.
    #[param(minimum = 15, maximum = 86_400)]
    step: Option<i64>,
}

/// An interval in which the instance was ready.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MeasuredRun {
    /// Number of the start that it belongs to.
    attempt: i64,
    /// When it began.
    started_at: Timestamp,
    /// When it ended; null while it continues.
    ended_at: Option<Timestamp>,
}

impl From<&Run> for MeasuredRun {
    fn from(run: &Run) -> Self {
        Self { attempt: run.attempt, started_at: run.started_at, ended_at: run.ended_at }
    }
}

/// Metrics of an instance in a window of time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstanceMetrics {
    /// Beginning of the first step: the requested one, rounded down to a multiple of the step since 1970.
    from: Timestamp,
    /// End of the last step. The last step may not be over.
    to: Timestamp,
    /// Seconds of a step.
    step: i64,
    /// One for each metric, GPU and source that has values. Value `i` belongs to the step that begins `i * step`
    /// seconds after `from`.
    series: Vec<MetricSeries>,
    /// Metrics without values from a source, with the reason.
    missing: Vec<MissingMetric>,
    /// When the instance was ready in the window, newest first: values exist only within these intervals.
    runs: Vec<MeasuredRun>,
}

/// Returns the metrics of an instance in a window of time.
///
/// The values come from the Prometheus of the cluster, or from reports of its nodes. They are averages over a step, and
/// null for a step without data. Metrics that a source cannot return now are listed in `missing`; if no source answers,
/// the response is `unavailable`. `docs/MONITORING.md` describes the metrics.
#[utoipa::path(
    get, path = "/v1/instances/{id}/metrics", operation_id = "get_instance_metrics", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), MetricsQuery),
    responses((status = 200, description = "Series of values", body = InstanceMetrics)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::InvalidField]))),
)]
pub(crate) async fn get_instance_metrics(
    State(app): State<Parts>,
    member: Member,
    Path(id): Path<InstanceId>,
    Query(query): Query<MetricsQuery>,
) -> Result<Json<InstanceMetrics>, Problem> {
    let now = (app.clock)();
    let window = Window::new(query.from, query.to, query.step, now)
        .map_err(|(field, detail)| Problem::invalid_field(field, detail))?;
    let (from, to) = (window.start_time(), window.end_time());
    let mut tx = app.db.tenant(member.tenant).await?;
    if !meter::store::instance_exists(&mut tx, member.tenant, id).await? {
        return Err(Problem::not_found());
    }
    let runs = store::runs(&mut tx, member.tenant, id, from, to, MAX_RUNS + 1).await?;
    if runs.len() > usize::try_from(MAX_RUNS).unwrap_or(usize::MAX) {
        let detail = format!("the instance has more than {MAX_RUNS} runs in this window; choose a later one");
        return Err(Problem::invalid_field("from", detail));
    }
    let samples = if runs.iter().any(|run| app.monitoring.is_sampled(run)) {
        store::samples(&mut tx, member.tenant, id, from, to).await?
    } else {
        Vec::new()
    };
    drop(tx);
    let found = app.monitoring.read(&window, &runs, &samples, now).await;
    let found = found.map_err(|AllFailed(cause)| Problem::unavailable("Prometheus", cause))?;
    Ok(Json(InstanceMetrics {
        from,
        to,
        step: window.step,
        series: found.series,
        missing: found.missing,
        runs: runs.iter().map(MeasuredRun::from).collect(),
    }))
}
