//! The platform's REST API: authenticates the caller, counts against rate limits, forwards to the service of the path.

mod answers;
mod body;
mod gates;
pub(crate) mod openapi;
mod path;
mod routes;
mod websocket;

use std::{future::pending, net::IpAddr, sync::Arc, time::Duration};

use api::{Problem, ProblemType, problem};
use auth::{AuthState, Grant, HasAuth, Principal, User};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{FromRequestParts, Request},
    http::{HeaderValue, Method, StatusCode, header, request::Parts as RequestParts},
    response::Response,
    routing::get,
};
use ids::TenantId;
use serde_json::Value;
use service::Metrics;
use tokio::time::timeout;
use traces::SpanKind;
use url::Url;

use crate::{
    admission::{Class, Share, Work},
    concurrency::Concurrency,
    connection_info::ConnectionInfo,
    credentials::{self, Credentials},
    headers,
    limits::{Limits, RateLimits},
    oneshot::oneshot,
    own,
    proxy::{self, Proxy, Via},
    refusal::Refusal,
    services::Services,
};
use answers::Answers;
use gates::Gates;
pub(crate) use path::is_unambiguous;
use routes::{Access, Address, PerService};

/// Longest wait until this gateway has read that the tokens of the session are revoked.
const SWITCH: Duration = Duration::from_secs(2);

/// A request by which a session changes its tenant, which revokes the tokens that it has.
#[derive(serde::Deserialize)]
struct Switch {
    tenant_id: TenantId,
}

impl Switch {
    fn of(parts: &RequestParts, body: &[u8]) -> Option<Self> {
        let is_switch = parts.method == Method::PATCH && parts.uri.path() == "/v1/sessions/current";
        is_switch.then(|| serde_json::from_slice(body).ok()).flatten()
    }

    /// Whether the tokens of the caller are for another tenant.
    fn leaves(&self, grant: &Grant) -> bool {
        grant.tenant != Some(self.tenant_id)
    }
}

/// What the API shares with other slices.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) auth: AuthState,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) rate_limits: Arc<RateLimits>,
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) limits: Limits,
    pub(crate) public_url: Url,
}

impl HasAuth for Parts {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// The platform's REST API.
pub(crate) struct Api {
    parts: Parts,
    addresses: PerService<Address>,
    gates: Gates,
    pub(crate) answers: Answers,
    /// Operations that the gateway answers itself.
    own: Router,
    /// Requests of each tenant.
    under_way: Concurrency<TenantId>,
}

/// `/openapi.json`.
///
/// # Errors
/// If the document does not serialize.
pub(crate) fn document(document: &Value) -> anyhow::Result<Router> {
    let document = Bytes::from(serde_json::to_vec(document)?);
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "max-age=60")];
    let get_document = get(|| async move { (headers, document) });
    Ok(Router::new().route("/openapi.json", get_document))
}

/// Registers the metrics of requests, and of the admission to the services.
pub(crate) fn register(metrics: &Metrics) -> (Gates, Answers) {
    let gates = Gates::default();
    metrics.register(|registry| gates.register(registry));
    (gates, Answers::register(metrics))
}

/// The refusal for a path without a page.
pub(crate) fn no_page(path: &str) -> Refusal {
    if is_unambiguous(path) { Refusal::no_such_route() } else { ambiguous_path() }
}

fn ambiguous_path() -> Refusal {
    let detail = "The path is ambiguous: it has dot segments, empty segments or encoded separators.";
    Problem::bad_request(detail).into()
}

/// The service is overloaded.
fn overloaded(service: &str) -> Problem {
    let detail = format!("The {service} service is overloaded. The request was not sent to it.");
    Problem::new(ProblemType::Overloaded, detail)
}

/// Whether repeating the request has no further effect.
fn is_repeatable(parts: &RequestParts) -> bool {
    let is_upgrade = headers::upgrade(&parts.headers).is_some();
    !is_upgrade && (parts.method.is_safe() || parts.headers.contains_key("idempotency-key"))
}

impl Api {
    pub(crate) fn new(parts: Parts, services: &Services, own: Router, metrics: &Metrics) -> Self {
        let (gates, answers) = register(metrics);
        let under_way = Concurrency::new(parts.limits.tenant_requests_at_a_time);
        let own = own.method_not_allowed_fallback(problem::no_such_method);
        Self { addresses: routes::addresses(services), gates, answers, own, under_way, parts }
    }

    /// Whether a path belongs to the API. It may name no operation.
    pub(crate) fn serves(path: &str) -> bool {
        path.starts_with("/v1/") || path.starts_with("/.well-known/")
    }

    /// Returns the verified caller. A request without one is counted for its address.
    async fn caller(&self, peer: IpAddr, request: &mut RequestParts) -> Result<Principal, Refusal> {
        // only services act for others
        request.headers.remove(api::subject::HEADER);
        let caller = match self.parts.credentials.exchange(peer, request).await {
            Ok(()) => User::from_request_parts(request, &self.parts).await.map_err(Refusal::from),
            Err(error) => Err(error.into()),
        };
        match caller {
            Ok(User(principal)) => Ok(principal),
            Err(error) => {
                self.parts.rate_limits.check_address(peer).await?;
                Err(error)
            }
        }
    }

