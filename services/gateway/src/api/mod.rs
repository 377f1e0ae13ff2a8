//! The platform's REST API: who may ask, how often, and which service answers.

pub(crate) mod openapi;
mod path;
mod routes;
mod websocket;

use std::time::Duration;

use ::api::{Problem, ProblemType};
use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{Gateway, door::Came, headers, proxy::Failure};
use routes::Access;
use service::RouteName;

/// Forwards a request to the service of its path.
pub(crate) async fn forward(
    State(gateway): State<Gateway>,
    Extension(came): Extension<Came>,
    request: Request,
) -> Response {
    match try_forward(&gateway, &came, request).await {
        Ok(response) | Err(Refusal::Response(response)) => *response,
        Err(Refusal::Problem(problem)) => problem.into_response(),
    }
}

enum Refusal {
    Problem(Problem),
    Response(Box<Response>),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<Box<Response>> for Refusal {
    fn from(response: Box<Response>) -> Self {
        Self::Response(response)
    }
}

async fn try_forward(gateway: &Gateway, came: &Came, mut request: Request) -> Result<Box<Response>, Refusal> {
    path::check(request.uri().path())?;
    let Some(route) = routes::find(request.method(), request.uri().path()) else {
        return Err(::api::problem::no_such_route().await.into());
    };
    let subprotocol = websocket::take_token(request.headers_mut());
    let left = match route.access {
        Access::SignIn => gateway.0.rates.sign_in(came.peer).map(Some)?,
        Access::Public => None,
        Access::SignedIn => {
            let token = headers::bearer(request.headers())
                .ok_or_else(|| Problem::unauthenticated("The request carries no access token."))?;
            let principal = gateway.0.verifier.verify(token).await?;
            Some(gateway.0.rates.user(principal.user)?)
        }
    };
    // who calls the platform's API says so in a header: cookies of other pages are no business of services
    request.headers_mut().remove(header::COOKIE);

    let upstream = route.service.url(&gateway.0.config.services);
    let limit = Duration::from_secs(gateway.0.config.limits.answer_seconds.into());
    let mut response = gateway
        .0
        .proxy
        .send(request, upstream.authority(), &came.via(gateway), Some(limit))
        .await
        .map_err(|failure| failed(route.service.name(), failure))?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Some(chosen) = subprotocol
        && !response.headers().contains_key(header::SEC_WEBSOCKET_PROTOCOL)
    {
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, chosen);
    }
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response.extensions_mut().insert(RouteName(route.service.name()));
    if let Some(left) = left {
        left.tell(&mut response);
    }
    Ok(Box::new(response))
}

fn failed(service: &'static str, failure: Failure) -> Problem {
    let what = format!("The {service} service");
    match failure {
        Failure::Connect(_) | Failure::Broken(_) => Problem::unavailable(&what, failure),
        Failure::Late => Problem::new(
            ProblemType::NoAnswer,
            format!("{what} did not answer in time. Whether it acted is not known."),
        )
        .caused_by(failure),
        Failure::Request => Problem::bad_request("The request cannot be passed on."),
    }
}
