//! `/v1/instances/{id}/log`.

use api::{Path, Problem, ProblemType, Query};
use auth::Member;
use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use http::header;
use ids::InstanceId;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Container, limit::Kind};
use crate::{error::Error, state::AppState};

const DEFAULT_TAIL: i64 = 1000;
const MAX_TAIL: i64 = 10_000;

/// Part of the log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// Number of last lines.
    #[param(minimum = 0, maximum = 10_000, default = 1000)]
    tail: Option<i64>,
    /// Whether to keep the response open for later lines.
    #[param(default = false)]
    follow: Option<bool>,
}

/// Streams the log of the running container.
#[utoipa::path(
    get, path = "/v1/instances/{id}/log", operation_id = "get_instance_log", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), LogQuery),
    responses((status = 200, description = "Lines of the log", body = String, content_type = "text/plain")),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InstanceNotRunning, ProblemType::TooManyStreams
    ]))),
)]
pub(crate) async fn get_instance_log(
    State(app): State<AppState>,
    member: Member,
    Path(id): Path<InstanceId>,
    Query(query): Query<LogQuery>,
) -> Result<Response, Problem> {
    let tail = query.tail.unwrap_or(DEFAULT_TAIL);
    if !(0..=MAX_TAIL).contains(&tail) {
        return Err(Problem::invalid_field("tail", format!("must be between 0 and {MAX_TAIL}")));
    }
    let Container { cluster, pod } = super::container(&app, member.tenant, id).await?;
    let open = app.streams.open(member.tenant, Kind::Log)?;
    let log = cluster.log(&pod, tail, query.follow.unwrap_or(false)).await.map_err(Error::from)?;
    // a followed log ends when shutdown begins or the caller's rights end
    let (shutdown, revocations) = (app.shutdown.clone(), app.auth.verifier.revocations().clone());
    let end = async move {
        tokio::select! {
            () = shutdown.cancelled_owned() => {}
            () = revocations.ended(member.principal.grant()) => {}
        }
    };
    let lines = log.take_until(Box::pin(end)).inspect(move |_| {
        let _until_the_end = &open;
    });
    let body = Body::from_stream(lines);
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, body).into_response())
}
