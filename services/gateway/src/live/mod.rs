//! `GET /v1/stream`: the events of all services that the caller may see, as one stream. The gateway answers it itself: it opens
//! one stream of each service with the caller's token, so that each service decides what the caller sees.
//!
//! - `topic`: the topics and their services; `position`: the `id` of an event, from which all services resume.
//! - `upstream`: the stream of one service, read in `blocks`; `follow` joins them; `notice`: notices of the stream
//!   itself.

mod blocks;
mod follow;
mod notice;
mod position;
mod topic;
mod upstream;

use std::{sync::Arc, time::Duration};

use api::{LastEventId, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{AuthState, HasAuth, User};
use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use futures::future::join_all;
use ids::{TenantId, UserId};
use serde::Deserialize;
use service::{Streams, event_stream, wants_stream};
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, OpenApi as _, openapi::OpenApi};
use utoipa_axum::routes;

use crate::services::Services;
use follow::Follower;
use notice::{ResetReason, StreamEvent};
use position::Position;
use topic::{Source, Topic};
use upstream::{Unopened, Upstream};

/// Path of the operation.
pub(crate) const PATH: &str = "/v1/stream";
/// Streams of a tenant, or of a user without one, that are open at a time.
const STREAMS: u32 = 64;
/// A client that reads nothing for this time is disconnected.
const SLOW_READER: Duration = Duration::from_secs(30);

/// The owner of an open stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Tenant(TenantId),
    /// A caller without a tenant.
    User(UserId),
}

/// What the handler uses.
#[derive(Clone)]
struct Shared {
    auth: AuthState,
    services: Arc<Services>,
    http: reqwest::Client,
    open: Streams<Owner>,
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
    services: Arc<Services>,
    http: reqwest::Client,
    stop: CancellationToken,
) -> Router {
    let shared = Shared { auth, services, http, open: Streams::default(), stop };
    routes_of().split_for_parts().0.with_state(shared)
}

/// The route without its state, for the document.
pub(crate) fn documented() -> OpenApi {
    routes_of().into_openapi()
}

fn routes_of() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Tags::openapi()).routes(routes!(follow_all))
}

#[derive(utoipa::OpenApi)]
#[openapi(tags((name = "events", description = "All events of the platform in one stream")))]
struct Tags;

/// The topics to follow.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StreamQuery {
    /// Topics, separated by commas. If absent, all topics that the caller may follow.
    #[param(example = "instances,jobs")]
    topics: Option<String>,
}

impl StreamQuery {
    fn topics(&self) -> Result<Option<Vec<Topic>>, Problem> {
        let Some(names) = &self.topics else { return Ok(None) };
        let topics: Result<Vec<Topic>, _> = names.split(',').map(str::parse).collect();
        topics.map(Some).map_err(|_| {
            let names = Topic::ALL.map(Topic::name).join(", ");
            Problem::invalid_field("topics", format!("must be of {names}, separated by commas"))
        })
    }
}

/// Streams all events that the caller may see, as server-sent events
///
/// The stream begins with the next event, or after the event with the `id` in `Last-Event-ID`, and continues until the
/// token expires. The name of each event is the `type` in its data. `docs/EVENTS.md` describes topics, order, and
/// notices of the stream itself.
#[utoipa::path(
    get, path = "/v1/stream", operation_id = "follow_all", tag = "events", params(StreamQuery, LastEventId),
    responses((status = 200, description = "Events", content((StreamEvent = "text/event-stream")))),
    extensions(("x-problems" = json!([ProblemType::InvalidField, ProblemType::TooManyStreams]))),
)]
async fn follow_all(
    State(shared): State<Shared>,
    User(caller): User,
    last: LastEventId,
    headers: HeaderMap,
    Query(query): Query<StreamQuery>,
) -> Result<Response, Problem> {
    if !wants_stream(&headers) {
        return Err(Problem::invalid_field("Accept", "must be `text/event-stream`"));
    }
    let wanted = query.topics()?;
    let resumed = last.0.map(|id| id.parse::<Position>()).transpose();
    let resumed = resumed.map_err(|_| {
        Problem::invalid_field("Last-Event-ID", "must be the `id` of a server-sent event of this stream")
    })?;
    let owner = caller.tenant.map_or(Owner::User(caller.user), |(tenant, _)| Owner::Tenant(tenant));
    let open = shared.open.open(owner, STREAMS)?;

    if !caller.admin && wanted.as_ref().is_some_and(|wanted| wanted.contains(&Topic::Units)) {
        return Err(Problem::forbidden("Only platform administrators may follow `units`."));
    }
    let topics = wanted.clone().unwrap_or_else(|| Topic::ALL.to_vec());
    let upstreams = shared.upstreams(&headers, caller.admin, &topics, resumed.as_ref())?;
    let opened = join_all(upstreams.iter().map(Upstream::open)).await;
    let mut followed = Vec::new();
    for (upstream, opened) in upstreams.into_iter().zip(opened) {
        match opened {
            // a topic that was not requested by name may be unavailable to the caller, or unknown to an older
            // version of the service
            Err(Unopened::Refused(answer))
                if wanted.is_none()
                    && [StatusCode::FORBIDDEN, StatusCode::NOT_FOUND].contains(&answer.status()) => {}
            Err(Unopened::Refused(answer)) => return Ok(answer),
            opened => followed.push((upstream, opened)),
        }
    }
    if followed.is_empty() {
        return Err(Problem::forbidden("You may not follow any of these topics."));
    }
    let is_followed = |topic: &Topic| followed.iter().any(|(upstream, _)| upstream.topics.contains(topic));
    let topics = Topic::ALL.into_iter().filter(is_followed).collect();

    let (out, response) = event_stream(SLOW_READER);
    #[expect(clippy::disallowed_methods, reason = "until the token expires")]
    let now = jiff::Timestamp::now();
    let rights_end = auth::rights_end(&shared.auth.verifier, &caller, shared.stop.clone(), now, true);
    let follower = Follower { topics, position: resumed.unwrap_or_default(), out };
    tokio::spawn(async move {
        follower.run(followed, rights_end).await;
        drop(open);
    });
    Ok(response)
}

impl Shared {
    /// The streams of the services that have these topics, as the caller.
    fn upstreams(
        &self,
        headers: &HeaderMap,
        is_admin: bool,
        topics: &[Topic],
        resumed: Option<&Position>,
    ) -> Result<Vec<Upstream>, Problem> {
        let authorization = headers.get(header::AUTHORIZATION).cloned();
        let authorization =
            authorization.ok_or_else(|| Problem::unauthenticated("The request carries no access token."))?;
        let upstream = |source: Source| {
            let topics: Arc<[Topic]> =
                source.topics(is_admin).iter().copied().filter(|topic| topics.contains(topic)).collect();
            if topics.is_empty() {
                return None;
            }
            let (service, path) = source.address(&self.services);
            let position = resumed.and_then(|resumed| resumed.0.get(&source).cloned());
            let missing = (resumed.is_some() && position.is_none()).then_some(ResetReason::PositionUnknown);
            Some(Upstream {
                source,
                url: format!("{}{path}", service.as_str().trim_end_matches('/')),
                authorization: authorization.clone(),
                request_id: headers.get(api::request_id::HEADER).cloned(),
                http: self.http.clone(),
                topics,
                position,
                missing,
            })
        };
        Ok(Source::ALL.into_iter().filter_map(upstream).collect())
    }
}
