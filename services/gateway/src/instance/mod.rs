//! Traffic of instances: `inst-<hex>.<apps domain>`.
//!
//! A user opens an instance with a ticket (`POST /v1/instances/{id}/tickets` gives its URL): the browser
//! brings it to the instance's own host name, where it is exchanged, once, for a cookie of that host. The
//! cookie is a token signed by the gateway for one instance, tenant and user; who has none, or one for
//! another instance, or asks for an instance that does not exist, gets one and the same answer, and no
//! question is asked behind the door.
//!
//! Cookies of siblings. A page of another instance is its user's own, and could try to set our cookie for
//! the domain above both (`Domain=<apps domain>`):
//! - with `https` the name's prefix `__Host-` makes browsers refuse any `Domain`;
//! - under `localhost` browsers refuse `Domain=localhost`, a name without a dot;
//! - what comes nevertheless is harmless: of several cookies of the name any valid one counts, and one for
//!   another instance is not valid here;
//! - the gateway takes `Domain` out of what instances set, and drops cookies of our name.
//!
//! Requests of other pages. Browsers may hold siblings for one site, and then send the cookie with what a
//! page of another instance asks for. So a request that changes something or opens a WebSocket must come
//! from the instance's own pages when it says where it comes from (`Origin`). What others may read is up to
//! the instance (CORS), as for any page.
//!
//! A cookie lives eight hours whatever happens to the membership meanwhile; that the instance still exists
//! and is still the tenant's is checked with each request.

mod cookie;
mod pages;
mod routes;

use std::sync::Arc;

