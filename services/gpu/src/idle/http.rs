//! The call that puts an idle stop off, and the gateway's report of connections.

use api::{Checks, IdempotencyKey, Json, Path, Problem, ProblemType, Reply, openapi::OpenApiRouter};
use auth::{Caller, Member};
use axum::extract::State;
use http::StatusCode;
use ids::InstanceId;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::store::{self, ReporterId};
use crate::{
    error::Error,
    event::{By, IdleStopWithdrawal},
    instance::{self, Effects, InstanceState, InstanceView},
    state::AppState,
};

/// The longest time between a report and its arrival: the limit of a call.
const CALL: SignedDuration = SignedDuration::from_secs(10);
/// Instances in one report.
const MAX_INSTANCES: usize = 5000;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(postpone_instance_idle_stop))
        .routes(routes!(report_instance_activity))
}

/// Puts the idle stop of a running instance off: its idle time begins anew now.
#[utoipa::path(
    post, path = "/v1/instances/{id}/postpone-idle-stop", operation_id = "postpone_instance_idle_stop",
    tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey),
    responses((status = 200, description = "The instance", body = InstanceView)),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InstanceState, ProblemType::IdleStopNotSet
    ]))),
)]
async fn postpone_instance_idle_stop(
    State(app): State<AppState>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let now = (app.clock)();
    key.once(app.db.tenant(member.tenant).await?, member.tenant, &(), async |tx| {
        let found = instance::store::lock(tx, member.tenant, id).await?;
        let mut instance = found.ok_or_else(Problem::not_found)?;
        if instance.idle_stop.is_none() {
            return Err(Error::IdleStopNotSet.into());
        }
        let state = InstanceState::from(&instance.state);
        if state != InstanceState::Running {
            return Err(Error::NothingToPostpone(state).into());
        }
        let before = instance.clone();
        let withdrawn = instance.withdraw_idle_stop(IdleStopWithdrawal::Postponed);
        store::watch(tx, member.tenant, id, now).await?;
        if let Some(entry) = withdrawn {
            let effects = Effects { log: vec![entry], ..Effects::default() };
            let by = By::user(member.principal.user);
            if !instance::store::advance(tx, &before, &mut instance, &effects, &by).await? {
                return Err(Error::LockedRowChanged.into());
            }
        }
        let view = InstanceView::of(&instance, &app.config.apps);
        Ok(Reply::json(StatusCode::OK, &view)?.etag(instance.generation))
    })
    .await
}

/// The instances that a replica of the gateway carries connections to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActivityReport {
    /// The replica: 1 to 64 characters, unique among all of them.
    reporter: String,
    /// Instances with open connections, or with connections since the last report; at most 5000.
    #[schema(max_items = 5000)]
    instances: Vec<ReportedActivity>,
    /// Whether this is all, with the reports since the last complete one.
    is_complete: bool,
    /// Whether the replica shuts down.
    has_ended: bool,
}

/// The connections to one instance.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportedActivity {
    /// Instance id.
    instance_id: InstanceId,
    /// Seconds since the last connection was closed; 0 while one is open.
    seconds_ago: u32,
}

/// Records the connections that a replica of the gateway carries.
#[utoipa::path(
    post, path = "/internal/v1/instance-activity", operation_id = "report_instance_activity", tag = "internal",
    request_body = ActivityReport,
    responses((status = 204, description = "Recorded")),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn report_instance_activity(
    State(app): State<AppState>,
    _: Caller,
    Json(report): Json<ActivityReport>,
) -> Result<StatusCode, Problem> {
    let mut checks = Checks::default();
    let id = &report.reporter;
    checks.require((1..=64).contains(&id.len()), "/reporter", "must be 1 to 64 characters");
    let detail = format!("must be at most {MAX_INSTANCES} instances; send several reports");
    checks.require(report.instances.len() <= MAX_INSTANCES, "/instances", detail);
    checks.finish()?;
    let now = (app.clock)();
    let at = |activity: &ReportedActivity| {
        let ago = SignedDuration::from_secs(activity.seconds_ago.into());
        (activity.instance_id, now.checked_sub(ago).unwrap_or(Timestamp::MIN))
    };
    let uses: Vec<_> = report.instances.iter().map(at).collect();
    let reporter = ReporterId { kind: "gateway", id };
    let reported_at = report.is_complete.then(|| now.checked_sub(CALL).unwrap_or(now));
    let mut tx = app.db.worker().await?;
    if store::report(&mut tx, reporter, reported_at, report.has_ended, &uses).await? {
        tx.commit().await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
