//! `/v1/instances/{id}/log`.

use api::{Path, Problem, Query};
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

use crate::{app::AppState, error::Error};

const DEFAULT_TAIL: i64 = 1000;
const MAX_TAIL: i64 = 10_000;

/// How much of the log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// The last so many lines, 0 to 10,000 (default 1,000).
    tail: Option<i64>,
    /// Whether to go on with what is written from now on (default false).
    follow: Option<bool>,
}

/// The log of the running container, as it comes.
#[utoipa::path(get, path = "/v1/instances/{id}/log", tag = "instances", operation_id = "get_instance_log",
    params(("id" = InstanceId, Path), LogQuery),
    responses((status = 200, description = "Lines", body = String, content_type = "text/plain"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
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
    let (cluster, pod) = super::pod(&app, member.tenant, id).await?;
    let log = cluster.log(&pod, tail, query.follow.unwrap_or(false)).await;
    let log = log.map_err(|error| Error::Pod(Box::new(error)))?;
    // a stream that is followed ends with the process, not after it
    let body = Body::from_stream(log.take_until(app.ending.clone().cancelled_owned()));
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, body).into_response())
}
