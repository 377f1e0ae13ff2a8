//! The request that postpones an idle stop, and the gateway's report of connections.

use api::{Checks, IdempotencyKey, Json, Path, Problem, ProblemType, Reply, openapi::OpenApiRouter};
use auth::{Caller, HasAuth, Member};
use axum::extract::{FromRef, State};
use gpu_api::{ActivityReport, ReportedActivity};
use gpu_core::{
    event::{By, IdleStopWithdrawal},
    instance::{Effects, InstanceState},
};
use http::StatusCode;
use ids::InstanceId;
use instances::instance::{self, InstanceView, idle_watch};
use jiff::{SignedDuration, Timestamp};
use utoipa_axum::routes;

use super::{
    Parts,
    store::{self, ReporterId},
};

/// The longest time between a report and its arrival: the limit of a call.
const CALL: SignedDuration = SignedDuration::from_secs(10);
/// Instances in one report.
const MAX_INSTANCES: usize = 5000;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(postpone_instance_idle_stop))
        .routes(routes!(report_instance_activity))
}

/// Postpones the idle stop of a running instance: its idle time starts again from zero.
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
    State(app): State<Parts>,
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
            return Err(instance::Error::IdleStopNotSet.into());
        }
        let state = InstanceState::from(&instance.state);
        if state != InstanceState::Running {
            return Err(instance::Error::NothingToPostpone(state).into());
        }
        let before = instance.clone();
        let withdrawn = instance.withdraw_idle_stop(IdleStopWithdrawal::Postponed);
        idle_watch::watch(tx, member.tenant, id, now).await?;
        if let Some(entry) = withdrawn {
            let effects = Effects { log: vec![entry], ..Effects::default() };
            let by = By::user(member.principal.user);
            if !instance::store::advance(tx, &before, &mut instance, &effects, &by).await? {
                return Err(instance::Error::LockedRowChanged.into());
            }
        }
        let view = InstanceView::of(&instance, &app.apps);
        Ok(Reply::json(StatusCode::OK, &view)?.etag(instance.generation))
    })
    .await
}

/// Records which instances have connections through a replica of the gateway.
#[utoipa::path(
    post, path = "/internal/v1/instance-activity", operation_id = "report_instance_activity", tag = "internal",
    request_body = ActivityReport,
    responses((status = 204, description = "Recorded")),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn report_instance_activity(
    State(app): State<Parts>,
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
