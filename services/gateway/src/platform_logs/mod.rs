//! `GET /v1/platform/logs`: the newest lines that the processes of the platform have logged, for administrators. The
//! gateway answers it itself: it asks all replicas of all modules, and merges their lines. As a stream, new lines
//! follow as they are logged. Each process keeps its newest lines (`libs/service`, `recent_logs`); older ones are in
//! the collector.

mod follow;
mod read;

use std::{net::SocketAddr, time::Duration};

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::{Admin, AuthState, HasAuth};
use axum::{
    Router,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use ids::UserId;
use serde::{Deserialize, Serialize};
use service::{
    Streams, event_stream,
    recent_logs::{LogLevel, LogLine, LogQuery},
    wants_stream,
};
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, OpenApi as _, ToSchema, openapi::OpenApi};
use utoipa_axum::routes;

use crate::modules::Modules;
use read::Reader;

/// Path of the operation.
pub(crate) const PATH: &str = "/v1/platform/logs";
/// Lines of a list.
const DEFAULT_LIMIT: u32 = 200;
/// Most lines of a list.
const MAX_LIMIT: u32 = 1000;
/// Streams of a user.
const STREAMS: u32 = 4;
/// A client that reads nothing for this time is disconnected.
const SLOW_READER: Duration = Duration::from_secs(30);

/// What the handler uses.
#[derive(Clone)]
struct Shared {
    auth: AuthState,
    reader: Reader,
    open: Streams<UserId>,
    stop: CancellationToken,
}

impl HasAuth for Shared {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// The route, without the access that the gateway checks for every operation. Streams end with `stop`.
pub(crate) fn router(
    auth: AuthState,
    own_address: SocketAddr,
    modules: Modules,
    stop: CancellationToken,
) -> Router {
    let reader = Reader { modules, own_address };
    let shared = Shared { auth, reader, open: Streams::default(), stop };
    routes_of().split_for_parts().0.with_state(shared)
}

/// The route without its state, for the document.
pub(crate) fn documented() -> OpenApi {
    routes_of().into_openapi()
}

fn routes_of() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Tags::openapi()).routes(routes!(list_platform_logs))
}

#[derive(utoipa::OpenApi)]
#[openapi(tags((name = "platform logs", description = "Log lines of the platform's processes")))]
struct Tags;

/// Which lines.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct LogsQuery {
    /// Only lines of this module: `gateway`, `gpu`, …
    module: Option<String>,
    /// Only lines of this level and of more important ones.
    #[param(inline)]
    level: Option<LogLevel>,
    /// Only lines of this request, in all modules.
    request_id: Option<String>,
    /// Maximum number of items of a list. Streams have no limit.
    #[param(minimum = 1, maximum = 1000, default = 200)]
    limit: Option<u32>,
}

/// A line of a process of the platform.
#[derive(Debug, Serialize, ToSchema)]
struct PlatformLogLine {
    /// The module.
    module: String,
    /// Address of the replica in the platform's network.
    replica: String,
    #[serde(flatten)]
    line: LogLine,
}

/// A replica that did not answer.
#[derive(Debug, Serialize, ToSchema)]
struct SilentReplica {
    /// The module.
    module: String,
    /// Its address in the platform's network, or a host name without an address.
    replica: String,
    /// Why.
    error: String,
}

/// The newest lines of the platform's processes.
#[derive(Debug, Serialize, ToSchema)]
struct PlatformLogs {
    /// The lines, the newest first.
    items: Vec<PlatformLogLine>,
    /// Replicas whose lines are missing.
    unreachable: Vec<SilentReplica>,
}

/// Returns or streams the newest log lines of the platform's processes
///
/// The lines of all replicas of all modules, merged by time. Each process keeps its newest 1000 lines of each level.
/// With `Accept: text/event-stream`, each event has one line: first the existing lines, then new ones as they are
/// logged.
#[utoipa::path(
    get, path = "/v1/platform/logs", tag = "platform logs", params(LogsQuery),
    responses((status = 200, description = "Lines, or events with a line each", body = PlatformLogs)),
    extensions(("x-problems" = json!([api::ProblemType::InvalidField, api::ProblemType::TooManyStreams]))),
)]
async fn list_platform_logs(
    State(shared): State<Shared>,
    Admin(caller): Admin,
    headers: HeaderMap,
    Query(query): Query<LogsQuery>,
) -> Result<Response, Problem> {
    if let Some(module) = &query.module
        && !shared.reader.modules.names().any(|name| name == module)
    {
        let names: Vec<_> = shared.reader.modules.names().collect();
        return Err(Problem::invalid_field("module", format!("must be one of {}", names.join(", "))));
    }
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Problem::invalid_field("limit", format!("must be between 1 and {MAX_LIMIT}")));
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let lines = LogQuery { level: query.level, request_id: query.request_id, limit, ..LogQuery::default() };
    if !wants_stream(&headers) {
        return Ok(Json(shared.reader.newest(query.module.as_deref(), &lines).await).into_response());
    }
    let open = shared.open.open(caller.user, STREAMS)?;
    let (out, response) = event_stream(SLOW_READER);
    #[expect(clippy::disallowed_methods, reason = "until the token expires")]
    let now = jiff::Timestamp::now();
    let verifier = &shared.auth.verifier;
    let rights_end = auth::rights_end(verifier, &caller, shared.stop.clone(), now, true);
    let follower = follow::Follower { reader: shared.reader, module: query.module, lines, out };
    tokio::spawn(async move {
        follower.run(rights_end).await;
        drop(open);
    });
    Ok(response)
}
