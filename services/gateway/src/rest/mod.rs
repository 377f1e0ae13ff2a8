//! The platform's REST API: authenticates the caller, counts against rate limits, forwards to the service of the path.

mod body;
pub(crate) mod credentials;
pub(crate) mod openapi;
mod path;
mod routes;
mod websocket;

use std::{future::pending, time::Duration};

use auth::User;
use axum::{
    Extension, Router,
    body::{Body, Bytes},
    extract::{FromRequestParts, Request, State},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
    routing::get,
};
use serde_json::Value;
use service::RouteName;

use crate::{
    connection_info::ConnectionInfo,
    error::Error,
    headers,
    proxy::{self, Via},
    state::AppState,
};
use routes::Access;

/// `/openapi.json` serves `document`; all other paths are forwarded.
///
/// # Errors
/// If the document does not serialize.
pub(crate) fn router(state: AppState, document: &Value) -> anyhow::Result<Router> {
    let document = Bytes::from(serde_json::to_vec(document)?);
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "max-age=60")];
    let get_document = get(|| async move { (headers, document) });
    Ok(Router::new().route("/openapi.json", get_document).fallback(forward).with_state(state))
}

/// Whether the request has one effect however often it is sent.
fn is_repeatable(parts: &Parts) -> bool {
    let is_upgrade = headers::upgrade(&parts.headers).is_some();
    !is_upgrade && (parts.method.is_safe() || parts.headers.contains_key("idempotency-key"))
}

/// Forwards a request to the service of its path.
async fn forward(
    State(state): State<AppState>,
    Extension(connection): Extension<ConnectionInfo>,
    mut request: Request,
) -> Result<Response, Error> {
    if !path::is_unambiguous(request.uri().path()) {
        return Err(Error::AmbiguousPath);
    }
    let route = routes::find(request.method(), request.uri().path()).ok_or(Error::NoSuchRoute)?;
    let subprotocol = websocket::take_token(request.headers_mut());
    let (mut parts, body) = request.into_parts();
    let remaining = match route.access {
        Access::SignIn => Some(state.rate_limits.check_sign_in(connection.peer)?),
        Access::Public => None,
        Access::SignedIn => {
            state.credentials.exchange(&state, connection.peer, &mut parts).await?;
            let User(principal) = User::from_request_parts(&mut parts, &state).await?;
            Some(state.rate_limits.check_user(principal.user)?)
        }
    };
    // a cookie has been exchanged; services must see neither it nor those of instances' pages
    credentials::strip_cookies(&mut parts, &state.config.public_url);

    let service = route.service.name();
    let address = route.service.url(&state.config.services);
    let timeout = Duration::from_secs(state.config.limits.answer_seconds.into());
    let body = body::read(&parts, body, &state.config.limits).await?;
    let copy = is_repeatable(&parts).then(|| parts.clone());
    let request = |parts| Request::from_parts(parts, Body::from(body.clone()));
    let send = |request, via| {
        state.proxy.send(request, address.authority(), via, &connection, Some(timeout), pending())
    };
    let mut sent = send(request(parts), Via::Pool).await;
    // the service may have closed the connection just before, and others of the pool too
    if let Some(copy) = copy.filter(|_| matches!(sent, Err(proxy::Error::Interrupted(_)))) {
        sent = send(request(copy), Via::NewConnection).await;
    }
    let mut response = sent.map_err(|error| Error::upstream(service, error))?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Some(chosen) = subprotocol
        && !response.headers().contains_key(header::SEC_WEBSOCKET_PROTOCOL)
    {
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, chosen);
    }
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response.extensions_mut().insert(RouteName(service));
    if let Some(remaining) = remaining {
        remaining.add_headers(response.headers_mut());
    }
    Ok(response)
}
