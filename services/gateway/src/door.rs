//! Which way a request goes: to the platform's API, or to an instance. The host name alone decides.

use std::net::{IpAddr, SocketAddr};

use ::api::{Problem, ProblemType};
use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request, State},
    http::{Method, header},
    response::{IntoResponse, Response},
    routing::get,
};
use service::RouteName;
use tower::ServiceExt;

use crate::{Gateway, api, headers::Via, instance};

/// A request's way: the platform's own routes stand behind the same fallback as the instances, so that
/// an instance's `/readyz` is the instance's.
#[derive(Clone)]
struct Ways {
    gateway: Gateway,
    platform: Router,
}

/// What a handler needs to know of how the request came.
#[derive(Debug, Clone)]
pub(crate) struct Came {
    pub(crate) peer: IpAddr,
    /// Lower case, without the port.
    pub(crate) host: String,
    /// As the caller wrote it, with the port.
    pub(crate) authority: String,
}

impl Came {
    pub(crate) fn via<'a>(&'a self, gateway: &'a Gateway) -> Via<'a> {
        Via { peer: self.peer, scheme: gateway.0.config.public_url.scheme(), host: &self.authority }
    }
}

pub(crate) fn router(gateway: Gateway, health: Router) -> Router {
    let openapi = gateway.0.openapi.clone();
    let platform = Router::new()
        .route(
            "/openapi.json",
            get(|| async {
                ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "max-age=60")], openapi)
            }),
        )
        .fallback(api::forward)
        .with_state(gateway.clone())
        .merge(health);
    Router::new().fallback(split).with_state(Ways { gateway, platform })
}

async fn split(State(ways): State<Ways>, mut request: Request) -> Response {
    let Some(came) = came(&request) else {
        return Problem::bad_request("The request names no host.").into_response();
    };
    if *request.method() == Method::CONNECT || *request.method() == Method::TRACE {
        return Problem::new(ProblemType::MethodNotAllowed, "CONNECT and TRACE are not served.")
            .into_response();
    }
    let config = &ways.gateway.0.config;
    let own = config.public_url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(&came.host));
    let label = came.host.strip_suffix(&config.apps.domain).and_then(|rest| rest.strip_suffix('.'));
    match label.filter(|_| !own) {
        Some(label) => {
            let label = label.to_owned();
            let mut answer = instance::serve(&ways.gateway, &label, &came, request).await;
            answer.extensions_mut().insert(RouteName("instance"));
            answer
        }
        None => {
            request.extensions_mut().insert(came);
            let answer: Result<Response<Body>, std::convert::Infallible> =
                ways.platform.oneshot(request).await;
            answer.unwrap_or_else(|never| match never {})
        }
    }
}

fn came(request: &Request) -> Option<Came> {
    let authority = match request.uri().authority() {
        Some(authority) => authority.as_str(),
        None => request.headers().get(header::HOST)?.to_str().ok()?,
    };
    let parsed: axum::http::uri::Authority = authority.parse().ok()?;
    if parsed.host().is_empty() || authority.contains('@') {
        return None;
    }
    let ConnectInfo(peer) = request.extensions().get::<ConnectInfo<SocketAddr>>()?;
    Some(Came {
        peer: peer.ip(),
        host: parsed.host().trim_end_matches('.').to_ascii_lowercase(),
        authority: authority.to_owned(),
    })
}