use ::api::{Problem, ProblemType};
use axum::{
    body::{Body, HttpBody},
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use clients::gpu;
use ids::InstanceId;

use crate::{Gateway, config::Config, door::Came, headers, proxy::Failure};
use cookie::{Cookies, Pass};
use routes::{Known, Routes};

/// Where a ticket is exchanged for a cookie, on the instance's host.
const SESSION_PATH: &str = "/.atelier/session";

/// What serving instances needs.
pub(crate) struct Instances {
    gpu: gpu::Client,
    routes: Routes,
    cookies: Cookies,
    issuer: String,
}

impl Instances {
    pub(crate) fn new(config: &Config, http: reqwest::Client) -> anyhow::Result<Self> {
        let endpoint =
            clients::Endpoint { url: config.services.gpu.clone(), token: config.gpu_token.clone() };
        let gpu = gpu::Client::new(http, endpoint);
        Ok(Self {
            routes: Routes::new(gpu.clone()),
            gpu,
            cookies: Cookies::new(&config.cookie_keys, config.public_url.scheme() == "https")?,
            issuer: config.auth.issuer.clone(),
        })
    }
}

/// Answers a request to an instance's host name, whose first label is `label`.
pub(crate) async fn serve(gateway: &Gateway, label: &str, came: &Came, request: Request) -> Response {
    if request.uri().path() == SESSION_PATH {
        let (parts, _) = request.into_parts();
        return open(gateway, label, came, &parts).await;
    }
    if request.uri().path().starts_with("/.atelier/") {
        return ::api::problem::no_such_route().await.into_response();
    }
    let this = &gateway.0.instances;
    let pass = InstanceId::from_k8s_name(label)
        .ok()
        .and_then(|instance| this.cookies.find(request.headers(), instance));
    let Some(pass) = pass else { return closed(gateway, request.headers()) };
    match this.routes.find(label).await {
        Err(error) => Problem::unavailable("The gpu service", error).into_response(),
        Ok(Some(route)) if route.instance_id == pass.instance && route.tenant_id == pass.tenant => {
            carry(gateway, label, came, route, request).await
        }
        Ok(_) => closed(gateway, request.headers()),
    }
}

/// Nobody is let in here: without a cookie, and to an instance that does not exist, alike.
fn closed(gateway: &Gateway, headers: &HeaderMap) -> Response {
    let mut response = if pages::wanted(headers) {
        (StatusCode::UNAUTHORIZED, pages::closed(&gateway.0.config.public_url)).into_response()
    } else {
        Problem::new(
            ProblemType::NotOpened,
            "The request has no valid cookie for this host name, or nothing is here.",
        )
        .into_response()
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Exchanges a ticket for a cookie.
async fn open(gateway: &Gateway, label: &str, came: &Came, request: &Parts) -> Response {
    if request.method != Method::GET {
        return ::api::problem::no_such_method().await.into_response();
    }
    if let Err(refused) = gateway.0.rates.sign_in(came.peer) {
        return *refused;
    }
    let this = &gateway.0.instances;
    let ticket = url::form_urlencoded::parse(request.uri.query().unwrap_or_default().as_bytes())
        .find_map(|(name, value)| (name == "ticket").then(|| value.into_owned()));
    let (Ok(instance), Some(ticket)) = (InstanceId::from_k8s_name(label), ticket) else {
        return closed(gateway, &request.headers);
    };
    let asked = gpu::RedeemRequest { ticket, host_label: label.to_owned() };
    let redeemed = match this.gpu.redeem(&asked).await {
        Ok(redeemed) if redeemed.instance_id == instance => redeemed,
        Ok(_) => return closed(gateway, &request.headers),
        Err(error @ clients::Error::Unreachable(_)) => {
            return Problem::unavailable("The gpu service", error).into_response();
        }
        Err(clients::Error::Problem(problem)) if problem.status < 500 => {
            return closed(gateway, &request.headers);
        }
        Err(error) => return Problem::internal(error).into_response(),
    };
    let pass = Pass { instance, tenant: redeemed.tenant_id, user: redeemed.user_id };
    match this.cookies.make(pass) {
        Ok(cookie) => (
            StatusCode::SEE_OTHER,
            [
                (header::LOCATION, HeaderValue::from_static("/")),
                (header::SET_COOKIE, cookie),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
                (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            ],
        )
            .into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// Carries a request of an authorized user to the instance.
async fn carry(
    gateway: &Gateway,
    label: &str,
    came: &Came,
    route: Arc<Known>,
    mut request: Request,
) -> Response {
    let this = &gateway.0.instances;
    let page = pages::wanted(request.headers());
    let Some(address) = route.address.clone() else {
        return pages::not_running(&route.state, page);
    };
    if !from_own_page(&request, came) {
        return Problem::new(
            ProblemType::CrossOrigin,
            "A page of another origin may neither change anything here nor open a WebSocket.",
        )
        .into_response();
    }
    this.cookies.remove(request.headers_mut());
    if headers::bearer(request.headers()).is_some_and(|token| is_of(token, &this.issuer)) {
        request.headers_mut().remove(header::AUTHORIZATION);
    }
    let again = same_again(&request);
    let via = came.via(gateway);
    let mut sent = gateway.0.proxy.send(request, &address, &via, None).await;
    if let Err(Failure::Connect(_)) = &sent {
        this.routes.forget(label).await;
        // stopped and started again a moment ago, it is elsewhere now
        if let Some(request) = again
            && let Ok(Some(now)) = this.routes.find(label).await
            && (now.instance_id, now.tenant_id) == (route.instance_id, route.tenant_id)
            && let Some(address) = now.address.as_ref().filter(|now| **now != address)
        {
            sent = gateway.0.proxy.send(request, address, &via, None).await;
        }
    }
    match sent {
        Ok(mut response) => {
            this.cookies.guard(response.headers_mut());
            response
        }
        Err(failure) => {
            tracing::info!(instance.id = %route.instance_id, error = %failure, "instance not reached");
            match failure {
                Failure::Request => Problem::bad_request("The request cannot be passed on.").into_response(),
                Failure::Connect(_) => pages::not_running("not answering", page),
                Failure::Broken(_) | Failure::Late => pages::broken(page),
            }
        }
    }
}

/// The same request once more, if it is one that can be: without a body, and without another protocol.
fn same_again(request: &Request) -> Option<Request> {
    let bare = matches!(*request.method(), Method::GET | Method::HEAD)
        && headers::upgrade(request.headers()).is_none()
        && request.body().is_end_stream();
    bare.then(|| {
        let mut again = Request::new(Body::empty());
        *again.method_mut() = request.method().clone();
        *again.uri_mut() = request.uri().clone();
        *again.headers_mut() = request.headers().clone();
        again
    })
}

/// Whether the request comes from a page of the instance itself, from no page at all, or does no harm.
fn from_own_page(request: &Request, came: &Came) -> bool {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if safe && headers::upgrade(request.headers()).is_none() {
        return true;
    }
    request.headers().get(header::ORIGIN).is_none_or(|origin| {
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        own.is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(&came.authority))
    })
}

/// Whether a token says it is of this issuer: then it is the user's for the platform, and no business of
/// what runs in an instance.
fn is_of(token: &str, issuer: &str) -> bool {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let payload = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let claims: Option<serde_json::Value> = payload.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    claims.is_some_and(|claims| claims["iss"] == issuer)
}