    /// Sends a request to a service, as a span of its trace.
    async fn send(
        &self,
        address: &Address,
        mut request: Request,
        via: Via,
        connection: &ConnectionInfo,
    ) -> Result<Response, proxy::Error> {
        let mut span = traces::http::call(request.method(), address.host(), Some(address.port()));
        // the client's header has the client's sampling decision
        if let Some(position) = span.header() {
            request.headers_mut().insert(traces::HEADER, position);
        }
        let timeout = Duration::from_secs(self.parts.limits.answer_seconds.into());
        let authority = address.authority();
        let sent = self.parts.proxy.send(request, authority, via, connection, Some(timeout), pending()).await;
        match &sent {
            Ok(response) => traces::http::received(&mut span, response.status()),
            Err(_) => span.fail("no_response"),
        }
        sent
    }

    /// Answers a request for an operation of the gateway's own, within the limits that all requests have.
    async fn answer(&self, request: Request, connection: &ConnectionInfo) -> Result<Response, Refusal> {
        let (mut parts, body) = request.into_parts();
        let principal = self.caller(connection.peer, &mut parts).await?;
        let tenant = principal.tenant.map(|(tenant, _)| tenant);
        let limits = &self.parts.rate_limits;
        let remaining = limits.check_request(connection.peer, tenant, principal.user).await?;
        let mut response = oneshot(self.own.clone(), Request::from_parts(parts, body)).await;
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        remaining.add_headers(response.headers_mut());
        Ok(response)
    }

    /// Forwards a request to the service of its path.
    pub(crate) async fn forward(&self, mut request: Request) -> Result<Response, Refusal> {
        let limits = &self.parts.rate_limits;
        let connection = request.extensions_mut().remove::<ConnectionInfo>().ok_or_else(Refusal::no_host)?;
        if !is_unambiguous(request.uri().path()) {
            return Err(ambiguous_path());
        }
        if own::PATHS.contains(&request.uri().path()) {
            return self.answer(request, &connection).await;
        }
        let route =
            routes::find(request.method(), request.uri().path()).ok_or_else(Refusal::no_such_route)?;
        let subprotocol = websocket::take_token(request.headers_mut());
        let (mut parts, body) = request.into_parts();
        let (mut share, mut is_admin) = (Share::Platform, false);
        let mut grant = None;
        let remaining = match route.access {
            Access::SignIn => Some(limits.check_sign_in(connection.peer).await?),
            Access::Public => Some(limits.check_address(connection.peer).await?),
            Access::SignedIn => {
                let principal = self.caller(connection.peer, &mut parts).await?;
                share = principal.tenant.map_or(Share::Platform, |(tenant, _)| Share::Tenant(tenant));
                is_admin = principal.admin;
                grant = Some(principal.grant());
                let tenant = principal.tenant.map(|(tenant, _)| tenant);
                Some(limits.check_request(connection.peer, tenant, principal.user).await?)
            }
        };
        let slot = match share {
            Share::Tenant(tenant) => {
                Some(self.under_way.take(tenant).ok_or_else(Refusal::too_many_at_a_time)?)
            }
            Share::Platform => None,
        };
        // a cookie has been exchanged; services must see neither it nor those of instances' pages
        credentials::strip_cookies(&mut parts, &self.parts.public_url);

        let service = route.service.name();
        let address = self.addresses.of(route.service);
        let body = body::read(&parts, body, &self.parts.limits).await?;
        let switch = Switch::of(&parts, &body);
        let class = Class::of(&parts.method, parts.uri.path(), &parts.headers, is_admin);
        let permit = match Work::of(&parts) {
            Some(work) => {
                let waiting = traces::child(SpanKind::Internal, "admission");
                let entered = self.gates.of(route.service).enter(class, share).await;
                drop(waiting);
                let permit = entered.map_err(|_| overloaded(service))?;
                Some((permit, work))
            }
            None => None,
        };
        let copy = is_repeatable(&parts).then(|| parts.clone());
        let request = |parts| Request::from_parts(parts, Body::from(body.clone()));
        let send = |request, via| self.send(address, request, via, &connection);
        let mut sent = send(request(parts), Via::Pool).await;
        // the service may have closed this connection just before, and others of the pool
        if let Some(copy) = copy.filter(|_| matches!(sent, Err(proxy::Error::Interrupted(_)))) {
            sent = Box::pin(send(request(copy), Via::NewConnection)).await;
        }
        if let Some((permit, work)) = permit {
            permit.answered(work, sent.is_err());
        }
        drop(slot);
        let mut response = sent.map_err(|error| error.problem(service))?;
        if let Some(grant) = grant.filter(|grant| switch.as_ref().is_some_and(|to| to.leaves(grant)))
            && response.status().is_success()
        {
            // otherwise the next request could be sent with a token for the previous tenant
            let _ = timeout(SWITCH, self.parts.auth.verifier.revocations().ended(grant)).await;
        }
        if response.status() == StatusCode::SWITCHING_PROTOCOLS
            && let Some(chosen) = subprotocol
            && !response.headers().contains_key(header::SEC_WEBSOCKET_PROTOCOL)
        {
            response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, chosen);
        }
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Some(remaining) = remaining {
            remaining.add_headers(response.headers_mut());
        }
        Ok(response)
    }
}
